package budget_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// bench is a real server on which one situation after the other is played.
type bench struct {
	t   *testing.T
	srv *pgserver.Server
	end []func()
}

func newBench(t *testing.T, in pgserver.Install, settings map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, srv: pgtest.Start(t, in, pgserver.Options{TCP: true, Settings: settings})}
	b.sql(fmt.Sprintf("create role app login password '%s'", b.srv.Password()), "create role monitor login", "grant pg_monitor to monitor",
		"create database app owner app")
	t.Cleanup(b.clear)
	return b
}

func (b *bench) sql(sql ...string) {
	b.t.Helper()
	pgtest.Exec(b.t, b.srv.DSN("postgres", "postgres"), sql...)
}

// clear ends what a situation opened.
func (b *bench) clear() {
	for _, f := range slices.Backward(b.end) {
		f()
	}
	b.end = nil
}

// open opens n sessions from an address; sql runs in each and is not waited for.
func (b *bench) open(n int, user, app string, pod int, sql string) {
	b.t.Helper()
	for range n {
		o := pgserver.ConnOptions{User: user, Database: "app", AppName: app, TCP: user == "app", LocalAddr: fmt.Sprintf("127.0.1.%d", pod)}
		c := admitted(b.t, func() (*pgserver.Conn, error) { return b.srv.Open(b.t.Context(), o) })
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if sql != "" {
				_ = c.Exec(ctx, sql) // it may run until the situation ends
			}
		}()
		b.end = append(b.end, func() { cancel(); <-done; c.Close() })
	}
}

// admitted connects, again while the server has no slot: those of the situation
// before are free when their backends have ended, not when they were closed.
func admitted[C any](t *testing.T, connect func() (C, error)) C {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := connect()
		if err == nil {
			return c
		}
		if pe := (*pgconn.PgError)(nil); !errors.As(err, &pe) || pe.Code != "53300" || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// look reads the server anew and judges it; limits are read with it.
func (b *bench) look(user string, f *budget.File) *budget.Usage {
	b.t.Helper()
	s, err := probes.Open(b.t.Context(), probes.Options{DSN: b.srv.DSN(user, "postgres")})
	if err != nil {
		b.t.Fatal(err)
	}
	defer s.Close()
	snap, err := s.Tick(b.t.Context(), probes.Want{})
	if err != nil {
		b.t.Fatal(err)
	}
	return budget.Use(f, snap)
}

// until looks until the rule speaks, or is silent, as it should.
func (b *bench) until(user, file, rule string, fires bool) {
	b.t.Helper()
	f, err := budget.Parse("bench.yaml", []byte(file))
	if err != nil {
		b.t.Fatal(err)
	}
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		u := b.look(user, f)
		i := slices.IndexFunc(u.Findings, func(x probes.Finding) bool { return x.Rule == rule })
		if (i >= 0) == fires {
			spoken.Note(rule, fires)
			if i >= 0 {
				b.t.Log(u.Findings[i].Message)
			}
			return
		}
		if time.Now().After(end) {
			b.t.Errorf("%s fires: %v, want %v; findings %+v", rule, i >= 0, fires, u.Findings)
			return
		}
	}
}

// situation makes a rule speak on a real server; calm is where it must not.
type situation struct {
	rule, file string
	play       func(b *bench)
	calmFile   string // "" is file
	calm       func(b *bench)
}

const benchHead = "match: \"w:{role}\"\nkeep_free: 3\n"

