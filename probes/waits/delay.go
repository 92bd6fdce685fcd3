package waits

import (
	"fmt"
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

// queueUp marks those whose progress says that other transactions follow the one
// they wait for now, and who these are where that is known.
func (g *graph) queueUp(all []probes.Progress) {
	for p := range g.procs { // a DETACH or DROP INDEX CONCURRENTLY does not say how far it is
		g.procs[p].unknown = g.waitsForVXID(p) && !slices.ContainsFunc(all, func(x probes.Progress) bool { return x.PID == g.procs[p].key.PID })
	}
	for i := range all {
		x := &all[i]
		p, ok := g.pids[x.PID]
		if !ok || !g.waitsForVXID(p) {
			continue
		}
		g.procs[p].unknown = x.Lockers != nil && !x.LockersKnown
		for _, pid := range x.Later {
			b := g.proc(Key{PID: pid}) // may move procs
			g.procs[p].later = append(g.procs[p].later, b)
		}
		if x.LockersTotal-x.LockersDone < 2 {
			continue
		}
		var rest []int
		current := false
		for _, pid := range x.Lockers {
			b := g.proc(Key{PID: pid})
			if g.blocks(b, p) {
				current = true
			} else {
				rest = append(rest, b)
			}
		}
		g.procs[p].more = !current || !x.LockersKnown
		if current {
			g.procs[p].rest = rest
		}
	}
}

func (g *graph) waitsForVXID(p int) bool {
	for _, w := range g.procs[p].waits {
		if w.shape.Type == "virtualxid" {
			return true
		}
	}
	return false
}

// blocks reports whether b is one of those that p waits for now.
func (g *graph) blocks(b, p int) (yes bool) {
	for _, w := range g.procs[p].waits {
		g.blockers(w, func(l link) bool {
			yes = yes || l.proc == b
			return !yes
		})
	}
	return yes
}

// Delayers are the transactions that a command waits for one after the other, the
// one it waits for now first; nil where it is a plain wait, or they are not known.
func (f *Forest) Delayers(k Key) []Key {
	p, ok := f.g.find(k)
	if !ok || len(f.g.procs[p].rest) == 0 {
		return nil
	}
	var out []Key
	for _, w := range f.g.procs[p].waits {
		f.g.blockers(w, func(l link) bool {
			out = append(out, f.g.procs[l.proc].key)
			return true
		})
	}
	for _, r := range f.g.procs[p].rest {
		out = append(out, f.g.procs[r].key)
	}
	return out
}

// delayed is the waiter of t's root that others delay, too, all of whom are known
// and few enough to name.
func (f *Forest) delayed(t *Tree) *Node {
	for _, n := range t.Root.Children {
		if p := &f.g.procs[n.proc]; len(p.rest) > 0 && len(p.rest) < mostTogether && !p.more {
			return n
		}
	}
	return nil
}

// endDelay is the action on a root that is one of several which a command waits for
// one after the other: to end them all, or to wait.
func (f *Forest) endDelay(t *Tree) Action {
	n := f.delayed(t)
	rest := f.g.procs[n.proc].rest
	e := f.sim.end(append([]int{t.Root.proc}, rest...)...)
	act := Action{Verb: Other, Key: t.Root.Key}
	f.jointly(&act, t.Root, rest, e)
	act.Text += fmt.Sprintf("; or wait: %s goes on by itself when they have ended", n.Key)
	return act
}

// then names those that follow the one that n waits for now.
func (f *Forest) then(n *Node) string {
	p := &f.g.procs[n.proc]
	if len(p.rest) == 0 {
		return ""
	}
	keys := make([]Key, len(p.rest))
	for i, r := range p.rest {
		keys[i] = f.g.procs[r].key
	}
	return f.list(keys, "and")
}

// next names those that n will wait for in a later phase, unless they end before; "" none
// is known.
func (f *Forest) next(n *Node) string {
	p := &f.g.procs[n.proc]
	if len(p.later) == 0 {
		if p.unknown {
			return "others"
		}
		return ""
	}
	keys := make([]Key, len(p.later))
	for i, r := range p.later {
		keys[i] = f.g.procs[r].key
	}
	return f.list(keys, "and")
}

// waitsAgain reports whether p, a command that waits for the transactions of others, will
// wait for some who stay in a later phase.
func (s *simulation) waitsAgain(p int) bool {
	x := &s.g.procs[p]
	return x.unknown || slices.ContainsFunc(x.later, s.blocks)
}

// delaysItself reports whether p, a command that waits for the transactions of others
// one after the other, holds up a session that has a snapshot of the same database: it
// may wait for that one next, which is a deadlock.
func (s *simulation) delaysItself(p int) bool {
	if !s.g.waitsForVXID(p) {
		return false
	}
	me := s.g.procs[p].session
	snapshot := func(w *wait) bool {
		x := s.g.procs[w.proc].session
		return w.proc != p && !s.gone[w.proc] && (x == nil || masked(x) || x.XMin != "" && (me == nil || x.Database == me.Database))
	}
	for _, h := range s.g.procs[p].holds {
		for _, w := range h.obj.queue {
			if w.mode.Conflicts()&h.mask != 0 && snapshot(w) {
				return true
			}
		}
	}
	found := false
	s.g.answered(p, func(w *wait, l link) { found = found || l.kind != Soft && snapshot(w) })
	return found
}
