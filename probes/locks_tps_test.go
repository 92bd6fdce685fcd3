package probes

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

// BenchmarkLocksTPS is what a sampler that ticks every second takes from an
// application's transactions, on a server where a hundred sessions wait for a
// table: rounds of pgbench -N without it, with it and without it, in turn, and
// the medians. What the two without differ by is noise; the server's processor
// time for the sampler is exact.
//
//	PGSONDE_LOCKBENCH=900/500/222 PGSONDE_TPS_ROUNDS=9 go test ./probes -run '^$' -bench LocksTPS -benchtime 1x -timeout 30m
func BenchmarkLocksTPS(b *testing.B) {
	if os.Getenv("PGSONDE_LOCKBENCH") == "" {
		b.Skip("it takes minutes: set PGSONDE_LOCKBENCH")
	}
	rounds, _ := strconv.Atoi(os.Getenv("PGSONDE_TPS_ROUNDS"))
	rounds = max(rounds, 5)
	program := pgbench(b)
	c := newCrowded(b)
	load := func(args ...string) []byte {
		cmd := exec.CommandContext(b.Context(), program, append(args, "-h", c.srv.Dir(), "-U", "postgres", "postgres")...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("%v: %v\n%s", cmd, err, out)
		}
		return out
	}
	load("-i", "-q", "-s", "5")
	_, waiters, _ := crowdOf(b)
	c.jam(b, "relation", min(waiters, 100))
	s := open(b, Options{DSN: c.dsn})
	locks(b, s) // from now on the lock table is read as rarely as its price allows
	for b.Loop() {
		var with, before, after []float64
		cpu, busy := 0.0, time.Duration(0)
		for range rounds {
			before = append(before, tps(b, load))
			own, begin := ownCPU(b, s), time.Now()
			stop := everySecond(b, s)
			with = append(with, tps(b, load))
			stop()
			cpu, busy = cpu+ownCPU(b, s)-own, busy+time.Since(begin)
			after = append(after, tps(b, load))
		}
		b.Logf("TPS without: %.0f and %.0f, with: %.0f", before, after, with)
		m, w := median(append(slices.Clone(before), after...)), median(with)
		b.ReportMetric(m, "tps-without")
		b.ReportMetric(w, "tps-with")
		b.ReportMetric((m-w)/m*100, "%-lost")
		b.ReportMetric(max(1-median(before)/median(after), 1-median(after)/median(before))*100, "%-noise")
		b.ReportMetric(cpu/float64(busy.Milliseconds())*100, "%-of-a-core")
	}
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// ownCPU is the processor time of the backends that serve s, in milliseconds.
func ownCPU(b *testing.B, s *Sampler) float64 {
	b.Helper()
	return backendCPU(b, s.watch.hello.pid) + backendCPU(b, s.work.hello.pid)
}

func pgbench(b *testing.B) string {
	b.Helper()
	places, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	for _, p := range append([]string{"pgbench"}, places...) {
		if path, err := exec.LookPath(p); err == nil {
			return path
		}
	}
	b.Skip("pgbench is not installed")
	return ""
}

var tpsLine = regexp.MustCompile(`(?m)^tps = ([0-9.]+)`)

// tps is one round of simple updates.
func tps(b *testing.B, load func(...string) []byte) float64 {
	b.Helper()
	out := load("-n", "-N", "-c", "4", "-T", "6")
	m := tpsLine.FindSubmatch(out)
	if m == nil {
		b.Fatalf("no figure in what pgbench says:\n%s", out)
	}
	n, _ := strconv.ParseFloat(string(m[1]), 64)
	return n
}

// everySecond reads as the TUI does until stop is called.
func everySecond(b *testing.B, s *Sampler) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() {
		for {
			if _, err := s.Tick(ctx, Want{Sessions: true, Limit: 40}); err != nil {
				done <- err
				return
			}
			select {
			case <-ctx.Done():
				done <- ctx.Err()
				return
			case <-time.After(s.Interval(time.Second)):
			}
		}
	}()
	return func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			b.Error(err)
		}
	}
}
