package probes_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// run is a statement that may wait until the test ends.
func run(t *testing.T, c *pgx.Conn, sql string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _, _ = c.Exec(ctx, sql) }()
	t.Cleanup(func() { cancel(); <-done })
}

func do(t *testing.T, c *pgx.Conn, sql ...string) {
	t.Helper()
	for _, q := range sql {
		if _, err := c.Exec(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// TestEndingRefusesTheServersOwn: what is no client's session is ended by force
// only, whatever it waits for or blocks.
func TestEndingRefusesTheServersOwn(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{"autovacuum": "on", "wal_level": "logical"}})
		s := openSampler(t, srv.DSN("postgres", "postgres"))
		seen := map[string]bool{}
		for end := time.Now().Add(time.Minute); !(seen["autovacuum launcher"] && seen["logical replication launcher"]) && time.Now().Before(end); {
			snap, err := s.Tick(t.Context(), probes.Want{Sessions: true, AllKinds: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range snap.Sessions {
				if x.Kind == probes.KindClient || x.Kind == "autovacuum worker" || seen[x.Kind] {
					continue
				}
				seen[x.Kind] = true
				g := probes.Target{PID: x.PID, BackendStart: x.BackendStart, XactStart: x.XactStart, QueryStart: x.QueryStart}
				for verb, end := range map[string]func(context.Context, probes.Target) (probes.Result, error){"cancel": s.Cancel, "terminate": s.Terminate} {
					r, err := end(t.Context(), g)
					if err != nil || r.Outcome != probes.Refused && r.Outcome != probes.NotABackend || !strings.Contains(r.Why, x.Kind) {
						t.Errorf("%s the %s: got %+v, %v", verb, x.Kind, r, err)
					}
				}
			}
		}
		if !seen["autovacuum launcher"] || !seen["logical replication launcher"] || !seen["checkpointer"] {
			t.Errorf("saw only %v", seen)
		}
	})
}

// TestSafeSnapshot: who holds a DEFERRABLE transaction up is described, and may be
// ended on condition that it still does.
func TestSafeSnapshot(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		dsn := srv.DSN("postgres", "postgres")
		pgtest.Exec(t, dsn, "create table t (i int)")
		a, b, d, other := pgtest.Connect(t, dsn), pgtest.Connect(t, dsn), pgtest.Connect(t, dsn), pgtest.Connect(t, dsn)
		for _, c := range []*pgx.Conn{a, b} {
			do(t, c, "begin isolation level serializable", "insert into t values (1)")
		}
		do(t, other, "begin", "insert into t values (1)")
		run(t, d, "begin isolation level serializable read only deferrable; select * from t")
		s := openSampler(t, dsn)
		var f *waits.Forest
		for end := time.Now().Add(time.Minute); (f == nil || len(f.SafeSnapshots) == 0) && time.Now().Before(end); {
			_, f = look(t, s, probes.Want{})
		}
		if f.Waiting() != 1 || len(f.SafeSnapshots) != 1 || len(f.SafeSnapshots[0].Blockers) != 2 {
			t.Fatalf("got %d waiting, %+v", f.Waiting(), f.SafeSnapshots)
		}
		for _, n := range f.SafeSnapshots[0].Blockers {
			if n.Session == nil || n.Session.State != "idle in transaction" || n.Session.BackendStart.IsZero() {
				t.Errorf("%v: got %+v, want its facts", n.Key, n.Session)
			}
		}
		target := func(pid int) probes.Target {
			snap, err := s.Tick(t.Context(), probes.Want{FullPID: pid})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range snap.Sessions {
				if x.PID == pid {
					return probes.Target{PID: x.PID, BackendStart: x.BackendStart, XactStart: x.XactStart, QueryStart: x.QueryStart, Victim: int(d.PgConn().PID())}
				}
			}
			t.Fatalf("no session %d", pid)
			return probes.Target{}
		}
		if r, err := s.Terminate(t.Context(), target(pid(other))); err != nil || r.Outcome != probes.Changed {
			t.Errorf("one that holds nobody up: got %+v, %v", r, err)
		}
		if r, err := s.Terminate(t.Context(), target(pid(a))); err != nil || r.Outcome != probes.Sent {
			t.Errorf("one of the two: got %+v, %v", r, err)
		}
	})
}

// TestUniqueKeyIsNamed: a wait for a key names the index, behind an open and
// behind a prepared transaction.
func TestUniqueKeyIsNamed(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{"max_prepared_transactions": "2"}})
		dsn := srv.DSN("postgres", "postgres")
		pgtest.Exec(t, dsn, "create table u (id int primary key, mail text unique)", "create table log (id serial primary key, t text)")
		a, p, b, c := pgtest.Connect(t, dsn), pgtest.Connect(t, dsn), pgtest.Connect(t, dsn), pgtest.Connect(t, dsn)
		do(t, a, "begin", "insert into u values (1, 'a')")
		do(t, p, "begin", "insert into log values (7, 'x')", "prepare transaction 'p'")
		do(t, b, "begin", "insert into log(t) values ('y')")
		run(t, b, "insert into u values (2, 'a')")
		run(t, c, "insert into log values (7, 'z')")
		s := openSampler(t, dsn)
		want := map[int]string{pid(b): "key of public.u", pid(c): "key of public.log, log_pkey"}
		got := map[int]string{}
		for end := time.Now().Add(time.Minute); fmt.Sprint(got) != fmt.Sprint(want) && time.Now().Before(end); {
			_, f := look(t, s, probes.Want{})
			for k := range want {
				if n := f.Node(waits.Key{PID: k}); n != nil && n.Edge != nil {
					got[k] = n.Edge.Object
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// TestLocksNeverInTime: the lock manager does not answer before the deadline of a
// one-shot reading, which says that nothing is known.
func TestLocksNeverInTime(t *testing.T) {
	st := newStuck(t, pgtest.Any(t), 1)
	s, err := probes.Open(t.Context(), probes.Options{DSN: st.srv.DSN("postgres", "postgres"), Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	probes.BeforeLockStatement(s, func(string) { <-hold })
	snap, err := s.Tick(t.Context(), probes.Want{Locks: true})
	if err != nil {
		t.Fatal(err)
	}
	if f := waits.Build(snap, snap.Locks, nil); !f.Unread || f.Late == "" {
		t.Errorf("got %+v", snap.Locks)
	}
	if snap, err = s.Tick(t.Context(), probes.Want{Sessions: true}); err != nil {
		t.Fatal(err)
	}
	if sus := waits.Suspects(snap); !slices.ContainsFunc(sus, func(x probes.Session) bool { return x.PID == pid(st.root) }) {
		t.Errorf("suspects: got %+v, want the root %d", sus, pid(st.root))
	}
}

// TestLocksRefusedAndNobodyWaits: activity tells that nobody waits; the refusal is
// shown, and nothing is called unknown.
func TestLocksRefusedAndNobodyWaits(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	pgtest.Exec(t, srv.DSN("postgres", "postgres"), "revoke execute on function pg_lock_status() from public", "create role monitor login in role pg_monitor", "create role nobody login")
	for login, unread := range map[string]bool{"monitor": false, "nobody": true} {
		s := openSampler(t, srv.DSN(login, "postgres"))
		for range 2 {
			snap, f := look(t, s, probes.Want{Locks: true})
			if snap.Locks == nil || !strings.Contains(snap.Locks.Late, "permission denied") || f.Unread != unread {
				t.Errorf("%s: got %+v, unread %v", login, snap.Locks, f.Unread)
			}
		}
	}
}
