package probes

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

func openError(t *testing.T, o Options) *ConnectError {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err == nil {
		s.Close()
		t.Fatal("connected, want an error")
	}
	var ce *ConnectError
	if !errors.As(err, &ce) {
		t.Fatalf("got %T (%v), want *ConnectError", err, err)
	}
	if strings.Contains(ce.Error()+ce.Hint, "\n") {
		t.Errorf("not one line: %q, %q", ce.Error(), ce.Hint)
	}
	return ce
}

// Every way to be refused is one line that says what and where, and one that
// says what to do.
func TestConnectErrors(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{TCP: true})
		pgtest.Exec(t, srv.DSN("postgres", "postgres"),
			"create role nologin", "create role shut login", "create database closed", "revoke connect on database closed from public",
			"create role pw login password 'right'")
		port := strconv.Itoa(srv.Port())
		tcp := "host=127.0.0.1 port=" + port + " sslmode=disable "
		sock := srv.Dir() + ":" + port
		dsn := "host='" + srv.Dir() + "' port=" + port + " "
		tests := []struct{ name, dsn, kind, want, hint string }{
			{"unknown role", dsn + "user=ghost dbname=postgres", KindAuth, "connecting to " + sock + `/postgres as ghost: role "ghost" does not exist`, "choose the role with -U ROLE"},
			{"no login", dsn + "user=nologin dbname=postgres", KindAuth, "connecting to " + sock + `/postgres as nologin: role "nologin" is not permitted to log in`, "alter role … login, or choose another role with -U ROLE"},
			{"no database", dsn + "user=postgres dbname=ghost", KindDatabase, "connecting to " + sock + `/ghost as postgres: database "ghost" does not exist`, "choose the database with -d DATABASE"},
			{"no right to connect", dsn + "user=shut dbname=closed", KindDatabase, "connecting to " + sock + `/closed as shut: permission denied for database "closed"`, "grant connect on database … to this role, or choose another with -d"},
			{"no password", tcp + "user=pw dbname=postgres passfile=/dev/null", KindAuth, "connecting to 127.0.0.1:" + port + `/postgres as pw: password authentication failed for user "pw"`, "no password was given: PGPASSWORD, ~/.pgpass, or a terminal to ask on"},
			{"wrong password", tcp + "user=pw dbname=postgres password=s3cret", KindAuth, "connecting to 127.0.0.1:" + port + `/postgres as pw: password authentication failed for user "pw"`, "check the password, and which role it belongs to"},
			{"no TLS", "host=127.0.0.1 port=" + port + " user=pw dbname=postgres sslmode=require", KindTLS, "connecting to 127.0.0.1:" + port + "/postgres as pw: the server does not offer TLS", "sslmode=disable or prefer connects without it"},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				ce := openError(t, Options{DSN: tt.dsn})
				if ce.Error() != tt.want || ce.Hint != tt.hint || ce.Kind != tt.kind {
					t.Errorf("got  %s: %s (%s)\nwant %s: %s (%s)", ce.Kind, ce, ce.Hint, tt.kind, tt.want, tt.hint)
				}
			})
		}
		t.Run("asks for the password", func(t *testing.T) {
			asked := 0
			s, err := Open(t.Context(), Options{DSN: tcp + "user=pw dbname=postgres passfile=/dev/null", Password: func(prompt string) (string, error) {
				asked++
				if prompt != "Password for user pw: " {
					t.Errorf("got prompt %q", prompt)
				}
				return "right", nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if snap := tick(t, s, Want{}); asked != 1 || snap.Server.PlainTCP {
				t.Errorf("asked %d times, plain TCP %v; want once, and loopback is not the network", asked, snap.Server.PlainTCP)
			}
		})
	})
}

