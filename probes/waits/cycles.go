package waits

import (
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

// compact is the waits-for relation with few arcs: nodes 0…n-1 are processes,
// the rest stand for "any waiter of this mode before this place of the queue".
// A queue of n whose members all block each other has n²/2 soft edges but 2n
// arcs here; the paths between processes are the same.
type compact struct {
	n, nodes int
	from, to []int32
	first    []int32 // node → its first arc in next, once sorted
	next     []int32
}

func (g *graph) compact(soft bool) *compact {
	c := &compact{n: len(g.procs), nodes: len(g.procs)}
	arcs := len(g.waits)
	if soft {
		arcs *= 4
	}
	c.from, c.to = make([]int32, 0, arcs), make([]int32, 0, arcs)
	for _, o := range g.objects {
		c.object(o, soft)
	}
	for _, w := range g.waits {
		if w.obj == nil {
			for _, l := range w.explicit {
				if soft || l.kind == Hard {
					c.arc(w.proc, l.proc)
				}
			}
		}
	}
	c.sort()
	return c
}

func (c *compact) arc(from, to int) {
	c.from, c.to = append(c.from, int32(from)), append(c.to, int32(to))
}

func (c *compact) node() int {
	c.nodes++
	return c.nodes - 1
}

// sort puts each node's arcs side by side.
func (c *compact) sort() {
	c.first, c.next = make([]int32, c.nodes+1), make([]int32, len(c.to))
	for _, f := range c.from {
		c.first[f+1]++
	}
	for i := range c.nodes {
		c.first[i+1] += c.first[i]
	}
	at := slices.Clone(c.first)
	for i, f := range c.from {
		c.next[at[f]] = c.to[i]
		at[f]++
	}
}

func (c *compact) arcs(v int) []int32 { return c.next[c.first[v]:c.first[v+1]] }

func (c *compact) object(o *object, soft bool) {
	var before [modeCount]int // mode → node that leads to every waiter of it so far; 0 none
	for _, w := range o.queue {
		conf := w.mode.Conflicts()
		for i := range o.holders {
			if h := &o.holders[i]; h.mask&conf != 0 && h.proc != w.proc {
				c.arc(w.proc, h.proc)
			}
		}
		if !soft {
			continue
		}
		if w.reordered {
			for _, b := range w.ahead {
				c.arc(w.proc, b.proc)
			}
		} else {
			for m, at := range before {
				if at != 0 && conf&(1<<m) != 0 {
					c.arc(w.proc, at)
				}
			}
		}
		next := c.node()
		c.arc(next, w.proc)
		if at := before[w.mode]; at != 0 {
			c.arc(next, at)
		}
		before[w.mode] = next
	}
}

// components are the strongly connected components with more than one process,
// blockers before their waiters.
func (c *compact) components() [][]int {
	t := &tarjan{c: c, index: make([]int32, c.nodes), low: make([]int32, c.nodes), on: make([]bool, c.nodes)}
	for root := range c.n {
		if t.index[root] == 0 && len(c.arcs(root)) > 0 {
			t.walk(root)
		}
	}
	return t.out
}

// tarjan is his algorithm without recursion: queues are long.
type tarjan struct {
	c          *compact
	index, low []int32
	on         []bool
	clock      int32
	stack      []int32
	frames     []frame
	out        [][]int
}

type frame struct{ v, next int }

func (t *tarjan) walk(root int) {
	frames := append(t.frames[:0], frame{v: root})
	t.enter(root)
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		if arcs := t.c.arcs(f.v); f.next < len(arcs) {
			to := int(arcs[f.next])
			f.next++
			if t.index[to] == 0 {
				t.enter(to)
				frames = append(frames, frame{v: to})
			} else if t.on[to] {
				t.low[f.v] = min(t.low[f.v], t.index[to])
			}
			continue
		}
		v := f.v
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			p := frames[len(frames)-1].v
			t.low[p] = min(t.low[p], t.low[v])
		}
		if t.low[v] == t.index[v] {
			t.pop(v)
		}
	}
	t.frames = frames
}

func (t *tarjan) enter(v int) {
	t.clock++
	t.index[v], t.low[v] = t.clock, t.clock
	t.stack, t.on[v] = append(t.stack, int32(v)), true
}

