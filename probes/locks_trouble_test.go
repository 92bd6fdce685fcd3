package probes_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer/bouncertest"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// stuck is a server on which sessions wait for the locker of a row.
type stuck struct {
	srv     *pgserver.Server
	mon     *pgx.Conn
	root    *pgx.Conn
	waiters []*pgx.Conn
	ended   []chan error
}

func newStuck(t *testing.T, in pgserver.Install, n int) *stuck {
	t.Helper()
	s := &stuck{srv: pgtest.Start(t, in, pgserver.Options{})}
	dsn := s.srv.DSN("postgres", "postgres")
	s.mon, s.root = pgtest.Connect(t, dsn), pgtest.Connect(t, dsn)
	for _, sql := range []string{"create table hot (id int primary key, v int)", "insert into hot values (1, 0)", "begin", "update hot set v = 1"} {
		if _, err := s.root.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		s.wait(t)
	}
	return s
}

// wait adds a session that waits for the row.
func (s *stuck) wait(t *testing.T) {
	t.Helper()
	c := pgtest.Connect(t, s.srv.DSN("postgres", "postgres"))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { _, err := c.Exec(ctx, "update hot set v = 2"); done <- err; close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	s.waiters, s.ended = append(s.waiters, c), append(s.ended, done)
	s.until(t, "select count(*) from pg_locks where not granted and pid = $1", 1, pid(c))
}

func (s *stuck) until(t *testing.T, count string, want int, args ...any) {
	t.Helper()
	got := -1
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err := s.mon.QueryRow(t.Context(), count, args...).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got == want {
			return
		}
	}
	t.Fatalf("%s: got %d, want %d", count, got, want)
}

// end terminates a session and waits until it is gone.
func (s *stuck) end(t *testing.T, c *pgx.Conn) {
	t.Helper()
	if _, err := s.mon.Exec(t.Context(), "select pg_terminate_backend($1)", pid(c)); err != nil {
		t.Error(err)
	}
	s.until(t, "select count(*) from pg_stat_get_activity($1)", 0, pid(c))
}

func pid(c *pgx.Conn) int { return int(c.PgConn().PID()) }

func openSampler(t *testing.T, dsn string) *probes.Sampler {
	t.Helper()
	s, err := probes.Open(t.Context(), probes.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// look ticks until the panel is of this tick or says why it never will be.
func look(t *testing.T, s *probes.Sampler, w probes.Want) (*probes.Snapshot, *waits.Forest) {
	t.Helper()
	for range 50 {
		snap, err := s.Tick(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		if snap.Locks == nil || !strings.Contains(snap.Locks.Late, "not answered yet") {
			return snap, waits.Build(snap, snap.Locks, nil)
		}
	}
	t.Fatal("the panel is always late")
	return nil, nil
}

// TestLocksVanishingWaiter: a waiter ends between the two readings of one tick.
// No edge leads to or from it, and the forest says that the reading is torn.
func TestLocksVanishingWaiter(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		st := newStuck(t, in, 2)
		s := openSampler(t, st.srv.DSN("postgres", "postgres"))
		ghost := st.waiters[1] // behind the other in the queue for the row
		probes.BeforeLockStatement(s, func(name string) {
			if name == "locks_graph" {
				st.end(t, ghost)
			}
		})
		snap, f := look(t, s, probes.Want{})
		if !slices.ContainsFunc(snap.Locks.Waits, func(w probes.LockWait) bool { return w.PID == pid(ghost) }) {
			t.Fatalf("the first reading has not seen it: %+v", snap.Locks.Waits)
		}
		for _, e := range f.Edges() {
			if e.Waiter.PID == pid(ghost) || e.Blocker.PID == pid(ghost) {
				t.Errorf("an edge of a ghost: %+v", e)
			}
		}
		if want := []int{pid(ghost)}; !slices.Equal(f.Torn, want) || f.Waiters != 1 {
			t.Errorf("got torn %v and %d waiters, want %v and 1", f.Torn, f.Waiters, want)
		}
		if _, f := look(t, s, probes.Want{}); len(f.Torn) > 0 || f.Waiters != 1 {
			t.Errorf("a tick later: got torn %v and %d waiters", f.Torn, f.Waiters)
		}
	})
}

// TestLocksDroppedRelation: a relation goes before its name was asked for.
func TestLocksDroppedRelation(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		st := newStuck(t, in, 2)
		s := openSampler(t, st.srv.DSN("postgres", "postgres"))
		dropped := false
		probes.BeforeLockStatement(s, func(name string) {
			if name == "locks_names" && !dropped {
				dropped = true
				for _, c := range append(st.waiters, st.root) {
					st.end(t, c)
				}
				if _, err := st.mon.Exec(t.Context(), "drop table hot"); err != nil {
					t.Error(err)
				}
			}
		})
		snap, f := look(t, s, probes.Want{})
		if !dropped || snap.Locks.Late != "" || len(f.Trees) != 1 {
			t.Fatalf("dropped %v, late %q, %d trees", dropped, snap.Locks.Late, len(f.Trees))
		}
		for _, e := range f.Edges() {
			if !strings.Contains(e.Object, "relation ") {
				t.Errorf("got object %q, want one named by its oid", e.Object)
			}
		}
		if snap, _ := look(t, s, probes.Want{Locks: true}); snap.Locks != nil {
			t.Errorf("all are gone: got %+v", snap.Locks)
		}
	})
}

