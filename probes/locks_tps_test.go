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
// table: rounds of pgbench -N without it and with it in turn, each beside a round
// in which both connections say SELECT 1 every second, which is the least that
// anybody who looks takes (on a virtual machine a process that wakes after a
// second may cost more than its work). The medians of what each round lost against
// the mean of the rounds without around it. The server's processor time is exact, and
// of 45 seconds in one go: readings that are rationed would be due in each round.
//
//	PGSONDE_LOCKBENCH=900/500/222 PGSONDE_TPS_ROUNDS=8 go test ./probes -run '^$' -bench LocksTPS -benchtime 1x -timeout 40m
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
	arms := []*arm{{name: "sampler", tick: func(ctx context.Context) error {
		_, err := s.Tick(ctx, Want{Sessions: true, Limit: 40})
		return err
	}}, {name: "select-1", tick: func(ctx context.Context) error {
		for _, l := range []*link{s.watch, s.work} {
			if err := l.pg.Exec(ctx, "select 1").Close(); err != nil {
				return err
			}
		}
		return nil
	}}}
	for b.Loop() {
		var without []float64
		before := tps(b, load, stretch)
		for range rounds {
			for _, a := range arms {
				stop := everySecond(b, a.tick)
				with := tps(b, load, stretch)
				stop()
				after := tps(b, load, stretch)
				a.lost = append(a.lost, (1-2*with/(before+after))*100)
				without, before = append(without, after), after
			}
		}
		b.ReportMetric(median(without), "tps-without")
		for _, a := range arms {
			b.Logf("%s lost %.1f %%", a.name, a.lost)
			b.ReportMetric(median(a.lost), a.name+"-%-lost")
			cpu, begin, stop := ownCPU(b, s), time.Now(), everySecond(b, a.tick)
			tps(b, load, 45)
			stop()
			b.ReportMetric((ownCPU(b, s)-cpu)/float64(time.Since(begin).Milliseconds())*100, a.name+"-%-of-a-core")
		}
	}
}

// stretch is how many seconds transactions are counted in one go: short ones scatter by
// ten percent, and readings that are rationed would be due in each.
const stretch = 30

// arm is one way to look at the server every second.
type arm struct {
	name string
	tick func(context.Context) error
	lost []float64
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
func tps(b *testing.B, load func(...string) []byte, seconds int) float64 {
	b.Helper()
	out := load("-n", "-N", "-c", "4", "-T", strconv.Itoa(seconds))
	m := tpsLine.FindSubmatch(out)
	if m == nil {
		b.Fatalf("no figure in what pgbench says:\n%s", out)
	}
	n, _ := strconv.ParseFloat(string(m[1]), 64)
	return n
}

// everySecond looks every second until stop is called.
func everySecond(b *testing.B, tick func(context.Context) error) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() {
		for {
			if err := tick(context.WithoutCancel(ctx)); err != nil {
				done <- err
				return
			}
			select {
			case <-ctx.Done():
				done <- ctx.Err()
				return
			case <-time.After(time.Second):
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
