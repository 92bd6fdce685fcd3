package waits

import "github.com/pgsonde/pgsonde/probes"

// Who waits for a table to write to it, or to lock rows of it, and gets it, may stop
// at a row next: one that somebody has who stays, or one that another takes who gets
// the table at the same time. No lock tells which rows a statement will want, but who
// may have any of the table holds it in one of these modes.
const rowModes = 1<<probes.RowShareLock | 1<<probes.RowExclusiveLock

// forRows is the wait of p for a table whose rows it wants, nil when there is none. A
// mode that is not known may be one of those; a LOCK TABLE comes to no row.
func (g *graph) forRows(p int) *wait {
	if s := g.procs[p].session; s != nil && locksTable(s.Query, s.QueryClipped) {
		return nil
	}
	for _, w := range g.procs[p].waits {
		if w.shape.Type == "relation" && (w.mode == probes.NoLock || w.mode.Bit()&rowModes != 0) {
			return w
		}
	}
	return nil
}

// write decides who is sure to run of those that get a table whose rows they want, where
// nobody who stays may have a row of it: who comes to one row by its text that none of the
// others comes to, or else the first.
func (s *simulation) write() {
	tables := map[probes.LockTag][]int{}
	for _, p := range s.writers {
		t := *s.g.forRows(p).shape
		tables[t] = append(tables[t], p)
	}
	apart := map[probes.LockTag]bool{}
	for t, all := range tables {
		apart[t] = len(all) <= mostApart && s.f.apart(all)
	}
	for _, p := range s.writers {
		w := s.g.forRows(p)
		if s.rowsHeld(w) || p != tables[*w.shape][0] && !apart[*w.shape] {
			s.unsure = append(s.unsure, p)
		} else {
			s.found = append(s.found, p)
		}
	}
	s.writers = s.writers[:0]
}

// mostApart statements are read to tell rows apart.
const mostApart = 100

// apart reports whether those of ps who get a table come to different rows of it, by their
// texts.
func (f *Forest) apart(ps []int) bool {
	rows := map[rowKey]bool{}
	columns := ""
	for _, p := range ps {
		w, x := f.g.forRows(p), f.g.procs[p].session
		if x == nil {
			return false
		}
		k, ok := oneRow(x.Query, x.QueryClipped, f.names[nameKey{w.shape.Database, classRelation, w.shape.Relation}])
		if !ok || k.values == "" || rows[k] || columns != "" && columns != k.columns {
			return false
		}
		rows[k], columns = true, k.columns
	}
	return true
}

// rowsHeld reports whether somebody who stays may have a row of the table that w waits
// for.
func (s *simulation) rowsHeld(w *wait) bool {
	if w.obj != nil {
		return s.heldOn(w.obj, w.proc)&rowModes != 0
	}
	if w.mode == probes.NoLock || s.g.old == nil {
		return true
	}
	for k, mask := range s.g.old.held {
		if k.tag == *w.shape && k.proc != w.proc && mask&rowModes != 0 && (s.blocks(k.proc) || k.proc == s.keeps-1) {
			return true
		}
	}
	return false
}
