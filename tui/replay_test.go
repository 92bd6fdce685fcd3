package tui

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorded reads the snapshots of a real server, one a line.
func recorded(t testing.TB, name string) []*probes.Snapshot {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var all []*probes.Snapshot
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, 4<<20)
	for sc.Scan() {
		s := &probes.Snapshot{}
		if err := json.Unmarshal(sc.Bytes(), s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		t.Fatalf("%s: no snapshots", name)
	}
	return all
}

func exampleBudget(t testing.TB) *budget.File {
	t.Helper()
	f, err := budget.Load("testdata/budget.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// replay is a Source that plays snapshots, the last one again and again with
// its clock going on.
type replay struct {
	mu     sync.Mutex
	snaps  []*probes.Snapshot
	n      int
	wants  []probes.Want
	fail   error         // what Tick returns now
	slow   time.Duration // how long a Tick takes
	inside int
	most   int // ticks under way at once, at most
	closed bool
}

func (r *replay) Tick(ctx context.Context, w probes.Want) (*probes.Snapshot, error) {
	r.mu.Lock()
	r.inside++
	r.most = max(r.most, r.inside)
	slow, fail := r.slow, r.fail
	r.wants = append(r.wants, w)
	s := *r.snaps[min(r.n, len(r.snaps)-1)]
	s.Seq = int64(r.n + 1)
	s.At = r.snaps[0].At.Add(time.Duration(r.n) * time.Second)
	r.n++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.inside--
		r.mu.Unlock()
	}()
	if slow > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(slow):
		}
	}
	if fail != nil {
		return nil, fail
	}
	return &s, nil
}

func (r *replay) Interval(base time.Duration) time.Duration { return base }

func (r *replay) FullQuery(context.Context, int, time.Time) (string, error) {
	return "", errors.New("the backend has gone")
}

func (r *replay) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

func (r *replay) ticks() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

func (r *replay) set(f func(*replay)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r)
}
