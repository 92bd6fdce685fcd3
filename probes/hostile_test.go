package probes

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// A role's own settings, and objects in its search path that wear the names of
// the catalog's, change nothing of what is read.
func TestHostileSettings(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		pgtest.Exec(t, srv.DSN("postgres", "postgres"),
			"create role victim login in role pg_monitor", "create schema trap", "grant usage on schema trap to public",
			"create view trap.pg_roles as select 'trapped'::name as rolname, 1::oid as oid",
			"create function trap.clock_timestamp() returns timestamptz language sql as $$ select '1999-01-01'::timestamptz $$",
			"create function trap.trapped(int, int) returns bool language plpgsql as $$ begin raise 'trapped'; end $$",
			"create operator trap.= (leftarg = int, rightarg = int, function = trap.trapped)",
			"create operator trap.> (leftarg = int, rightarg = int, function = trap.trapped)",
			"alter role victim set search_path = trap, public, pg_catalog",
			"alter role victim set datestyle = 'SQL, DMY'", "alter role victim set timezone = 'Asia/Kathmandu'",
			"alter role victim set bytea_output = 'escape'", "alter role victim set extra_float_digits = -15",
			"alter role victim set statement_timeout = '20ms'", "alter role victim set default_transaction_isolation = 'serializable'",
			"alter role victim set default_transaction_read_only = on", "alter role victim set client_encoding = 'LATIN1'",
			"alter role victim set standard_conforming_strings = off", "alter role victim set intervalstyle = 'iso_8601'",
			"alter role victim set idle_in_transaction_session_timeout = '7min'", "alter role victim set idle_session_timeout = '300ms'")
		client(t, srv.DSN("postgres", "postgres"), "app", "begin", "select 'a\x01é'")
		s := open(t, Options{DSN: srv.DSN("victim", "postgres")})
		for range 5 {
			snap := tick(t, s, Want{Sessions: true})
			if len(snap.Sessions) != 1 || snap.Sessions[0].Query != "select 'a\x01é'" || snap.Sessions[0].User != "postgres" {
				t.Fatalf("got %+v, want the one session as it is", snap.Sessions)
			}
			if d := time.Since(snap.At); d < 0 || d > time.Minute {
				t.Errorf("got a reading of %v ago", d)
			}
			if age := snap.At.Sub(snap.Sessions[0].BackendStart); age < 0 || age > time.Minute {
				t.Errorf("got a session of %v", age)
			}
		}
		time.Sleep(400 * time.Millisecond)
		if snap := tick(t, s, Want{}); len(snap.Notes) > 0 || snap.Cost.Connections != 2 {
			t.Errorf("got %v: an idle session was ended", snap.Notes)
		}
		server, limits := s.Facts()
		if !server.ReadOnly || server.Masked {
			t.Errorf("got %+v, want read-only by default and not masked", server)
		}
		// Unknown when the first statement did not make it in 20 ms.
		timeout, known := limits.Settings["statement_timeout"]
		if known && (timeout != "20ms" || limits.Settings["idle_in_transaction_session_timeout"] != "7min") {
			t.Errorf("got %v, want the login's own timeouts and not pgsonde's", limits.Settings)
		}
		want := RoleSetting{Role: "victim", Name: "statement_timeout", Value: "20ms"}
		if got := limits.Settings["idle_session_timeout"]; got != "300ms" {
			t.Errorf("got idle_session_timeout %q, want the login's own", got)
		}
		found := false
		for _, rs := range limits.RoleSettings {
			found = found || rs == want
		}
		if !found {
			t.Errorf("got %+v, want %+v among them", limits.RoleSettings, want)
		}
	})
}

// A role whose statement_timeout ends every statement it starts.
func TestStatementTimeoutOfOneMillisecond(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	pgtest.Exec(t, srv.DSN("postgres", "postgres"), "create role hasty login", "alter role hasty set statement_timeout = 1")
	for range 10 {
		s := open(t, Options{DSN: srv.DSN("hasty", "postgres")})
		tick(t, s, Want{Sessions: true})
		s.Close()
	}
}

// Names of roles and databases that are made, renamed and dropped while their
// sessions go on.
func TestNamesThatChange(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
		tick(t, s, Want{})
		pgtest.Exec(t, srv.DSN("postgres", "postgres"), `create role "a b" login connection limit 5`, `create database "d""ö"`)
		client(t, srv.DSN("a b", `d"ö`), "newcomer")
		of := func() Group {
			for _, g := range tick(t, s, Want{}).Groups {
				if g.App == "newcomer" {
					return g
				}
			}
			return Group{}
		}
		eventually(t, "the newcomer's names", func() bool { g := of(); return g.User == "a b" && g.Database == `d"ö` })
		pgtest.Exec(t, srv.DSN("postgres", "postgres"), `alter role "a b" rename to leaving`, "drop role leaving")
		s.mu.Lock()
		s.slow.next = time.Time{}
		s.mu.Unlock()
		eventually(t, "the dropped role", func() bool {
			g := of()
			return strings.HasPrefix(g.User, "oid ") && strings.HasSuffix(g.User, " (dropped)") && g.Database == `d"ö`
		})
	})
}

// The rows of a tick keep to what was wanted.
func TestWant(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	for i := range 4 {
		client(t, srv.DSN("postgres", "postgres"), "app"+strconv.Itoa(i))
	}
	s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
	if snap := tick(t, s, Want{}); snap.Sessions != nil || len(snap.Groups) < 4 {
		t.Errorf("got %d sessions and %d groups, want groups only", len(snap.Sessions), len(snap.Groups))
	}
	snap := tick(t, s, Want{Sessions: true, Limit: 2})
	var apps []string
	for _, x := range snap.Sessions {
		apps = append(apps, x.App)
	}
	if d := cmp.Diff([]string{"app0", "app1"}, apps); d != "" || snap.SessionsTotal != 4 {
		t.Errorf("got the total %d and not the two oldest (-want +got):\n%s", snap.SessionsTotal, d)
	}
	all := tick(t, s, Want{Sessions: true, AllKinds: true})
	kinds := map[string]bool{}
	for _, x := range all.Sessions {
		kinds[x.Kind] = true
	}
	if !kinds["checkpointer"] || !kinds[KindClient] {
		t.Errorf("got kinds %v, want the server's own processes too", kinds)
	}
	if one := tick(t, s, Want{FullPID: snap.Sessions[1].PID}); len(one.Sessions) != 1 || one.Sessions[0].App != "app1" {
		t.Errorf("got %+v, want the one backend asked for", one.Sessions)
	}
}

// A catalog that somebody has locked makes names late, not ticks.
func TestLocksNeverDelayATick(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
	holder := client(t, srv.DSN("postgres", "postgres"), "holder", "begin", "lock pg_catalog.pg_database in access exclusive mode")
	s.mu.Lock()
	s.slow.next = time.Time{}
	s.mu.Unlock()
	for range 5 {
		begin := time.Now()
		tick(t, s, Want{Sessions: true})
		if d := time.Since(begin); d > time.Second {
			t.Errorf("a tick took %v while the names were locked", d)
		}
	}
	if _, err := holder.Exec(t.Context(), "rollback"); err != nil {
		t.Fatal(err)
	}
}
