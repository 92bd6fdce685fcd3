// Package bouncer reads PgBouncer's admin console and judges what it says.
//
// A [Console] is a guest there: it sends only the SHOW commands of one fixed
// list, never SHOW FDS, which stops the pooler's loop, and needs no more than a
// user of stats_users. [Console.Read] brings a [Reading], a value; [Judge] is a
// pure function of readings, the server's snapshot and what the budget declares.
//
// What the figures mean follows PgBouncer's own source (admin.c, objects.c) of
// 1.12 to 1.25.
package bouncer
