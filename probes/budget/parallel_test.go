package budget

import (
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

// TestALeaderWaitsThroughItsWorkers is one session of a group of two that seem to run.
func TestALeaderWaitsThroughItsWorkers(t *testing.T) {
	for _, late := range []string{"", "a deadline passed"} {
		s := &probes.Snapshot{
			Limits: probes.Limits{MaxConnections: 100},
			Groups: []probes.Group{
				{Kind: probes.KindClient, Database: "d", User: "u", App: "api", State: "active", Act: "other", N: 2},
				{Kind: probes.KindClient, Database: "d", User: "u", App: "api", State: "active", Act: "lock", N: 1},
				{Kind: "parallel worker", Database: "d", User: "u", App: "api", State: "active", Act: "lock", N: 2},
			},
			Locks: &probes.Locks{Late: late, Procs: []probes.Session{
				{PID: 5, Kind: probes.KindClient, Database: "d", User: "u", App: "api", State: "active", WaitEventType: "IPC"},
				{PID: 6, Kind: "parallel worker", LeaderPID: 5, WaitEventType: "Lock"},
				{PID: 7, Kind: "parallel worker", LeaderPID: 5, WaitEventType: "Lock"},
			}},
		}
		want := [3]int{3, 2, 1}
		if late != "" {
			want = [3]int{3, 1, 2}
		}
		r := Use(nil, s).Rows[0]
		if got := [3]int{r.Now, *r.LockWaiting, *r.Running}; got != want {
			t.Errorf("late %q: sessions, waiting, running: got %v, want %v", late, got, want)
		}
	}
}
