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

// write decides who is sure to run of those that get a table whose rows they want: the
// first, where nobody who stays may have a row of it.
func (s *simulation) write() {
	taken := map[probes.LockTag]bool{}
	for _, p := range s.writers {
		w := s.g.forRows(p)
		if taken[*w.shape] || s.rowsHeld(w) {
			s.unsure = append(s.unsure, p)
		} else {
			s.found = append(s.found, p)
		}
		taken[*w.shape] = true
	}
	s.writers = s.writers[:0]
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
