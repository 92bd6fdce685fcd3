//go:build unix

package bouncer

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer/bouncertest"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

func TestOnlyShowIsSent(t *testing.T) {
	for _, c := range commands() {
		if !regexp.MustCompile(`^SHOW [A-Z]+$`).MatchString(c.sql) || c.sql == "SHOW FDS" {
			t.Errorf("%q must not be sent", c.sql)
		}
	}
}

func TestOpenSaysWhy(t *testing.T) {
	bouncertest.Need(t)
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	server := srv.DSN("postgres", "postgres")
	p := bouncertest.Start(t, server, bouncertest.Options{})
	folder := srv.Dir()
	tests := []struct {
		name, dsn string
		kind      string
		msg, hint string
	}{
		{"not in stats_users", p.DSN("postgres", "pgbouncer"), probes.KindAuth, "not allowed", "stats_users"},
		{"unknown user", p.DSN("nosuch", "pgbouncer"), probes.KindAuth, "nosuch", "stats_users"},
		{"a pooled database", p.DSN("postgres", "postgres"), probes.KindUnsupported, "not PgBouncer's console", "database pgbouncer"},
		{"no such database", p.DSN("stats", "nosuch"), probes.KindUnsupported, "nosuch", "database pgbouncer"},
		{"PostgreSQL", server, probes.KindUnsupported, "not PgBouncer's console", "6432"},
		{"PostgreSQL without such a database", srv.DSN("postgres", "pgbouncer"), probes.KindUnsupported, "does not exist", "6432"},
		{"nobody there", "host=" + folder + " port=1 user=stats", probes.KindUnreachable, "no such file", "listen_port"},
		{"no port", "host=127.0.0.1 port=1 user=stats", probes.KindUnreachable, "refused", "listen_port"},
		{"no DSN", "nonsense password=geheim", probes.KindConfig, "cannot parse", "host="},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked := false
			_, err := Open(t.Context(), Options{DSN: tt.dsn, Password: func(string) (string, error) { asked = true; return "", nil }})
			if asked && tt.name != "unknown user" {
				t.Error("got a question for a password that cures nothing")
			}
			var ce *probes.ConnectError
			if !errors.As(err, &ce) {
				t.Fatalf("got %v, want a ConnectError", err)
			}
			if ce.Kind != tt.kind || !strings.Contains(ce.Hint, tt.hint) || !strings.Contains(ce.Error(), tt.msg) {
				t.Errorf("got kind %q, hint %q, error %q, want %q, %q, %q", ce.Kind, ce.Hint, ce, tt.kind, tt.hint, tt.msg)
			}
			if strings.Contains(ce.Error(), "\n") || strings.Contains(ce.Error(), "geheim") {
				t.Errorf("got %q, want one line without a password", ce)
			}
		})
	}
}

func TestPassword(t *testing.T) {
	bouncertest.Need(t)
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	p := bouncertest.Start(t, srv.DSN("postgres", "postgres"), bouncertest.Options{
		Users: map[string]string{"stats": "geheim"}, Settings: map[string]string{"auth_type": "scram-sha-256"},
	})
	for _, tt := range []struct {
		answer string
		ok     bool
	}{{"geheim", true}, {"falsch", false}, {"", false}} {
		asked := 0
		c, err := Open(t.Context(), Options{DSN: p.Console(), Password: func(prompt string) (string, error) {
			asked++
			if !strings.Contains(prompt, "stats") {
				t.Errorf("got prompt %q, want the user in it", prompt)
			}
			return tt.answer, nil
		}})
		if (err == nil) != tt.ok || asked != 1 {
			t.Errorf("%q: got %v after %d questions, want success %v after one", tt.answer, err, asked, tt.ok)
		}
		var ce *probes.ConnectError
		if err != nil && (!errors.As(err, &ce) || ce.Kind != probes.KindAuth || tt.answer == "" && ce.Hint != hintPassword) {
			t.Errorf("%q: got %v, want a login that failed", tt.answer, err)
		}
		if err == nil {
			restart(t, p)
			if _, err := c.Read(t.Context()); err != nil {
				t.Errorf("reading after a restart: %v", err)
			}
			c.Close()
		}
	}
}

