package probes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestLateAnswerKeepsTheConnection: a statement that waits for the server's locks
// costs its caller the deadline and nobody a connection. Meanwhile the ticks go
// on, and nothing of the work moves over to their connection.
func TestLateAnswerKeepsTheConnection(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
	tick(t, s, Want{})
	watch, work := s.watch.pid.Load(), s.work.pid.Load()
	if work == 0 || work == watch {
		t.Fatalf("got connections %d and %d", watch, work)
	}
	c := client(t, srv.DSN("postgres", "postgres"), "ddl", "begin", "lock table pg_authid in access exclusive mode")
	begin := time.Now()
	_, err := s.Work(t.Context(), 50*time.Millisecond, "names")
	if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took > 400*time.Millisecond {
		t.Errorf("got %v after %v, want the deadline's error after 50 ms", err, took)
	}
	for range 3 {
		tick(t, s, Want{})
	}
	if _, err := c.Exec(t.Context(), "rollback"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Work(t.Context(), 10*time.Second, "names"); err != nil {
		t.Errorf("got %v once nobody is in the way", err)
	}
	if w, k := s.watch.pid.Load(), s.work.pid.Load(); w != watch || k != work {
		t.Errorf("got connections %d and %d, want %d and %d still", w, k, watch, work)
	}
	if n := s.connections(); n != 2 {
		t.Errorf("got %d connections, want 2", n)
	}
}
