package probes

import (
	"context"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// jam makes a row's locker, idle in transaction, and n sessions that wait for it.
func jam(t testing.TB, srv *pgserver.Server, n int) (root *pgx.Conn, waiters []*pgx.Conn) {
	t.Helper()
	dsn := srv.DSN("postgres", "postgres")
	pgtest.Exec(t, dsn, "create table if not exists jam (id int primary key, v int)", "insert into jam values (1, 0) on conflict do nothing", "grant all on jam to public")
	root = client(t, dsn, "root", "begin", "update jam set v = v + 1 where id = 1")
	for i := range n {
		w := client(t, dsn, "waiter"+strconv.Itoa(i))
		waiters = append(waiters, w)
		busy(t, w, "update jam set v = v + 1 where id = 1")
	}
	mon := pgtest.Connect(t, dsn)
	eventually(t, "all wait", func() bool {
		var waiting int
		if err := mon.QueryRow(t.Context(), "select count(*) from pg_locks where not granted").Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		return waiting == n
	})
	return root, waiters
}

// locks has everything read and ticks until the panel has an answer of this tick.
func locks(t testing.TB, s *Sampler) *Locks {
	t.Helper()
	return inTime(t, s, Want{Locks: true})
}

// inTime ticks until the panel has an answer of this tick.
func inTime(t testing.TB, s *Sampler, w Want) *Locks {
	t.Helper()
	for range 100 {
		if l := tick(t, s, w).Locks; l == nil || l.Late == "" {
			return l
		}
	}
	t.Fatal("the panel is always late")
	return nil
}

func TestLocksReading(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
		if l := inTime(t, s, Want{}); l != nil {
			t.Errorf("nobody waits: got %+v", l)
		}
		root, waiters := jam(t, srv, 3)
		l := locks(t, s)
		if l == nil || l.Reading != ReadDetail || l.Waiting != 3 || len(l.Waits) != 3 || l.Late != "" {
			t.Fatalf("got %+v", l)
		}
		head, asked := 0, map[int][]int{}
		for _, w := range l.Waits {
			asked[w.PID] = w.Blockers
			if w.LockType == "transactionid" {
				head = w.PID
			}
		}
		if got, want := asked[head], []int{int(root.PgConn().PID())}; !slices.Equal(got, want) {
			t.Errorf("blockers of the head: got %v, want %v", got, want)
		}
		for _, w := range waiters {
			pid := int(w.PgConn().PID())
			if i := slices.IndexFunc(l.Procs, func(p Session) bool { return p.PID == pid }); i < 0 || l.Procs[i].Query != "update jam set v = v + 1 where id = 1" || l.Procs[i].BackendStart.IsZero() {
				t.Errorf("%d: no facts in %+v", pid, l.Procs)
			}
		}
		if i := slices.IndexFunc(l.Names, func(o ObjectName) bool { return o.Name == "public.jam" }); i < 0 {
			t.Errorf("no name of the table in %+v", l.Names)
		}
		of, err := s.LocksOf(t.Context(), int(root.PgConn().PID()))
		if err != nil || len(of.Rows) < 3 || !slices.ContainsFunc(of.Names, func(o ObjectName) bool { return o.Name == "public.jam_pkey" }) {
			t.Errorf("locks of the root: got %+v, %v", of, err)
		}
		for _, r := range l.Rows {
			if !r.Granted && (r.WaitStart.IsZero() || r.WaitStart.After(l.At) || l.At.Sub(r.WaitStart) > time.Minute) {
				t.Errorf("wait start of %+v", r)
			}
		}
	})
}

