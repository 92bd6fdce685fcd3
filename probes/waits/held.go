package waits

import "github.com/pgsonde/pgsonde/probes"

// Held is a lock of one session that somebody waits for, or that it waits for
// itself.
type Held struct {
	Object  string // in words
	Type    string // locktype
	Modes   []probes.LockMode
	Granted bool
	Waiters int // sessions that a granted one keeps waiting
}

// Locks are the contended locks of a session, those it waits for first. Locks
// that nobody waits for are not read. It is empty when the entries of the lock
// table are not known.
func (f *Forest) Locks(k Key) []Held {
	p, ok := f.g.find(k)
	if !ok {
		return nil
	}
	var out []Held
	for _, w := range f.g.procs[p].waits {
		if w.obj != nil {
			out = append(out, Held{Object: f.words(w), Type: w.shape.Type, Modes: []probes.LockMode{w.mode}})
		}
	}
	for _, h := range f.g.procs[p].holds {
		x := Held{Object: f.names.object(h.obj.tag), Type: h.obj.tag.Type, Modes: modes(h.mask), Granted: true}
		for _, w := range h.obj.queue {
			if w.proc != p && w.mode.Conflicts()&h.mask != 0 {
				x.Waiters++
			}
		}
		if len(h.obj.queue) == 1 {
			x.Object = f.words(h.obj.queue[0]) // the row, where the lock is a transaction's
		}
		out = append(out, x)
	}
	return out
}

// modes are those of a mask, strongest first.
func modes(mask uint16) []probes.LockMode {
	var out []probes.LockMode
	for m := probes.AccessExclusiveLock; m > probes.NoLock; m-- {
		if mask&m.Bit() != 0 {
			out = append(out, m)
		}
	}
	return out
}
