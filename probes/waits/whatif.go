package waits

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

// End is what happens if one session ended now.
type End struct {
	Key Key
	// Frees are the waiters that could run: Direct ones at once, the others at
	// most, for they run only when those before them end their transactions, which
	// a client that sits inside BEGIN may never do. Who also waits for another root
	// or stands in a circle is not among them.
	Frees  []Key
	Direct int // of Frees, these come first
}

// InTurn is how many more could run at most, after those before them.
func (e End) InTurn() int { return len(e.Frees) - e.Direct }

// freed says how many run at once, and how many more may in turn.
func (e End) freed() string {
	if e.InTurn() == 0 {
		return count(e.Direct)
	}
	return fmt.Sprintf("%d at once, up to %d in turn", e.Direct, e.InTurn())
}

// maxEnds bounds the sessions of one tree for which the question is asked unasked.
const maxEnds = 24

// mostVisits bounds the work of those questions for a forest of thousands.
const mostVisits = 10000

// WhatIf answers what happens if a session ended now. A CREATE INDEX
// CONCURRENTLY and its like wait for several transactions one after the other,
// of which the lock table shows one: they may have to wait on.
func (f *Forest) WhatIf(k Key) End {
	p, ok := f.g.find(k)
	if !ok {
		return End{Key: k}
	}
	return newSimulation(newReach(f.g)).end(p)
}

// WhatIfAll answers what happens if several sessions ended together. The Key is
// the first one's.
func (f *Forest) WhatIfAll(keys ...Key) End {
	var xs []int
	for _, k := range keys {
		if p, ok := f.g.find(k); ok {
			xs = append(xs, p)
		}
	}
	if len(xs) == 0 {
		return End{}
	}
	return newSimulation(newReach(f.g)).end(xs...)
}

// simulation lets sessions vanish and looks who is granted, then who is once
// those have run and ended, until nobody is.
type simulation struct {
	g       *graph
	reach   *reach
	ended   []int
	gone    []bool // by process: it is among ended; all false between runs
	victims []int
	victim  []bool // by process; all false between runs
	free    []bool // by process; all false between runs
	stuck   []bool // by wait, of the pass under way
	found   []int
	several []int // victims with several waits: a lock group's
	freed   []int // of this run, in order
	objects []*object
	inherit *object // the row whose queue an ended one heads: the next in it takes over its wait
	heir    int     // of whom
}

func newSimulation(r *reach) *simulation {
	n := len(r.g.procs)
	return &simulation{g: r.g, reach: r, gone: make([]bool, n), victim: make([]bool, n), free: make([]bool, n), stuck: make([]bool, len(r.g.waits))}
}

func (s *simulation) end(xs ...int) End {
	s.ended, s.victims = xs, s.reach.victims(xs...)
	for _, x := range xs {
		s.gone[x] = true
	}
	for _, v := range s.victims {
		s.victim[v] = true
	}
	s.gather()
	s.freed = s.freed[:0]
	e := End{Key: s.g.procs[xs[0]].key}
	for turn := false; ; turn = true {
		s.pass(turn)
		s.freed = append(s.freed, s.found...)
		for _, v := range s.found {
			s.free[v] = true
		}
		if !turn {
			e.Direct = len(s.found)
		}
		if len(s.found) == 0 {
			break
		}
	}
	for _, v := range s.victims {
		s.victim[v], s.free[v] = false, false
	}
	for _, x := range xs {
		s.gone[x] = false
	}
	if len(s.freed) > 0 {
		e.Frees = make([]Key, len(s.freed))
		for i, v := range s.freed {
			e.Frees[i] = s.g.procs[v].key
		}
	}
	return e
}

// gather lists the objects that victims wait for, near ones first.
func (s *simulation) gather() {
	s.objects, s.several, s.inherit = s.objects[:0], s.several[:0], nil
	s.reach.walk++
	for _, v := range s.victims {
		waits := s.g.procs[v].waits
		if len(waits) > 1 {
			s.several = append(s.several, v)
		}
		for _, w := range waits {
			if o := w.obj; o != nil && s.reach.scans[o.index].walk != s.reach.walk {
				s.reach.scan(o)
				s.objects = append(s.objects, o)
			}
		}
	}
	for _, x := range s.ended {
		for _, w := range s.g.procs[x].waits {
			row, ok := s.g.row[w.pid]
			if w.shape.Type != "transactionid" || !ok {
				continue
			}
			for _, o := range s.objects {
				if o.tag == row {
					s.inherit, s.heir = o, x
				}
			}
		}
	}
}

// pass finds victims that are not free and that nothing but the ended or the
// free block. With turn, one found counts as free at once.
func (s *simulation) pass(turn bool) {
	s.found = s.found[:0]
	for _, o := range s.objects {
		s.queue(o, turn)
	}
	for _, v := range s.several { // now that all their queues have been looked at
		s.settle(v, turn)
	}
	for _, v := range s.victims {
		if ws := s.g.procs[v].waits; len(ws) == 1 && ws[0].obj == nil {
			s.settle(v, turn)
		}
	}
}

// settle lets p go when none of its waits is stuck.
func (s *simulation) settle(p int, turn bool) {
	if !s.victim[p] || s.free[p] {
		return
	}
	for _, w := range s.g.procs[p].waits {
		if w.obj != nil && s.stuck[w.index] || w.obj == nil && s.held(w) {
			return
		}
	}
	s.found = append(s.found, p)
	s.free[p] = turn
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
		s.stuck[w.index] = inherited || conf&mine != 0 || s.aheadOf(w, ahead)
		if len(s.g.procs[w.proc].waits) == 1 {
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

// ends asks what-if for the root and for those within the tree that hold
// others up by more than a row's queue.
func (f *Forest) ends(t *Tree, victims []int) {
	var inner []int
	for _, v := range victims {
		if f.g.blocksAny(v) || len(f.reach.explicit[v]) > 0 {
			inner = append(inner, v)
		}
	}
	most := min(len(inner), maxEnds, 1+mostVisits/(len(victims)+1))
	t.Ends = append(t.Ends, f.sim.end(t.Root.proc))
	slices.SortStableFunc(inner, func(a, b int) int { return -cmp.Compare(len(f.rev[a]), len(f.rev[b])) })
	for _, v := range inner[:most] {
		if e := f.sim.end(v); len(e.Frees) > 0 {
			t.Ends = append(t.Ends, e)
		}
	}
	slices.SortStableFunc(t.Ends[1:], func(a, b End) int {
		return cmp.Or(-cmp.Compare(a.Direct, b.Direct), -cmp.Compare(len(a.Frees), len(b.Frees)))
	})
}

// blocksAny reports whether p may block anybody other than in a row's queue.
func (g *graph) blocksAny(p int) bool {
	for _, h := range g.procs[p].holds {
		if h.obj.tag.Type != "tuple" && h.blocks() {
			return true
		}
	}
	for _, b := range g.procs[p].waits {
		if b.obj == nil || b.shape.Type == "tuple" {
			continue
		}
		for m, last := range b.obj.last {
			if int(last) > b.pos+1 && b.mode.Conflicts()&(1<<m) != 0 {
				return true
			}
		}
	}
	return false
}

// blocks reports whether a request of the object's queue conflicts with it.
func (h hold) blocks() bool {
	for m := probes.AccessShareLock; m <= probes.AccessExclusiveLock; m++ {
		if h.obj.modes&m.Bit() != 0 && m.Conflicts()&h.mask != 0 {
			return true
		}
	}
	return false
}

// strong reports whether a mode takes a table away from its writers or readers.
func strong(m probes.LockMode) bool { return m >= probes.ShareLock }