// TestLocksEntriesAgain: entries stand for answers that do not change, for a few
// seconds; whatever changes has them read again.
func TestLocksEntriesAgain(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
		r := newLockReader(s)
		run := r.run
		r.run = func(ctx context.Context, timeout time.Duration, name string, args ...any) (*Rows, error) {
			rows, err := run(ctx, timeout, name, args...)
			if err == nil {
				rows.Took = time.Millisecond // however busy the machine is
			}
			return rows, err
		}
		s.readLocks = r.read
		root, waiters := jam(t, srv, 3)
		last := locks(t, s)
		step := func(what string, w Want, again bool, waiting int) {
			t.Helper()
			l := inTime(t, s, w)
			if got := !l.DetailAt.Equal(last.DetailAt); got != again || l.Reading != ReadDetail || len(l.Waits) != waiting || !l.At.After(last.At) {
				t.Errorf("%s: read again %v, want %v; %s, %d answers, want %d", what, got, again, l.Reading, len(l.Waits), waiting)
			}
			last = l
		}
		step("nothing changed", Want{}, false, 3)
		step("nothing changed", Want{}, false, 3)
		step("asked for", Want{Locks: true}, true, 3)
		if _, err := root.Exec(t.Context(), "select 1"); err != nil {
			t.Fatal(err)
		}
		step("another statement of the root", Want{}, true, 3)
		_ = waiters[2].PgConn().CancelRequest(t.Context())
		mon := pgtest.Connect(t, srv.DSN("postgres", "postgres"))
		eventually(t, "the waiter leaves", func() bool {
			var n int
			if err := mon.QueryRow(t.Context(), "select count(*) from pg_locks where not granted").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n == 2
		})
		step("a waiter left", Want{}, true, 2)
		step("nothing changed", Want{}, false, 2)
		time.Sleep(detailAgain)
		step("long ago", Want{}, true, 2)
	})
}

// TestDearEntriesStand: entries that are dear to read stand for answers that do not
// change, too; what comes between has its own, and they stand again when it is gone.
func TestDearEntriesStand(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
		r := newLockReader(s)
		run := r.run
		r.run = func(ctx context.Context, timeout time.Duration, name string, args ...any) (*Rows, error) {
			rows, err := run(ctx, timeout, name, args...)
			if err == nil {
				rows.Took = 10 * time.Second
			}
			return rows, err
		}
		s.readLocks = r.read
		jam(t, srv, 3)
		first := inTime(t, s, Want{})
		step := func(what string, reading Reading, waiting int) {
			t.Helper()
			if l := inTime(t, s, Want{}); l.Reading != reading || len(l.Waits) != waiting || !l.DetailAt.Equal(first.DetailAt) || l.Partial != first.Partial {
				t.Errorf("%s: got %s, %d answers, entries of %v; want %s, %d, %v", what, l.Reading, len(l.Waits), l.DetailAt, reading, waiting, first.DetailAt)
			}
		}
		step("nothing changed", ReadDetail, 3)
		step("nothing changed", ReadDetail, 3)
		mon := pgtest.Connect(t, srv.DSN("postgres", "postgres"))
		waiting := func(n int) func() bool {
			return func() bool {
				var got int
				if err := mon.QueryRow(t.Context(), "select count(*) from pg_locks where not granted").Scan(&got); err != nil {
					t.Fatal(err)
				}
				return got == n
			}
		}
		more := client(t, srv.DSN("postgres", "postgres"), "another")
		busy(t, more, "update jam set v = v + 1 where id = 1")
		eventually(t, "another comes", waiting(4))
		step("another came", ReadEdges, 4)
		_ = more.PgConn().CancelRequest(t.Context())
		eventually(t, "it leaves", waiting(3))
		step("as before", ReadDetail, 3)
	})
}

