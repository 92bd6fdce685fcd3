package probes

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// others are what tools commonly send instead: the lock table joined with
// itself through the views, and the server's answer for everybody who is there.
var others = map[string]string{
	"self-join": `select w.pid, h.pid from pg_locks w join pg_locks h on w.locktype = h.locktype
		and w.database is not distinct from h.database and w.relation is not distinct from h.relation and w.page is not distinct from h.page
		and w.tuple is not distinct from h.tuple and w.virtualxid is not distinct from h.virtualxid
		and w.transactionid is not distinct from h.transactionid and w.classid is not distinct from h.classid
		and w.objid is not distinct from h.objid and w.objsubid is not distinct from h.objsubid and w.pid <> h.pid
		join pg_stat_activity a on a.pid = w.pid join pg_stat_activity b on b.pid = h.pid where not w.granted`,
	"ask for all sessions": "select pid, query, pg_blocking_pids(pid) from pg_stat_activity",
}

// BenchmarkLocks is what one reading costs the server, in processor time of the
// backend that serves it: 80 sessions of which 39 wait for one row, or
// PGSONDE_LOCKBENCH=SESSIONS/WAITERS/LOCKS with that many relation locks for each.
func BenchmarkLocks(b *testing.B) {
	sessions, waiters, tables := 80, 39, 0
	if s := os.Getenv("PGSONDE_LOCKBENCH"); s != "" {
		if _, err := fmt.Sscanf(s, "%d/%d/%d", &sessions, &waiters, &tables); err != nil {
			b.Fatalf("PGSONDE_LOCKBENCH=%s: %v", s, err)
		}
	}
	srv := pgtest.Start(b, pgtest.Any(b), pgserver.Options{Settings: map[string]string{
		"deadlock_timeout": "600s", "max_connections": strconv.Itoa(sessions + 20), "max_locks_per_transaction": strconv.Itoa(64 + tables),
	}})
	dsn := srv.DSN("postgres", "postgres")
	locked := []string{"begin"}
	for i := range tables {
		pgtest.Exec(b, dsn, fmt.Sprintf("create table bench%d (i int)", i))
		locked = append(locked, fmt.Sprintf("lock table bench%d in access share mode", i))
	}
	jam(b, srv, waiters)
	for range sessions - waiters - 1 {
		client(b, dsn, "idle", locked...)
	}
	s := open(b, Options{DSN: dsn})
	locks(b, s)
	b.Run("pgsonde", func(b *testing.B) {
		measure(b, s.work.hello.pid, func() { tick(b, s, Want{}) })
	})
	for name, sql := range others {
		b.Run(name, func(b *testing.B) {
			c := pgtest.Connect(b, dsn)
			measure(b, int(c.PgConn().PID()), func() {
				rows, err := c.Query(b.Context(), sql)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := pgx.CollectRows(rows, func(pgx.CollectableRow) (int, error) { return 0, nil }); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func measure(b *testing.B, pid int, f func()) {
	f()
	begin := backendCPU(b, pid)
	for b.Loop() {
		f()
	}
	b.ReportMetric((backendCPU(b, pid)-begin)/float64(b.N), "server-ms/op")
}

// backendCPU is the processor time of a process in milliseconds, as the
// scheduler counts it (Linux).
func backendCPU(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		b.Skip(err)
	}
	var ns float64
	if _, err := fmt.Sscan(string(text), &ns); err != nil {
		b.Fatal(err)
	}
	return ns / 1e6
}
