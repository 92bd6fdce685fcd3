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
// table: rounds of pgbench -N with and without it, in turn, and the medians.
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
		var with, without []float64
		for range rounds {
			without = append(without, tps(b, load))
			stop := everySecond(b, s)
			with = append(with, tps(b, load))
			stop()
		}
		slices.Sort(with)
		slices.Sort(without)
		b.Logf("TPS without: %.0f, with: %.0f", without, with)
		m, w := without[rounds/2], with[rounds/2]
		b.ReportMetric(m, "tps-without")
		b.ReportMetric(w, "tps-with")
		b.ReportMetric((m-w)/m*100, "%-lost")
	}
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
