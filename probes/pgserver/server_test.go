//go:build unix

package pgserver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

func TestStart(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		s := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{"max_connections": "17"}})
		c := pgtest.Connect(t, s.DSN("postgres", "postgres"))
		var version, maxConns, listen string
		err := c.QueryRow(t.Context(), "select version(), current_setting('max_connections'), current_setting('listen_addresses')").
			Scan(&version, &maxConns, &listen)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("PostgreSQL %s ", in.Version); !strings.HasPrefix(version, want) {
			t.Errorf("got version %q, want it to start with %q", version, want)
		}
		if maxConns != "17" {
			t.Errorf("got max_connections %s, want 17", maxConns)
		}
		if listen != "" || s.Port() != 0 {
			t.Errorf("got listen_addresses %q and port %d, want neither", listen, s.Port())
		}
		fi, err := os.Stat(s.Dir())
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode().Perm(); got != 0o700 {
			t.Errorf("mode of the folder: got %v, want 0700", got)
		}
		if !strings.HasPrefix(filepath.Base(s.Dir()), "pgsonde-") {
			t.Errorf("got folder %s, want it named pgsonde-*", s.Dir())
		}
		pid := s.PID()
		s.Stop()
		if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) || alive(pid) {
			t.Errorf("after Stop: folder %v, server alive: %v, want both gone", err, alive(pid))
		}
		s.Stop() // again does nothing
	})
}

func TestRestart(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		s := pgtest.Start(t, in, pgserver.Options{})
		dsn := s.DSN("postgres", "postgres")
		pgtest.Exec(t, dsn, "create table kept as select 1 as n", "checkpoint")
		for _, sig := range []syscall.Signal{0, syscall.SIGQUIT, syscall.SIGKILL} {
			old := s.PID()
			if sig != 0 {
				// a backend at work makes the end of a crash take a moment
				busy := pgtest.Connect(t, dsn)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = busy.Exec(context.Background(), "select pg_sleep(30)")
				}()
				if err := s.Shutdown(sig); err != nil {
					t.Fatal(err)
				}
				<-ended
				if s.PID() != 0 {
					t.Errorf("after %v: got PID %d, want 0", sig, s.PID())
				}
			}
			if err := s.Restart(t.Context()); err != nil {
				t.Fatalf("after signal %v: %v", sig, err)
			}
			if s.PID() == old || s.PID() == 0 {
				t.Errorf("after signal %v: got PID %d, want another than %d", sig, s.PID(), old)
			}
			pgtest.Exec(t, dsn, "insert into kept values (2)")
		}
	})
}

// Over TCP nobody is trusted, and clients come from addresses of their own.
func TestTCP(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		s := pgtest.Start(t, in, pgserver.Options{TCP: true})
		for _, dsn := range []string{
			fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=disable password=wrong", s.Port()),
			fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=disable passfile=/nonexistent", s.Port()),
		} {
			c, err := pgx.Connect(t.Context(), dsn)
			if err == nil {
				c.Close(t.Context())
				t.Errorf("%s: got in, want it refused", dsn)
			}
		}
		c := pgtest.Connect(t, s.TCPDSN("postgres", "postgres"))
		var password string
		if err := c.QueryRow(t.Context(), "select rolpassword from pg_authid where rolname = 'postgres'").Scan(&password); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(password, "SCRAM-SHA-256$") {
			t.Errorf("got stored password %q, want a SCRAM verifier", password)
		}
		pod, err := s.Open(t.Context(), pgserver.ConnOptions{AppName: "werft:api", TCP: true, LocalAddr: "127.0.0.7"})
		if err != nil {
			t.Fatal(err)
		}
		defer pod.Close()
		var app, addr string
		err = c.QueryRow(t.Context(), "select application_name, host(client_addr) from pg_stat_activity where pid = $1", pod.PID()).Scan(&app, &addr)
		if err != nil {
			t.Fatal(err)
		}
		if app != "werft:api" {
			t.Errorf("got application_name %q, want werft:api", app)
		}
		if addr != "127.0.0.7" && addr != "127.0.0.1" {
			t.Errorf("got client_addr %s, want 127.0.0.7, or 127.0.0.1 where there is no other", addr)
		}
	})
}