// TestLocksPlans holds the reader to when it may touch the lock table.
func TestLocksPlans(t *testing.T) {
	at := time.Unix(1000, 0)
	tests := []struct {
		name string
		r    lockReader
		ask  LockAsk
		want []string
	}{
		{"nobody waits", lockReader{looked: at.Add(-time.Second)}, LockAsk{At: at}, nil},
		{"nobody waits for long", lockReader{looked: at.Add(-16 * time.Second)}, LockAsk{At: at}, []string{"locks_detail"}},
		{"nobody waits for long, dear", lockReader{looked: at.Add(-16 * time.Second), took: time.Second}, LockAsk{At: at}, nil},
		{"cheap", lockReader{looked: at.Add(-time.Second), took: time.Millisecond}, LockAsk{At: at, Waiting: 3}, []string{"locks_edges", "locks_graph"}},
		{"dear and read lately", lockReader{looked: at.Add(-2 * time.Second), took: 100 * time.Millisecond, rows: []LockRow{{PID: 1}}}, LockAsk{At: at, Waiting: 3}, []string{"locks_edges"}},
		{"dear, at first", lockReader{looked: at.Add(-2 * time.Second), took: 100 * time.Millisecond}, LockAsk{At: at, Waiting: 3}, []string{"locks_edges", "locks_detail"}},
		{"dear, long ago", lockReader{looked: at.Add(-11 * time.Second), took: 100 * time.Millisecond, rows: []LockRow{{PID: 1}}}, LockAsk{At: at, Waiting: 3}, []string{"locks_edges", "locks_detail"}},
		{"dear, on demand", lockReader{looked: at.Add(-time.Second), took: 100 * time.Millisecond}, LockAsk{At: at, Waiting: 3, Detail: true}, []string{"locks_edges", "locks_detail"}},
		{"a long queue", lockReader{looked: at.Add(-time.Second), took: 5 * time.Millisecond, longest: 400}, LockAsk{At: at, Waiting: 400}, []string{"locks_graph", "locks_edges"}},
		{"masked", lockReader{looked: at.Add(-time.Second), took: time.Millisecond}, LockAsk{At: at, Masked: true}, []string{"locks_detail"}},
		{"masked and dear", lockReader{looked: at.Add(-time.Second), took: time.Second}, LockAsk{At: at, Masked: true}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			tt.r.own = func() []int { return []int{} }
			tt.r.run = func(_ context.Context, _ time.Duration, name string, _ ...any) (*Rows, error) {
				got = append(got, name)
				return &Rows{Took: tt.r.took}, nil
			}
			if _, err := tt.r.read(t.Context(), tt.ask); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestLocksWithoutGrants: an ordinary login sees every edge, though nothing in
// activity tells it that anybody waits.
func TestLocksWithoutGrants(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		logins(t, srv)
		root, _ := jam(t, srv, 3)
		for _, user := range []string{"nobody", "monitor"} {
			s := open(t, Options{DSN: srv.DSN(user, "postgres")})
			l := locks(t, s)
			if l == nil || len(l.Waits) != 3 || len(l.Rows) == 0 {
				t.Fatalf("%s: got %+v", user, l)
			}
			i := slices.IndexFunc(l.Procs, func(p Session) bool { return p.PID == int(root.PgConn().PID()) })
			if i < 0 {
				t.Fatalf("%s: no row of the root in %+v", user, l.Procs)
			}
			masked := l.Procs[i].Kind == KindMasked
			if masked != (user == "nobody") {
				t.Errorf("%s: root is %+v", user, l.Procs[i])
			}
			if r, err := s.Terminate(t.Context(), aim(l.Procs[i])); err != nil || r.Outcome != NotPermitted || r.Grant == "" {
				t.Errorf("%s: terminate: got %+v, %v", user, r, err)
			}
		}
	})
}

func aim(p Session) Target {
	return Target{PID: p.PID, BackendStart: p.BackendStart, XactStart: p.XactStart, QueryStart: p.QueryStart}
}

func session(t testing.TB, s *Sampler, pid int) Session {
	t.Helper()
	snap := tick(t, s, Want{Sessions: true, AllKinds: true})
	for _, x := range snap.Sessions {
		if x.PID == pid {
			return x
		}
	}
	t.Fatalf("no session %d", pid)
	return Session{}
}

func TestEnding(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
		root, waiters := jam(t, srv, 2)
		pid, w0, w1 := int(root.PgConn().PID()), int(waiters[0].PgConn().PID()), int(waiters[1].PgConn().PID())
		client(t, srv.DSN("postgres", "postgres"), "bystander", "begin", "select pg_advisory_lock(1)")
		c := client(t, srv.DSN("postgres", "postgres"), "waiter")
		other := int(c.PgConn().PID())
		busy(t, c, "select pg_advisory_lock(1)")
		eventually(t, "it waits", func() bool { return session(t, s, other).WaitEvent == "advisory" })
		x := session(t, s, pid)
		good := aim(x)
		tests := []struct {
			name   string
			change func(*Target)
			want   Outcome
		}{
			{"another backend_start", func(g *Target) { g.BackendStart = g.BackendStart.Add(time.Microsecond) }, Changed},
			{"another transaction", func(g *Target) { g.XactStart = g.XactStart.Add(-time.Microsecond) }, Changed},
			{"no transaction", func(g *Target) { g.XactStart = time.Time{} }, Changed},
			{"another statement", func(g *Target) { g.QueryStart = g.QueryStart.Add(time.Microsecond) }, Changed},
			{"blocks somebody else", func(g *Target) { g.Victim = other }, Changed},
			{"unread start", func(g *Target) { g.BackendStart = time.Time{} }, Changed}, // not hidden from this login: not read
			{"nobody", func(g *Target) { g.PID = 1 << 30 }, Gone},
			{"a prepared transaction", func(g *Target) { g.PID = 0 }, NotABackend},
		}
		blocked := func(p int) []int {
			for _, w := range locks(t, s).Waits {
				if w.PID == p {
					return w.Blockers
				}
			}
			return nil
		}
		if !slices.Contains(blocked(w0), pid) {
			w0, w1 = w1, w0
		}
		for _, tt := range tests {
			g := good
			tt.change(&g)
			for verb, end := range map[string]func(context.Context, Target) (Result, error){"cancel": s.Cancel, "terminate": s.Terminate} {
				if r, err := end(t.Context(), g); err != nil || r.Outcome != tt.want || r.Why == "" {
					t.Errorf("%s, %s: got %+v, %v, want %s", verb, tt.name, r, err, tt.want)
				}
			}
		}
		for _, own := range s.ownPIDs() {
			if r, err := s.Terminate(t.Context(), Target{PID: own, BackendStart: time.Now()}); err != nil || r.Outcome != Refused {
				t.Errorf("own %d: got %+v, %v", own, r, err)
			}
		}
		if x := session(t, s, pid); aim(x) != good {
			t.Fatalf("the root is another by now: %+v", x)
		}
		good.Victim = w1 // which waits for w0, the head of the row's queue
		if r, err := s.Terminate(t.Context(), good); err != nil || r.Outcome != Sent {
			t.Fatalf("got %+v, %v", r, err)
		}
		eventually(t, "the waiters run", func() bool { return locks(t, s).Waiting == 1 })
		checkAuxiliary(t, s)
	})
}

