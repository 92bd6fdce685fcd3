package probes

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// open opens a Sampler that closes with the test.
func open(t testing.TB, o Options) *Sampler {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func tick(t testing.TB, s *Sampler, w Want) *Snapshot {
	t.Helper()
	snap, err := s.Tick(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// client holds a session of an application open, in a state.
func client(t testing.TB, dsn, app string, sql ...string) *pgx.Conn {
	t.Helper()
	c := pgtest.Connect(t, dsn+" application_name='"+app+"'")
	for _, q := range sql {
		if _, err := c.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// busy runs sql in the background; it ends with the test.
func busy(t testing.TB, c *pgx.Conn, sql string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Exec(ctx, sql)
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// eventually tries f every 20 ms until it is true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("never came: %s", what)
}

// logins makes a login with pg_monitor and one without any grant.
func logins(t testing.TB, srv *pgserver.Server) {
	t.Helper()
	pgtest.Exec(t, srv.DSN("postgres", "postgres"),
		"create role app login", "create role other login", "create role monitor login in role pg_monitor", "create role nobody login",
		"create database shop")
}

// direct counts backends with a query of its own, leaving out the given pids.
func direct(t testing.TB, c *pgx.Conn, own []int) map[string]int {
	t.Helper()
	rows, err := c.Query(t.Context(), `select coalesce(backend_type, case when datname is not null and usename is not null then 'masked' else 'masked-system' end),
		coalesce(datname,''), coalesce(usename,''), coalesce(application_name,''), coalesce(state,''), count(*)
		from pg_stat_activity where pid <> all($1) group by 1,2,3,4,5`, own)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for rows.Next() {
		var kind, db, user, app, state string
		var n int
		if err := rows.Scan(&kind, &db, &user, &app, &state, &n); err != nil {
			t.Fatal(err)
		}
		counts[key(kind, db, user, app, state)] += n
	}
	return counts
}

func key(kind, db, user, app, state string) string {
	return strings.Join([]string{kind, db, user, app, state}, "|")
}

func groupCounts(snap *Snapshot, skip map[string]bool) map[string]int {
	counts := map[string]int{}
	for _, g := range snap.Groups {
		if !skip[g.App] {
			counts[key(g.Kind, g.Database, g.User, g.App, g.State)] += g.N
		}
	}
	return counts
}

// dropVolatile removes what comes and goes by itself.
func dropVolatile(m map[string]int) {
	maps.DeleteFunc(m, func(k string, _ int) bool {
		return strings.HasPrefix(k, "autovacuum worker|") || strings.Contains(k, "|observer|") || strings.HasPrefix(k, KindMaskedSystem)
	})
}

func TestCountsAgree(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		logins(t, srv)
		app := srv.DSN("app", "shop")
		for i := range 3 {
			client(t, app, "werft:api", "begin")
			client(t, app, fmt.Sprintf("werft:%d", i), "select 1")
		}
		client(t, srv.DSN("other", "postgres"), "", "begin", "select 1")
		busy(t, client(t, app, "sleeper"), "select pg_sleep(100)")
		client(t, app, "broken", "begin").Exec(t.Context(), "select 1/0")

		for _, login := range []string{"postgres", "monitor", "nobody"} {
			t.Run(login, func(t *testing.T) {
				s := open(t, Options{DSN: srv.DSN(login, "postgres")})
				observer := client(t, srv.DSN(login, "postgres"), "observer")
				var snap *Snapshot
				eventually(t, "the same counts", func() bool {
					snap = tick(t, s, Want{Sessions: true, AllKinds: true})
					want := direct(t, observer, snap.Server.OwnPIDs)
					got := groupCounts(snap, nil)
					dropVolatile(want)
					dropVolatile(got)
					return cmp.Equal(want, got)
				})
				if masked := login == "nobody"; snap.Server.Masked != masked {
					t.Errorf("got masked %v, want %v", snap.Server.Masked, masked)
				}
				checkAgrees(t, snap)
				checkStates(t, snap, login == "nobody")
				if len(snap.Server.OwnPIDs) != 2 || snap.Cost.Connections != 2 {
					t.Errorf("got own pids %v and %d connections, want two", snap.Server.OwnPIDs, snap.Cost.Connections)
				}
			})
		}
	})
}

// checkAgrees holds groups and sessions of one snapshot against each other.
func checkAgrees(t *testing.T, snap *Snapshot) {
	t.Helper()
	bySession := map[string]int{}
	for _, x := range snap.Sessions {
		bySession[key(x.Kind, x.Database, x.User, x.App, x.State)]++
	}
	if d := cmp.Diff(groupCounts(snap, nil), bySession); d != "" {
		t.Errorf("groups and sessions of one tick differ (-groups +sessions):\n%s", d)
	}
	if snap.SessionsTotal != len(snap.Sessions) {
		t.Errorf("got a total of %d, want %d", snap.SessionsTotal, len(snap.Sessions))
	}
}

// checkStates looks at the ages: real ones, or unknown when masked, never zero.
func checkStates(t *testing.T, snap *Snapshot, masked bool) {
	t.Helper()
	found := 0
	for _, g := range snap.Groups {
		if g.App != "werft:api" && g.App != "sleeper" {
			continue
		}
		found++
		switch {
		case masked && (g.Kind != KindMasked || g.MaxTxS != -1 || g.MaxInStateS != -1 || !g.OldestStart.IsZero() || g.State != "" || g.Addr != ""):
			t.Errorf("got %+v, want all but the name and count unknown", g)
		case !masked && (g.Kind != KindClient || g.MaxTxS <= 0 || g.MaxInStateS <= 0 || g.OldestStart.IsZero() || g.Addr != "local"):
			t.Errorf("got %+v, want a client backend with its ages", g)
		case !masked && g.App == "sleeper" && (g.Act != "other" || g.MaxQueryS <= 0):
			t.Errorf("got act %q and query age %v, want other and more than 0", g.Act, g.MaxQueryS)
		}
	}
	if found != 2 {
		t.Errorf("got %d of the two groups", found)
	}
}

// Close at any moment of a tick leaves nothing on the server.
func TestCloseWhileTicking(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	c := client(t, srv.DSN("postgres", "postgres"), "observer")
	for i := range 30 {
		s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for s.life.Err() == nil {
				_, _ = s.Tick(context.Background(), Want{Sessions: true, Locks: true})
			}
		}()
		time.Sleep(time.Duration(i) * 300 * time.Microsecond)
		s.Close()
		<-done
		if _, err := s.Tick(t.Context(), Want{}); err == nil {
			t.Fatal("a closed sampler answers")
		}
	}
	eventually(t, "no connection left", func() bool {
		var n int
		err := c.QueryRow(t.Context(), "select count(*) from pg_stat_get_activity(null) where application_name = 'pgsonde'").Scan(&n)
		return err == nil && n == 0
	})
}