func situations() []situation {
	one := benchHead + "roles: { a: { pool: 4 } }\n"
	timed := one + "settings: { default: { statement_timeout: 1s, idle_in_transaction: 1s } }\n"
	roles := func(s string) string { return benchHead + "roles: { " + s + " }\n" }
	pooled := func(pooler, role string) string {
		return benchHead + "poolers: { p: { " + pooler + ", pools: { app@app: {} } } }\nroles: { " + role + " }\n"
	}
	sqls := func(sql ...string) func(*bench) {
		return func(b *bench) { b.sql(sql...) }
	}
	with := func(n int, user, app string, pod int, sql string, more ...func(*bench)) func(*bench) {
		return func(b *bench) {
			b.open(n, user, app, pod, sql)
			for _, f := range more {
				f(b)
			}
		}
	}
	busy := 2*runtime.NumCPU() + 1
	return []situation{
		{"slots-low", one, with(33, "app", "w:a", 1, ""), "", with(10, "app", "w:a", 1, "")},
		{"slots-full", roles("a: { pool: 40 }"), with(37, "app", "w:a", 1, ""), "", with(30, "app", "w:a", 1, "")},
		{"steady-over-usable", roles("a: { pool: 38 }"), nil, roles("a: { pool: 34 }"), nil},
		{"peak-over-usable", roles("a: { pool: 30 }, j: { pool: 10, runs: job }"), nil, roles("a: { pool: 30 }, j: { pool: 4, runs: job }"), nil},
		{"peak-low", roles("a: { pool: 36 }"), nil, roles("a: { pool: 34 }"), nil},
		{"role-limit-low", one, with(1, "app", "w:a", 1, "", sqls("alter role app connection limit 3")), "", with(1, "app", "w:a", 1, "", sqls("alter role app connection limit -1"))},
		{"role-limit-low", pooled("default_pool_size: 4", "w: { pool: 1, via: p }"), sqls("alter role app connection limit 3"), "", sqls("alter role app connection limit -1")},
		{"database-limit-low", pooled("default_pool_size: 4", "w: { pool: 1, via: p }"), sqls("alter database app connection limit 3"), "", sqls("alter database app connection limit -1")},
		{"database-limit-low", one, with(1, "app", "w:a", 1, "", sqls("alter database app connection limit 3")), "", with(1, "app", "w:a", 1, "", sqls("alter database app connection limit -1"))},
		{"role-over-cap", one, with(5, "app", "w:a", 1, ""), "", with(4, "app", "w:a", 1, "")},
		{"overflow-in-use", roles("a: { pool_size: 2, max_overflow: 2, kind: sqlalchemy }"), with(3, "app", "w:a", 1, ""), "", with(2, "app", "w:a", 1, "")},
		{"unmatched-sessions", one, with(5, "app", "odd", 1, ""), "", with(2, "app", "odd", 1, "")},
		{"role-undeclared", one, with(1, "app", "w:b", 1, ""), "", with(1, "app", "w:a", 1, "")},
		{"role-off-seen", roles("a: { pool: 4, runs: off }"), with(1, "app", "w:a", 1, ""), "", nil},
		{"role-absent", one, nil, "", with(1, "app", "w:a", 1, "")},
		{"pods-not-replicas", roles("a: { pool: 4, replicas: 2 }"), with(1, "app", "w:a", 1, ""), "", with(1, "app", "w:a", 1, "", with(1, "app", "w:a", 2, ""))},
		{"pod-full", one, with(4, "app", "w:a", 1, "begin; select 1"), "", with(3, "app", "w:a", 1, "begin; select 1")},
		{"statement-over-contract", timed, with(1, "app", "w:a", 1, "select pg_sleep(60)"), "", with(1, "app", "w:a", 1, "begin; select 1")},
		{"idle-in-transaction-over-contract", timed, with(1, "app", "w:a", 1, "begin; select 1"), "", with(1, "app", "w:a", 1, "select pg_sleep(60)")},
		{"idle-session-timeout-below-pool", roles("a: { kind: sqlalchemy }"), with(1, "app", "w:a", 1, "", sqls("alter role app set idle_session_timeout = '60s'")), "", with(1, "app", "w:a", 1, "", sqls("alter role app reset idle_session_timeout"))},
		{"app-is-superuser", one, with(1, "postgres", "w:a", 1, ""), "", with(1, "app", "w:a", 1, "")},
		{"pooler-clients-over", pooled("max_client_conn: 9", "w: { pool: 10, via: p }"), nil, pooled("max_client_conn: 10", "w: { pool: 10, via: p }"), nil},
		{"pooler-server-over", pooled("default_pool_size: 38", "w: { pool: 10, via: p }"), nil, pooled("default_pool_size: 37", "w: { pool: 10, via: p }"), nil},
		{"session-pool-short", pooled("mode: session, default_pool_size: 4", "w: { pool: 5, via: p }"), nil, pooled("mode: session, default_pool_size: 5", "w: { pool: 5, via: p }"), nil},
		{"pooler-bypassed", pooled("match: { addr: 127.0.1.9 }", "w: { pool: 5, via: p }"), with(2, "app", "w:w", 1, ""), "", with(2, "app", "w:w", 9, "")},
		{"needs-session-state", pooled("mode: transaction", "w: { pool: 1, via: p, extra: { listen: 1 } }"), nil, pooled("mode: session", "w: { pool: 1, via: p, extra: { listen: 1 } }"), nil},
		{"group-of-one", roles("a: { pool: 4, runs: job, group: hook }, b: { pool: 1, runs: job, group: hok }"), nil, roles("a: { pool: 4, runs: job, group: hook }, b: { pool: 1, runs: job, group: hook }"), nil},
		{"contract-order", one + "settings: { a: { statement_timeout: 30s, query_timeout: 20s } }\n", nil, one + "settings: { a: { statement_timeout: 20s, query_timeout: 30s } }\n", nil},
		{"lock-wait-over-contract", one + "settings: { a: { lock_timeout: 1s } }\n", with(1, "app", "w:a", 1, "begin; select pg_advisory_xact_lock(7)", with(1, "app", "w:a", 1, "select pg_advisory_lock(7)")), one + "settings: { a: { lock_timeout: 1h } }\n", nil},
		{"transaction-over-contract", one + "settings: { a: { transaction_timeout: 1s } }\n", with(1, "app", "w:a", 1, "begin; select 1"), "", with(1, "app", "w:a", 1, "select 1")},
		{"deadline-passed", one + "settings: { a: { deadline: 1s } }\n", with(1, "app", "w:a", 1, "begin; select 1"), "", with(1, "app", "w:a", 1, "select 1")},
		{"role-never-matches", roles("a: { pool: 4, match: \"w:*\" }, b: { pool: 1 }"), nil, roles("b: { pool: 1, match: \"w:b\" }, a: { pool: 4, match: \"w:*\" }"), nil},
		{"running-over-cpus", roles("a: { pool: 20 }"), with(busy, "app", "w:a", 1, "select pg_sleep(60)"), "", with(1, "app", "w:a", 1, "select pg_sleep(60)")},
		{"names-hidden", roles("a: { pool: 2 }, c: { pool: 2 }"), with(4, "app", "shared", 1, ""), "", with(3, "app", "shared", 1, "")},
		{"names-hidden", roles("a: { pool: 2 }, c: { pool: 2 }"), with(4, "app", "shared", 1, ""), "", with(2, "app", "w:a", 1, "", with(2, "app", "w:c", 1, ""))},
		{"file-differs", "server: { max_connections: 41 }\n" + one, nil, "server: { max_connections: 40 }\n" + one, nil},
		{"no-free-walsender", one, func(b *bench) { b.walsenders(2) }, "", func(b *bench) { b.walsenders(1) }},
	}
}

