package probes

import (
	"slices"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestALeaderThatWaitsThroughItsWorkers is described like any waiter, in the reading
// that finds it first and in those after.
func TestALeaderThatWaitsThroughItsWorkers(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		dsn := srv.DSN("postgres", "postgres")
		pgtest.Exec(t, dsn, "create table held (v int)", "create table big as select n from generate_series(1, 50000) n",
			"create function f(int) returns bigint language plpgsql parallel safe as 'begin perform 1 from held; return 1; end'")
		client(t, dsn, "holder", "begin", "lock table held in access exclusive mode")
		leader := client(t, dsn, "leader", "set parallel_setup_cost = 0", "set parallel_tuple_cost = 0",
			"set min_parallel_table_scan_size = 0", "set parallel_leader_participation = off")
		s := open(t, Options{DSN: dsn})
		const query = "select sum(f(n)) from big"
		busy(t, leader, query)
		pid := int(leader.PgConn().PID())
		mon := pgtest.Connect(t, dsn)
		eventually(t, "its workers wait", func() bool {
			var waits bool
			if err := mon.QueryRow(t.Context(), "select count(*) > 0 from pg_stat_activity where leader_pid = $1 and wait_event_type = 'Lock'", pid).Scan(&waits); err != nil {
				t.Fatal(err)
			}
			return waits
		})
		for range 3 {
			l := locks(t, s)
			i := slices.IndexFunc(l.Procs, func(p Session) bool { return p.PID == pid })
			if i < 0 || l.Procs[i].Query != query || l.Procs[i].App != "leader" || l.Procs[i].BackendID() == "" {
				t.Errorf("the leader %d: no facts in %+v", pid, l.Procs)
			}
		}
	})
}
