package main

import (
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
)

type locksDoc struct {
	Schema        string           `json:"schema"`
	At            *string          `json:"at"`
	AgeS          float64          `json:"age_s"` // how much older than at the reading of the locks is
	Late          *string          `json:"late"`
	Lacks         *string          `json:"lacks"`   // the privilege without which it is
	Waiters       *int             `json:"waiters"` // null: not known
	Unasked       int              `json:"unasked"`
	Torn          []int            `json:"torn"`
	Roots         int              `json:"roots"`        // = trees
	HiddenTrees   int              `json:"hidden_trees"` // by --min-wait
	Edges         []edgeDoc        `json:"edges"`
	Cycles        [][]int          `json:"cycles"`
	Trees         []treeDoc        `json:"trees"`
	SafeSnapshots []snapshotWait   `json:"safe_snapshots"`
	Suspects      []nodeDoc        `json:"suspects"` // when the locks are not known or old
	Findings      []probes.Finding `json:"findings"`
}

type edgeDoc struct {
	Waiter       int      `json:"waiter"`
	Blocker      int      `json:"blocker"`
	BlockerGID   *string  `json:"blocker_gid"`
	Kind         *string  `json:"kind"`
	LockType     string   `json:"locktype"`
	Mode         *string  `json:"mode"`
	HeldOrWanted *string  `json:"held_or_wanted"`
	Object       *string  `json:"object"`
	WaitS        *float64 `json:"wait_s"`
	Doubt        *string  `json:"doubt"`
}

type treeDoc struct {
	Root         nodeDoc        `json:"root"`
	Victims      int            `json:"victims"`
	LongestWaitS *float64       `json:"longest_wait_s"`
	BlockedS     *float64       `json:"longest_blocked_s"` // at most: see waitDoc
	SlotsPinned  int            `json:"slots_pinned"`
	PinnedByRole map[string]int `json:"pinned_by_role"`
	Cycle        []int          `json:"cycle"` // its members, when no root leads to it
	Ends         []endDoc       `json:"ends"`
	Best         *actionDoc     `json:"best"`
}

type endDoc struct {
	PID    int     `json:"pid"`
	GID    *string `json:"gid"`            // of a prepared transaction
	Frees  int     `json:"frees"`          // directly or in turn: at most
	Direct int     `json:"direct"`         // of these, at once: so many for sure
	Most   int     `json:"direct_at_most"` // … and so many at most, where a race decides
}

type actionDoc struct {
	Verb   string    `json:"verb"`
	PID    int       `json:"pid"`
	GID    *string   `json:"gid"`            // of a prepared transaction
	Frees  int       `json:"frees"`          // directly or in turn: at most
	Direct int       `json:"direct"`         // of these, at once: so many for sure
	Most   int       `json:"direct_at_most"` // … and so many at most, where a race decides
	AtMost bool      `json:"at_most"`        // a cancel, which an open savepoint may keep from freeing them
	With   []stepDoc `json:"with"`           // what must be ended together with it
	Grant  *string   `json:"grant"`          // what this login lacks to do it
	Text   string    `json:"text"`
}

type stepDoc struct {
	Verb string  `json:"verb"`
	PID  int     `json:"pid"`
	GID  *string `json:"gid"`
}

type nodeDoc struct {
	PID           int       `json:"pid"`
	BackendID     *string   `json:"backend_id"`
	GID           *string   `json:"gid"` // of a prepared transaction, whose pid is 0
	Role          *string   `json:"role"`
	App           *string   `json:"application_name"`
	User          *string   `json:"user"`
	Database      *string   `json:"database"`
	State         *string   `json:"state"`
	TxS           *float64  `json:"tx_s"`
	Query         *string   `json:"query"`
	QueryClipped  bool      `json:"query_clipped"` // the text goes on
	WaitsFor      *waitDoc  `json:"waits_for"`
	Edge          *string   `json:"edge"`   // to the node it stands under; null: there is none
	Queued        bool      `json:"queued"` // under a row's locker, in the queue of those who wait for the row
	AlsoBlockedBy []int     `json:"also_blocked_by"`
	AlsoGIDs      []*string `json:"also_blocked_by_gids"` // one for each, of a prepared transaction
	DelayedBy     []int     `json:"delayed_by"`           // whom a command waits for one after the other, the present one first
	DelayedGIDs   []*string `json:"delayed_by_gids"`
	AlsoBlocks    []int     `json:"also_blocks"` // who waits for it, too, and is drawn under another
	Notes         []string  `json:"notes"`
	Children      []nodeDoc `json:"children"`
}

