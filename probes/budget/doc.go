// Package budget is the connection budget: the file, its arithmetic, who is
// who, and live use held against it.
//
//	Parse, Load       the file: YAML with strict errors, each with its line
//	Plan              the sum of a file under a Scenario, with its verdict
//	File.Match        which role a session belongs to
//	Use               a snapshot held against a file, with findings
//	Rules             what each finding means
//	InitFromSnapshot  a first file from a live server; InitFromFile from a
//	                  compose file, Helm values or an environment
//
// All of it is pure: nothing here reads a clock or a server, and nobody changes
// an argument. Load alone reads a file.
//
// Two numbers stand for a pool: kept, what it holds open when warm, and cap, the
// most it opens. Sums that must fit the server use cap. Only client backends
// count against max_connections; walsenders, parallel workers and autovacuum
// have slots of their own.
package budget
