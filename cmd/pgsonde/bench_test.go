package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// BenchmarkTUI measures the real binary on an 80x24 terminal and a calm server
// with 80 sessions: time to the first frame and to the first data, bytes and
// CPU of a calm tick, resident memory.
//
//	go test -run '^$' -bench TUI ./cmd/pgsonde
func BenchmarkTUI(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "pgsonde")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("building: %v\n%s", err, out)
	}
	s := pgtest.Start(b, pgtest.Any(b), pgserver.Options{Settings: map[string]string{"max_connections": "120"}})
	for i := range 80 {
		c, err := s.Open(b.Context(), pgserver.ConnOptions{User: "postgres", Database: "postgres", AppName: fmt.Sprintf("werft:role%d", i%8)})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(c.Close)
	}
	for b.Loop() {
		measureTUI(b, bin, s.DSN("postgres", "postgres"))
	}
}

// screenLog collects what the program writes.
type screenLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *screenLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *screenLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Len()
}

func (l *screenLog) has(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Contains(l.buf.Bytes(), []byte(s))
}

func measureTUI(b *testing.B, bin, dsn string) {
	const calm = 8 * time.Second
	cmd := exec.Command(bin, dsn)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "XDG_CONFIG_HOME=/nonexistent")
	begun := time.Now()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		b.Fatal(err)
	}
	log := &screenLog{}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		buf := make([]byte, 64<<10)
		for {
			n, err := tty.Read(buf)
			_, _ = log.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	until := func(what string, ok func() bool) time.Duration {
		for !ok() {
			if time.Since(begun) > 20*time.Second {
				b.Fatalf("no %s within 20 s", what)
			}
			time.Sleep(time.Millisecond)
		}
		return time.Since(begun)
	}
	first := until("first frame", func() bool { return log.has("Roles") })
	data := until("data", func() bool { return log.has("role7") })
	time.Sleep(3 * time.Second) // the terminal's answers, the first slow clock
	bytes0, cpu0 := log.len(), cpuTime(b, cmd.Process.Pid)
	time.Sleep(calm)
	ticks := calm.Seconds()
	b.ReportMetric(first.Seconds()*1000, "first-frame-ms")
	b.ReportMetric(data.Seconds()*1000, "first-data-ms")
	b.ReportMetric(float64(log.len()-bytes0)/ticks, "B/calm-tick")
	b.ReportMetric((cpuTime(b, cmd.Process.Pid)-cpu0)*1000/ticks, "cpu-ms/calm-tick")
	b.ReportMetric(rss(b, cmd.Process.Pid), "rss-MB")
	if _, err := tty.WriteString("q"); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	_ = tty.Close()
	<-copied
}

// cpuTime is the CPU time of a process in seconds, from the scheduler's own
// count in nanoseconds.
func cpuTime(b *testing.B, pid int) float64 {
	b.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		b.Skip("needs /proc/PID/task/*/schedstat")
	}
	sum := 0.0
	for _, t := range tasks {
		text, _ := os.ReadFile(t)
		var ns float64
		_, _ = fmt.Sscan(string(text), &ns)
		sum += ns / 1e9
	}
	return sum
}

func rss(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	var kb float64
	_, _ = fmt.Sscan(after, &kb)
	return kb / 1024
}