type waitDoc struct {
	LockType string   `json:"locktype"`
	Mode     *string  `json:"mode"`
	Object   *string  `json:"object"`
	WaitS    *float64 `json:"wait_s"`    // of this wait: who wants a row or a key waits anew each time that another gets it
	BlockedS *float64 `json:"blocked_s"` // at most: for a row or a key since its statement began, which may have worked before; else as wait_s
}

type snapshotWait struct {
	PID       int        `json:"pid"`
	Blockers  []int      `json:"blockers"`
	WaitS     *float64   `json:"wait_s"`
	Waiter    nodeDoc    `json:"waiter"`
	BlockedBy []nodeDoc  `json:"blocked_by"`
	Best      *actionDoc `json:"best"`
}

func locksDocument(snap *probes.Snapshot, f *waits.Forest, findings []probes.Finding, suspects []*waits.Node) locksDoc {
	d := locksDoc{
		Schema: "pgsonde/locks/1", At: stamp(snap.At), AgeS: f.Age.Seconds(), Late: orNull(f.Late), Lacks: orNull(f.Lacks), Unasked: f.Unasked,
		Torn: emptyNotNull(f.Torn), HiddenTrees: f.Hidden, Edges: []edgeDoc{}, Cycles: [][]int{}, Trees: []treeDoc{},
		SafeSnapshots: []snapshotWait{}, Suspects: []nodeDoc{}, Findings: emptyNotNull(findings),
	}
	if n := f.Waiting(); !f.Unread {
		d.Waiters = &n
	}
	for _, e := range f.Edges() {
		d.Edges = append(d.Edges, edgeDoc{
			Waiter: e.Waiter.PID, Blocker: e.Blocker.PID, BlockerGID: gid(f, e.Blocker), Kind: orNull(string(e.Kind)), LockType: e.LockType,
			Mode: mode(e.Mode), HeldOrWanted: mode(e.HeldOrWanted), Object: orNull(e.Object), WaitS: known(e.Wait), Doubt: orNull(string(e.Doubt)),
		})
	}
	for _, c := range f.Cycles {
		d.Cycles = append(d.Cycles, pids(c.Members))
	}
	for _, t := range f.Drawn() {
		d.Trees = append(d.Trees, treeDocument(snap, f, t))
	}
	d.Roots = len(d.Trees)
	for _, s := range f.SafeSnapshots {
		w := snapshotWait{
			PID: s.Waiter.Key.PID, Blockers: []int{}, WaitS: known(s.Wait), Waiter: nodeDocument(snap, f, s.Waiter),
			BlockedBy: []nodeDoc{}, Best: actionDocument(f, s.Best),
		}
		for _, b := range s.Blockers {
			w.Blockers = append(w.Blockers, b.Key.PID)
			w.BlockedBy = append(w.BlockedBy, nodeDocument(snap, f, b))
		}
		d.SafeSnapshots = append(d.SafeSnapshots, w)
	}
	for _, n := range suspects {
		d.Suspects = append(d.Suspects, nodeDocument(snap, f, n))
	}
	return d
}

