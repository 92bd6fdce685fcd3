package waits

import (
	"slices"
	"time"
)

// Doubt says why the order of a queue is not proved for a waiter; "" means it is.
type Doubt string

// Doubts.
const (
	DoubtStart   Doubt = "wait start not yet stamped"
	DoubtClose   Doubt = "arrived within 5 ms of another"
	DoubtUpgrade Doubt = "one of the two holds a lock here and may have been let ahead"
	DoubtCycle   Doubt = "the deadlock detector may have reordered this queue"
	DoubtNobody  Doubt = "nobody seems to block it"
	DoubtTorn    Doubt = "changed between two readings"
	DoubtOld     Doubt = "lock entries are of an earlier reading"
)

// closeArrivals: waitstart is stamped after the insertion into the queue,
// without the partition lock, so that near arrivals may show in either order.
const closeArrivals = 5 * time.Millisecond

// order replays the server's JoinWaitQueue: waiters in order of their start,
// but one whose group holds, on this object, what an earlier waiter's request
// conflicts with goes in front of the first such waiter.
func (o *object) order() {
	if len(o.queue) == 0 {
		return
	}
	arrivals := o.queue
	slices.SortStableFunc(arrivals, func(a, b *wait) int {
		switch az, bz := a.start.IsZero(), b.start.IsZero(); {
		case az && bz:
			return 0
		case az:
			return 1
		case bz:
			return -1
		}
		return a.start.Compare(b.start)
	})
	groups := o.groupHolds()
	if len(arrivals) > 1 {
		o.queue = slices.Clone(arrivals)
	}
	if len(groups) > 0 && len(arrivals) > 1 {
		o.queue = o.queue[:0]
		for _, w := range arrivals {
			o.queue = slices.Insert(o.queue, jump(o.queue, w, groups[w.proc]), w)
		}
	}
	o.repair(groups)
	for i, w := range o.queue {
		w.pos, o.last[w.mode] = i, int32(i+1)
	}
	o.doubts(arrivals, groups)
}

// groupHolds is what each waiting lock group holds here already; empty for
// nearly every queue.
func (o *object) groupHolds() map[int]uint16 {
	if len(o.holders) == 0 {
		return nil
	}
	var waiting map[int]bool
	if len(o.queue) > 8 {
		waiting = make(map[int]bool, len(o.queue))
		for _, w := range o.queue {
			waiting[w.proc] = true
		}
	}
	var m map[int]uint16
	for i := range o.holders {
		h := &o.holders[i]
		if waiting[h.proc] || waiting == nil && slices.ContainsFunc(o.queue, func(w *wait) bool { return w.proc == h.proc }) {
			if m == nil {
				m = map[int]uint16{}
			}
			m[h.proc] |= h.mask
		}
	}
	return m
}

// jump is where w joins q.
func jump(q []*wait, w *wait, held uint16) int {
	if held != 0 {
		for i, e := range q {
			if e.proc != w.proc && e.mode.Conflicts()&held != 0 {
				return i
			}
		}
	}
	return len(q)
}

// repair moves a waiter that nothing blocks at its place behind the first
// waiter that conflicts: the server would have granted it, so the inferred
// order is wrong.
func (o *object) repair(groups map[int]uint16) {
	for range len(o.queue) {
		i := o.unblocked(groups)
		if i < 0 {
			return
		}
		w, to := o.queue[i], -1
		for j := i + 1; j < len(o.queue); j++ {
			if e := o.queue[j]; e.proc != w.proc && w.mode.Conflicts()&e.mode.Bit() != 0 {
				to = j
				break
			}
		}
		if to < 0 {
			return
		}
		copy(o.queue[i:to], o.queue[i+1:to+1])
		o.queue[to] = w
	}
}

// unblocked is the first waiter that nothing blocks although one behind it
// conflicts; -1 none.
func (o *object) unblocked(groups map[int]uint16) int {
	held, ahead := o.heldMask(), uint16(0)
	for i, w := range o.queue {
		conf := w.mode.Conflicts()
		blocked := conf&(held|ahead) != 0
		if blocked && (o.grouped || groups[w.proc] != 0) {
			blocked = o.blockedByOthers(w, i)
		}
		if !blocked && slices.ContainsFunc(o.queue[i+1:], w.against) {
			return i
		}
		ahead |= w.mode.Bit()
	}
	return -1
}

// against reports whether e's request conflicts with w's.
func (w *wait) against(e *wait) bool {
	return e.proc != w.proc && w.mode.Conflicts()&e.mode.Bit() != 0
}

// blockedByOthers looks past what w's own lock group holds and requests.
func (o *object) blockedByOthers(w *wait, i int) bool {
	for j := range o.holders {
		if h := &o.holders[j]; h.proc != w.proc && h.mask&w.mode.Conflicts() != 0 {
			return true
		}
	}
	return slices.ContainsFunc(o.queue[:i], w.against)
}

// doubts marks the waiters whose place among conflicting requests the lock
// table does not prove.
func (o *object) doubts(arrivals []*wait, groups map[int]uint16) {
	unstamped := uint16(0)
	for _, w := range arrivals {
		if w.start.IsZero() {
			unstamped |= w.mode.Bit()
		}
	}
	for i, w := range arrivals {
		conf := w.mode.Conflicts()
		if conf&o.modes == 0 {
			continue // nobody else here to be before or behind
		}
		switch {
		case conf&unstamped != 0 || w.start.IsZero():
			w.doubt = DoubtStart
		case w.closeTo(arrivals[i+1:], 1) || w.closeTo(arrivals[:i], -1):
			w.doubt = DoubtClose
		case len(groups) > 0 && o.mayHaveJumped(w, groups):
			w.doubt = DoubtUpgrade
		}
	}
}

// closeTo looks for a conflicting request that arrived nearly with w, going
// away from it through neighbours in order of arrival.
func (w *wait) closeTo(side []*wait, step int) bool {
	for i := range side {
		e := side[i]
		if step < 0 {
			e = side[len(side)-1-i]
		}
		if e.start.Sub(w.start).Abs() >= closeArrivals {
			return false
		}
		if w.against(e) {
			return true
		}
	}
	return false
}

// mayHaveJumped reports whether w and another are in the order of their
// arrival although the later one held a lock here: it may have been let past a
// third that has left since, and past the earlier one with it.
func (o *object) mayHaveJumped(w *wait, groups map[int]uint16) bool {
	return slices.ContainsFunc(o.queue, func(e *wait) bool {
		if !w.against(e) {
			return false
		}
		early, late := e, w
		if e.start.After(w.start) {
			early, late = w, e
		}
		return groups[late.proc] != 0 && early.pos < late.pos
	})
}
