//go:build unix

package probes

import (
	"context"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// BenchmarkLockStorm: 900 sessions, or PGSONDE_STORM of them, wait for one row
// and a second later all look for a deadlock at once, which holds up whoever
// needs the lock manager. Meanwhile a tick takes tick-p99-ms, a signal to the
// root takes kill-ms, and there are never more than two connections.
//
//	PGSONDE_STORM=900 go test ./probes -run '^$' -bench LockStorm -benchtime 1x
func BenchmarkLockStorm(b *testing.B) {
	n, _ := strconv.Atoi(os.Getenv("PGSONDE_STORM"))
	if n == 0 {
		b.Skip("it keeps the machine busy for half a minute: set PGSONDE_STORM to the number of sessions")
	}
	if n == 1 {
		n = 900
	}
	srv := pgtest.Start(b, pgtest.Any(b), pgserver.Options{Settings: map[string]string{"max_connections": strconv.Itoa(n + 20), "autovacuum": "off"}})
	dsn := srv.DSN("postgres", "postgres")
	pgtest.Exec(b, dsn, "create table jam (id int primary key, v int)", "insert into jam values (1, 0)")
	mon := pgtest.Connect(b, dsn)
	for b.Loop() {
		root := client(b, dsn, "root", "begin", "update jam set v = v + 1")
		s := open(b, Options{DSN: dsn})
		tick(b, s, Want{Sessions: true, Limit: 40})
		end := crush(b, dsn, n)
		var took []time.Duration
		late, most, failed := 0, 0, 0
		for over := time.Now().Add(20 * time.Second); time.Now().Before(over); time.Sleep(200 * time.Millisecond) {
			begin := time.Now()
			snap, err := s.Tick(b.Context(), Want{Sessions: true, Limit: 40})
			if err != nil {
				b.Logf("%v before the end, after %v: %v", time.Until(over), time.Since(begin), err)
				failed++
				continue
			}
			took = append(took, time.Since(begin))
			most = max(most, ownBackends(b, mon))
			if snap.Locks != nil && snap.Locks.Late != "" {
				late++
			}
		}
		x := session(b, s, int(root.PgConn().PID()))
		begin := time.Now()
		if r, err := s.Terminate(b.Context(), aim(x)); err != nil || r.Outcome != Sent {
			b.Fatalf("got %+v, %v", r, err)
		}
		kill := time.Since(begin)
		end()
		s.Close()
		slices.Sort(took)
		p99, last := took[len(took)*99/100], took[len(took)-1]
		b.Logf("%d ticks, %d with a late lock panel, p50 %v, p99 %v, longest %v; kill %v; at most %d connections",
			len(took), late, took[len(took)/2], p99, last, kill, most)
		if failed > 0 || most > 2 || kill > time.Second || p99 > time.Second {
			b.Errorf("got %d failed ticks, %d connections, kill after %v, p99 %v", failed, most, kill, p99)
		}
		b.ReportMetric(float64(p99.Microseconds())/1e3, "tick-p99-ms")
		b.ReportMetric(float64(kill.Microseconds())/1e3, "kill-ms")
		b.ReportMetric(float64(most), "connections")
	}
}

// crush has n sessions wait for the row at once, until end is called.
func crush(b *testing.B, dsn string, n int) (end func()) {
	b.Helper()
	var conns []*pgx.Conn
	for range n {
		conns = append(conns, pgtest.Connect(b, dsn))
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, c := range conns {
		all.Go(func() { _, _ = c.Exec(ctx, "update jam set v = v + 1") }) // it is cancelled
	}
	return func() { cancel(); all.Wait() }
}
