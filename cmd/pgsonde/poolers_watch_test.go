//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/bouncer/bouncertest"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// watched is pgsonde poolers --watch that runs, its answers one a line.
type watched struct {
	t     *testing.T
	lines *bufio.Scanner
	stop  context.CancelFunc
	end   chan int
}

func watch(t *testing.T, args ...string) *watched {
	t.Helper()
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	x := &watched{t: t, lines: bufio.NewScanner(r), stop: cancel, end: make(chan int, 1)}
	x.lines.Buffer(nil, 1<<20)
	go func() {
		code := run(ctx, append([]string{"--interval", "100ms", "poolers", "--watch"}, args...), strings.NewReader(""), w, io.Discard)
		_ = w.CloseWithError(io.EOF)
		x.end <- code
	}()
	t.Cleanup(func() { cancel(); _ = r.Close(); <-x.end })
	return x
}

// until reads answers until one is as it should be; each is a document of its own.
func (x *watched) until(what string, ok func(poolersDoc) bool) poolersDoc {
	x.t.Helper()
	var d poolersDoc
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); {
		if !x.lines.Scan() {
			x.t.Fatalf("it ended before %s", what)
		}
		d = poolersDoc{}
		if err := json.Unmarshal(x.lines.Bytes(), &d); err != nil || d.Schema != "pgsonde/poolers/1" {
			x.t.Fatalf("%v in %s", err, x.lines.Bytes())
		}
		if ok(d) {
			return d
		}
	}
	x.t.Fatalf("never came: %s; last %+v", what, d)
	return d
}

// TestPoolersWatch: an answer at every interval, of two instances of one pooler;
// one that goes away and one that hangs are said, and cost the other nothing; it
// goes on without the server behind them.
func TestPoolersWatch(t *testing.T) {
	bouncertest.Need(t)
	t.Parallel()
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	dsn := srv.DSN("postgres", "postgres")
	one, two := bouncertest.Start(t, dsn, bouncertest.Options{}), bouncertest.Start(t, dsn, bouncertest.Options{})
	x := watch(t, "--format", "json", "--timeout", "2s", "--pooler", one.Console(), "--pooler", two.Console(), dsn)
	errs := func(d poolersDoc) (out [2]bool) {
		if len(d.Poolers) != 1 || len(d.Poolers[0].Instances) != 2 {
			t.Fatalf("got %+v, want one pooler of two instances", d.Poolers)
		}
		for i, in := range d.Poolers[0].Instances {
			out[i] = in.Error != nil
		}
		return out
	}
	d := x.until("both read", func(d poolersDoc) bool { return errs(d) == [2]bool{} && d.Server != nil })
	if len(d.Findings) != 0 {
		t.Errorf("got findings %+v, want none at rest", d.Findings)
	}
	two.Stop()
	d = x.until("the second away", func(d poolersDoc) bool { return errs(d) == [2]bool{false, true} })
	if len(d.Findings) != 1 || d.Findings[0].Rule != "pooler-console-away" || !strings.Contains(d.Findings[0].Message, "pgbouncer 2") {
		t.Errorf("got findings %+v, want that the second is away", d.Findings)
	}
	if err := two.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	x.until("both read again", func(d poolersDoc) bool { return errs(d) == [2]bool{} })
	if err := syscall.Kill(one.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	d = x.until("the first hangs", func(d poolersDoc) bool { return errs(d) == [2]bool{true, false} })
	if e := *d.Poolers[0].Instances[0].Error; !strings.Contains(e, "no answer within 2s") {
		t.Errorf("got %q, want the time-out", e)
	}
	if err := syscall.Kill(one.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	x.until("it answers again", func(d poolersDoc) bool { return errs(d) == [2]bool{} })
	srv.Stop()
	d = x.until("the server gone", func(d poolersDoc) bool { return d.Server == nil })
	if len(d.Notes) == 0 || !strings.Contains(d.Notes[0], "without the server behind the poolers") || errs(d) != [2]bool{} {
		t.Errorf("got notes %q, want that the server is not there, and both consoles read", d.Notes)
	}
}

// TestPoolersWatchText: each answer begins with its time, also when no console
// was ever there.
func TestPoolersWatchText(t *testing.T) {
	x := watch(t, "--pooler", "host=/nonexistent", "host=/nonexistent")
	for _, want := range []string{"-- 2", "~ without the server", "~ the console of pgbouncer cannot be read", "    ", "", "pgbouncer · 1 instance", "  ", "-- 2"} {
		if !x.lines.Scan() {
			t.Fatal("it ended")
		}
		if !strings.HasPrefix(x.lines.Text(), want) {
			t.Errorf("got %q, want %q…", x.lines.Text(), want)
		}
	}
}
