package waits

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/pgsonde/pgsonde/probes"
)

// End is what happens if one session ended now. Who runs gets all that it waits for
// now, and its statement goes on. Where that may stop at a row, a key or a table that
// another keeps who stays, by the statement's text, the catalogs and the locks that are
// read, it is not sure to run. What functions do is in none of these, and not foreseen.
type End struct {
	Key Key
	// Frees are the waiters that could run: Direct ones at once, the others at
	// most, for they run only when those before them end their transactions, which
	// a client that sits inside BEGIN may never do. Who also waits for another root
	// or stands in a circle is not among them.
	Frees  []Key
	Direct int // of Frees, these come first: so many are sure to run at once
	// Most is how many may run at once at most: more than Direct where they wait for
	// one transaction side by side, and whether for the same is not known. These
	// come next in Frees.
	Most int
}

// InTurn is how many more could run at most, after those before them.
func (e End) InTurn() int { return len(e.Frees) - e.Most }

// Freed says how many run at once, and how many more may in turn.
func (e End) Freed() string {
	if len(e.Frees) == 0 {
		return "nobody"
	}
	if e.Direct == 0 && e.Most > 0 {
		return e.between(fmt.Sprintf("up to %d at once", e.Most))
	}
	if e.Most > e.Direct {
		return e.between(fmt.Sprintf("%d to %d at once", e.Direct, e.Most))
	}
	if e.InTurn() == 0 {
		return count(e.Direct)
	}
	return e.between(fmt.Sprintf("%d at once", e.Direct))
}

// between adds to how many run at once how many may in turn.
func (e End) between(once string) string {
	if e.InTurn() > 0 {
		return fmt.Sprintf("%s, up to %d in turn", once, e.InTurn())
	}
	return once
}

// AtMost is Freed as an upper bound.
func (e End) AtMost() string {
	if e.Direct == 0 {
		return e.Freed()
	}
	e.Direct = e.Most
	return "at most " + e.Freed()
}

// figure is Freed without its noun.
func (e End) figure() string {
	if e.InTurn() == 0 && e.Most == e.Direct {
		return strconv.Itoa(e.Direct)
	}
	return e.Freed()
}

// maxEnds bounds the sessions of one tree for which the question is asked unasked.
const maxEnds = 24

// mostVisits bounds the work of those questions for a forest of thousands: so
// many victims are looked at for all trees together, after leastEnds a tree.
const (
	mostVisits = 10000
	leastEnds  = 1
)

// WhatIf answers what happens if a session ended now. A CREATE INDEX
// CONCURRENTLY and its like wait for several transactions one after the other,
// of which the lock table shows one: while their progress has more they are not
// sure to run at once. Nor are all of those who wait for one transaction side by
// side, for a key or for a row that they have followed to its new version: who wants
// the same goes one after the other, whoever is first; who wants another runs, too.
// And a row may be share-locked by more than the one that is waited for. Of those who
// get a table to write to it, or to lock rows of it, one is sure, for they may want the
// same row, and none where somebody who stays may have a row of it. Nor is who waits in a
// queue that a circle closes through: the deadlock detector may put another before it
// until the end comes.
func (f *Forest) WhatIf(k Key) End {
	if _, ok := f.g.find(k); !ok {
		return End{Key: k}
	}
	return f.WhatIfAll(k)
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
	return newSimulation(f, newReach(f.g)).end(xs...)
}

// ends asks what-if for the root and for those within the tree that hold
// others up by more than a row's queue.
func (f *Forest) ends(t *Tree, victims []int) {
	var inner []int
	for _, v := range victims {
		if f.g.blocksAny(v) || f.reach.named(v) {
			inner = append(inner, v)
		}
	}
	most := min(len(inner), maxEnds, max(leastEnds, (mostVisits-f.visits)/(len(victims)+1)))
	f.visits += most * len(victims)
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