func checkAuxiliary(t *testing.T, s *Sampler) {
	t.Helper()
	snap := tick(t, s, Want{Sessions: true, AllKinds: true})
	for _, x := range snap.Sessions {
		if x.Kind == "checkpointer" {
			if r, err := s.Terminate(t.Context(), aim(x)); err != nil || r.Outcome != NotABackend {
				t.Errorf("checkpointer: got %+v, %v", r, err)
			}
		}
	}
}

// TestEndingPermission: what a login may end, and the grant it lacks.
func TestEndingPermission(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		logins(t, srv)
		pgtest.Exec(t, srv.DSN("postgres", "postgres"), "create role killer login in role pg_monitor, pg_signal_backend",
			"create role peer login in role pg_monitor, app", "create role sig login in role pg_signal_backend")
		app := client(t, srv.DSN("app", "postgres"), "app", "begin")
		super := client(t, srv.DSN("postgres", "postgres"), "super", "begin")
		for _, tt := range []struct {
			user   string
			target *pgx.Conn
			want   Outcome
			grant  string
		}{
			{"monitor", app, NotPermitted, "pg_signal_backend"},
			{"killer", super, NotPermitted, "superuser"},
			{"peer", super, NotPermitted, "superuser"},
			{"peer", app, Sent, ""},
		} {
			s := open(t, Options{DSN: srv.DSN(tt.user, "postgres")})
			x := session(t, s, int(tt.target.PgConn().PID()))
			if r, err := s.Terminate(t.Context(), aim(x)); err != nil || r.Outcome != tt.want || r.Grant != tt.grant {
				t.Errorf("%s: got %+v, %v, want %s %s", tt.user, r, err, tt.want, tt.grant)
			}
		}
		other := client(t, srv.DSN("killer", "postgres"), "other", "begin")
		for _, tt := range []struct {
			user   string
			target *pgx.Conn
			grant  string
		}{
			{"sig", super, "superuser"},
			{"sig", other, "pg_read_all_stats"},
			{"app", super, "superuser"},
			{"app", other, "pg_read_all_stats, pg_signal_backend"},
		} {
			s := open(t, Options{DSN: srv.DSN(tt.user, "postgres")})
			for _, start := range []time.Time{{}, time.Now()} {
				r, err := s.Terminate(t.Context(), Target{PID: int(tt.target.PgConn().PID()), BackendStart: start})
				if err != nil || r.Outcome != NotPermitted || r.Grant != tt.grant || (r.Why == "it is a superuser's session, which only a superuser may end") != (tt.grant == "superuser") {
					t.Errorf("%s, hidden: got %+v, %v, want %s", tt.user, r, err, tt.grant)
				}
			}
		}
	})
}

