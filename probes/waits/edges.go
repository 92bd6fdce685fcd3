package waits

import (
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// Kind says how a blocker blocks.
type Kind string

// Kinds of an Edge.
const (
	Hard    Kind = "hard" // it holds a conflicting lock
	Soft    Kind = "soft" // it waits ahead in the queue with a conflicting request
	Unknown Kind = ""     // pg_blocking_pids names it and no lock entries tell why
)

// Edge is one reason why a session waits.
type Edge struct {
	Waiter, Blocker Key
	// The processes themselves, when they are parallel workers of the two; else
	// the keys' pids.
	WaiterPID, BlockerPID int
	Kind                  Kind
	LockType              string
	Mode                  probes.LockMode // requested; NoLock unknown
	HeldOrWanted          probes.LockMode // of the blocker: held (hard) or requested (soft), the strongest that conflicts
	Object                string          // in words; "" unknown
	Tag                   probes.LockTag  // as read; only Type when the entries are too old
	Wait                  time.Duration   // of this wait; -1 unknown
	Doubt                 Doubt           // "" proved
}

func (g *graph) edge(f *Forest, w *wait, l link) (e Edge) {
	g.setEdge(&e, f, w, l)
	return e
}

func (g *graph) setEdge(e *Edge, f *Forest, w *wait, l link) {
	e.Waiter, e.Blocker = g.procs[w.proc].key, g.procs[l.proc].key
	e.WaiterPID, e.BlockerPID = w.pid, l.pid
	e.Kind, e.LockType, e.Mode, e.HeldOrWanted = l.kind, w.shape.Type, w.mode, l.mode
	e.Object, e.Tag, e.Wait, e.Doubt = f.words(w), *w.shape, f.waited(w), w.doubt
}

// Edges are all reasons of all waiters: exactly the blockers that
// pg_blocking_pids has for each, one edge for a pair and an object. They are
// made on demand: a queue of n has up to n²/2.
func (f *Forest) Edges() []Edge {
	var out []Edge
	for i := range f.g.procs {
		if !f.g.procs[i].safe() {
			out = f.appendEdges(out, i)
		}
	}
	return out
}

// Blockers are the edges of one waiter, hard ones first.
func (f *Forest) Blockers(k Key) []Edge {
	p, ok := f.g.find(k)
	if !ok || f.g.procs[p].safe() {
		return nil
	}
	return f.appendEdges(nil, p)
}

func (f *Forest) appendEdges(out []Edge, p int) []Edge {
	waits := f.g.procs[p].waits
	from := len(out)
	for _, w := range waits {
		f.g.blockers(w, func(l link) bool {
			if len(waits) > 1 || w.obj != nil && w.obj.grouped || w.parallel(f.g) {
				for j := range out[from:] {
					e := &out[from+j]
					if e.Tag == *w.shape && e.Blocker == f.g.procs[l.proc].key {
						if l.kind == Hard && e.Kind != Hard {
							*e = f.g.edge(f, w, l)
						}
						return true
					}
				}
			}
			out = append(out, f.g.edge(f, w, l))
			return true
		})
	}
	return out
}

// parallel reports whether a holder of w's object is one of several members of
// a lock group, so that one blocker may come twice.
func (w *wait) parallel(g *graph) bool {
	if w.obj == nil || len(g.leader) == 0 {
		return false
	}
	for i := range w.obj.holders {
		if _, ok := g.leader[w.obj.holders[i].pid]; ok {
			return true
		}
	}
	return false
}

// blocked is how long the process of w has been blocked at most. Who wants a row or a
// key waits anew each time that another gets it, within one statement, which may
// have done work before: since it began. Else it is as long as w has lasted.
func (f *Forest) blocked(w *wait) time.Duration {
	d := f.waited(w)
	s := f.g.procs[w.proc].session
	if s == nil || s.QueryStart.IsZero() || d >= 0 && w.shape.Type != "transactionid" && w.shape.Type != "tuple" {
		return d
	}
	return max(d, f.At.Sub(s.QueryStart))
}

// waited is how long w has lasted on the server's clock; -1 unknown: the lock
// entries are older. One whose start the server has not stamped yet has just begun.
func (f *Forest) waited(w *wait) time.Duration {
	switch s := f.g.procs[w.proc].session; {
	case !w.start.IsZero():
		return max(0, f.At.Sub(w.start))
	case w.obj != nil:
		return 0
	case w.shape.Type == safeSnapshot && s != nil && !s.QueryStart.IsZero():
		return max(0, f.At.Sub(s.QueryStart))
	}
	return -1
}
