package waits

import (
	"cmp"
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

// End is what happens if one session ended now.
type End struct {
	Key Key
	// Frees are the waiters that could run: Direct ones at once, the others when
	// those before them are through. Who also waits for another root or stands in
	// a circle is not among them.
	Frees  []Key
	Direct int // of Frees, these come first
}

// maxEnds bounds the sessions of one tree for which the question is asked unasked.
const maxEnds = 24

// WhatIf answers what happens if a session ended now.
func (f *Forest) WhatIf(k Key) End {
	p, ok := f.g.index[k]
	if !ok || f.reach == nil {
		return End{Key: k}
	}
	return f.whatIf(p)
}

func (f *Forest) whatIf(x int) End {
	s := &simulation{g: f.g, x: x, victims: f.reach.victims(x), free: make([]bool, len(f.g.procs)), victim: make([]bool, len(f.g.procs))}
	for _, v := range s.victims {
		s.victim[v] = true
	}
	s.gather()
	e := End{Key: f.g.procs[x].key}
	direct := s.pass(false)
	for _, v := range direct {
		e.Frees = append(e.Frees, f.g.procs[v].key)
		s.free[v] = true
	}
	e.Direct = len(direct)
	for {
		more := s.pass(true)
		if len(more) == 0 {
			return e
		}
		for _, v := range more {
			e.Frees = append(e.Frees, f.g.procs[v].key)
		}
	}
}

// simulation lets x vanish and looks who is granted, then who is once those
// have run and ended, until nobody is.
type simulation struct {
	g       *graph
	x       int
	victims []int
	victim  []bool
	free    []bool
	objects []*object
	stuck   map[*wait]bool // of the pass under way
	inherit *object        // the row whose queue x heads: the next in it takes over x's wait
}

func (s *simulation) gather() {
	seen := map[*object]bool{}
	for _, v := range s.victims {
		for _, w := range s.g.procs[v].waits {
			if w.obj != nil && !seen[w.obj] {
				seen[w.obj] = true
				s.objects = append(s.objects, w.obj)
			}
		}
	}
	for _, w := range s.g.procs[s.x].waits {
		if w.shape.Type != "transactionid" {
			continue
		}
		if row, ok := s.g.row[w.pid]; ok {
			for _, o := range s.objects {
				if o.tag == row {
					s.inherit = o
				}
			}
		}
	}
}

// pass finds victims that are not free and that nothing but x or the free
// blocks. With turn, one found counts as free at once.
func (s *simulation) pass(turn bool) []int {
	s.stuck = map[*wait]bool{}
	var found []int
	settle := func(p int) {
		if !s.victim[p] || s.free[p] || slices.Contains(found, p) && !turn {
			return
		}
		for _, w := range s.g.procs[p].waits {
			if w.obj != nil && s.stuck[w] || w.obj == nil && s.held(w) {
				return
			}
		}
		found = append(found, p)
		if turn {
			s.free[p] = true
		}
	}
	for _, o := range s.objects {
		s.queue(o, settle)
	}
	for _, v := range s.victims {
		if ws := s.g.procs[v].waits; len(ws) > 0 && ws[0].obj == nil {
			settle(v)
		}
	}
	return found
}

// queue goes through one queue from its head.
func (s *simulation) queue(o *object, settle func(int)) {
	ahead := uint16(0)
	inherited := o == s.inherit && s.xStuck()
	held := s.heldOn(o, -1)
	for _, w := range o.queue {
		if w.proc == s.x {
			continue
		}
		conf := w.mode.Conflicts()
		mine := held
		if conf&held != 0 && (o.grouped || s.holdsHere(o, w.proc)) {
			mine = s.heldOn(o, w.proc)
		}
		if inherited || conf&mine != 0 || s.aheadOf(w, ahead) {
			s.stuck[w] = true
		}
		if !s.free[w.proc] {
			settle(w.proc)
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

func (s *simulation) blocks(p int) bool { return p != s.x && !s.free[p] }

// heldOn is what those hold on o who stay, but for one process.
func (s *simulation) heldOn(o *object, but int) (m uint16) {
	for i := range o.holders {
		if h := &o.holders[i]; h.proc != but && s.blocks(h.proc) {
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
		if s.blocks(l.proc) || s.inherits(l) {
			return true
		}
	}
	return false
}

// inherits: w is behind x in a row's queue and would take over x's own wait.
func (s *simulation) inherits(l link) bool {
	return l.proc == s.x && s.xWaitsForRow() && s.xStuck()
}

func (s *simulation) xWaitsForRow() bool {
	for _, w := range s.g.procs[s.x].waits {
		if w.shape.Type == "transactionid" || w.shape.Type == "tuple" {
			return true
		}
	}
	return false
}

// xStuck reports whether x's own wait would stay for its heir.
func (s *simulation) xStuck() bool {
	stuck := false
	for _, w := range s.g.procs[s.x].waits {
		s.g.blockers(w, func(l link) bool {
			stuck = stuck || s.blocks(l.proc)
			return !stuck
		})
	}
	return stuck
}

// ends asks what-if for the root and for those within the tree that hold
// others up by more than a row's queue.
func (f *Forest) ends(t *Tree, victims []int) {
	t.Ends = append(t.Ends, f.whatIf(t.Root.proc))
	var inner []int
	for _, v := range victims {
		if f.g.blocksAny(v) || len(f.reach.explicit[v]) > 0 {
			inner = append(inner, v)
		}
	}
	slices.SortStableFunc(inner, func(a, b int) int { return -cmp.Compare(len(f.rev[a]), len(f.rev[b])) })
	for _, v := range inner[:min(len(inner), maxEnds)] {
		if e := f.whatIf(v); len(e.Frees) > 0 {
			t.Ends = append(t.Ends, e)
		}
	}
	slices.SortStableFunc(t.Ends[1:], func(a, b End) int { return -cmp.Compare(len(a.Frees), len(b.Frees)) })
}

// blocksAny reports whether p blocks anybody other than in the queue for a row.
func (g *graph) blocksAny(p int) bool {
	for _, h := range g.procs[p].holds {
		if h.obj.tag.Type == "tuple" {
			continue
		}
		for _, w := range h.obj.queue {
			if w.proc != p && w.mode.Conflicts()&h.mask != 0 {
				return true
			}
		}
	}
	for _, b := range g.procs[p].waits {
		if b.obj == nil || b.shape.Type == "tuple" || b.mode.Conflicts()&b.obj.modes == 0 {
			continue
		}
		if slices.ContainsFunc(b.obj.queue[b.pos+1:], func(w *wait) bool { return w.against(b) }) {
			return true
		}
	}
	return false
}

// strong reports whether a mode takes a table away from its writers or readers.
func strong(m probes.LockMode) bool { return m >= probes.ShareLock }