// TestLocksRefused: the server denies its lock table. The tree stands by the
// server's answers, the panel says why it knows no more, and the server's log is
// not filled with denials.
func TestLocksRefused(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		st := newStuck(t, in, 2)
		pgtest.Exec(t, st.srv.DSN("postgres", "postgres"), "revoke execute on function pg_lock_status() from public",
			"create role monitor login in role pg_monitor", "create role nobody login")
		for _, login := range []string{"monitor", "nobody"} {
			s := openSampler(t, st.srv.DSN(login, "postgres"))
			asked := 0
			probes.BeforeLockStatement(s, func(name string) {
				if name == "locks_graph" || name == "locks_detail" {
					asked++
				}
			})
			for range 5 {
				snap, f := look(t, s, probes.Want{Locks: true})
				if snap.Locks == nil || !strings.Contains(snap.Locks.Late, "permission denied for function pg_lock_status") ||
					snap.Locks.Lacks != "execute on function pg_lock_status" {
					t.Fatalf("%s: got %+v", login, snap.Locks)
				}
				if login == "nobody" {
					continue // neither activity nor the lock table tells it who waits
				}
				if f.Waiters != 2 || len(f.Trees) != 1 || f.Trees[0].Root.Key.PID != pid(st.root) || f.Trees[0].Victims != 2 {
					t.Errorf("%s: got %d waiters, trees %+v", login, f.Waiters, f.Trees)
				}
			}
			if asked != 1 {
				t.Errorf("%s: asked %d times within a minute, want once", login, asked)
			}
		}
	})
}

// TestLocksServer13: a server whose lock table does not say since when.
func TestLocksServer13(t *testing.T) {
	st := newStuck(t, pgtest.Any(t), 1)
	s := openSampler(t, st.srv.DSN("postgres", "postgres"))
	probes.PretendVersion(s, 130023, "13.23")
	asked := 0
	probes.BeforeLockStatement(s, func(string) { asked++ })
	snap, f := look(t, s, probes.Want{})
	want := "who waits for whom can be read since PostgreSQL 14, and this is 13.23"
	if snap.Locks == nil || snap.Locks.Late != want || snap.Locks.Waiting != 1 || f.Late != want || asked > 0 {
		t.Errorf("got %+v after %d statements, want %q", snap.Locks, asked, want)
	}
	st.end(t, st.waiters[0])
	if snap, _ := look(t, s, probes.Want{}); snap.Locks != nil {
		t.Errorf("nobody waits: got %+v", snap.Locks)
	}
}

// TestLocksThroughPooler: the forest and the ending of its root work through a
// real PgBouncer, which gives each statement whichever server connection is free.
func TestLocksThroughPooler(t *testing.T) {
	bouncertest.Need(t)
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		st := newStuck(t, in, 3)
		p := bouncertest.Start(t, st.srv.DSN("postgres", "postgres"), bouncertest.Options{})
		s := openSampler(t, p.DSN("postgres", "postgres"))
		var f *waits.Forest
		for range 5 {
			var snap *probes.Snapshot
			snap, f = look(t, s, probes.Want{})
			if !snap.Server.Pooled || snap.Locks == nil || snap.Locks.Late != "" {
				t.Fatalf("got pooled %v, %+v", snap.Server.Pooled, snap.Locks)
			}
			if f.Waiters != 3 || len(f.Torn) > 0 || len(f.Trees) != 1 || f.Trees[0].Victims != 3 {
				t.Fatalf("got %d waiters, torn %v, trees %+v", f.Waiters, f.Torn, f.Trees)
			}
		}
		root := f.Trees[0].Root
		if root.Key.PID != pid(st.root) || f.Node(waits.Key{PID: pid(st.waiters[2])}).Edge.Object != "row (0,1) of public.hot" {
			t.Errorf("got root %+v, edges %+v", root, f.Edges())
		}
		x := root.Session
		r, err := s.Terminate(t.Context(), probes.Target{
			PID: x.PID, BackendStart: x.BackendStart, XactStart: x.XactStart, QueryStart: x.QueryStart, Victim: pid(st.waiters[0]),
		})
		if err != nil || r.Outcome != probes.Sent {
			t.Fatalf("got %+v, %v", r, err)
		}
		for i, done := range st.ended {
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
			case <-time.After(15 * time.Second):
				t.Fatalf("waiter %d waits on", i)
			}
		}
		if _, err := st.root.Exec(t.Context(), "select 1"); err == nil {
			t.Error("the root lives")
		}
	})
}