func TestConnectErrorsWithoutServer(t *testing.T) {
	dir := t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	free.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	mute := strconv.Itoa(silent.Addr().(*net.TCPAddr).Port)
	tests := []struct{ name, dsn, kind, want string }{
		{"refused", "host=127.0.0.1 port=" + closed + " user=me dbname=x", KindUnreachable, "connecting to 127.0.0.1:" + closed + "/x as me: connection refused"},
		{"no socket", "host='" + dir + "' user=me dbname=x", KindUnreachable, "connecting to " + dir + ":5432/x as me: no such socket"},
		{"mute", "host=127.0.0.1 user=me dbname=x connect_timeout=2 port=" + mute, KindTimeout, "connecting to 127.0.0.1:" + mute + "/x as me: no answer in time"},
		{"unknown host", "host=no.such.host.invalid user=me dbname=x", KindUnreachable, "connecting to no.such.host.invalid:5432/x as me: host name no.such.host.invalid is not known"},
		{"misspelt keyword", "hots=localhost", KindConfig, `connection settings: unknown keyword "hots"`},
		{"a URL's", "postgres://h/d?sslmod=require", KindConfig, `connection settings: unknown keyword "sslmod"`},
		{"open quote", "host='x", KindConfig, `connection settings: the value of "host": its quote is not closed`},
		{"promise not kept", "host=h sslcrl=/x", KindConfig, `connection settings: keyword "sslcrl" is not supported: leave it out`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ce := openError(t, Options{DSN: tt.dsn})
			if ce.Error() != tt.want || ce.Kind != tt.kind || ce.Hint == "" {
				t.Errorf("got  %s: %s (%s)\nwant %s: %s", ce.Kind, ce, ce.Hint, tt.kind, tt.want)
			}
		})
	}
	t.Run("a bad port keeps the password to itself", func(t *testing.T) {
		for _, dsn := range []string{"postgres://me:sec:ret@h/d", "postgres://me:secret@h:port/d", "host=h port=x password=secret", "host=h password='sec ret"} {
			if ce := openError(t, Options{DSN: dsn}); strings.Contains(ce.Error(), "sec") {
				t.Errorf("%s: the password is in %q", dsn, ce.Error())
			}
		}
	})
}

func TestDSN(t *testing.T) {
	tests := []struct {
		name, dsn string
		flags     Options
		want      string // host:port/database
		user      string
	}{
		{"URL", "postgresql://u:p%3Fq@h1:77/d?connect_timeout=3", Options{}, "h1:77/d", "u"},
		{"URL and flags", "postgres://u:p@h1:77/d?sslmode=disable", Options{Host: "h2", Port: "78", User: "v", Database: "e b"}, "h2:78/e b", "v"},
		{"keywords", `host = h1 port=5 user='o\'k' dbname=d`, Options{}, "h1:5/d", "o'k"},
		{"keywords and flags", "host=h1 dbname=d user=u", Options{Database: "e'"}, "h1:5432/e'", "u"},
		{"name only", "shop", Options{Host: "h", User: "u"}, "h:5432/shop", "u"},
		{"no database is the user", "host=h user=u", Options{}, "h:5432/u", "u"},
		{"several hosts", "host=a,b port=1,2 user=u dbname=d", Options{}, "a:1,b:2/d", "u"},
		{"other libraries' keywords", "host=h user=u dbname=d keepalives_idle=9 gssencmode=prefer pool_max_conns=4 fallback_application_name=z", Options{}, "h:5432/d", "u"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := tt.flags
			o.DSN = tt.dsn
			target, err := newTarget(o.withDefaults())
			if err != nil {
				t.Fatal(err)
			}
			if got := target.name(); got != tt.want || target.cfg.User != tt.user {
				t.Errorf("got %s as %s, want %s as %s", got, target.cfg.User, tt.want, tt.user)
			}
			for k := range target.config().RuntimeParams {
				if strings.HasPrefix(k, "keepalive") || strings.HasPrefix(k, "gss") || strings.HasPrefix(k, "pool") || strings.HasPrefix(k, "fallback") {
					t.Errorf("%s would be sent to the server as a setting", k)
				}
			}
		})
	}
	t.Run("hostaddr", func(t *testing.T) {
		target, err := newTarget(Options{DSN: "host=db.example hostaddr=192.0.2.7 user=u"}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		got, err := target.cfg.LookupFunc(t.Context(), "db.example")
		if err != nil || len(got) != 1 || got[0] != "192.0.2.7" {
			t.Errorf("got %v, %v, want the address without asking DNS", got, err)
		}
	})
}

func TestPassfileMode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pass")
	if err := os.WriteFile(file, []byte("h:5432:d:u:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{DSN: "host=h user=u dbname=d", Getenv: func(k string) string {
		return map[string]string{"PGPASSFILE": file}[k]
	}}.withDefaults()
	o.DSN += " passfile='" + file + "'"
	for mode, want := range map[os.FileMode]string{0o600: "secret", 0o644: ""} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		target, err := newTarget(o)
		if err != nil {
			t.Fatal(err)
		}
		if target.cfg.Password != want || (target.passfile == "") != (want != "") {
			t.Errorf("mode %04o: got password %q and %q, want %q", mode, target.cfg.Password, target.passfile, want)
		}
	}
}

func TestInterval(t *testing.T) {
	s := &Sampler{cost: 30 * time.Millisecond}
	if got := s.Interval(time.Second); got != time.Second {
		t.Errorf("got %v, want 1s", got)
	}
	s.cost = 400 * time.Millisecond
	if got := s.Interval(time.Second); got != 4*time.Second {
		t.Errorf("got %v, want ten times the cost", got)
	}
}

func TestCanceledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, Options{DSN: "host=192.0.2.1 user=u dbname=d"}); err == nil {
		t.Error("got no error of a canceled context")
	}
}
