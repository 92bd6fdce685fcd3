package waits

import (
	"cmp"
	"slices"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

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
	f.At, f.Reading, f.Late, f.Lacks = l.At, l.Reading, l.Late, l.Lacks
	f.Unread = l.Late != "" && len(l.Waits)+len(l.Rows) == 0 && (l.At.IsZero() || l.Waiting > 0)
	if s != nil && !l.At.IsZero() {
		f.Age = max(0, s.At.Sub(l.At))
	}
	f.names, f.nameless = newNames(l), l.Nameless
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
	f.findKeepers(l)
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

// fact is a node that stands in no tree.
func (f *Forest) fact(pid int) *Node {
	if p, ok := f.g.find(Key{PID: pid}); ok {
		return f.node(p)
	}
	return &Node{Key: Key{PID: pid}, Blocked: -1, proc: -1}
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
