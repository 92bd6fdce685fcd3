package waits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// Effect is what cancelling or terminating a session does for those behind it.
type Effect string

// Effects.
const (
	Frees      Effect = "frees"       // its locks are released at once
	FreesQueue Effect = "frees-queue" // it waits itself: frees only what is behind it
	Nothing    Effect = "nothing"     // the signal is accepted and changes nothing
	Restarts   Effect = "restarts"    // it comes back and waits or works again
	Impossible Effect = "impossible"  // there is no backend, or it ignores signals
	Harmful    Effect = "harmful"     // it works and must not be done lightly
)

// Advice says what ending one session would do, by its state. Rolling back is
// not slow in PostgreSQL: there is no undo, locks go within a fraction of a
// second whatever the transaction wrote.
type Advice struct {
	Cancel, Terminate Effect
	Why               string // one line
	// AtMost: a cancel may free less, for it undoes to an open savepoint only and
	// keeps the locks from before; terminating frees all.
	AtMost bool
	keeps  string // … why, in a few words
	nested bool   // there are subtransactions
	// Instead is what to do where neither helps, "" otherwise.
	Instead string
	// Grant is what this login lacks to end it at all, "" nothing; both effects
	// are Impossible then.
	Grant string
}

func advice(c, t Effect, why, instead string) Advice {
	return Advice{Cancel: c, Terminate: t, Why: why, Instead: instead}
}

// Verb of an Action.
type Verb string

// Verbs.
const (
	Cancel    Verb = "cancel"
	Terminate Verb = "terminate"
	Rollback  Verb = "rollback prepared"
	Wait      Verb = "wait"
	Other     Verb = "other" // not a matter of ending a session here
)

// Action is the best thing to do about a tree.
type Action struct {
	Verb   Verb
	Key    Key
	With   []Step // what else must be ended, for it alone frees nobody
	Frees  int    // at once or in turn: at most
	Direct int    // of these, at once for sure
	Most   int    // … and at once at most: see End
	AtMost bool   // a cancel that may free nobody: see Advice
	Text   string // one line
	Grant  string // what this login lacks to do it, "" nothing
}

// Step is one of several sessions to end together.
type Step struct {
	Verb Verb
	Key  Key
}

// Wraparound reports whether a backend is an autovacuum that protects the
// server against running out of transaction ids.
func Wraparound(s *probes.Session) bool {
	return s != nil && s.Kind == "autovacuum worker" && strings.HasSuffix(strings.TrimSpace(s.Query), "(to prevent wraparound)")
}

// Advise says what ending n would do, or what this login lacks to do it.
func (f *Forest) Advise(n *Node) Advice {
	a := f.advise(n)
	if g := f.rights.missing(n.Session); g != "" && (ending(a.Cancel) || ending(a.Terminate)) {
		return Advice{Cancel: Impossible, Terminate: Impossible, Why: "this login may not end it", Instead: f.rights.get(g), Grant: g}
	}
	return a
}

// ending reports whether an effect is that the session or its statement ends.
func ending(e Effect) bool { return e == Frees || e == FreesQueue || e == Harmful }

// advise is Advise for who may end everybody.
func (f *Forest) advise(n *Node) Advice {
	s := n.Session
	switch {
	case n.Key.Prepared():
		return advice(Impossible, Impossible, "a prepared transaction has no backend", f.rollback(n))
	case s == nil:
		return advice(Impossible, Impossible, "activity does not show it: it is still connecting, or gone, and cannot be told from a later session", "")
	}
	if a, ok := system(s); ok {
		return a
	}
	if masked(s) {
		instead := "grant pg_read_all_stats"
		if g := f.rights.missing(s); g != "" {
			instead = f.rights.get(g)
		}
		return advice(Frees, Frees, "its state is hidden from this login", instead)
	}
	if n.Edge != nil {
		return f.saved(n, advice(FreesQueue, FreesQueue, "it waits itself: ending it frees only what is behind it", ""))
	}
	return f.saved(n, byState(s))
}

// system is the advice for processes that are no client's.
func system(s *probes.Session) (Advice, bool) {
	switch s.Kind {
	case "startup":
		return advice(
			Impossible, Impossible, "the startup process replays WAL and cannot be signalled",
			"on the primary end the transaction that holds AccessExclusive on this table, or here the query that blocks replay",
		), true
	case "autovacuum worker":
		if Wraparound(s) {
			return advice(
				Harmful, Harmful, "anti-wraparound vacuum: it restarts at once and keeps the server from stopping",
				"cancel the waiting DDL instead",
			), true
		}
		return advice(Restarts, Restarts, "autovacuum gives way by itself after deadlock_timeout and runs again later", ""), true
	case "walsender":
		return advice(Harmful, Harmful, "a replication connection", "look at the standby or subscriber"), true
	case "logical replication worker", "logical replication apply worker", "logical replication parallel worker",
		"logical replication tablesync worker":
		return advice(Harmful, Harmful, "a replication worker restarts and waits again", "end the local session it waits for"), true
	case "parallel worker":
		return advice(Frees, Frees, "a parallel worker: its whole statement ends", ""), true
	case "archiver", "background writer", "checkpointer", "io worker", "logger", "walreceiver", "walsummarizer", "walwriter":
		return advice(Impossible, Impossible, "the "+s.Kind+" is a part of the server and takes no such signal", ""), true
	case probes.KindClient, probes.KindMasked, probes.KindMaskedSystem, "":
		return Advice{}, false
	}
	return advice(Harmful, Harmful, "a "+s.Kind+": a part of the server, which starts it again", ""), true
}

