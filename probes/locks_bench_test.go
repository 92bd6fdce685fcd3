package probes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// peers are what tools commonly send instead, in shape: the lock table joined
// with itself on every column of a tag; a monitor's list, by kind of lock, of
// who holds what others wait for; a tree from pg_blocking_pids by recursion,
// which is given 100 ms.
var peers = []struct{ name, sql string }{
	{"self-join", `select w.pid, h.pid from pg_locks w join pg_locks h on w.locktype = h.locktype
		and w.database is not distinct from h.database and w.relation is not distinct from h.relation and w.page is not distinct from h.page
		and w.tuple is not distinct from h.tuple and w.virtualxid is not distinct from h.virtualxid
		and w.transactionid is not distinct from h.transactionid and w.classid is not distinct from h.classid
		and w.objid is not distinct from h.objid and w.objsubid is not distinct from h.objsubid and w.pid <> h.pid
		join pg_stat_activity a on a.pid = w.pid join pg_stat_activity b on b.pid = h.pid where not w.granted`},
	{"monitor", `select a.pid, a.query, a.state, pg_blocking_pids(a.pid), x.mode from pg_stat_activity a join (
		select h.pid, h.mode from pg_locks h join pg_locks w on w.transactionid = h.transactionid where h.granted and not w.granted
		union all
		select h.pid, h.mode from pg_locks h join pg_locks w on w.database = h.database and w.relation = h.relation
		where h.granted and not w.granted and h.locktype in ('relation', 'tuple')) x on x.pid = a.pid`},
	{"tree", `with recursive a as materialized (
		select pid, pg_blocking_pids(pid) as by, query from pg_stat_activity where state <> 'idle'),
		tree as (
		select a.pid, array[a.pid] as path, a.query from a where cardinality(a.by) = 0 and exists (select from a b where a.pid = any (b.by))
		union all
		select a.pid, t.path || a.pid, a.query from tree t join a on a.by[1] = t.pid and not a.pid = any (t.path))
		select t.*, (select count(*) from a where t.pid = any (a.by)) from tree t order by path`},
}

// crowdOf reads PGSONDE_LOCKBENCH=SESSIONS/WAITERS/LOCKS: sessions in a
// transaction with that many relation locks each, of which up to so many wait.
func crowdOf(b *testing.B) (sessions, waiters, tables int) {
	sessions, waiters = 80, 39
	if s := os.Getenv("PGSONDE_LOCKBENCH"); s != "" {
		if _, err := fmt.Sscanf(s, "%d/%d/%d", &sessions, &waiters, &tables); err != nil || waiters >= sessions {
			b.Fatalf("PGSONDE_LOCKBENCH=%s: want SESSIONS/WAITERS/LOCKS", s)
		}
	}
	return sessions, waiters, tables
}

// crowded is a server with many sessions, each with many locks.
type crowded struct {
	srv      *pgserver.Server
	dsn      string
	mon      *pgx.Conn
	root     *pgx.Conn
	sessions []*pgx.Conn
	locks    string // begins a transaction with its locks
	busy     []chan error
}

func newCrowded(b *testing.B) *crowded {
	sessions, _, tables := crowdOf(b)
	c := &crowded{locks: "begin"}
	c.srv = pgtest.Start(b, pgtest.Any(b), pgserver.Options{Settings: map[string]string{
		"deadlock_timeout": "600s", "max_connections": strconv.Itoa(sessions + 40), "max_locks_per_transaction": strconv.Itoa(64 + 2*tables), "autovacuum": "off",
	}})
	c.dsn = c.srv.DSN("postgres", "postgres")
	c.mon = pgtest.Connect(b, c.dsn)
	setup := []string{"create table jam (id int primary key, v int)", "insert into jam values (1, 0)"}
	var names []string
	for i := range tables {
		names = append(names, "bench"+strconv.Itoa(i))
		setup = append(setup, "create table bench"+strconv.Itoa(i)+" (i int)")
	}
	pgtest.Exec(b, c.dsn, setup...)
	if tables > 0 {
		c.locks += "; lock table " + strings.Join(names, ", ") + " in access share mode"
	}
	c.root = pgtest.Connect(b, c.dsn)
	for range sessions - 1 {
		c.sessions = append(c.sessions, client(b, c.dsn, "bench", c.locks))
	}
	b.Cleanup(func() { c.calm(b) })
	return c
}

// jam makes n of the sessions wait for the root's row or table; those who wait
// already stay.
func (c *crowded) jam(b *testing.B, object string, n int) {
	b.Helper()
	held, wanted := "update jam set v = v + 1", "update jam set v = v + 1"
	if object == "relation" {
		held, wanted = "lock table jam in access exclusive mode", "select from jam"
	}
	if len(c.busy) == 0 {
		if _, err := c.root.Exec(b.Context(), "begin; "+held); err != nil {
			b.Fatal(err)
		}
	}
	for i := len(c.busy); i < n; i++ {
		done := make(chan error, 1)
		c.busy = append(c.busy, done)
		go func() { _, err := c.sessions[i].Exec(context.Background(), wanted); done <- err }()
	}
	c.waiting(b, n)
}

