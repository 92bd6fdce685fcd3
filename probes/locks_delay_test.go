package probes

import (
	"context"
	"testing"
	"time"
)

// TestDelaysAreRationed: who else holds a command up is asked for at the first reading,
// whatever a pass over the lock table takes; on a dear one no more often than that
// allows, and what was said stands while the command waits for the same one.
func TestDelaysAreRationed(t *testing.T) {
	at := time.Unix(1000, 0)
	progress := func(done int) []Progress {
		return []Progress{{PID: 9, Relation: 7, Phase: "waiting for writers before build", LockersTotal: 4, LockersDone: done, CurrentLocker: 1 + done}}
	}
	for _, tt := range []struct {
		name  string
		took  time.Duration
		then  time.Duration // after the first pass
		done  int           // by then
		want  int           // passes
		known bool
	}{
		{"cheap", time.Millisecond, time.Second, 0, 2, true},
		{"dear", 100 * time.Millisecond, time.Second, 0, 1, true},
		{"dear, later", 100 * time.Millisecond, 11 * time.Second, 0, 2, true},
		{"dear, and it waits for the next", 100 * time.Millisecond, time.Second, 1, 1, false},
		{"dear, later, and it waits for the next", 100 * time.Millisecond, 11 * time.Second, 1, 2, true},
	} {
		n := 0
		r := lockReader{took: tt.took, looked: at, own: func() []int { return nil }}
		r.run = func(_ context.Context, _ time.Duration, name string, _ ...any) (*Rows, error) {
			if name == "locks_delay" {
				n++
			}
			return &Rows{}, nil
		}
		l := &Locks{At: at, Progress: progress(0)}
		if r.delays(t.Context(), l); n != 1 || !l.Progress[0].LockersKnown {
			t.Errorf("%s: %d passes at first, known %v", tt.name, n, l.Progress[0].LockersKnown)
		}
		if dear := tt.took >= cheapDetail; r.looked.After(at) != dear {
			t.Errorf("%s: the next look at a table that takes %v is due %v later", tt.name, tt.took, r.looked.Sub(at))
		}
		l = &Locks{At: at.Add(tt.then), Progress: progress(tt.done)}
		if r.delays(t.Context(), l); n != tt.want || l.Progress[0].LockersKnown != tt.known {
			t.Errorf("%s: %d passes, want %d; known %v, want %v", tt.name, n, tt.want, l.Progress[0].LockersKnown, tt.known)
		}
	}
}
