package waits

import (
	"cmp"
	"slices"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// Forest is who waits for whom in one reading. Build makes it; it does not
// change afterwards.
type Forest struct {
	At      time.Time     // of the reading, the server's clock
	Age     time.Duration // how much older than the snapshot it is; the panel is late
	Reading probes.Reading
	Late    string // why it is late, "" it is not
	Lacks   string // the privilege without which it is, "" it is no matter of one
	// Entries is how much older the lock entries are than the waits, where that leaves
	// doubt of what the waits are for; -1 there are none.
	Entries time.Duration
	Unread  bool // nothing is known of who waits: no reading was made yet, or none can be
	Waiters int  // sessions that wait for a lock: lock groups count once
	// Unasked waiters are known to wait but not for whom: more than are asked for.
	Unasked int
	// Torn are the sessions whose answers changed between two readings of this
	// one tick; what is drawn for them is the lock table's own state.
	Torn []int
	// Trees by victims × longest wait, the worst first.
	Trees  []*Tree
	Cycles []Cycle
	// Alone are waiters that nothing seems to block: just granted, or waiting for
	// a member of their own lock group.
	Alone         []*Node
	SafeSnapshots []SafeSnapshot
	Hidden        int // trees that Keep dropped

	g       *graph
	names   names
	nodes   []*Node // by process
	role    func(probes.Session) string
	rights  rights
	visits  int // spent on Ends
	touched touched
	unled   []int
	nested  map[int]bool // pids that have subtransactions
	cand    [][]option   // by process: the blockers it may be drawn under
	rev     [][]int      // by process: those that have it in cand
	rows    map[probes.LockTag]*Queue
	reach   *reach
	sim     *simulation
	slab    []Node
	edges   []Edge                   // of the nodes
	prog    map[int]*probes.Progress // by pid
	keys    map[*wait]uint32         // see keyOf
	keepers map[probes.LockTag][]keeper
	comes   map[coming]bool

	nameless bool
}

// Tree is a root and everybody who waits for it.
type Tree struct {
	Root *Node
	// Victims are the sessions that wait for the root, directly or not, each once;
	// of a circle's tree, whose root waits too, all of it.
	Victims int
	// Longest is how long the longest of their waits has lasted; -1 unknown.
	Longest time.Duration
	// Blocked is how long one of them has been blocked at most; -1 unknown. See
	// Node.Blocked.
	Blocked time.Duration
	// Slots are the connection slots pinned: client backends among root and
	// victims. ByRole splits them by the role they are counted for.
	Slots  int
	ByRole map[string]int
	Ends   []End // the root's first, then the others that free somebody, most at once first
	Best   Action
}

// Node is a session, or a prepared transaction, as it is drawn: once.
type Node struct {
	Key      Key
	Session  *probes.Session      // nil: a prepared transaction, or a backend that activity does not show
	Prepared *probes.PreparedXact // nil: a backend
	GID      string               // of a prepared transaction, "" unknown
	Role     string               // "" none
	// Edge is what it waits for, nil for a root. Its blocker is the node it is
	// drawn under, but for a row's queue, which is drawn under the row's locker.
	Edge   *Edge
	Queue  *Queue // the row queue it stands in or heads, nil none
	Parent *Node  // nil: a root
	// Blocked is how long it has been blocked at most; -1: a root, or unknown. Edge.Wait
	// restarts with each lock the statement waits for: who queues for a row has a new
	// one whenever another gets the row, and is blocked since its statement began or
	// later, for a statement may have done work before.
	Blocked  time.Duration
	Children []*Node
	Behind   int // nodes drawn below it
	// Elsewhere are sessions that wait for it and are drawn under another.
	Elsewhere []Key
	Doubt     Doubt

	proc int
}

// Queue is all who wait for one row: the head waits for the transaction that
// locked the row, the others for the head's tuple lock. Ending the head only
// promotes the next.
type Queue struct {
	Object string // row (0,1) of public.acct
	Heads  []Key  // who hold the tuple lock; several when they share it
	Len    int    // members, heads not counted
}

// SafeSnapshot is a SERIALIZABLE READ ONLY DEFERRABLE transaction and those
// that must end before it may start. The lock table does not show this wait.
type SafeSnapshot struct {
	Waiter   *Node
	Blockers []*Node
	Wait     time.Duration // of its statement; -1 unknown
	Best     Action
}

// InTree reports whether the waiter stands in a tree, for others wait for it.
func (s *SafeSnapshot) InTree() bool {
	return s.Waiter.Edge != nil && s.Waiter.Edge.LockType == safeSnapshot
}

// Waiting is how many sessions wait: for a lock or for a safe snapshot.
func (f *Forest) Waiting() int { return f.Waiters + len(f.SafeSnapshots) }

// Drawn are all trees, the worst first: those of roots and those of circles that
// no root leads to.
func (f *Forest) Drawn() []*Tree {
	all := slices.Clone(f.Trees)
	for i := range f.Cycles {
		if t := f.Cycles[i].Tree; t != nil {
			all = append(all, t)
		}
	}
	sortTrees(all)
	return all
}

func sortTrees(all []*Tree) {
	slices.SortStableFunc(all, func(a, b *Tree) int {
		return cmp.Or(-cmp.Compare(a.harm(), b.harm()), compareKeys(a.Root.Key, b.Root.Key))
	})
}

// Circle is the cycle that t draws, nil when it draws a root.
func (f *Forest) Circle(t *Tree) *Cycle {
	for i := range f.Cycles {
		if f.Cycles[i].Tree == t {
			return &f.Cycles[i]
		}
	}
	return nil
}

// BackendID is the session's identity, "" when it has none or is masked.
func (n *Node) BackendID() string {
	if n.Session == nil {
		return ""
	}
	return n.Session.BackendID()
}

// harm is what trees are sorted by.
func (t *Tree) harm() float64 { return float64(t.Victims) * max(0.001, t.Waited().Seconds()) }

// Waited is Longest, or Blocked where that is not known.
func (t *Tree) Waited() time.Duration {
	if t.Longest < 0 {
		return t.Blocked
	}
	return t.Longest
}

// Node is how a session is drawn; nil when it neither waits nor blocks.
func (f *Forest) Node(k Key) *Node {
	p, ok := f.g.find(k)
	if !ok || f.nodes == nil {
		return nil
	}
	return f.nodes[p]
}

// Prepared is what is known of a prepared transaction, nil nothing. It may neither wait
// nor block, but have locked a row that somebody waits for.
func (f *Forest) Prepared(k Key) *probes.PreparedXact {
	if !k.Prepared() {
		return nil
	}
	return f.g.known[k.VXID]
}

// AlsoBlockedBy are the blockers of a node other than the one it is drawn under.
func (f *Forest) AlsoBlockedBy(n *Node) []Key {
	var out []Key
	seen := map[Key]bool{}
	if n.Parent != nil {
		seen[n.Parent.Key] = true
	}
	p, ok := f.g.find(n.Key)
	if !ok {
		return nil
	}
	for _, e := range f.appendEdges(nil, p) {
		if !seen[e.Blocker] {
			seen[e.Blocker] = true
			out = append(out, e.Blocker)
		}
	}
	return out
}

// All are the nodes of the forest, each once, in the order of their processes.
func (f *Forest) All() []*Node {
	out := make([]*Node, 0, len(f.nodes))
	for _, n := range f.nodes {
		if n != nil {
			out = append(out, n)
		}
	}
	return out
}
