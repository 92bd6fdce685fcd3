// Package probes reads a PostgreSQL server the way a guest behaves on a dying
// one. A [Sampler] makes a [Snapshot] a tick; everything that judges is a pure
// function of Snapshots.
//
// # The safety contract
//
// What pgsonde promises the server it looks at, and the tests hold:
//
//   - At most two connections, opened at start and kept: watch (activity, kills)
//     and work (locks, catalogs). When one is lost the other takes over and only
//     the lost one comes back; a connection that the server may still hold is not
//     replaced before the server has let go of it. The place of work may be lent
//     to another session of ours (Sampler.Lend), which takes its place meanwhile:
//     watch reads everything then. One is enough: Options.Connections,
//     or a server that has no second slot.
//   - One message a tick, read from pg_stat_get_activity and never from the view
//     pg_stat_activity: the view joins shared catalogs, whose locks take half a
//     minute in a storm of lock waiters, while the function needs none. Names come
//     from maps that a slow clock refreshes on the work connection.
//   - Grouped on the server. Texts travel only for the rows that were asked for,
//     clipped there to 4 kB at most.
//   - No statement without a deadline of our own clock; statement_timeout and
//     lock_timeout are only the second net. A late answer makes its own panel
//     late and blocks nothing else. No statement before the last one's answer; a
//     server that answers slowly is asked more rarely (Sampler.Interval).
//   - Nothing is written, created, locked or listened to: no temporary objects,
//     no explicit transaction on a direct connection, no size functions, no
//     parallel workers, no JIT.
//   - Behind a pooler each message is one transaction of its own with SET LOCAL;
//     a plain SET would stay behind in somebody else's session. A pooler is known
//     by a backend that has another pid than the one it announced.
//   - Everything is qualified with pg_catalog, search_path is empty, results are
//     numbers and texts only: no setting of a role or a database changes them.
//   - client_encoding is SQL_ASCII: the server converts nothing, so no byte in
//     somebody's query can fail a reading. Each text is decoded here by the
//     encoding of its own database; what cannot be decoded stays visible as \xNN.
//     Only numbers are sent as parameters.
//   - Ages are the server's own clock_timestamp() less its own times, never
//     negative. What a login may not see is unknown (-1, zero time, "masked"),
//     never 0.
//   - A backend is named by pid and backend_start together: a pid alone may be
//     somebody else's by now.
//
// Passwords appear in no error, note or name of a target.
package probes
