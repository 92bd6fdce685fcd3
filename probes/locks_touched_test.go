package probes

import (
	"context"
	"testing"
	"time"
)

// TestTouchedIsRationed: the pass that tells what waits for transactions are about
// is made for new waits, and on a dear lock table no more often than that allows.
func TestTouchedIsRationed(t *testing.T) {
	at := time.Unix(1000, 0)
	wait := func(pid int) []LockRow {
		return []LockRow{{PID: 1, Granted: true, Mode: ExclusiveLock, Tag: LockTag{Type: "transactionid", XID: 9}}, {PID: pid, Mode: ShareLock, Tag: LockTag{Type: "transactionid", XID: 9}}}
	}
	tests := []struct {
		name  string
		took  time.Duration
		then  time.Duration // after the first pass
		pid   int           // who waits then
		want  int           // passes
		lacks bool          // a pass for the new wait
	}{
		{"the same wait", time.Millisecond, time.Second, 2, 1, false},
		{"the same wait, later", time.Millisecond, detailAgain, 2, 2, false},
		{"another wait", time.Millisecond, time.Second, 3, 2, false},
		{"another wait, dear", 100 * time.Millisecond, 9 * time.Second, 3, 1, true},
		{"another wait, dear, later", 100 * time.Millisecond, 11 * time.Second, 3, 2, false},
		{"the same wait, dear, later", 100 * time.Millisecond, 9 * time.Second, 2, 1, false},
	}
	for _, tt := range tests {
		n := 0
		r := lockReader{took: tt.took, looked: at}
		r.run = func(_ context.Context, _ time.Duration, name string, args ...any) (*Rows, error) {
			if pids := args[1].([]int); name != "locks_touched" || len(pids) != 2 {
				t.Errorf("%s: %s for %v", tt.name, name, pids)
			}
			n++
			return &Rows{}, nil
		}
		r.touch(t.Context(), &Locks{At: at, Rows: wait(2)})
		l := &Locks{At: at.Add(tt.then), Rows: wait(tt.pid)}
		if dear := tt.took >= cheapDetail; r.looked.After(at) != dear {
			t.Errorf("%s: the next look at a table that takes %v is due %v later", tt.name, tt.took, r.looked.Sub(at))
		}
		if r.touch(t.Context(), l); n != tt.want || l.Untouched != tt.lacks {
			t.Errorf("%s: %d passes, lacks one %v, want %d, %v", tt.name, n, l.Untouched, tt.want, tt.lacks)
		}
		r.touch(t.Context(), &Locks{At: at.Add(tt.then)})
		if tt.took < cheapDetail {
			continue
		}
		was := n
		if r.touch(t.Context(), &Locks{At: at.Add(tt.then + time.Second/2), Rows: wait(4)}); n != was {
			t.Errorf("%s: a moment without waits made it forget what a pass costs", tt.name)
		}
	}
}
