// Package demo plays an incident on a real throw-away PostgreSQL server, for
// ever and by itself, with real client connections.
//
// The play is a system called werft: two pods of an API, a few workers, jobs and
// people. A cycle of 75 s goes through its troubles, each growing out of the
// one before, so that it is never calm for more than a moment:
//
//	 0-30 s  hot row: an API session updates a row, leaves its transaction open
//	         while it calls somebody else, and every other one queues behind it;
//	         one pod of the API is full, later both
//	18-40 s  two passes of the reconciler want the same advisory lock
//	32-60 s  a person's psql holds a harmless read open, a migration's ALTER TABLE
//	         queues behind it and all readers behind that; a second migration
//	         waits for the advisory lock of the first
//	56-74 s  the reconciler again
//
// All along: a page query whose OR cursor reads from the oldest row, beside a
// good one and an OFFSET one; an exporter nobody declared; a role that is
// declared off; connections without an application_name, one of them idle in
// transaction for minutes.
//
// A session that an operator cancels or ends does what a pool does: it comes
// back after a moment. So does the server, should its postmaster end.
package demo
