package tui

import (
	"strings"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// outlook is what the end of a session would do.
type outlook struct {
	advice   waits.Advice
	end, cut waits.End // whom it frees to end the session, and to cancel it
	unless   string    // the condition on that, "" none
	fresh    bool      // its transaction has written nothing
	idle     bool      // it is in no transaction
}

func outlookOf(f *waits.Forest, n *waits.Node) outlook {
	s := n.Session
	fresh := s != nil && s.XID == "" && s.Kind == probes.KindClient
	return outlook{fresh: fresh, idle: s != nil && s.State == "idle", advice: adviceOn(f, n), end: f.EndBy(waits.Terminate, n), cut: f.EndBy(waits.Cancel, n), unless: f.Unless(n)}
}

// by is whom a verb frees.
func (o outlook) by(v waits.Verb) waits.End {
	if v == waits.Cancel {
		return o.cut
	}
	return o.end
}

// frees says whom a verb frees, in words and without the condition.
func (o outlook) frees(v waits.Verb) string {
	switch e := o.by(v); {
	case o.advice.Grant != "" && len(o.end.Frees) > 0:
		return "if it ends: " + frees(o.end) // by who may
	case !useful(effectOf(v, o.advice)):
		return "frees nobody"
	case v == waits.Cancel && o.advice.AtMost && o.cut.Direct == o.end.Direct && len(e.Frees) > 0:
		return "frees " + e.AtMost() // it may keep some of the locks
	default:
		return frees(e)
	}
}

// adviceOn is the forest's advice, and for processes that the server does not let
// be signalled that there is none.
func adviceOn(f *waits.Forest, n *waits.Node) waits.Advice {
	if s := n.Session; s != nil && unsignalled(s.Kind) {
		return waits.Advice{Cancel: waits.Impossible, Terminate: waits.Impossible, Why: "the " + s.Kind + " is a part of the server and takes no such signal"}
	}
	return f.Advise(n)
}

// effectOf is what a verb does by the advice.
func effectOf(v waits.Verb, a waits.Advice) waits.Effect {
	if v == waits.Cancel {
		return a.Cancel
	}
	return a.Terminate
}

// useful says that a verb would be obeyed.
func useful(e waits.Effect) bool { return e != waits.Nothing && e != waits.Impossible }

// effect says in one line what a verb would do to the session and for those who
// wait for it.
func (o outlook) effect(v waits.Verb) string {
	a, then := o.advice, ": "
	switch x := effectOf(v, a); x {
	case waits.Nothing:
		return "does nothing: " + a.Why
	case waits.Impossible, waits.Harmful, waits.Restarts:
		s := a.Why
		if x == waits.Harmful {
			s = "would do harm: " + s
		}
		if a.Instead != "" {
			s += ": " + a.Instead
		}
		return s
	case waits.FreesQueue:
		if len(o.end.Frees) == 0 {
			return "frees only its own slot: it waits itself"
		}
		if v != waits.Cancel || !a.AtMost {
			s := o.condition(v) + "; it waits itself"
			if o.fresh {
				s += " and has written nothing"
			}
			return s
		}
	}
	s := o.condition(v)
	if o.unless != "" {
		then = "; "
	}
	switch {
	case v == waits.Cancel && !strings.HasPrefix(a.Why, "cancel aborts"):
		return s + then + a.Why
	case v == waits.Cancel:
		return s + then + "its statement and transaction are aborted, its connection stays"
	case o.idle:
		return s + then + "its connection ends, it is in no transaction"
	}
	return s + then + "its transaction is rolled back and its connection ends"
}

// condition is frees with the condition on it, in the words of the tree's header.
func (o outlook) condition(v waits.Verb) string { return o.with(o.frees(v)) }

// sum is whom the end of the session frees, and on what condition, whether this login
// may end it or not.
func (o outlook) sum() string { return o.with(frees(o.end)) }

func (o outlook) with(s string) string {
	if o.unless == "" {
		return s
	}
	return s + ": " + o.unless
}
