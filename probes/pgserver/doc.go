// Package pgserver runs throw-away PostgreSQL servers for the demo and the
// tests: it finds an installed server or fetches a pinned one, lays a cluster
// from a cached template, starts it, and leaves nothing behind.
//
// What it promises:
//
//   - Everything of a server (data, log, socket) lives in one folder whose name
//     starts with "pgsonde-", mode 0700, owned by the account that runs it. The
//     socket in it is the only way in, so its `trust` reaches nobody else; over
//     TCP (asked for by [Options].TCP) only SCRAM with a random password does.
//   - No port is taken unless TCP is asked for.
//   - The folder and the server end with [Server.Stop], and also when this
//     process is killed: a small sh, whose standard input only we hold, outlives
//     us for as long as that takes; Linux signals the server besides; and every
//     start first sweeps what an earlier run could not.
//   - As root the server runs as another account (see account in the unix files):
//     PostgreSQL refuses root.
//
// Linux and macOS. On Windows [Start] answers with [errors.ErrUnsupported].
package pgserver