func byState(s *probes.Session) Advice {
	event := s.WaitEventType + ":" + s.WaitEvent
	switch {
	case strings.HasPrefix(s.State, "idle in transaction"):
		return advice(Nothing, Frees, "idle in transaction: there is no statement to cancel", "")
	case s.State == "idle":
		return advice(Nothing, Frees, "idle: a lock of the session, not of a transaction; there is no statement to cancel", "")
	case event == "Client:ClientWrite":
		return advice(Nothing, Frees, "its client does not read the result: cancel waits for the socket", "")
	case event == "Client:ClientRead" && s.State == "active":
		return advice(Nothing, Frees, "waits for data of its client (COPY): cancel waits for the client", "")
	case event == "IPC:SyncRep":
		return advice(
			Harmful, Harmful, "commits and waits for a synchronous standby: ending the wait commits locally only",
			"bring the standby back, or change synchronous_standby_names",
		)
	case s.WaitEventType == "BufferPin" || s.WaitEvent == "BufferCleanup" || s.WaitEvent == "BufferPin":
		return advice(
			Frees, Frees, "waits for somebody else's pin on a page",
			"end the session with an open cursor on the same table",
		)
	}
	return advice(Frees, Frees, "cancel aborts the statement and its transaction; the client keeps its connection", "")
}

func (f *Forest) rollback(n *Node) string {
	if n == nil || n.Prepared == nil {
		return "find it in pg_prepared_xacts"
	}
	return fmt.Sprintf("in database %s, as %s or superuser: %s", n.Prepared.Database, n.Prepared.Owner, RollbackPrepared(n.Prepared.GID))
}

// best is the action that lets most run at once at least cost, and what this
// login lacks for it.
func (f *Forest) best(t *Tree) Action {
	a := f.choose(t)
	if a.Verb != Cancel && a.Verb != Terminate {
		return a
	}
	for _, s := range append([]Step{{a.Verb, a.Key}}, a.With...) {
		if n := f.Node(s.Key); a.Grant == "" && n != nil {
			a.Grant = f.rights.missing(n.Session)
		}
	}
	if a.Grant != "" {
		a.Text = "needs " + a.Grant + " to " + a.Text
	}
	return a
}

// choose is best for who may end everybody: a queued strong request is better
// cancelled than what it waits for ended, for it has done no work yet.
func (f *Forest) choose(t *Tree) Action {
	n, a, end := t.Root, f.advise(t.Root), t.Ends[0]
	if ddl := f.queuedDDL(t); ddl != nil && len(ddl.Frees) == 0 {
		return Action{Verb: Cancel, Key: ddl.Key, Text: fmt.Sprintf("wait, or cancel %s, the queued %s, and run it later: nobody waits behind it", ddl.Key, what(f.Node(ddl.Key)))}
	} else if ddl != nil && !n.Key.Prepared() {
		return Action{Verb: Cancel, Key: ddl.Key, Frees: len(ddl.Frees), Direct: ddl.Direct, Most: ddl.Most, Text: fmt.Sprintf("cancel %s, the queued %s: frees %s and loses no committed work; the root %s: %s",
			ddl.Key, what(f.Node(ddl.Key)), ddl.figure(), n.Key, end.figure())}
	}
	act := Action{Key: n.Key, Frees: len(end.Frees), Direct: end.Direct, Most: end.Most}
	switch {
	case n.Edge != nil && !f.deadlock(t):
		act.Verb, act.Text = Wait, "wait: the server reorders the queue at deadlock_timeout"
	case n.Edge != nil:
		act.Verb = verb(a)
		act.Text = fmt.Sprintf("%s %s: frees %s; or wait: the server aborts one at deadlock_timeout", act.Verb, n.Key, end.Freed())
		if act.Verb == Cancel && a.AtMost {
			act.Text = fmt.Sprintf("cancel %s: frees %s, terminate for sure; or wait: the server aborts one at deadlock_timeout", n.Key, end.AtMost())
		}
	case ending(a.Terminate) && end.Direct == 0 && f.delayed(t) != nil:
		return f.endDelay(t)
	case end.Direct == 0 && ending(a.Terminate) && f.unless(t) != "":
		act.Verb, act.Text = verb(a), fmt.Sprintf("%s %s: frees %s%s", verb(a), n.Key, end.Freed(), f.unless(t))
	case end.Most == 0 && (n.Key.Prepared() || ending(a.Terminate)):
		return f.together(t)
	case n.Key.Prepared():
		act.Verb = Rollback
		act.Text = fmt.Sprintf("roll back %s: frees %s%s; %s", f.Name(n.Key), end.Freed(), f.unless(t), a.Instead)
	case a.Cancel == Impossible || a.Cancel == Harmful || masked(n.Session):
		act.Verb, act.Text = Other, strings.TrimSuffix(a.Why+": "+a.Instead, ": ")
	case a.Cancel == Restarts:
		act.Verb, act.Text = Wait, a.Why
	default:
		return f.endRoot(t, a)
	}
	act.AtMost = act.Verb == Cancel && a.AtMost
	return act
}

