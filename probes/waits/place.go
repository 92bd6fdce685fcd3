package waits

import (
	"cmp"
	"slices"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// candidates lists, per waiting process, the blockers it may be drawn under:
// those that hold what it wants, else the first ahead in its queue.
func (f *Forest) candidates() {
	g := f.g
	f.cand = make([][]option, len(g.procs))
	all := make([]option, 0, len(g.waits)) // cut into the candidates of each
	for p := range g.procs {
		hard, from := false, len(all)
		for _, w := range g.procs[p].waits {
			soft := false
			g.blockers(w, func(l link) bool {
				hard = hard || l.kind == Hard
				if l.kind == Hard || !soft {
					all = append(all, option{l, w})
				}
				soft = soft || l.kind != Hard
				return w.obj == nil || !soft // answers alone come in any order
			})
		}
		opts := all[from:]
		if hard {
			opts = slices.DeleteFunc(opts, func(o option) bool { return o.kind != Hard })
		}
		all = all[:from+len(opts)]
		f.cand[p] = opts[:len(opts):len(opts)]
	}
	f.reverse(len(all))
}

// reverse lists, per process, those that it is a candidate of.
func (f *Forest) reverse(n int) {
	f.rev = make([][]int, len(f.g.procs))
	size, flat := make([]int, len(f.g.procs)), make([]int, n)
	for p := range f.cand {
		for i := range f.cand[p] {
			size[f.cand[p][i].proc]++
		}
	}
	for p, n := range size {
		f.rev[p], flat = flat[:0:n], flat[n:]
	}
	for p := range f.cand {
		for i := range f.cand[p] {
			b := f.cand[p][i].proc
			f.rev[b] = append(f.rev[b], p)
		}
	}
}

// option is a blocker that a process may be drawn under, and for which wait.
type option struct {
	link
	wait *wait
}

// placer draws each process under a blocker that is drawn already, so that a
// tree never bites its tail: roots first, a waiter once all it may be drawn
// under is there; when circles stop that, as soon as one of them is.
type placer struct {
	f     *Forest
	left  []int // candidates not yet drawn
	ready []int
	some  []int // have one drawn candidate, in that order
}

func (f *Forest) place(comps [][]int, hard []bool) {
	g := f.g
	pl := &placer{f: f, left: make([]int, len(g.procs))}
	for p := range g.procs {
		pl.left[p] = len(f.cand[p])
	}
	for p := range g.procs {
		if len(f.cand[p]) > 0 {
			continue
		}
		switch {
		case len(f.rev[p]) > 0:
			f.Trees = append(f.Trees, &Tree{Root: f.node(p)})
			pl.drawn(p)
		case len(g.procs[p].waits) > 0:
			for _, w := range g.procs[p].waits {
				w.flag(DoubtNobody)
			}
			n := f.node(p)
			n.Doubt = g.procs[p].waits[0].doubt
			f.Alone = append(f.Alone, n)
		}
	}
	pl.run()
	rest := make([]bool, len(g.procs))
	for i, comp := range comps {
		c := Cycle{Members: g.circle(comp, rest), Hard: hard[i]}
		if !pl.any(comp) {
			head := g.youngest(comp)
			c.Tree = &Tree{Root: f.node(head)}
			f.describe(c.Tree.Root, f.cand[head][0])
			pl.drawn(head)
			pl.run()
		}
		f.Cycles = append(f.Cycles, c)
	}
	f.elsewhere()
}

func (pl *placer) any(comp []int) bool {
	for _, p := range comp {
		if pl.f.nodes[p] != nil {
			return true
		}
	}
	return false
}

func (pl *placer) drawn(p int) {
	for _, w := range pl.f.rev[p] {
		pl.left[w]--
		switch {
		case pl.f.nodes[w] != nil:
		case pl.left[w] == 0:
			pl.ready = append(pl.ready, w)
		default:
			pl.some = append(pl.some, w)
		}
	}
}

func (pl *placer) run() {
	for {
		var p int
		switch {
		case len(pl.ready) > 0:
			p, pl.ready = pl.ready[0], pl.ready[1:]
		case len(pl.some) > 0:
			p, pl.some = pl.some[0], pl.some[1:]
		case pl.rescue():
			continue
		default:
			return
		}
		if pl.f.nodes[p] == nil {
			pl.put(p)
			pl.drawn(p)
		}
	}
}

// rescue is for those whose candidates all stand in a circle with them: they may
// be drawn under any blocker that is drawn. Who is left after that leads to
// nothing but circles.
func (pl *placer) rescue() bool {
	f := pl.f
	for p := range f.g.procs {
		if f.nodes[p] != nil {
			continue
		}
		for _, w := range f.g.procs[p].waits {
			f.g.blockers(w, func(l link) bool {
				if f.nodes[l.proc] == nil {
					return true
				}
				f.cand[p] = append(f.cand[p], option{l, w})
				pl.some = append(pl.some, p)
				return false
			})
		}
	}
	return len(pl.some) > 0
}

// put draws p under the best of its candidates that are drawn.
func (pl *placer) put(p int) {
	f := pl.f
	var best *option
	for i := range f.cand[p] {
		o := &f.cand[p][i]
		if f.nodes[o.proc] != nil && (best == nil || f.better(o.link, best.link)) {
			best = o
		}
	}
	n, parent := f.node(p), f.nodes[best.proc]
	f.describe(n, *best)
	if best.wait.shape.Type == "tuple" {
		parent = f.queue(n, parent, best.wait)
	}
	n.Parent = parent
	parent.Children = append(parent.Children, n)
}

// describe says what n waits for.
func (f *Forest) describe(n *Node, o option) {
	e := &f.edges[n.proc]
	f.g.setEdge(e, f, o.wait, o.link)
	n.Edge, n.Doubt = e, e.Doubt
}

// queue makes n a member of its row's queue and gives the node to draw it
// under: not the one ahead of it but the one who locked the row, for whose
// transaction the queue's head waits.
func (f *Forest) queue(n, ahead *Node, w *wait) *Node {
	q := f.rows[*w.shape]
	if q == nil {
		q = &Queue{Object: f.names.object(*w.shape)}
		if w.obj != nil {
			for i := range w.obj.holders {
				q.Heads = append(q.Heads, f.g.procs[w.obj.holders[i].proc].key)
			}
		}
		f.rows[*w.shape] = q
	}
	n.Queue = q
	q.Len++
	if ahead.Edge == nil || ahead.Parent == nil {
		return ahead // the head runs
	}
	switch ahead.Edge.LockType {
	case "tuple":
		if ahead.Edge.Tag == *w.shape {
			return ahead.Parent
		}
	case "transactionid":
		ahead.Queue = q
		return ahead.Parent
	}
	return ahead
}

// node is how process p is drawn, made when it is not drawn yet.
func (f *Forest) node(p int) *Node {
	if n := f.nodes[p]; n != nil {
		return n
	}
	pr := &f.g.procs[p]
	n := &f.slab[p]
	n.Key, n.Session, n.Prepared, n.Blocked, n.proc = pr.key, pr.session, pr.prepared, -1, p
	if pr.prepared != nil {
		n.GID = pr.prepared.GID
	}
	if s := pr.session; s != nil {
		n.Role = f.roleOf(s)
	}
	for _, w := range pr.waits {
		n.Blocked = max(n.Blocked, f.blocked(w))
	}
	f.nodes[p] = n
	return n
}

// roleOf is the role whose slots a session takes, and what to call a process of the
// server that has no user.
func (f *Forest) roleOf(s *probes.Session) string {
	switch {
	case s.Kind == "startup":
		return "recovery"
	case s.UserOID == 0 && s.User == "" && s.Kind != probes.KindClient && s.Kind != probes.KindMasked && s.Kind != probes.KindMaskedSystem && s.Kind != "":
		return s.Kind
	}
	return f.role(*s)
}

// elsewhere tells each blocker who waits for it under another's name.
func (f *Forest) elsewhere() {
	for p, n := range f.nodes {
		if n == nil || n.Edge == nil || n.Edge.LockType == "tuple" {
			continue
		}
		for _, o := range f.cand[p] {
			b := f.nodes[o.proc]
			if b != nil && b != n.Parent && (len(b.Elsewhere) == 0 || b.Elsewhere[len(b.Elsewhere)-1] != n.Key) {
				b.Elsewhere = append(b.Elsewhere, n.Key)
			}
		}
	}
}

// better says which of two blockers matters more to one waiter.
func (f *Forest) better(a, b link) bool {
	x, y := &f.g.procs[a.proc], &f.g.procs[b.proc]
	return cmp.Or(
		cmp.Compare(len(x.waits), len(y.waits)), // one that runs, or idles, is nearer to the cause
		-cmp.Compare(len(f.rev[a.proc]), len(f.rev[b.proc])),
		x.since().Compare(y.since()),
		compareKeys(x.key, y.key),
	) < 0
}

// since is the start of the process's transaction; now, as it were, when unknown.
func (p *proc) since() time.Time {
	switch {
	case p.prepared != nil:
		return p.prepared.Prepared
	case p.session != nil && !p.session.XactStart.IsZero():
		return p.session.XactStart
	}
	return time.Unix(1<<40, 0)
}

// youngest is the member with the least work to lose.
func (g *graph) youngest(comp []int) int {
	return slices.MaxFunc(comp, func(a, b int) int {
		x, y := &g.procs[a], &g.procs[b]
		return cmp.Or(x.since().Compare(y.since()), compareKeys(y.key, x.key))
	})
}
