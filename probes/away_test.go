//go:build unix

package probes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// ownBackends counts the sampler's connections as the server sees them, on a
// connection that tells them by their name.
func ownBackends(t testing.TB, c *pgx.Conn) int {
	t.Helper()
	var n int
	err := c.QueryRow(t.Context(), "select count(*) from pg_stat_get_activity(null) where application_name = 'pgsonde'").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The server restarts twenty times, in the three ways a server goes: the reading
// is back within two ticks of its return, with at most two connections.
func TestRestarts(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
	tick(t, s, Want{})
	for round := range 20 {
		if err := srv.Shutdown([]os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL}[round%3]); err != nil {
			t.Fatal(err)
		}
		// A backend outlives a killed postmaster by a moment, and may still answer.
		eventually(t, "that the server restarts", func() bool {
			_, err := s.Tick(t.Context(), Want{})
			var away *Unavailable
			return errors.As(err, &away) && away.State == "restarting" && away.Attempts > 0 && away.RetryIn > 0
		})
		if err := srv.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		c, err := pgx.Connect(t.Context(), srv.DSN("postgres", "postgres"))
		if err != nil {
			t.Fatal(err)
		}
		snap := backWithin(t, s, 2)
		if notes := fmt.Sprint(snap.Notes); !strings.Contains(notes, "server restarted") || !strings.Contains(notes, "reconnected") {
			t.Errorf("round %d: got notes %v, want reconnected and restarted", round, notes)
		}
		eventually(t, "the second connection", func() bool {
			tick(t, s, Want{})
			n := ownBackends(t, c)
			if n > 2 {
				t.Fatalf("round %d: got %d connections", round, n)
			}
			return n == 2
		})
		c.Close(t.Context())
	}
}

// backWithin ticks as a program does, waiting what the sampler says, and wants
// an answer within n ticks.
func backWithin(t testing.TB, s *Sampler, n int) *Snapshot {
	t.Helper()
	var err error
	for range n {
		var snap *Snapshot
		if snap, err = s.Tick(t.Context(), Want{}); err == nil {
			return snap
		}
		var away *Unavailable
		if errors.As(err, &away) {
			time.Sleep(away.RetryIn)
		}
	}
	t.Fatalf("not back within %d ticks: %v", n, err)
	return nil
}

// One connection is ended by an administrator: only that one comes back.
func TestOneConnectionEnded(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
		c := client(t, srv.DSN("postgres", "postgres"), "admin")
		for _, l := range []*link{s.watch, s.work} {
			before := tick(t, s, Want{}).Server.OwnPIDs
			pid := l.pid.Load()
			if _, err := c.Exec(t.Context(), "select pg_terminate_backend($1)", int(pid)); err != nil {
				t.Fatal(err)
			}
			eventually(t, "a new connection in its place", func() bool {
				snap, err := s.Tick(t.Context(), Want{})
				if err != nil {
					t.Fatalf("got %v, want the other connection to take over", err)
				}
				_, _ = s.Work(t.Context(), time.Second, "names") // meets the loss
				if n := ownBackends(t, c); n > 2 {
					t.Fatalf("got %d connections", n)
				}
				now := snap.Server.OwnPIDs
				return len(now) == 2 && (now[0] != before[0] || now[1] != before[1])
			})
		}
	})
}

// A full server, a role's limit and a database's limit are three different
// things, and one line each.
func TestFull(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{
			"max_connections": "8", "superuser_reserved_connections": "2", "autovacuum": "off",
		}})
		pgtest.Exec(t, srv.DSN("postgres", "postgres"),
			"create role app login", "create role narrow login connection limit 1", "create database small connection limit 1")
		client(t, srv.DSN("narrow", "postgres"), "")
		client(t, srv.DSN("app", "small"), "")
		check := func(dsn, msg, hint string) {
			t.Helper()
			_, err := Open(t.Context(), Options{DSN: dsn})
			var ce *ConnectError
			if !errors.As(err, &ce) || ce.Kind != KindFull || ce.Code != "53300" ||
				!strings.Contains(ce.Msg, msg) || !strings.Contains(ce.Hint, hint) || strings.Contains(ce.Error(), "\n") {
				t.Errorf("got %v (%+v), want %q and the hint %q", err, ce, msg, hint)
			}
		}
		check(srv.DSN("narrow", "postgres"), `too many connections for role "narrow"`, "CONNECTION LIMIT")
		check(srv.DSN("app", "small"), `too many connections for database "small"`, "another database")

		s := open(t, Options{DSN: srv.DSN("app", "postgres")})
		hold := []*pgx.Conn{client(t, srv.DSN("app", "postgres"), ""), client(t, srv.DSN("app", "postgres"), "")}
		check(srv.DSN("app", "postgres"), "remaining connection slots are reserved", "pg_use_reserved_connections")
		snap := tick(t, s, Want{})
		if snap.Limits.Usable() != 6 || snap.Limits.SuperuserReserved != 2 {
			t.Errorf("got %+v, want 6 usable of 8", snap.Limits)
		}

		// --wait gets the slot that becomes free.
		var heard []string
		go func() {
			time.Sleep(150 * time.Millisecond)
			hold[0].Close(context.Background())
		}()
		w, err := Open(t.Context(), Options{
			DSN: srv.DSN("app", "postgres"), Wait: true, Connections: 1, Notify: func(s string) { heard = append(heard, s) },
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		if len(heard) == 0 || !strings.Contains(heard[0], "reserved") {
			t.Errorf("got progress %q, want why it waits", heard)
		}
	})
}

// With one slot left the sampler works with one connection, and takes the second
// when there is room.
func TestSecondConnectionLater(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	pgtest.Exec(t, srv.DSN("postgres", "postgres"), "create role narrow login connection limit 2")
	other := client(t, srv.DSN("narrow", "postgres"), "")
	s := open(t, Options{DSN: srv.DSN("narrow", "postgres")})
	snap := tick(t, s, Want{})
	if snap.Cost.Connections != 1 || !strings.Contains(fmt.Sprint(snap.Notes), "one connection only") {
		t.Errorf("got %d connections, notes %v, want one and why", snap.Cost.Connections, snap.Notes)
	}
	if len(snap.Limits.Roles) == 0 || snap.Limits.MaxConnections == 0 {
		t.Error("got no limits over the one connection")
	}
	other.Close(t.Context())
	eventually(t, "the second connection", func() bool { return tick(t, s, Want{}).Cost.Connections == 2 })
}

// A server that stops answering: the tick ends at its deadline and says so, and
// the reading goes on when the server does.
func TestStuckServer(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	s := open(t, Options{DSN: srv.DSN("postgres", "postgres"), Timeout: 300 * time.Millisecond})
	tick(t, s, Want{})
	pid := int(s.watch.pid.Load())
	stop(t, pid)
	begin := time.Now()
	_, err := s.Tick(t.Context(), Want{})
	var away *Unavailable
	if !errors.As(err, &away) || away.State != KindTimeout {
		t.Errorf("got %v, want not answering", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("the tick took %v", took)
	}
	// The other connection is not stuck: the next tick is answered by it.
	eventually(t, "an answer", func() bool {
		snap, err := s.Tick(t.Context(), Want{})
		return err == nil && len(snap.Server.OwnPIDs) > 0
	})
	cont(t, pid)
	c := client(t, srv.DSN("postgres", "postgres"), "admin")
	eventually(t, "two connections", func() bool {
		tick(t, s, Want{})
		n := ownBackends(t, c)
		if n > 2 {
			t.Fatalf("got %d connections", n)
		}
		return n == 2 && s.work.alive()
	})
}