// endRoot is the end of a root that runs or idles and is for ending.
func (f *Forest) endRoot(t *Tree, a Advice) Action {
	n, end := t.Root, t.Ends[0]
	act := Action{Verb: verb(a), Key: n.Key, Frees: len(end.Frees), Direct: end.Direct, Most: end.Most}
	act.AtMost = act.Verb == Cancel && a.AtMost
	act.Text = fmt.Sprintf("%s %s: frees %s%s", act.Verb, n.Key, a.promise(act.Verb, end), f.unless(t))
	switch {
	case act.Verb == Terminate:
		act.Text += " (" + a.Why + ")"
	case a.Instead != "":
		act.Text += "; but it " + a.Why + ": " + a.Instead
	}
	act.Text += f.orInner(t)
	return act
}

// orInner names one within t whose end lets more run at once for sure than the root's may,
// at the cost of its work; "" nobody.
func (f *Forest) orInner(t *Tree) string {
	for _, e := range t.Ends[1:] {
		n := f.Node(e.Key)
		if e.Direct <= t.Ends[0].Most || n == nil {
			return ""
		}
		if a := f.advise(n); ending(a.Terminate) && a.Terminate != Harmful && !masked(n.Session) {
			return fmt.Sprintf("; or %s %s, whose work is lost: frees %s", verb(a), n.Key, a.promise(verb(a), e))
		}
	}
	return ""
}

// deadlock reports whether t draws a circle that the server will break.
func (f *Forest) deadlock(t *Tree) bool {
	c := f.Circle(t)
	return c != nil && c.Hard
}

func masked(s *probes.Session) bool {
	return s != nil && (s.Kind == probes.KindMasked || s.Kind == probes.KindMaskedSystem)
}

// enough: a queued request that frees less than this part of what the root does,
// itself counted, is not worth more than the work the root would lose.
const enough = 2

// queuedDDL is what a cancel of a queued strong request frees that lets no fewer run
// at once than the end of the root and at least half as many in all: somebody for sure,
// or where the end of the root frees nobody; or, where the root is not for ending, of
// one that waits for it.
func (f *Forest) queuedDDL(t *Tree) *End {
	for i := range t.Ends[1:] {
		n := f.Node(t.Ends[i+1].Key)
		if !f.queued(n) {
			continue
		}
		e := f.cancelled(f.sim, n, t.Ends[i+1])
		sure := e.Direct > 0 || e.Most > 0 && t.Ends[0].Most == 0
		if sure && e.Direct >= t.Ends[0].Most && enough*(len(e.Frees)+1) >= len(t.Ends[0].Frees) {
			return &e
		}
	}
	if Wraparound(t.Root.Session) {
		for _, n := range t.Root.Children {
			if f.queued(n) {
				e := f.cancelled(f.sim, n, f.sim.end(n.proc))
				return &e
			}
		}
	}
	return nil
}

// queued reports whether n is a strong request for a table whose transaction has got
// nothing yet that others wait for: an advisory lock, as migrations take one first,
// is no work that would be lost.
func (f *Forest) queued(n *Node) bool {
	if n == nil || n.Edge == nil || n.Edge.LockType != "relation" || !strong(n.Edge.Mode) || n.Session != nil && n.Session.Kind == "startup" {
		return false
	}
	for _, h := range f.g.procs[n.proc].holds {
		if h.blocks() && h.obj.tag.Type != "advisory" {
			return false
		}
	}
	nothing := true
	f.g.answered(n.proc, func(w *wait, l link) { nothing = nothing && (l.kind != Hard || w.shape.Type == "advisory") })
	return nothing
}

// cancelled is e for a cancel of n: who waits for its advisory locks is not sure to
// run, for they may be the session's and stay.
func (f *Forest) cancelled(sim *simulation, n *Node, e End) End {
	if held, _ := f.holdsUp(n); !held {
		return e
	}
	sure := sim.withdraw(n.proc)
	frees := sure.Frees[:sure.Direct:sure.Direct]
	for _, k := range e.Frees {
		if !slices.Contains(frees[:sure.Direct], k) {
			frees = append(frees, k)
		}
	}
	return End{Key: e.Key, Frees: frees, Direct: sure.Direct, Most: e.Most}
}

func count(n int) string {
	if n == 1 {
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", n)
}

// String is the pid, or the virtual transaction of a prepared one.
func (k Key) String() string {
	if k.Prepared() {
		return "prepared transaction " + k.VXID
	}
	return fmt.Sprint(k.PID)
}
