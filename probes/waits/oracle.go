package waits

import (
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

// confirm holds the replayed graph against what pg_blocking_pids said a moment
// before or later. The server knows the order of its queues: where only that differs its
// answer replaces the replay. Anything else is a change between the readings.
func (g *graph) confirm(l *probes.Locks) {
	ghosts, answered := map[int]bool{}, map[int]bool{}
	for i := range l.Waits {
		e := &l.Waits[i]
		leader := e.PID
		if x, ok := g.leader[leader]; ok {
			leader = x
		}
		p, known := g.pids[leader]
		if !known || len(g.procs[p].waits) == 0 {
			if len(e.Blockers) > 0 {
				ghosts[leader] = true // waits in one of the two only
			}
			continue
		}
		answered[p] = true
		g.confirmProc(p, e.Blockers)
	}
	for p := range g.procs {
		if l.Partial && len(g.procs[p].waits) > 0 && !answered[p] {
			g.tear(p) // it came after the answers: who holds what it wants was not read
		}
	}
	for pid := range ghosts {
		g.torn = append(g.torn, pid)
	}
	slices.Sort(g.torn)
}

// confirmProc settles the waits of one lock group against the server's answer.
func (g *graph) confirmProc(p int, answer []int) {
	pr := &g.procs[p]
	if len(answer) == 0 && !g.listed(p) {
		return // not in the server's own list of processes: the answer is always empty
	}
	want := map[int]bool{}
	for _, b := range answer {
		want[b] = true
	}
	g.adopt(p, want)
	got, hard := map[int]bool{}, map[int]bool{}
	possible := map[int]bool{}
	for _, w := range pr.waits {
		g.blockers(w, func(l link) bool {
			pid := g.procs[l.proc].key.PID
			got[pid] = true
			if l.kind == Hard {
				hard[pid] = true
			}
			return true
		})
		for _, e := range w.obj.queue {
			if w.against(e) {
				possible[g.procs[e.proc].key.PID] = true
			}
		}
	}
	if sameSet(want, got) {
		for _, w := range pr.waits {
			w.proved, w.doubt = true, ""
		}
		return
	}
	for b := range hard {
		if !want[b] {
			g.tear(p)
			return
		}
	}
	for b := range want {
		if !hard[b] && !possible[b] {
			g.tear(p)
			return
		}
	}
	for _, w := range pr.waits {
		w.reordered, w.proved, w.doubt = true, true, ""
		w.ahead = w.ahead[:0]
		for _, e := range w.obj.queue {
			if w.against(e) && want[g.procs[e.proc].key.PID] {
				w.ahead = append(w.ahead, e)
			}
		}
	}
}

// adopt finds the leader of a parallel worker that holds what p waits for when
// activity hides who leads whom: the answer names the leader, the entries the
// worker, and there is one of each kind that the other side lacks.
func (g *graph) adopt(p int, want map[int]bool) {
	for _, w := range g.procs[p].waits {
		named := map[int]bool{}
		var worker []int
		g.blockers(w, func(l link) bool {
			k := g.procs[l.proc].key
			named[k.PID] = true
			if l.kind == Hard && !want[k.PID] && g.hidden(l.proc) {
				worker = append(worker, l.proc)
			}
			return true
		})
		leader := 0
		for b := range want {
			if !named[b] {
				if leader != 0 {
					return
				}
				leader = b
			}
		}
		if leader == 0 || len(worker) == 0 {
			continue
		}
		to := g.proc(Key{PID: leader})
		for i := range w.obj.holders {
			if h := &w.obj.holders[i]; slices.Contains(worker, h.proc) {
				h.proc = to
				g.procs[to].holds = append(g.procs[to].holds, hold{w.obj, h.mask})
			}
		}
	}
}

// hidden reports whether activity masks a process that does not wait itself.
func (g *graph) hidden(p int) bool {
	s := g.procs[p].session
	return s != nil && s.Kind == probes.KindMasked && len(g.procs[p].waits) == 0
}

// listed reports whether pg_blocking_pids can find the process: auxiliary ones,
// such as a standby's startup process, are not in the list it searches.
func (g *graph) listed(p int) bool {
	s := g.procs[p].session
	if s == nil {
		return true
	}
	switch s.Kind {
	case probes.KindMaskedSystem, "startup", "checkpointer", "background writer", "walwriter", "archiver", "walreceiver":
		return false
	}
	return true
}

// tear marks every wait of a process whose two readings contradict.
func (g *graph) tear(p int) {
	for _, w := range g.procs[p].waits {
		w.doubt = DoubtTorn
	}
	g.torn = append(g.torn, g.procs[p].key.PID)
}

func sameSet(a, b map[int]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return true
}

// fromAnswers builds the graph from pg_blocking_pids alone; lock entries of an
// earlier tick say what and how, where they still fit.
func (g *graph) fromAnswers(l *probes.Locks) {
	old := newAged(g, l.Rows)
	g.old = old
	types := map[int]string{}
	for i := range l.Waits {
		types[l.Waits[i].PID] = l.Waits[i].LockType
	}
	for i := range l.Waits {
		e := &l.Waits[i]
		if len(e.Blockers) == 0 {
			continue
		}
		p := g.group(&probes.LockRow{PID: e.PID})
		w := &wait{proc: p, pid: e.PID, shape: &probes.LockTag{Type: e.LockType}, doubt: DoubtOld}
		row := old.wait(g, e)
		if row != nil {
			w.shape, w.mode, w.start = &row.Tag, row.Mode, row.WaitStart
		}
		seen := map[int]bool{}
		for _, b := range e.Blockers {
			if b == 0 {
				w.explicit = append(w.explicit, g.preparedLinks(l, old, row, seen)...)
				continue
			}
			bp := g.group(&probes.LockRow{PID: b})
			if bp == p || seen[bp] {
				continue
			}
			seen[bp] = true
			other, waits := types[b]
			ahead := waits && (other == e.LockType || other == "" || e.LockType == "") // maybe: in the same queue
			w.explicit = append(w.explicit, old.link(bp, b, row, ahead))
		}
		g.addWait(w, nil)
	}
}

// preparedLinks are the prepared transactions that a 0 in an answer may mean:
// those that old entries show as holders, else one without a name.
func (g *graph) preparedLinks(l *probes.Locks, old *aged, row *probes.LockRow, seen map[int]bool) []link {
	var out []link
	if row != nil {
		for vxid := range g.prep {
			p := g.proc(Key{VXID: vxid})
			if x := row.Mode.Conflicts() & old.held[agedKey{row.Tag, p}]; x != 0 && !seen[p] {
				seen[p] = true
				out = append(out, link{proc: p, kind: Hard, mode: strongest(x)})
			}
		}
		slices.SortFunc(out, func(a, b link) int { return a.proc - b.proc })
	}
	if len(out) == 0 {
		p := g.proc(Key{VXID: "?"})
		if !seen[p] {
			seen[p] = true
			out = append(out, link{proc: p, kind: Hard})
		}
	}
	return out
}

type agedKey struct {
	tag  probes.LockTag
	proc int
}

// aged is what an earlier reading of the lock table said.
type aged struct {
	held   map[agedKey]uint16
	wanted map[agedKey]probes.LockMode
	waits  map[int]*probes.LockRow // by pid
}

func newAged(g *graph, rows []probes.LockRow) *aged {
	a := &aged{held: map[agedKey]uint16{}, wanted: map[agedKey]probes.LockMode{}, waits: map[int]*probes.LockRow{}}
	for i := range rows {
		r := &rows[i]
		if r.Granted && r.Tag.Type == "tuple" && r.PID != 0 {
			g.row[r.PID] = r.Tag
		}
		k := agedKey{r.Tag, g.group(r)}
		if r.Granted {
			a.held[k] |= r.Mode.Bit()
			continue
		}
		a.wanted[k] = r.Mode
		a.waits[r.PID] = r
	}
	return a
}

// wait is the old entry of e's wait, nil when it cannot be the same one.
func (a *aged) wait(g *graph, e *probes.LockWait) *probes.LockRow {
	r := a.waits[e.PID]
	if r == nil || (e.LockType != "" && r.Tag.Type != e.LockType) {
		return nil
	}
	if r.Tag.Type == "transactionid" && !slices.ContainsFunc(e.Blockers, func(b int) bool { return a.runs(g, b, r.Tag) }) {
		return nil // that transaction is over, and this one waits for another
	}
	return r
}

// runs reports whether a transaction may be that of a blocker, 0 a prepared one.
func (a *aged) runs(g *graph, pid int, xid probes.LockTag) bool {
	return pid == 0 || a.held[agedKey{xid, g.group(&probes.LockRow{PID: pid})}] != 0
}

// link says how process p blocks the wait of row; ahead: it may wait in the same queue.
func (a *aged) link(p, pid int, row *probes.LockRow, ahead bool) link {
	l := link{proc: p, pid: pid}
	if row != nil {
		k := agedKey{row.Tag, p}
		if x := row.Mode.Conflicts() & a.held[k]; x != 0 {
			l.kind, l.mode = Hard, strongest(x)
			return l
		}
		if m := a.wanted[k]; ahead && row.Mode.Conflicts()&m.Bit() != 0 && m != probes.NoLock {
			l.kind, l.mode = Soft, m
			return l
		}
	}
	if !ahead {
		l.kind = Hard // only who waits for the same can be ahead
	}
	return l
}