// TestEndingNeverActsOnAnother: many terminates with a changed backend_start;
// PGSONDE_ENDINGS says how many.
func TestEndingNeverActsOnAnother(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("PGSONDE_ENDINGS"))
	if n == 0 {
		n = 200
	}
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
	c := client(t, srv.DSN("postgres", "postgres"), "victim", "begin")
	x := session(t, s, int(c.PgConn().PID()))
	for i := range n {
		g := aim(x)
		g.QueryStart = time.Time{}
		g.BackendStart = g.BackendStart.Add(time.Duration(1+i/2) * time.Microsecond * time.Duration(1-2*(i%2)))
		if r, err := s.Terminate(t.Context(), g); err != nil || r.Outcome != Changed {
			t.Fatalf("%d: got %+v, %v", i, r, err)
		}
	}
	if _, err := c.Exec(t.Context(), "select 1"); err != nil {
		t.Fatalf("the session is gone: %v", err)
	}
}

// TestLocksUnderCatalogLocks: what the names need may be locked; the edges come
// all the same.
func TestLocksUnderCatalogLocks(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		s := open(t, Options{DSN: srv.DSN("postgres", "postgres"), Timeout: time.Second})
		tick(t, s, Want{Locks: true})
		jam(t, srv, 1)
		locks(t, s) // the statements are prepared
		for _, catalog := range []string{"pg_class", "pg_authid", "pg_database", "pg_proc", "pg_namespace"} {
			c := pgtest.Connect(t, srv.DSN("postgres", "postgres"))
			if _, err := c.Exec(t.Context(), "begin; lock table "+catalog+" in access exclusive mode"); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			l := locks(t, s)
			if l == nil || len(l.Waits) == 0 {
				t.Errorf("%s: got %+v", catalog, l)
			}
			if d := time.Since(begin); d > 3*time.Second {
				t.Errorf("%s: the reading took %v", catalog, d)
			}
			if _, err := c.Exec(t.Context(), "rollback"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestLocksLongQueue: one reading of the table stands for hundreds of answers.
func TestLocksLongQueue(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{Settings: map[string]string{"max_connections": "220", "deadlock_timeout": "600s"}})
	s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
	root, _ := jam(t, srv, longQueue+10)
	locks(t, s)
	l := locks(t, s)
	if l.Reading != ReadGraph || l.Waiting != longQueue+10 || len(l.Waits) > mostDoubtful || len(l.Procs) != longQueue+11 {
		t.Errorf("got reading %s, %d waiting, %d answers, %d processes", l.Reading, l.Waiting, len(l.Waits), len(l.Procs))
	}
	if !slices.ContainsFunc(l.Rows, func(r LockRow) bool { return r.PID == int(root.PgConn().PID()) && r.Granted }) {
		t.Errorf("no entry of the root in %d rows", len(l.Rows))
	}
}

// TestLocksInAStorm: sessions queue for the lock manager's own latches, so the
// reader leaves it alone and says so.
func TestLocksInAStorm(t *testing.T) {
	header := func(n string) [][]byte {
		row := make([][]byte, 22)
		row[0], row[1], row[12] = []byte("0"), []byte(n), []byte(n)
		return row
	}
	for _, dear := range []time.Duration{0, time.Second} {
		r := lockReader{own: func() []int { return nil }, took: dear}
		r.run = func(context.Context, time.Duration, string, ...any) (*Rows, error) {
			return &Rows{cells: [][][]byte{header("12")}}, nil
		}
		l, err := r.read(t.Context(), LockAsk{At: time.Unix(1000, 0), Waiting: 5})
		if l != nil || err == nil || err.Error() != "12 sessions queue for the lock manager itself: it is left alone" {
			t.Errorf("got %+v, %v", l, err)
		}
	}
}
