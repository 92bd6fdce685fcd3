package bouncer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Declared is a pooler and where its instances' consoles are.
type Declared struct {
	Spec     PoolerSpec
	Consoles []Options
}

// Fleet reads the consoles of several poolers. It connects when it is first
// read, and again whenever a console came back. Readings do not overlap.
type Fleet struct {
	mu      sync.Mutex
	poolers []fleetPooler
}

type fleetPooler struct {
	spec  PoolerSpec
	seats []*seat
}

// seat is one console, connected or not.
type seat struct {
	opts    Options
	target  string
	console *Console
	last    *Reading
	hung    bool      // the last attempt took its time and failed
	full    time.Time // our clock: the last attempt that was given all its time
	asked   bool      // the person was asked for a password, which is done once
}

// Told is what the instances of one pooler said.
type Told struct {
	Spec      PoolerSpec
	Instances []Instance
}

// NewFleet checks the connection strings and connects to nothing. The error is
// of one line.
func NewFleet(all []Declared) (*Fleet, error) {
	f := &Fleet{}
	seen := map[string]bool{}
	for _, d := range all {
		p := fleetPooler{spec: d.Spec}
		for _, o := range d.Consoles {
			cfg, err := consoleConfig(o)
			if err != nil {
				return nil, fmt.Errorf("console of pooler %s: %s", quoted(d.Spec.Name), oneLine(err.Error()))
			}
			at := target(cfg)
			if seen[at] {
				return nil, fmt.Errorf("console of pooler %s: %s is given twice, and would be counted twice", quoted(d.Spec.Name), at)
			}
			seen[at] = true
			p.seats = append(p.seats, &seat{opts: o, target: at})
		}
		f.poolers = append(f.poolers, p)
	}
	return f, nil
}

// Read reads every console once, all at the same time, each within its own
// time-out; of one that hung the time before no longer than a second. What cannot be read is an Instance with an Err, and the reading
// before when there was one.
func (f *Fleet) Read(ctx context.Context) []Told {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Told, len(f.poolers))
	var all errgroup.Group
	for i, p := range f.poolers {
		out[i] = Told{Spec: p.spec, Instances: make([]Instance, len(p.seats))}
		for k, s := range p.seats {
			all.Go(func() error {
				out[i].Instances[k] = s.read(ctx)
				return nil
			})
		}
	}
	_ = all.Wait() // none returns an error
	return out
}

// A console that hangs must not hold up the others at every reading: it is given
// briefly, and all its time only now and then.
const (
	briefly   = time.Second
	fullAgain = 15 * time.Second
)

func (s *seat) read(ctx context.Context) Instance {
	in := Instance{Target: s.target}
	begin := time.Now()
	if s.hung && begin.Sub(s.full) < fullAgain {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, briefly)
		defer cancel()
	} else {
		s.full = begin
	}
	defer func() { s.hung = in.Err != nil && time.Since(begin) >= briefly }()
	var r *Reading
	if s.console == nil {
		o := s.opts
		if s.asked {
			o.Password = nil
		}
		s.asked = true
		s.console, in.Err = Open(ctx, o)
	}
	if s.console != nil {
		r, in.Err = s.console.Read(ctx)
	}
	if in.Err == nil {
		s.last = r
	}
	in.Reading, in.At = s.last, time.Now()
	return in
}

// Close ends the connections. It waits for a Read that is under way, so end its
// context first.
func (f *Fleet) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.poolers {
		for _, s := range p.seats {
			if s.console != nil {
				s.console.Close()
				s.console = nil
			}
		}
	}
}
