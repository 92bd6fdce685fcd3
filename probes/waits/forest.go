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

// Build judges a reading. l is s.Locks unless a test says otherwise; nil means
// that nobody waits. roleOf names the role whose slots a session takes; nil
// means its user.
func Build(s *probes.Snapshot, l *probes.Locks, roleOf func(probes.Session) string) *Forest {
	if roleOf == nil {
		roleOf = func(s probes.Session) string { return s.User }
	}
	f := &Forest{role: roleOf, rights: newRights(s), rows: map[probes.LockTag]*Queue{}, prog: map[int]*probes.Progress{}}
	if l == nil {
		f.g = newGraph(&probes.Locks{})
		return f
	}
	f.At, f.Reading, f.Late = l.At, l.Reading, l.Late
	f.Unread = l.Late != "" && len(l.Waits)+len(l.Rows) == 0 && (l.At.IsZero() || l.Waiting > 0)
	if s != nil && !l.At.IsZero() {
		f.Age = max(0, s.At.Sub(l.At))
	}
	f.names = newNames(l)
	f.touched, f.unled = newTouched(l, f.names), l.Unled
	f.nested = map[int]bool{}
	for _, pid := range l.Nested {
		f.nested[pid] = true
	}
	for i := range l.Progress {
		f.prog[l.Progress[i].PID] = &l.Progress[i]
	}
	f.g = newGraph(l)
	if l.Reading == probes.ReadEdges {
		if f.Entries = l.DetailAge(); l.DetailAt.IsZero() {
			f.Entries = -1
		}
		f.g.fromAnswers(l)
	} else {
		f.g.fromRows(l.Rows)
		f.g.confirm(l)
		for _, o := range f.g.objects {
			o.words = f.names.object(o.tag)
		}
	}
	f.g.queueUp(l.Progress)
	f.g.safeWaits(l)
	f.g.facts(s, l)
	f.Torn = f.g.torn
	for i := range f.g.procs {
		if len(f.g.procs[i].waits) > 0 && !f.g.procs[i].safe() {
			f.Waiters++
		}
	}
	if l.Reading == probes.ReadEdges {
		f.Unasked = max(0, l.Waiting-len(l.Waits))
	}
	f.draw(l)
	return f
}

// facts fills in what is known of each process.
func (g *graph) facts(s *probes.Snapshot, l *probes.Locks) {
	var more map[int]*probes.Session
	xids := map[uint32]*probes.PreparedXact{}
	for i := range l.Prepared {
		xids[l.Prepared[i].XID] = &l.Prepared[i]
	}
	g.known = make(map[string]*probes.PreparedXact, len(g.prep))
	for vxid, xid := range g.prep {
		g.known[vxid] = xids[xid]
	}
	for i := range g.procs {
		p := &g.procs[i]
		switch {
		case p.key.Prepared():
			p.prepared = g.known[p.key.VXID]
		case p.session == nil && s != nil:
			if more == nil {
				more = make(map[int]*probes.Session, len(s.Sessions))
				for j := range s.Sessions {
					more[s.Sessions[j].PID] = &s.Sessions[j]
				}
			}
			p.session = more[p.key.PID]
		}
	}
}

func (f *Forest) draw(l *probes.Locks) {
	f.candidates()
	f.nodes = make([]*Node, len(f.g.procs))
	f.slab = make([]Node, len(f.g.procs))
	f.edges = make([]Edge, len(f.g.procs))
	f.reach = newReach(f.g)
	f.sim = newSimulation(f, f.reach)
	comps, hard := f.g.cycles()
	f.place(comps, hard)
	for _, t := range f.Trees {
		f.finish(t)
	}
	sortTrees(f.Trees)
	for i := range f.Cycles {
		if t := f.Cycles[i].Tree; t != nil {
			f.finish(t)
		}
	}
	for _, w := range l.SafeSnapshots {
		ss := SafeSnapshot{Waiter: f.fact(w.PID), Wait: -1}
		if s := ss.Waiter.Session; s != nil && !s.QueryStart.IsZero() {
			ss.Wait = max(0, f.At.Sub(s.QueryStart))
		}
		for _, b := range w.Blockers {
			ss.Blockers = append(ss.Blockers, f.fact(b))
		}
		ss.Best = f.safe(ss.Blockers)
		f.SafeSnapshots = append(f.SafeSnapshots, ss)
	}
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

// fact is a node that stands in no tree.
func (f *Forest) fact(pid int) *Node {
	if p, ok := f.g.find(Key{PID: pid}); ok {
		return f.node(p)
	}
	return &Node{Key: Key{PID: pid}, Blocked: -1, proc: -1}
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

// finish counts what a tree costs and what would end it.
func (f *Forest) finish(t *Tree) {
	victims := f.reach.victims(t.Root.proc)
	t.Victims, t.Longest, t.Blocked = len(victims), -1, -1
	t.ByRole = map[string]int{}
	for _, p := range victims {
		f.longest(t, p)
		f.slot(t, p)
	}
	f.longest(t, t.Root.proc)
	f.slot(t, t.Root.proc)
	if t.Root.Edge != nil {
		t.Victims++
	}
	t.Root.sort()
	f.ends(t, victims)
	t.Best = f.best(t)
}

func (f *Forest) longest(t *Tree, p int) {
	for _, w := range f.g.procs[p].waits {
		t.Longest, t.Blocked = max(t.Longest, f.waited(w)), max(t.Blocked, f.blocked(w))
	}
}

func (f *Forest) slot(t *Tree, p int) {
	s := f.g.procs[p].session
	if s == nil || s.Kind != probes.KindClient && s.Kind != probes.KindMasked {
		return
	}
	t.Slots++
	if n := f.nodes[p]; n != nil {
		t.ByRole[n.Role]++
		return
	}
	t.ByRole[f.role(*s)]++
}

// sort puts the longest waiter first: an order that time does not change.
func (n *Node) sort() {
	for _, c := range n.Children {
		c.sort()
		n.Behind += c.Behind + 1
	}
	slices.SortStableFunc(n.Children, func(a, b *Node) int {
		return cmp.Or(-cmp.Compare(a.wait(), b.wait()), compareKeys(a.Key, b.Key))
	})
}

func (n *Node) wait() time.Duration {
	if n.Edge == nil {
		return -1
	}
	return n.Edge.Wait
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
