package waits

import (
	"slices"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// ownStart is how much later than its transaction a statement may begin that has
// begun it: a client that parses and binds in one message is given two times. Three
// messages of their own (BEGIN, a lock, a savepoint) take longer even on a socket.
const ownStart = 200 * time.Microsecond

// maySave reports whether a savepoint may be open in a session's transaction, below
// the locks that others wait for: a cancel undoes to it and keeps them. The server
// does not say; a statement that began its transaction itself has none, unless it is
// one of several of one message.
func maySave(s *probes.Session) bool {
	if s == nil || s.Kind != probes.KindClient || s.XactStart.IsZero() || s.QueryStart.IsZero() {
		return false
	}
	return s.QueryStart.Sub(s.XactStart) >= ownStart || strings.Contains(strings.ToLower(s.Query), "savepoint")
}

// mayCatch reports whether a session's message runs code that may catch a cancel. A
// function called in a query may, too; its text does not tell.
func mayCatch(s *probes.Session) bool {
	if s == nil {
		return false
	}
	return slices.ContainsFunc(heads(s.Query), func(w string) bool { return w == "do" || w == "call" })
}

// saved adds to an advice what a cancel of n may leave locked.
func (f *Forest) saved(n *Node, a Advice) Advice {
	if a.Cancel != Frees && a.Cancel != FreesQueue {
		return a
	}
	held, key := f.holdsUp(n)
	switch {
	case n.Edge != nil && !held: // its place in a queue goes with the statement
	case key:
		a.AtMost, a.keeps = true, "an advisory key may be the session's and stay"
		a.Why = "an advisory key may be the session's: a cancel frees it only if it is the transaction's; terminate for sure"
	case maySave(n.Session) && f.nested[n.Key.PID]:
		a.AtMost, a.nested, a.keeps = true, true, "locks from before a savepoint stay"
		a.Why = "its transaction has subtransactions: if a savepoint is open, a cancel keeps what was locked before; terminate for sure"
	case mayCatch(n.Session):
		a.AtMost, a.keeps = true, "its code may catch the cancel and go on"
		a.Why = "a DO block or a procedure may catch the cancel and go on, and what was locked stays; terminate for sure"
	case maySave(n.Session):
		a.AtMost, a.keeps = true, "locks from before a savepoint stay"
		a.Why = "a cancel frees them only if the lock was taken in this statement or no savepoint is open; terminate for sure"
	}
	return a
}

// holdsUp reports whether n holds what somebody waits for, and whether an advisory key
// is among it. Of answers without lock entries it is whether n may hold it.
func (f *Forest) holdsUp(n *Node) (held, key bool) {
	if f.g == nil {
		return false, false
	}
	f.g.answered(n.proc, func(w *wait, l link) {
		if l.kind != Soft {
			held, key = true, key || w.shape.Type == "advisory"
		}
	})
	for _, h := range f.g.procs[n.proc].holds {
		if h.blocks() {
			held, key = true, key || h.obj.tag.Type == "advisory"
		}
	}
	return held, key
}

// verb is the milder one that ends the session's transaction.
func verb(a Advice) Verb {
	if a.Cancel == Nothing || a.nested {
		return Terminate
	}
	return Cancel
}

// promise is what one end of a session frees, by a verb of an advice.
func (a Advice) promise(v Verb, e End) string {
	if v == Cancel && a.AtMost {
		return e.AtMost() + " (" + a.keeps + "; terminate for sure)"
	}
	return e.Freed()
}
