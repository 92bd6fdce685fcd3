package waits

import "slices"

// simulation lets sessions vanish and looks who is granted, then who is once
// those have run and ended, until nobody is. It looks at no more objects than
// those touch. It is not for two at a time.
type simulation struct {
	f      *Forest
	g      *graph
	naming [][]int // by process: waiters that name it outside of a queue's order
	gone   []bool  // by process: ended; all false between runs
	keeps  int     // one of gone whose request alone goes, and not what it holds, plus 1; 0 between runs
	free   []bool  // by process: has run and ended; all false between runs
	ended  []int   // the processes of gone
	run    int     // number of the run under way
	hit    []int   // by process: the last run that found it
	looked []int   // by wait: the last run that set stuck
	stuck  []bool  // by wait
	queued []bool  // by object: in pending
	found  []int   // of this run, in order

	pending []*object // whose queues must be looked at
	at      int       // … from here on
	others  []int     // processes to settle that a look at one queue does not: of several waits, or known from answers alone
	unsure  []int     // who may be freed at once, and may not
	racers  []int     // who is freed at once unless one of those beside it is before it
	writers []int     // who gets a table at once whose rows it wants
	inherit *object   // the row whose queue an ended one heads: the next in it takes over its wait
	heir    int       // of whom
	behind  *reach    // where waits pass each other: nobody is freed who is not behind an ended one
}

func newSimulation(f *Forest, r *reach) *simulation {
	n, w := len(r.g.procs), len(r.g.waits)
	return &simulation{
		f: f, g: r.g, naming: r.explicit, gone: make([]bool, n), free: make([]bool, n), hit: make([]int, n),
		looked: make([]int, w), stuck: make([]bool, w), queued: make([]bool, len(r.g.objects)),
	}
}

func (s *simulation) end(xs ...int) End {
	s.run++
	s.ended, s.found, s.inherit = xs, s.found[:0], nil
	for _, x := range xs {
		s.gone[x] = true
	}
	if s.g.passing {
		s.within(xs)
	}
	for _, x := range xs {
		s.bequeath(x)
		s.touch(x)
	}
	s.work(false)
	s.write()
	s.race()
	s.further()
	s.follow()
	e := End{Key: s.g.procs[xs[0]].key, Direct: len(s.found)}
	s.found, s.unsure = append(s.found, s.unsure...), s.unsure[:0]
	e.Most = len(s.found)
	for _, p := range s.found {
		s.free[p] = true
	}
	for _, p := range s.found[:e.Most] {
		s.leave(p)
	}
	s.work(true)
	if len(s.found) > 0 {
		e.Frees = make([]Key, len(s.found))
	}
	for i, p := range s.found {
		s.free[p], e.Frees[i] = false, s.g.procs[p].key
	}
	for _, x := range xs {
		s.gone[x] = false
	}
	return e
}

// within finds who waits for one of xs.
func (s *simulation) within(xs []int) {
	if s.behind == nil {
		s.behind = newReach(s.g)
	}
	s.behind.victims(xs...)
}

// withdraw is end for one whose request goes while what it holds stays.
func (s *simulation) withdraw(x int) End {
	s.keeps = x + 1
	defer func() { s.keeps = 0 }()
	return s.end(x)
}

// bequeath finds the row whose queue x heads while it waits for the row's locker.
func (s *simulation) bequeath(x int) {
	for _, w := range s.g.procs[x].waits {
		row, ok := s.g.row[w.pid]
		if w.shape.Type != "transactionid" || !ok {
			continue
		}
		for _, h := range s.g.procs[x].holds {
			if h.obj.tag == row {
				s.inherit, s.heir = h.obj, x
			}
		}
	}
}

// touch has everything looked at in which p has a part.
func (s *simulation) touch(p int) {
	for _, h := range s.g.procs[p].holds {
		s.push(h.obj)
	}
	for _, w := range s.g.procs[p].waits {
		if w.obj != nil {
			s.push(w.obj)
		}
	}
	if s.naming != nil {
		s.others = append(s.others, s.naming[p]...)
	}
}

// leave has everything looked at that may change once p has run and ended, the
// wait that an ended one has left to its heir among it.
func (s *simulation) leave(p int) {
	s.touch(p)
	if s.inherit != nil && !s.stays(s.heir) {
		s.push(s.inherit)
		s.inherit = nil
	}
	if s.naming == nil {
		return
	}
	for _, x := range s.ended {
		if s.waitsForRow(x) {
			s.others = append(s.others, s.naming[x]...)
		}
	}
}

func (s *simulation) push(o *object) {
	if !s.queued[o.index] {
		s.queued[o.index] = true
		s.pending = append(s.pending, o)
	}
}

// work looks at all that was touched. With turn, one found counts as free at once.
func (s *simulation) work(turn bool) {
	for {
		switch n := len(s.others); {
		case s.at < len(s.pending):
			o := s.pending[s.at]
			s.at++
			s.queued[o.index] = false
			s.queue(o, turn)
		case n > 0:
			p := s.others[n-1]
			s.others = s.others[:n-1]
			s.settle(p, turn)
		default:
			s.pending, s.at = s.pending[:0], 0
			return
		}
	}
}