// Where nobody can be asked, a password comes from .pgpass, the environment or a
// service file; without one the hint says where it belongs.
func TestPasswordWithoutAsking(t *testing.T) {
	bouncertest.Need(t)
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	p := bouncertest.Start(t, srv.DSN("postgres", "postgres"), bouncertest.Options{
		Users: map[string]string{"stats": "geheim"}, Settings: map[string]string{"auth_type": "scram-sha-256"},
	})
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	none := write("none", "")
	for _, tt := range []struct {
		name, dsn string
		env       map[string]string
		ok        bool
	}{
		{"nothing", p.Console(), nil, false},
		{"pgpass", p.Console(), map[string]string{"PGPASSFILE": write("pgpass", "*:*:pgbouncer:stats:geheim\n")}, true},
		{"pgpass of another database", p.Console(), map[string]string{"PGPASSFILE": write("pgpass2", "*:*:shop:stats:geheim\n")}, false},
		{"environment", p.Console(), map[string]string{"PGPASSWORD": "geheim"}, true},
		{"service", p.Console() + " service=console", map[string]string{"PGSERVICEFILE": write("service", "[console]\npassword=geheim\n")}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("PGPASSFILE", none)
			t.Setenv("PGPASSWORD", "")
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			c, err := Open(t.Context(), Options{DSN: tt.dsn})
			if (err == nil) != tt.ok {
				t.Fatalf("got %v, want success %v", err, tt.ok)
			}
			if err == nil {
				c.Close()
				return
			}
			var ce *probes.ConnectError
			if !errors.As(err, &ce) || !strings.Contains(ce.Hint, ".pgpass") || strings.Contains(ce.Error()+ce.Hint, "\n") {
				t.Errorf("got %v, hint %q, want one line that says where the password belongs", err, ce.Hint)
			}
		})
	}
}

func TestReadComesBackAfterARestart(t *testing.T) {
	g := newRig(t, nil, app(nil))
	c, p := g.consoles[0], g.poolers[0]
	r, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.VersionNum < 11200 || r.Took <= 0 || len(r.Databases) != 1 || len(r.Config) == 0 || len(r.Lists) == 0 || len(r.Missing) != 0 {
		t.Errorf("got reading %+v, want all of it", r)
	}
	restart(t, p)
	if _, err := c.Read(t.Context()); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	p.Stop()
	var ce *probes.ConnectError
	for range 2 {
		if _, err = c.Read(t.Context()); !errors.As(err, &ce) || ce.Kind != probes.KindUnreachable {
			t.Errorf("while it is away: got %v, want unreachable", err)
		}
	}
}

// A pooler that hangs costs one time-out, and no cancel requests are sent to it.
func TestReadOfAHangingPooler(t *testing.T) {
	g := newRig(t, nil, app(nil))
	p := g.poolers[0]
	c, err := Open(t.Context(), Options{DSN: p.Console(), Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		begin := time.Now()
		_, err = c.Read(t.Context())
		if took := time.Since(begin); err == nil || took > time.Minute { // a busy machine is late
			t.Errorf("got %v after %v, want an error after 0.3 s", err, took)
		} else if !strings.Contains(err.Error(), "300ms") || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %q, want one line that names the time-out", err)
		}
	}
	done := make(chan struct{})
	go func() { defer close(done); _, _ = c.Read(t.Context()) }()
	if err := syscall.Kill(p.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	<-done
	for end := time.Now().Add(60 * time.Second); ; { // 0.3 s may be too little on a busy machine
		if _, err := c.Read(t.Context()); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatalf("after it came back: %v", err)
		}
	}
	if strings.Contains(p.Log(), "cancel") {
		t.Errorf("got a cancel request:\n%s", p.Log())
	}
}

