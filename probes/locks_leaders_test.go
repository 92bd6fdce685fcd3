package probes

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// TestLeadersUnknown: where it could not be asked for whom masked waiters work, each of
// them may be a parallel worker, and that is said.
func TestLeadersUnknown(t *testing.T) {
	for name, run := range map[string]func() (*Rows, error){
		"refused": func() (*Rows, error) { return nil, errors.New("late") },
		"a storm": func() (*Rows, error) { return &Rows{}, nil }, // not even those queuing are told
	} {
		r := lockReader{own: func() []int { return nil }, run: func(_ context.Context, _ time.Duration, statement string, _ ...any) (*Rows, error) {
			if statement == "locks_leaders" {
				return run()
			}
			return &Rows{}, nil
		}}
		l := &Locks{
			Rows:  []LockRow{{PID: 5}, {PID: 6}, {PID: 7}, {PID: 8, Granted: true}},
			Procs: []Session{{PID: 5, Kind: KindMasked}, {PID: 6, Kind: KindClient}, {PID: 7, Kind: KindMasked}, {PID: 8, Kind: KindMasked}},
		}
		if r.lead(t.Context(), l); !slices.Equal(l.Unled, []int{5, 7}) {
			t.Errorf("%s: got %v, want those that wait and are masked", name, l.Unled)
		}
	}
}