func (b *bench) walsenders(n int) {
	b.t.Helper()
	for range n {
		c := admitted(b.t, func() (*pgconn.PgConn, error) {
			return pgconn.Connect(b.t.Context(), b.srv.DSN("postgres", "postgres")+" replication=database")
		})
		b.end = append(b.end, func() { _ = c.Close(context.Background()) })
	}
}

// TestLiveSituations makes each rule speak on a real server, and be silent
// beside it.
func TestLiveSituations(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgtest.Any(t), map[string]string{"max_connections": "40", "max_wal_senders": "2", "wal_level": "replica"})
	for _, s := range situations() {
		t.Run(s.rule, func(t *testing.T) {
			outer := b.t
			b.t = t
			defer func() { b.clear(); b.t = outer }()
			if s.play != nil {
				s.play(b)
			}
			b.until("postgres", s.file, s.rule, true)
			b.clear()
			if s.calm != nil {
				s.calm(b)
			}
			calm := s.calmFile
			if calm == "" {
				calm = s.file
			}
			b.until("postgres", calm, s.rule, false)
		})
	}
}

// TestLiveReserve: slots kept for operators, and walsenders switched off.
func TestLiveReserve(t *testing.T) {
	t.Parallel()
	in := pgtest.Any(t)
	bare := map[string]string{"max_connections": "20", "superuser_reserved_connections": "0", "max_wal_senders": "0", "wal_level": "minimal"}
	b := newBench(t, in, bare)
	b.until("postgres", benchHead, "no-operator-reserve", true)
	b.until("postgres", benchHead, "no-free-walsender", false)
	set := map[string]string{"max_connections": "20", "superuser_reserved_connections": "3"}
	if in.Major >= 16 {
		set["reserved_connections"] = "2"
	}
	b = newBench(t, in, set)
	b.until("postgres", benchHead, "no-operator-reserve", false)
	if in.Major < 16 {
		spoken.Cannot(t, "app-takes-reserve", "there is no reserved_connections before 16")
	}
	file := benchHead + "roles: { a: { pool: 4 } }\n"
	b.open(1, "app", "w:a", 1, "")
	b.until("postgres", file, "app-takes-reserve", false)
	b.sql("grant pg_use_reserved_connections to app")
	b.until("postgres", file, "app-takes-reserve", true)
}

