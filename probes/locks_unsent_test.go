package probes

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestEndingOverALostConnection: where nothing was sent that is said, in plain words;
// where nobody knows there is an error; and what was said not to be sent was not.
func TestEndingOverALostConnection(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		dsn := srv.DSN("postgres", "postgres")
		target := client(t, dsn, "target", "begin")
		alive := func() {
			t.Helper()
			if _, err := target.Exec(t.Context(), "select 1"); err != nil {
				t.Errorf("it was sent: %v", err)
			}
		}
		for _, prepared := range []bool{false, true} {
			s := open(t, Options{DSN: dsn})
			x := session(t, s, int(target.PgConn().PID()))
			if prepared {
				if r, err := s.Terminate(t.Context(), Target{PID: 1 << 30, BackendStart: time.Now()}); err != nil || r.Outcome != Gone {
					t.Fatalf("got %+v, %v", r, err)
				}
			}
			pgtest.Exec(t, dsn, "select pg_terminate_backend("+strconv.FormatInt(s.watch.pid.Load(), 10)+", 10000)")
			r, err := s.Terminate(t.Context(), aim(x))
			if err != nil || r.Outcome != NotSent || r.Why != "the connection to the server was lost: try again" {
				t.Errorf("prepared %v: got %+v, %v", prepared, r, err)
			}
			alive()
			if r, err := s.Terminate(t.Context(), aim(x)); err != nil || r.Outcome != NotSent {
				t.Errorf("once more: got %+v, %v", r, err)
			}
			alive()
		}
		s := open(t, Options{DSN: dsn})
		x := session(t, s, int(target.PgConn().PID()))
		watch := int(s.watch.pid.Load())
		if err := syscall.Kill(watch, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Kill(watch, syscall.SIGCONT) }()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		r, err := s.Terminate(ctx, aim(x))
		if err != nil || r.Outcome != NotSent || !strings.Contains(r.Why, "did not answer") {
			t.Errorf("a server that does not answer: got %+v, %v", r, err)
		}
		alive()
	})
}

// TestWhatWasSentIsNotKnown once it may be under way.
func TestWhatWasSentIsNotKnown(t *testing.T) {
	for _, err := range []error{syscall.ECONNRESET, context.DeadlineExceeded, errors.New("unexpected EOF")} {
		if r, got := failed(err); got == nil || r.Outcome != "" || !errors.Is(got, err) {
			t.Errorf("%v: got %+v, %v", err, r, got)
		}
	}
}