func TestCloseEndsARead(t *testing.T) {
	g := newRig(t, nil, app(nil))
	p := g.poolers[0]
	c, err := Open(t.Context(), Options{DSN: p.Console(), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(p.PID(), syscall.SIGCONT) }()
	done := make(chan error)
	go func() { _, err := c.Read(t.Context()); done <- err }()
	time.Sleep(50 * time.Millisecond)
	c.Close()
	if err := <-done; err == nil {
		t.Error("got no error, want that of a closed console")
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("got %v, want errClosed", err)
	}
}

func TestConsoleLeavesNoGoroutine(t *testing.T) {
	bouncertest.Need(t)
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	p := bouncertest.Start(t, srv.DSN("postgres", "postgres"), bouncertest.Options{})
	leaks := goleak.IgnoreCurrent()
	c, err := Open(t.Context(), Options{DSN: p.Console()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if _, err := c.Read(t.Context()); err == nil {
		t.Error("got no error from a pooler that is gone")
	}
	c.Close()
	c.Close() // twice is no harm
	goleak.VerifyNone(t, leaks)
}

func TestConsoleDatabase(t *testing.T) {
	for dsn, want := range map[string]string{
		"host=h user=u":                    "pgbouncer",
		"host=h dbname=other":              "other",
		"postgres://u@h:6432":              "pgbouncer",
		"postgres://u@h:6432/":             "pgbouncer",
		"postgresql://u@h:6432/other":      "other",
		"postgres://u@h?dbname=other":      "other",
		"postgres://u:p%40ss@h/?sslmode=x": "",
	} {
		cfg, err := consoleConfig(Options{DSN: dsn})
		if want == "" {
			if err == nil {
				t.Errorf("%s: got no error", dsn)
			}
			continue
		}
		if err != nil || cfg.Database != want {
			t.Errorf("%s: got %v, %v, want database %s", dsn, cfg, err, want)
		}
	}
	t.Setenv("PGOPTIONS", "-c statement_timeout=1")
	t.Setenv("PGTARGETSESSIONATTRS", "read-write")
	t.Setenv("PGDATABASE", "shop")
	cfg, err := consoleConfig(Options{DSN: "host=h"})
	if err != nil || cfg.ValidateConnect != nil || len(cfg.RuntimeParams) != 2 || cfg.Database != "pgbouncer" {
		t.Errorf("got %+v, %v, want nothing of the environment", cfg, err)
	}
}

// The port is PgBouncer's, not the server's of the environment.
func TestConsolePort(t *testing.T) {
	t.Setenv("PGPORT", "5433")
	path := filepath.Join(t.TempDir(), "services")
	if err := os.WriteFile(path, []byte("[pgb]\nhost=h\nport=7000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PGSERVICEFILE", path)
	for dsn, want := range map[string]uint16{
		"": 6432, "host=h": 6432, "host=h port=1234": 1234, "service=pgb": 7000, "postgres://h": 6432, "postgres://u@h:99/x": 99,
		"postgres://h/?port=98": 98, "postgres://u@/pgbouncer?host=/run/p": 6432,
	} {
		if cfg, err := consoleConfig(Options{DSN: dsn}); err != nil || cfg.Port != want {
			t.Errorf("%q: got %v, %v, want port %d", dsn, cfg, err, want)
		}
	}
}

func TestVersionNum(t *testing.T) {
	for v, want := range map[string]int{
		"1.18.0": 11800, "1.12": 11200, "1.25.2": 12502, "1.25.0dev": 12500, "1.24.1-3.pgdg": 12401, "2.0.0": 20000, "": 0, "x": 0, "1.200.1": 0,
	} {
		if got := versionNum(v); got != want {
			t.Errorf("%q: got %d, want %d", v, got, want)
		}
	}
}