// TestLiveHidden: clients that say hello and never log in take slots that no
// view shows before 18.
func TestLiveHidden(t *testing.T) {
	t.Parallel()
	in, err := pgserver.Find(t.Context(), 17, 16, 15, 14)
	if err != nil {
		spoken.Cannot(t, "slots-hidden", err.Error())
	}
	b := newBench(t, in, map[string]string{"max_connections": "12"})
	port := portOf(t, b.srv.DSN("postgres", "postgres"))
	file := benchHead + "roles: { a: { pool: 1 } }\n"
	b.until("monitor", file, "slots-hidden", false)
	for range 8 { // usable are 9: one for pgsonde, none for its second connection
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		fe := pgproto3.NewFrontend(c, c)
		fe.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{"user": "app", "database": "app"}})
		if err := fe.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, err := fe.Receive(); err != nil { // it asks for the password, and waits
			t.Fatal(err)
		}
	}
	b.until("monitor", file, "slots-hidden", true)
}

func portOf(t *testing.T, dsn string) string {
	t.Helper()
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(cfg.Port)
}

// TestLiveChurn: some short sessions a second are seen after a few readings, as
// many that stay, as a deploy opens them, are not; then calm.
func TestLiveChurn(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes most of a minute")
	}
	t.Parallel()
	b := newBench(t, pgtest.Any(t), nil)
	f, err := budget.Parse("bench.yaml", []byte(benchHead+"roles: { a: { pool: 90 } }\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := probes.Open(t.Context(), probes.Options{DSN: b.srv.DSN("postgres", "postgres")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	// look opens so many sessions a tick for as long as five readings take, or until
	// the rule speaks, or is silent, as wanted.
	look := func(perTick int, app string, stay bool, want func(fires bool) bool) (fires bool) {
		t.Helper()
		begin := time.Now()
		for time.Since(begin) < 25*time.Second {
			for range perTick {
				c, err := b.srv.Open(t.Context(), pgserver.ConnOptions{User: "app", Database: "app", AppName: app})
				if err != nil {
					t.Fatal(err)
				}
				if stay {
					t.Cleanup(c.Close)
				} else {
					c.Close()
				}
			}
			snap, err := s.Tick(t.Context(), probes.Want{})
			if err != nil {
				t.Fatal(err)
			}
			found := budget.Use(f, snap).Findings
			k := slices.IndexFunc(found, func(x probes.Finding) bool { return x.Rule == "connection-churn" })
			fires = k >= 0
			if len(snap.Opened) > 2 && want(fires) {
				if fires {
					t.Logf("after %v: %s", time.Since(begin).Round(time.Second), found[k].Message)
				}
				return fires
			}
			if stay && time.Since(begin) > 12*time.Second {
				perTick = 0
			}
			time.Sleep(500 * time.Millisecond)
		}
		return fires
	}
	if look(3, "w:a", true, func(fires bool) bool { return fires }) {
		t.Error("sessions that stay are taken for churn")
	}
	if !look(3, "w:b", false, func(fires bool) bool { return fires }) {
		t.Fatal("six sessions a second that do not stay are not found")
	}
	spoken.Note("connection-churn", true)
	if look(0, "", false, func(fires bool) bool { return !fires }) {
		t.Fatal("churn that is over is found still")
	}
	spoken.Note("connection-churn", false)
}

// TestLiveGhosts: a connection older than its pool lets any live. The rule allows
// a minute more, so this takes as long.
func TestLiveGhosts(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes more than a minute")
	}
	t.Parallel()
	b := newBench(t, pgtest.Any(t), nil)
	file := benchHead + "roles: { a: { pool: 4 } }\nsettings: { a: { pool_lifetime: 1s } }\n"
	b.open(1, "app", "w:a", 1, "")
	b.until("postgres", file, "ghost-backends", false)
	time.Sleep(63 * time.Second)
	b.until("postgres", file, "ghost-backends", true)
	b.until("postgres", strings.Replace(file, "1s", "10m", 1), "ghost-backends", false)
}
