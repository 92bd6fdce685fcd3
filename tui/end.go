package tui

import (
	"context"
	"slices"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// Ender is a Source that can end sessions. A source without it, like a
// recording, has no keys for that.
type Ender interface {
	// Cancel aborts the target's statement and Terminate ends it, each only when
	// the target is still what it was. The error is about the connection. They run
	// beside a Tick.
	Cancel(ctx context.Context, t probes.Target) (probes.Result, error)
	Terminate(ctx context.Context, t probes.Target) (probes.Result, error)
}

// endWish asks to end a session: the node of a forest, or a session outside of it.
type endWish struct {
	verb waits.Verb
	node *waits.Node
	x    *probes.Session
}

func verbOf(a action) waits.Verb {
	if a == actCancel {
		return waits.Cancel
	}
	return waits.Terminate
}

// endTarget is a session that the dialog offers to end, as it was when it opened.
type endTarget struct {
	label string // selected, root, advised
	node  *waits.Node
	seen  *frame // the reading in which it was there last
	role  string
	outlook
	queued bool // it waited or blocked when the dialog opened
	victim int  // a pid that it blocks directly, 0 none
	gone   bool // it is not what it was: see left
	left   bool // the session itself is no more
	stays  bool // … is still there
}

// newTarget judges one session in a forest.
func newTarget(f *frame, label string, n *waits.Node) endTarget {
	forest := f.forest()
	t := endTarget{
		label: label, node: n, seen: f, role: n.Role, outlook: outlookOf(forest, n),
		queued: forest.Node(n.Key) == n, victim: forest.VictimOf(n),
	}
	if t.role == "" && n.Session != nil {
		t.role = f.role(n.Session)
	}
	return t
}

// load takes the next reading: who is freed may have changed, who is meant has not.
// A target that is no longer there stays as it was seen last.
func (t *endTarget) load(f *frame) {
	n := f.forest().Node(t.node.Key)
	switch {
	case t.queued:
		t.gone = n == nil || nodeKey(n) != nodeKey(t.node)
	case f.snap.Sessions != nil:
		t.gone = !slices.ContainsFunc(f.snap.Sessions, t.is)
	}
	if t.gone {
		if list := f.snap.Sessions; list != nil {
			t.stays = slices.ContainsFunc(list, t.is)
			t.left = !t.stays && len(list) < endSessions
		}
		t.outlook = outlook{advice: t.advice, end: waits.End{Key: t.node.Key}, cut: waits.End{Key: t.node.Key}}
		return
	}
	t.seen = f
	if n == nil {
		return
	}
	advice := t.advice
	t.outlook = outlookOf(f.forest(), n)
	t.advice = advice // as it was when the dialog opened
	if v := f.forest().VictimOf(n); v != 0 {
		t.victim = v
	}
}

// is says whether a session is the target.
func (t *endTarget) is(x probes.Session) bool { return sessionKey(&x) == nodeKey(t.node) }

// unsignalled are the kinds of process that pg_cancel_backend and
// pg_terminate_backend do not know: the auxiliary processes of the server
// (PostgreSQL's BackendType, from B_ARCHIVER to B_WAL_WRITER), which have no place
// among the backends.
func unsignalled(kind string) bool {
	switch kind {
	case "archiver", "background writer", "checkpointer", "io worker", "walreceiver", "walsummarizer", "walwriter", "logger":
		return true
	}
	return false
}

// target is what the server is asked to check.
func (t *endTarget) target(v waits.Verb, force bool) probes.Target {
	out := probes.Target{PID: t.node.Key.PID, Victim: t.victim, Force: force}
	if s := t.node.Session; s != nil {
		out.BackendStart, out.XactStart = s.BackendStart, s.XactStart
		if v == waits.Cancel {
			out.QueryStart = s.QueryStart
		}
	}
	return out
}

// audit begins the record of an attempt to end the target.
func (t *endTarget) audit(v waits.Verb, user string) probes.Audit {
	if s := t.node.Session; s != nil {
		return probes.NewAudit(string(v), s, t.role, user)
	}
	return probes.Audit{Verb: string(v), Target: nodeName(t.node), Role: t.role, User: user}
}

// offers are the sessions a dialog has: the chosen one, the root of its tree,
// and those whose end is advised, each once.
func offers(f *frame, n *waits.Node) []endTarget {
	forest := f.forest()
	tree := treeOf(forest, n)
	if tree == nil || forest.Node(n.Key) != n {
		return []endTarget{newTarget(f, "selected", n)}
	}
	var out []endTarget
	add := func(label string, x *waits.Node) {
		if x != nil && !slices.ContainsFunc(out, func(t endTarget) bool { return t.node.Key == x.Key }) {
			out = append(out, newTarget(f, label, x))
		}
	}
	if n != tree.Root {
		add("selected", n)
	}
	add("root", tree.Root)
	add("advised", forest.Node(tree.Best.Key))
	for _, s := range tree.Best.With {
		add("advised", forest.Node(s.Key))
	}
	return out
}

// endedMsg is what became of a cancel or terminate.
type endedMsg struct {
	n   int
	r   probes.Result
	err error
}
