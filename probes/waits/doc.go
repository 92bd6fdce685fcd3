// Package waits turns one reading of the lock table into a forest: who waits
// for whom, on what and for how long, which session is the cause, how many
// connection slots a wait pins, and who could run if a session ended.
//
// It is pure: a function of probes.Locks and probes.Snapshot, without a clock,
// a server or state. For every waiter its edges are those of
// pg_blocking_pids: a hard edge to a process that holds a conflicting lock, a
// soft edge to one that is ahead in the queue with a conflicting request. Hard
// edges are facts of one consistent reading. The order of a queue is not in
// the lock table: it is replayed from the waits' start by the server's own
// rule and confirmed by pg_blocking_pids where that was asked; what neither
// proves carries a Doubt. What two readings contradict is called torn and
// never drawn from the ghost's side.
package waits
