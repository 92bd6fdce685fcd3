package waits

// reach walks from blockers to waiters.
type reach struct {
	g        *graph
	explicit [][]int // by process: waiters that name it outside of a queue's order
}

func newReach(g *graph) *reach {
	r := &reach{g: g, explicit: make([][]int, len(g.procs))}
	for _, w := range g.waits {
		for _, l := range w.explicit {
			r.explicit[l.proc] = append(r.explicit[l.proc], w.proc)
		}
		if w.reordered {
			for _, b := range w.ahead {
				r.explicit[b.proc] = append(r.explicit[b.proc], w.proc)
			}
		}
	}
	return r
}

// scanned says how much of an object's queue a walk has been through.
type scanned struct {
	held uint16  // masks of holders
	from [16]int // per requested mode: the first place behind such a request, plus 1
}

// victims are all who wait for p, directly or not, each once, near ones first.
func (r *reach) victims(p int) []int {
	seen := make([]bool, len(r.g.procs))
	done := map[*object]*scanned{}
	seen[p] = true
	out := []int{p}
	add := func(v int) {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	for i := 0; i < len(out); i++ {
		at := out[i]
		for _, h := range r.g.procs[at].holds {
			s := scan(done, h.obj)
			if h.mask&^s.held == 0 {
				continue
			}
			s.held |= h.mask
			for _, w := range h.obj.queue {
				if w.proc != at && w.mode.Conflicts()&h.mask != 0 {
					add(w.proc)
				}
			}
		}
		for _, b := range r.g.procs[at].waits {
			if b.obj != nil {
				b.behind(scan(done, b.obj), add)
			}
		}
		for _, v := range r.explicit[at] {
			add(v)
		}
	}
	return out[1:]
}

func scan(done map[*object]*scanned, o *object) *scanned {
	s := done[o]
	if s == nil {
		s = &scanned{}
		done[o] = s
	}
	return s
}

// behind adds those in the queue that b is ahead of and conflicts with.
func (b *wait) behind(s *scanned, add func(int)) {
	q := b.obj.queue
	to := len(q)
	if f := s.from[b.mode]; f > 0 {
		to = min(to, f-1)
	}
	for i := b.pos + 1; i < to; i++ {
		if w := q[i]; !w.reordered && w.against(b) {
			add(w.proc)
		}
	}
	if f := s.from[b.mode]; f == 0 || b.pos+2 < f {
		s.from[b.mode] = b.pos + 2
	}
}
