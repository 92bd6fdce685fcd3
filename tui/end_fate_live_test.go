package tui

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"
)

// TestOnlyWhoRunsBecauseOfItIsFreed ends the session that a statement waits for, which
// then comes to a row that another has. What ends that wait is not what was done.
func TestOnlyWhoRunsBecauseOfItIsFreed(t *testing.T) {
	tests := []struct {
		name, begin string
		do          func(s *stage, victim, other int, leave func())
		want        string // of the victim and the other
	}{
		{"killed", "", func(s *stage, victim, _ int, _ func()) {
			s.do(s.as("dba"), fmt.Sprintf("select pg_terminate_backend(%d)", victim))
		}, "VICTIM is gone"},
		{"canceled", "", func(s *stage, victim, _ int, _ func()) {
			s.do(s.as("dba"), fmt.Sprintf("select pg_cancel_backend(%d)", victim))
		}, "the statement of VICTIM ended later, after OTHER"},
		{"canceled in a transaction", "begin", func(s *stage, victim, _ int, _ func()) {
			s.do(s.as("dba"), fmt.Sprintf("select pg_cancel_backend(%d)", victim))
		}, "the transaction of VICTIM was aborted"},
		{"its client leaves", "", func(_ *stage, _, _ int, leave func()) { leave() }, "VICTIM is gone"},
		{"freed by another end", "", func(s *stage, _, other int, _ func()) {
			s.do(s.as("dba"), fmt.Sprintf("select pg_terminate_backend(%d)", other))
		}, "the statement of VICTIM ended later, after OTHER"},
		{"freed by another end, and goes on", "set app.sleep = 20", func(s *stage, _, other int, _ func()) {
			s.do(s.as("dba"), fmt.Sprintf("select pg_terminate_backend(%d)", other))
		}, "VICTIM ran later, after OTHER"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t, map[string]string{"client_connection_check_interval": "100"})
			other, root, victim := s.as("werft:other"), s.as("werft:root"), s.as("werft:victim")
			s.do(other, "create function slow() returns trigger language plpgsql as "+
				"'begin perform pg_sleep(coalesce(current_setting(''app.sleep'', true), ''0'')::float8); return new; end'",
				"create trigger slow after update on acct for each row when (new.id = 3) execute function slow()")
			s.do(other, "begin", "update acct set v = 1 where id = 3")
			s.do(root, "begin", "update acct set v = 1 where id = 1")
			if tt.begin != "" {
				s.do(victim, tt.begin)
			}
			ctx, leave := context.WithCancel(context.Background())
			defer leave()
			s.wait.Go(func() { _ = victim.Exec(ctx, "update acct set v = v + 1") })
			s.waitsFor(victim.PID(), root.PID())
			r, audit := s.screen(Options{})
			r.until("1 session waits for 1 cause")
			r.typeKeys("K")
			r.until("y terminate")
			r.typeKeys("y")
			s.waitsFor(victim.PID(), other.PID())
			time.Sleep(300 * time.Millisecond) // two readings and more
			tt.do(s, victim.PID(), other.PID(), leave)
			r.until("freed 0 of 1")
			r.quit()
			want := strings.NewReplacer("VICTIM", strconv.Itoa(victim.PID()), "OTHER", strconv.Itoa(other.PID())).Replace(tt.want)
			if lines := audit(); len(lines) != 2 || !strings.Contains(lines[1], want) {
				t.Errorf("audit: %q, want %q", lines, want)
			}
		})
	}
}

// waitsFor waits until the server says that one session waits for another.
func (s *stage) waitsFor(waiter, blocker int) {
	s.t.Helper()
	s.until("select $1::int = any (pg_blocking_pids($2::int))", strconv.Itoa(blocker), strconv.Itoa(waiter))
}

// until waits until the server says that something is so.
func (s *stage) until(sql string, args ...string) {
	s.t.Helper()
	c := s.as("dba")
	for range 600 {
		rows, err := c.QueryText(s.t.Context(), sql, args...)
		if err != nil {
			s.t.Fatal(err)
		}
		if rows[0][0] == "t" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatalf("never: %s %v", sql, args)
}

// TestWhoGaveUpBeforeTheEndIsNotFreed: the target does not heed the signal for a while,
// which is said; one of the two that wait for it gives up meanwhile.
func TestWhoGaveUpBeforeTheEndIsNotFreed(t *testing.T) {
	s := newStage(t, nil)
	root, hasty, patient := s.as("werft:root"), s.as("werft:hasty"), s.as("werft:patient")
	s.do(root, "begin", "update acct set v = 1 where id = 1")
	s.do(hasty, "set lock_timeout = '8s'")
	for _, c := range []*pgserver.Conn{hasty, patient} {
		s.wait.Go(func() { _ = c.Exec(context.Background(), "update acct set v = v + 1 where id = 1") })
		s.until("select count(*) > 0 from pg_locks where not granted and pid = $1::int", strconv.Itoa(c.PID()))
	}
	r, audit := s.screen(Options{})
	r.until("2 sessions wait for 1 cause")
	if err := syscall.Kill(root.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(root.PID(), syscall.SIGCONT) }()
	r.typeKeys("K")
	r.until("y terminate")
	r.typeKeys("y")
	r.until("not acted on yet, the signal is pending")
	s.until("select count(*) = 0 from pg_stat_activity where wait_event_type = 'Lock' and pid = $1::int", strconv.Itoa(hasty.PID()))
	time.Sleep(3 * time.Second) // two readings and more
	if err := syscall.Kill(root.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.until("freed 1 of 2")
	r.quit()
	want := fmt.Sprintf("; %d left its wait while %d was still there", hasty.PID(), root.PID())
	lines := audit()
	if len(lines) != 3 || !strings.Contains(lines[1], "not acted on yet") || !strings.HasSuffix(lines[2], want) {
		t.Errorf("audit: %q, want %q", lines, want)
	}
}