// settle lets p go when none of its waits is stuck. Who nothing blocked before is
// not freed by it.
func (s *simulation) settle(p int, turn bool) {
	if s.gone[p] || s.free[p] || s.hit[p] == s.run || s.behind != nil && s.behind.seen[p] != s.behind.walk {
		return
	}
	blocked := false
	for _, w := range s.g.procs[p].waits {
		if s.isStuck(w) {
			return
		}
		s.g.blockers(w, func(link) bool { blocked = true; return false })
	}
	if !blocked || slices.ContainsFunc(s.g.procs[p].rest, s.blocks) {
		return
	}
	s.hit[p] = s.run
	switch {
	case turn:
		s.found = append(s.found, p)
		s.free[p] = true
		s.leave(p)
	case s.g.procs[p].more, s.passing(p), s.stops(p), s.shared(p), s.delaysItself(p), s.waitsAgain(p):
		s.unsure = append(s.unsure, p)
	case s.races(p):
		s.racers = append(s.racers, p)
	case s.g.forRows(p) != nil:
		s.writers = append(s.writers, p)
	default:
		s.found = append(s.found, p)
	}
}

// shared reports whether the row that p waits for may be locked by others than those
// who have ended.
func (s *simulation) shared(p int) bool {
	n := s.f.nodes[p]
	return n != nil && (s.f.untold(n) || slices.ContainsFunc(s.f.sharers(n), func(k Key) bool {
		x, known := s.g.find(k)
		return !known || !s.gone[x]
	}))
}

// passing reports whether it depends on the deadlock detector, which may put one waiter
// before another, if p is free.
func (s *simulation) passing(p int) bool {
	return slices.ContainsFunc(s.g.procs[p].waits, func(w *wait) bool {
		if !w.passes {
			return w.passed
		}
		found := w.passed
		s.g.blockers(w, func(l link) bool {
			found = found || w.mayPass(l) && s.blocks(l.proc)
			return !found
		})
		return found
	})
}

// mayPass reports whether w may be before l by then.
func (w *wait) mayPass(l link) bool { return w.passes && l.kind != Hard }

// isStuck reports whether w stays, as its queue was looked at or, when it was not,
// by its blockers.
func (s *simulation) isStuck(w *wait) bool {
	switch {
	case w.obj == nil:
		return s.held(w)
	case s.looked[w.index] == s.run:
		return s.stuck[w.index]
	}
	stuck := false
	s.g.blockers(w, func(l link) bool {
		stuck = s.blocks(l.proc) && !w.mayPass(l) || l.kind != Soft && l.proc == s.keeps-1
		return !stuck
	})
	return stuck
}

// queue goes through one queue from its head.
func (s *simulation) queue(o *object, turn bool) {
	ahead := uint16(0)
	inherited := o == s.inherit && s.stays(s.heir)
	held := s.heldOn(o, -1)
	for _, w := range o.queue {
		if s.gone[w.proc] {
			continue
		}
		conf := w.mode.Conflicts()
		mine := held
		if conf&held != 0 && (o.grouped || s.holdsHere(o, w.proc)) {
			mine = s.heldOn(o, w.proc)
		}
		s.stuck[w.index], s.looked[w.index] = inherited || conf&mine != 0 || !w.passes && s.aheadOf(w, ahead), s.run
		switch {
		case len(s.g.procs[w.proc].waits) > 1:
			s.others = append(s.others, w.proc)
		case !s.stuck[w.index]:
			s.settle(w.proc, turn)
		}
		if !s.free[w.proc] {
			ahead |= w.mode.Bit()
		}
	}
}

// aheadOf reports whether somebody stuck is before w.
func (s *simulation) aheadOf(w *wait, mask uint16) bool {
	if !w.reordered {
		if mask&w.mode.Conflicts() == 0 {
			return false
		}
		if !w.obj.grouped {
			return true
		}
	}
	found := false
	s.g.blockers(w, func(l link) bool {
		found = found || l.kind == Soft && s.blocks(l.proc)
		return !found
	})
	return found
}

func (s *simulation) blocks(p int) bool { return !s.gone[p] && !s.free[p] }

// heldOn is what those hold on o who stay, but for one process.
func (s *simulation) heldOn(o *object, but int) (m uint16) {
	for i := range o.holders {
		if h := &o.holders[i]; h.proc != but && (s.blocks(h.proc) || h.proc == s.keeps-1) {
			m |= h.mask
		}
	}
	return m
}

func (s *simulation) holdsHere(o *object, p int) bool {
	for i := range o.holders {
		if o.holders[i].proc == p {
			return true
		}
	}
	return false
}

// held reports whether a wait known from answers alone stays.
func (s *simulation) held(w *wait) bool {
	for _, l := range w.explicit {
		if s.blocks(l.proc) && !w.mayPass(l) || l.kind != Soft && l.proc == s.keeps-1 || s.inherits(l) {
			return true
		}
	}
	return false
}

// inherits: who waits behind an ended one in a row's queue would take over that
// one's own wait.
func (s *simulation) inherits(l link) bool {
	return s.gone[l.proc] && s.waitsForRow(l.proc) && s.stays(l.proc)
}

func (s *simulation) waitsForRow(x int) bool {
	for _, w := range s.g.procs[x].waits {
		if w.shape.Type == "transactionid" || w.shape.Type == "tuple" {
			return true
		}
	}
	return false
}

// stays reports whether the wait of an ended one would stay for its heir.
func (s *simulation) stays(x int) bool {
	stuck := false
	for _, w := range s.g.procs[x].waits {
		s.g.blockers(w, func(l link) bool {
			stuck = stuck || s.blocks(l.proc)
			return !stuck
		})
	}
	return stuck
}