func TestManyTCP(t *testing.T) {
	in := pgtest.Any(t)
	ports := make([]int, 6)
	var wg sync.WaitGroup
	for i := range ports {
		wg.Go(func() {
			s, err := pgserver.Start(t.Context(), in, pgserver.Options{TCP: true, Base: pgserver.MemoryBase()})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Stop()
			ports[i] = s.Port()
		})
	}
	wg.Wait()
	for i, p := range ports {
		if p == 0 {
			t.Errorf("server %d has no port", i)
		}
	}
}

func TestConn(t *testing.T) {
	t.Setenv("PGSERVICE", "not-there")
	t.Setenv("PGOPTIONS", "-c work_mem=nonsense")
	t.Setenv("PGAPPNAME", "not-this")
	s := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	c, err := s.Open(t.Context(), pgserver.ConnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(t.Context(), "create table t (id int, note text); insert into t values (1, 'one'), (2, null)"); err != nil {
		t.Fatal(err)
	}
	if err := c.Prepare(t.Context(), "add", "insert into t values ($1, $2)"); err != nil {
		t.Fatal(err)
	}
	if err := c.ExecPrepared(t.Context(), "add", "3", "three"); err != nil {
		t.Fatal(err)
	}
	rows, err := c.QueryText(t.Context(), "select id, note, current_setting('application_name') from t order by id")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(rows), "[[1 one ] [2  ] [3 three ]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := c.Exec(t.Context(), "select 1/0"); err == nil || !c.Alive() {
		t.Errorf("an error of SQL: got %v, alive %v, want an error on a connection that lives", err, c.Alive())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Exec(ctx, "select pg_sleep(30)"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended by its ctx: got %v, want %v", err, context.DeadlineExceeded)
	}
	if c.Alive() {
		t.Error("ended by its ctx: the connection is said to live")
	}
}

// A start that is given up leaves nothing, nor does one that cannot be.
func TestStartFails(t *testing.T) {
	in := pgtest.Any(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		in   pgserver.Install
		o    pgserver.Options
		want string
	}{
		{"given up", ended, in, pgserver.Options{}, "context canceled"},
		{"given up in initdb", ended, in, pgserver.Options{NoCache: true}, "context canceled"},
		{"a setting that is none", t.Context(), in, pgserver.Options{Settings: map[string]string{"max_conections": "1"}}, `unrecognized configuration parameter "max_conections"`},
		{"no such binary", t.Context(), pgserver.Install{BinDir: "/nonexistent", Major: 18}, pgserver.Options{}, "no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Base = openDir(t)
			_, err := pgserver.Start(tt.ctx, tt.in, tt.o)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, tt.want)
			}
			left, err := os.ReadDir(tt.o.Base)
			if err != nil || len(left) != 0 {
				t.Errorf("left %v, %v, want nothing", left, err)
			}
		})
	}
}

// Several first starts of a machine make one template.
func TestTemplateOnce(t *testing.T) {
	cache := openDir(t)
	t.Setenv("PGSONDE_CACHE_DIR", filepath.Join(cache, "c"))
	in := pgtest.Any(t)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			s, err := pgserver.Start(t.Context(), in, pgserver.Options{Base: pgserver.MemoryBase()})
			if err != nil {
				t.Error(err)
				return
			}
			s.Stop()
		})
	}
	wg.Wait()
	made, err := filepath.Glob(filepath.Join(cache, "c", "template", "*", "PG_VERSION"))
	if err != nil || len(made) != 1 {
		t.Errorf("got templates %v, %v, want one", made, err)
	}
	half, err := filepath.Glob(filepath.Join(cache, "c", "template", "part-*"))
	if err != nil || len(half) != 0 {
		t.Errorf("left %v, %v, want nothing half made", half, err)
	}
}

func BenchmarkStartStop(b *testing.B) {
	in := pgtest.Any(b)
	for b.Loop() {
		s, err := pgserver.Start(b.Context(), in, pgserver.Options{Base: pgserver.MemoryBase()})
		if err != nil {
			b.Fatal(err)
		}
		s.Stop()
	}
}