func treeDocument(snap *probes.Snapshot, f *waits.Forest, t *waits.Tree) treeDoc {
	d := treeDoc{
		Root: nodeDocument(snap, f, t.Root), Victims: t.Victims, LongestWaitS: known(t.Longest), BlockedS: known(t.Blocked),
		SlotsPinned: t.Slots, PinnedByRole: t.ByRole, Ends: []endDoc{},
	}
	for _, e := range t.Ends {
		d.Ends = append(d.Ends, endDoc{e.Key.PID, gid(f, e.Key), len(e.Frees), e.Direct, e.Most})
	}
	if c := f.Circle(t); c != nil {
		d.Cycle = pids(c.Members)
	}
	d.Best = actionDocument(f, t.Best)
	return d
}

func actionDocument(f *waits.Forest, a waits.Action) *actionDoc {
	if a.Verb == "" {
		return nil
	}
	d := &actionDoc{Verb: string(a.Verb), PID: a.Key.PID, GID: gid(f, a.Key), Frees: a.Frees, Direct: a.Direct, Most: a.Most, AtMost: a.AtMost, With: []stepDoc{}, Grant: orNull(a.Grant), Text: a.Text}
	for _, s := range a.With {
		d.With = append(d.With, stepDoc{string(s.Verb), s.Key.PID, gid(f, s.Key)})
	}
	return d
}

func nodeDocument(snap *probes.Snapshot, f *waits.Forest, n *waits.Node) nodeDoc {
	d := nodeDoc{
		PID: n.Key.PID, BackendID: orNull(n.BackendID()), GID: orNull(n.GID), Role: orNull(n.Role),
		AlsoBlocks: pids(n.Elsewhere), Notes: emptyNotNull(f.Notes(n)), Children: []nodeDoc{},
	}
	also, delayers := f.AlsoBlockedBy(n), f.Delayers(n.Key)
	d.AlsoBlockedBy, d.AlsoGIDs, d.DelayedBy, d.DelayedGIDs = pids(also), gids(f, also), pids(delayers), gids(f, delayers)
	if s := n.Session; s != nil {
		d.App, d.User, d.Database, d.State = orNull(s.App), orNull(s.User), orNull(s.Database), orNull(s.State)
		at := snap.At
		if n.Edge != nil {
			at = f.At // the clock of its wait
		}
		d.TxS, d.Query, d.QueryClipped = since(at, s.XactStart), orNull(s.Query), s.QueryClipped
	}
	if p := n.Prepared; p != nil {
		d.User, d.Database, d.TxS = orNull(p.Owner), orNull(p.Database), since(snap.At, p.Prepared)
	}
	if e := n.Edge; e != nil {
		d.Queued = n.Queue != nil && e.LockType == "tuple"
		if n.Parent == nil || n.Parent.Key == e.Blocker {
			d.Edge = orNull(string(e.Kind))
		}
		if d.TxS != nil && e.Wait > 0 {
			*d.TxS = max(*d.TxS, e.Wait.Seconds()) // activity may be of a moment before
		}
		d.WaitsFor = &waitDoc{LockType: e.LockType, Mode: mode(e.Mode), Object: orNull(e.Object), WaitS: known(e.Wait), BlockedS: known(n.Blocked)}
	}
	for _, c := range n.Children {
		d.Children = append(d.Children, nodeDocument(snap, f, c))
	}
	return d
}

func gid(f *waits.Forest, k waits.Key) *string {
	if p := f.Prepared(k); p != nil {
		return orNull(p.GID)
	}
	return nil
}

func gids(f *waits.Forest, ks []waits.Key) []*string {
	out := []*string{}
	for _, k := range ks {
		out = append(out, gid(f, k))
	}
	return out
}

func mode(m probes.LockMode) *string {
	if m == probes.NoLock {
		return nil
	}
	s := m.String()
	return &s
}

func known(d time.Duration) *float64 {
	if d < 0 {
		return nil
	}
	s := d.Seconds()
	return &s
}

func pids(ks []waits.Key) []int {
	out := []int{}
	for _, k := range ks {
		out = append(out, k.PID)
	}
	return out
}
