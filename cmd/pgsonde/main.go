// Command pgsonde is a terminal diagnostic tool for PostgreSQL.
package main

func main() {}
