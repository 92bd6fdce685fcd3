package probes

import (
	"slices"
	"testing"
	"time"
)

// TestOnlyBlockersAreAskedForSubtransactions: of those who run a statement in an
// older transaction, a waiter that holds nothing up is left alone.
func TestOnlyBlockersAreAskedForSubtransactions(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	proc := func(pid int, state string, age time.Duration) Session {
		return Session{PID: pid, State: state, XactStart: at.Add(-age), QueryStart: at}
	}
	table, other := LockTag{Type: "relation", Relation: 7}, LockTag{Type: "relation", Relation: 8}
	l := &Locks{
		Procs: []Session{
			proc(1, "active", time.Second), proc(2, "active", time.Second), proc(3, "active", time.Second),
			proc(4, "active", 0), proc(5, "idle in transaction", time.Second), proc(6, "active", time.Second),
		},
		Rows: []LockRow{
			{Tag: table, PID: 1, Granted: true},
			{Tag: table, PID: 2},
			{Tag: table, PID: 4, Granted: true},
			{Tag: table, PID: 5, Granted: true},
			{Tag: other, PID: 6, Granted: true},
		},
		Waits: []LockWait{{PID: 2, Blockers: []int{3}}},
	}
	if got := mayKeep(l); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("asked for %v, want 1, which holds what 2 wants, and 3, which the server names", got)
	}
}