func (c *crowded) waiting(b *testing.B, want int) {
	b.Helper()
	for range 3000 {
		var n int
		err := c.mon.QueryRow(context.Background(), "select count(*) from pg_stat_get_activity(null) where wait_event_type = 'Lock'").Scan(&n)
		if err != nil {
			b.Fatal(err)
		}
		if n == want {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.Fatalf("never are %d waiting", want)
}

// calm cancels all waiters and gives them their locks back.
func (c *crowded) calm(b *testing.B) {
	b.Helper()
	ctx := context.Background()
	for i, done := range c.busy {
		if _, err := c.mon.Exec(ctx, "select pg_cancel_backend($1)", int(c.sessions[i].PgConn().PID())); err != nil {
			b.Error(err)
		}
		<-done
		if _, err := c.sessions[i].Exec(ctx, "rollback; "+c.locks); err != nil {
			b.Error(err)
		}
	}
	c.busy = nil
	if _, err := c.root.Exec(ctx, "rollback"); err != nil {
		b.Error(err)
	}
}

// BenchmarkLocks is what one reading costs the server, in processor time of the
// backend that serves it, the least of a few runs since other work on the machine
// only adds to it, beside what others send: 80 sessions of which 39 wait
// for one row, or one table. The large one takes minutes:
//
//	PGSONDE_LOCKBENCH=900/500/222 go test ./probes -run '^$' -bench 'Locks$' -benchtime 1x -timeout 30m
//
// has 200,000 lock entries, with 10, 100 and 500 waiters.
func BenchmarkLocks(b *testing.B) {
	_, waiters, _ := crowdOf(b)
	c := newCrowded(b)
	var entries int
	if err := c.mon.QueryRow(b.Context(), "select count(*) from pg_lock_status()").Scan(&entries); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d lock entries", entries)
	s := open(b, Options{DSN: c.dsn, Timeout: time.Minute})
	reader := newLockReader(s)
	s.readLocks = reader.read
	for _, object := range []string{"row", "relation"} {
		for _, n := range []int{10, 100, waiters} {
			if n > waiters || n == 100 && waiters < 200 || n == 10 && waiters < 100 {
				continue
			}
			c.jam(b, object, n)
			b.Run(fmt.Sprintf("%s/%d", object, n), func(b *testing.B) { c.compare(b, s, reader) })
		}
		c.calm(b)
		c.waiting(b, 0)
		tick(b, s, Want{})
	}
}

func (c *crowded) compare(b *testing.B, s *Sampler, reader *lockReader) {
	b.Run("pgsonde", func(b *testing.B) {
		pid := s.work.hello.pid
		least := func(n int, w Want) float64 {
			inTime(b, s, w)
			best := math.Inf(1)
			for range 5 {
				begin := backendCPU(b, pid)
				for range n {
					inTime(b, s, w)
				}
				best = min(best, (backendCPU(b, pid)-begin)/float64(n))
			}
			return best
		}
		for range 6 { // then the server has settled on a plan
			inTime(b, s, Want{Locks: true})
		}
		detail, tick := 0.0, 0.0
		for b.Loop() {
			detail, tick = least(1, Want{Locks: true}), least(5, Want{})
		}
		every := detailAgain
		if reader.took >= cheapDetail {
			every = detailShare * reader.took
		}
		b.ReportMetric(tick, "server-ms/op")
		b.ReportMetric(detail, "with-detail-ms")
		b.ReportMetric(every.Seconds(), "s-between-details")
	})
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			dsn := c.dsn
			if p.name == "tree" {
				dsn += " options='-c statement_timeout=100'"
			}
			conn := pgtest.Connect(b, dsn)
			if _, err := conn.Exec(b.Context(), "select from pg_locks, pg_stat_activity where false"); err != nil { // its catalogs are read
				b.Fatal(err)
			}
			pid, answers, best := int(conn.PgConn().PID()), 0, math.Inf(1)
			for b.Loop() {
				begin := backendCPU(b, pid)
				rows, err := conn.Query(b.Context(), p.sql)
				if err == nil {
					_, err = pgx.CollectRows(rows, func(pgx.CollectableRow) (int, error) { return 0, nil })
				}
				var pg *pgconn.PgError
				switch {
				case err == nil:
					answers++
				case !errors.As(err, &pg) || pg.Code != "57014":
					b.Fatal(err)
				}
				best = min(best, backendCPU(b, pid)-begin)
			}
			b.ReportMetric(best, "server-ms/op")
			b.ReportMetric(float64(answers)/float64(b.N), "answers/op")
		})
	}
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
