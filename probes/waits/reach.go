package waits

// reach walks from blockers to waiters. It carries the marks of a walk, so it
// is not for two at a time.
type reach struct {
	g        *graph
	explicit [][]int // by process: waiters that name it outside of a queue's order; nil: nobody does
	walk     int     // number of the walk under way
	seen     []int   // by process: the last walk that came by
	scans    []scanned
	out      []int
}

// scanned says how much of an object's queue a walk has been through.
type scanned struct {
	walk int
	held uint16           // masks of holders
	from [modeCount]int32 // per requested mode: the first place behind such a request, plus 1
}

func newReach(g *graph) *reach {
	r := &reach{g: g, seen: make([]int, len(g.procs)), scans: make([]scanned, len(g.objects))}
	name := func(p int, w *wait) {
		if r.explicit == nil {
			r.explicit = make([][]int, len(g.procs))
		}
		r.explicit[p] = append(r.explicit[p], w.proc)
	}
	for _, w := range g.waits {
		for _, l := range w.explicit {
			name(l.proc, w)
		}
		if w.reordered {
			for _, b := range w.ahead {
				name(b.proc, w)
			}
		}
	}
	return r
}

// named reports whether a waiter names p outside of a queue's order.
func (r *reach) named(p int) bool { return r.explicit != nil && len(r.explicit[p]) > 0 }

// victims are all who wait for one of ps, directly or not, each once, near ones
// first. The slice is good until the next call.
func (r *reach) victims(ps ...int) []int {
	r.walk++
	r.out = append(r.out[:0], ps...)
	for _, p := range ps {
		r.seen[p] = r.walk
	}
	for i := 0; i < len(r.out); i++ {
		at := r.out[i]
		for _, h := range r.g.procs[at].holds {
			s := r.scan(h.obj)
			if h.mask&^s.held == 0 {
				continue
			}
			s.held |= h.mask
			for _, w := range h.obj.queue {
				if w.proc != at && w.mode.Conflicts()&h.mask != 0 {
					r.add(w.proc)
				}
			}
		}
		for _, b := range r.g.procs[at].waits {
			if b.obj != nil {
				r.behind(b)
			}
		}
		if r.explicit != nil {
			for _, v := range r.explicit[at] {
				r.add(v)
			}
		}
	}
	return r.out[len(ps):]
}

func (r *reach) add(v int) {
	if r.seen[v] != r.walk {
		r.seen[v] = r.walk
		r.out = append(r.out, v)
	}
}

func (r *reach) scan(o *object) *scanned {
	s := &r.scans[o.index]
	if s.walk != r.walk {
		*s = scanned{walk: r.walk}
	}
	return s
}

// behind adds those in the queue that b is ahead of and conflicts with.
func (r *reach) behind(b *wait) {
	s, q := r.scan(b.obj), b.obj.queue
	to := len(q)
	if f := s.from[b.mode]; f > 0 {
		to = min(to, int(f)-1)
	}
	if b.mode.Conflicts()&b.obj.modes != 0 {
		for i := b.pos + 1; i < to; i++ {
			if w := q[i]; !w.reordered && w.against(b) {
				r.add(w.proc)
			}
		}
	}
	if f := s.from[b.mode]; f == 0 || b.pos+2 < int(f) {
		s.from[b.mode] = int32(b.pos + 2)
	}
}
