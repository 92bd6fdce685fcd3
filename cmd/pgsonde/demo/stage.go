package demo

import (
	"context"
	"time"
)

// cycle is the length of the play in its own seconds.
const cycle = 75

// stage is the clock of the play: all parts read the same.
type stage struct {
	start  time.Time
	second time.Duration
}

// span is from one second of the cycle up to another.
type span struct{ from, to float64 }

func (st stage) seconds(s float64) time.Duration { return time.Duration(s * float64(st.second)) }

// now is the second of the cycle.
func (st stage) now() float64 {
	return float64(time.Since(st.start)%st.seconds(cycle)) / float64(st.second)
}

func (st stage) in(s span) bool {
	n := st.now()
	return s.from <= n && n < s.to
}

func (st stage) inAny(spans []span) bool {
	for _, s := range spans {
		if st.in(s) {
			return true
		}
	}
	return false
}

// until is the time that is left to a second of this cycle, 0 when it is past.
func (st stage) until(second float64) time.Duration {
	return max(0, st.seconds(second-st.now()))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
