package probes

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// Run by hand: go test ./probes/ -run '^$' -bench .

func BenchmarkTick80(b *testing.B)   { benchmarkTick(b, 80) }
func BenchmarkTick1000(b *testing.B) { benchmarkTick(b, 1000) }

// BenchmarkOpen is the way to the first snapshot: two connections, names, limits
// and the first tick.
func BenchmarkOpen(b *testing.B) {
	srv := pgtest.Start(b, pgtest.Any(b), pgserver.Options{})
	for b.Loop() {
		s, err := Open(b.Context(), Options{DSN: srv.DSN("postgres", "postgres")})
		if err != nil {
			b.Fatal(err)
		}
		tick(b, s, Want{Sessions: true})
		s.Close()
	}
}

// benchmarkTick measures a tick in wall time, in CPU time of the backend that
// serves it (server-µs/op) and in bytes of rows: groups only, then with a
// screenful of sessions.
func benchmarkTick(b *testing.B, sessions int) {
	srv := pgtest.Start(b, pgtest.Any(b), pgserver.Options{Settings: map[string]string{
		"max_connections": strconv.Itoa(sessions + 20), "autovacuum": "off",
	}})
	pgtest.Exec(b, srv.DSN("postgres", "postgres"), "create role app login")
	apps := []string{"api", "worker", "scheduler", "web", "admin", "mail", "search", "report"}
	query := "select /* " + strings.Repeat("x", 900) + " */ 1"
	for i := range sessions {
		c, err := pgx.Connect(b.Context(), srv.DSN("app", "postgres")+" application_name=werft:"+apps[i%len(apps)])
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.Close(b.Context()) })
		if i%5 == 0 {
			_, err = c.Exec(b.Context(), "begin")
		}
		if err == nil {
			_, err = c.Exec(b.Context(), query)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for _, w := range []struct {
		name string
		want Want
	}{{"groups", Want{}}, {"sessions", Want{Sessions: true, Limit: 40}}} {
		b.Run(w.name, func(b *testing.B) {
			s := open(b, Options{DSN: srv.DSN("postgres", "postgres")})
			snap := tick(b, s, w.want)
			pid := int(s.watch.pid.Load())
			before := cpuTicks(b, pid)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				snap = tick(b, s, w.want)
			}
			b.StopTimer()
			b.ReportMetric(float64(cpuTicks(b, pid)-before)*1e4/float64(b.N), "server-µs/op")
			b.ReportMetric(float64(snap.Cost.Bytes), "row-bytes/op")
			b.ReportMetric(float64(len(snap.Groups)), "groups")
		})
	}
}

// cpuTicks is the CPU time of a process so far, in hundredths of a second.
func cpuTicks(b *testing.B, pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	f := strings.Fields(after)
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return user + system
}