// pop takes v's component off the stack.
func (t *tarjan) pop(v int) {
	if t.stack[len(t.stack)-1] == int32(v) { // alone, as most are
		t.stack, t.on[v] = t.stack[:len(t.stack)-1], false
		return
	}
	var comp []int
	for {
		x := int(t.stack[len(t.stack)-1])
		t.stack = t.stack[:len(t.stack)-1]
		t.on[x] = false
		if x < t.c.n {
			comp = append(comp, x)
		}
		if x == v {
			break
		}
	}
	if len(comp) > 1 {
		t.out = append(t.out, comp)
	}
}

// Cycle is a set of sessions that wait for each other in a circle.
type Cycle struct {
	// Members in the order of waiting where that is a plain circle: each waits
	// for the next, the last for the first.
	Members []Key
	// Hard: a deadlock; the server aborts one of them at deadlock_timeout. Else
	// the circle closes through a queue, which the server reorders then.
	Hard bool
	// Tree draws the members and those behind them when no root leads there: its
	// root is the member with the youngest transaction, the cheapest to end. Nil
	// when the members hang below a root.
	Tree *Tree
}

// cycles finds the circles and marks those waiters whose place in a queue the
// deadlock detector may change.
func (g *graph) cycles() (comps [][]int, hard []bool) {
	comps = g.compact(true).components()
	if len(comps) == 0 {
		return nil, nil
	}
	dead := make([]bool, len(g.procs))
	for _, d := range g.compact(false).components() {
		for _, p := range d {
			dead[p] = true
		}
	}
	hard = make([]bool, len(comps))
	inside := make([]int, len(g.procs)) // by process: its component, plus 1
	for i, comp := range comps {
		for _, p := range comp {
			inside[p] = i + 1
			hard[i] = hard[i] || dead[p]
		}
		g.soften(comp, inside)
	}
	return comps, hard
}

// soften marks the waits of a circle that the deadlock detector may put before those of
// others, to open it, and the waits that these are put before. What one passes, another
// of the same mode before it in the queue passes, too, so far as it is behind it.
func (g *graph) soften(comp, inside []int) {
	var all []*wait
	for _, p := range comp {
		all = append(all, g.procs[p].waits...)
	}
	slices.SortStableFunc(all, func(a, b *wait) int { return b.pos - a.pos })
	type seen struct {
		obj    *object
		mode   probes.LockMode
		proved bool
	}
	done := map[seen]bool{}
	for _, w := range all {
		within := func(l link) bool { return l.kind != Hard && inside[l.proc] == inside[w.proc] }
		g.blockers(w, func(l link) bool { w.passes = within(l); return !w.passes })
		if !w.passes {
			continue
		}
		g.passing = true
		doubtful := w.obj != nil && !w.proved
		if doubtful {
			w.flag(DoubtCycle)
		}
		k := seen{w.obj, w.mode, w.proved}
		if done[k] && !w.reordered {
			continue
		}
		done[k] = w.obj != nil && !w.reordered
		g.blockers(w, func(l link) bool {
			for _, b := range g.procs[l.proc].waits {
				b.passed = b.passed || l.kind != Hard && b.obj == w.obj
				if doubtful && within(l) {
					b.flag(DoubtCycle)
				}
			}
			return true
		})
	}
}

func (w *wait) flag(d Doubt) {
	if !w.proved && w.doubt == "" {
		w.doubt = d
	}
}

// circle puts a component's members in the order of waiting, from the lowest
// key on, as far as that is a plain circle. rest is false for all processes,
// before and after.
func (g *graph) circle(comp []int, rest []bool) []Key {
	first := comp[0]
	for _, p := range comp {
		rest[p] = true
		if g.procs[p].key.Less(g.procs[first].key) {
			first = p
		}
	}
	out := make([]Key, 0, len(comp))
	for at := first; at >= 0; {
		out = append(out, g.procs[at].key)
		rest[at] = false
		next := -1
		for _, w := range g.procs[at].waits {
			g.blockers(w, func(l link) bool {
				if rest[l.proc] && (next < 0 || g.procs[l.proc].key.Less(g.procs[next].key)) {
					next = l.proc
				}
				return true
			})
		}
		at = next
	}
	plain := len(out)
	for _, p := range comp {
		if rest[p] {
			rest[p] = false
			out = append(out, g.procs[p].key)
		}
	}
	slices.SortFunc(out[plain:], compareKeys)
	return out
}

func compareKeys(a, b Key) int {
	switch {
	case a.Less(b):
		return -1
	case b.Less(a):
		return 1
	}
	return 0
}
