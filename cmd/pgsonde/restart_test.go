package main

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestRestarts restarts a server under the running terminal UI: it comes back
// by itself each time and never has more than two connections. 3 times, or as
// often as PGSONDE_RESTARTS says; it logs how long after the server accepts
// connections the UI has read it again.
func TestRestarts(t *testing.T) {
	t.Parallel()
	n := 3
	if v := os.Getenv("PGSONDE_RESTARTS"); v != "" {
		n, _ = strconv.Atoi(v)
	}
	s := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	ui := startUI(t, s.DSN("postgres", "postgres"))
	worst := time.Duration(0)
	for i := range n {
		sig := []os.Signal{syscall.SIGINT, syscall.SIGQUIT}[i%2] // fast, immediate
		if err := s.Shutdown(sig); err != nil {
			t.Logf("restart %d: %v", i, err)
		}
		time.Sleep(time.Duration(100+i*37%700) * time.Millisecond)
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		took := ui.readAgain(t, s)
		worst = max(worst, took)
	}
	t.Logf("%d restarts; read again at most %s after the server was ready (interval 1s)", n, worst.Round(time.Millisecond))
	ui.quit(t)
}

// ui is the terminal UI in a process of its own, on an 80x24 terminal.
type ui struct {
	tty  *os.File
	cmd  *exec.Cmd
	log  screenLog
	done chan struct{}
}

// startUI runs the test binary as pgsonde: see TestMain.
func startUI(t *testing.T, args ...string) *ui {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	u := &ui{cmd: &exec.Cmd{Path: self, Args: append([]string{"pgsonde"}, args...)}, done: make(chan struct{})}
	u.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8")
	if u.tty, err = pty.StartWithSize(u.cmd, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = u.cmd.Process.Kill()
		_ = u.tty.Close()
		<-u.done
	})
	go func() {
		defer close(u.done)
		buf := make([]byte, 64<<10)
		for {
			n, err := u.tty.Read(buf)
			_, _ = u.log.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	u.waitFor(t, "operators")
	return u
}

func (u *ui) waitFor(t *testing.T, text string) {
	t.Helper()
	for begun := time.Now(); !u.log.has(text); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("%q never came; the screen got:\n%q", text, u.log.tail())
		}
	}
}

func (l *screenLog) tail() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buf.Bytes()
	return bytes.Clone(b[max(0, len(b)-3000):])
}

// readAgain waits until the UI has read the new server twice, and says how long
// that took. It fails when the UI has more than two connections.
func (u *ui) readAgain(t *testing.T, s *pgserver.Server) time.Duration {
	t.Helper()
	begun := time.Now()
	c, err := pgx.Connect(t.Context(), s.DSN("postgres", "postgres")+" application_name=watcher")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	first := time.Duration(0)
	seen := map[time.Time]bool{}
	for len(seen) < 2 {
		var conns int
		var last *time.Time
		err := c.QueryRow(t.Context(), `select count(*), max(query_start) filter (where query like 'with a as materialized%')
			from pg_stat_activity where application_name = 'pgsonde'`).Scan(&conns, &last)
		if err != nil {
			t.Fatal(err)
		}
		if conns > 2 {
			t.Errorf("the UI has %d connections", conns)
		}
		if last != nil && !seen[*last] {
			seen[*last] = true
			if first == 0 {
				first = time.Since(begun)
			}
		}
		if time.Since(begun) > 60*time.Second {
			t.Fatalf("not read again; the screen got:\n%q", u.log.tail())
		}
		time.Sleep(10 * time.Millisecond)
	}
	return first
}

// quit presses q and expects a clean end with the terminal restored.
func (u *ui) quit(t *testing.T) {
	t.Helper()
	if _, err := u.tty.WriteString("q"); err != nil {
		t.Fatal(err)
	}
	if err := u.cmd.Wait(); err != nil {
		t.Fatalf("after q: %v", err)
	}
	u.waitFor(t, "\x1b[?1049l") // the alternate screen is left; what was written last may still be on its way here
}
