package waits

import (
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

// Several may have one row locked: any number FOR KEY SHARE, as foreign keys lock it,
// with any number FOR SHARE, or with one that updates no key of it or locks it FOR NO
// KEY UPDATE. Who waits for them waits for one transaction after the other, and the
// lock table shows that one. Whose row is whose it does not show, but in which mode each
// has the table: who share-locks rows has RowShare, who writes them RowExclusive. Who
// has both may have share-locked this row and written another, or have locked this one
// FOR UPDATE and then updated it, and neither a mode nor the text of a last statement
// tells the two apart.

// needsAll reports whether n waits for every share lock on its row: FOR UPDATE, a
// DELETE and an update of a key do; FOR NO KEY UPDATE does not wait for FOR KEY SHARE.
func (f *Forest) needsAll(n *Node) bool {
	return f.touched.mode[n.Edge.WaiterPID] == probes.AccessExclusiveLock
}

// sharers are sessions that may have the row locked that n waits for, besides the one
// whose transaction it waits for, so that n may have to wait for them next. Who wants
// to share the row waits for one that writes it, and for nobody else. Who wants to
// update no key of it waits for one that writes it, or for all that have it FOR SHARE: several
// only where the blocker has RowShare on the table, as they have. Who wants all of it
// waits for all: beside a blocker that writes for those with RowShare, beside one with
// RowShare for who writes, too.
func (f *Forest) sharers(n *Node) []Key {
	if n.Edge == nil || n.Edge.LockType != "transactionid" {
		return nil
	}
	row, ok := f.g.row[n.Edge.WaiterPID]
	if !ok {
		return nil
	}
	if f.wantsShare(n) {
		return nil
	}
	table, shares, writes := f.modesOf(n, row)
	if !shares && !(writes && f.needsAll(n)) {
		return nil
	}
	out := slices.Clone(f.touched.shares[table])
	if shares && f.needsAll(n) {
		for k, tags := range f.touched.writes {
			if slices.Contains(tags, table) {
				out = append(out, k)
			}
		}
	}
	out = slices.DeleteFunc(out, func(k Key) bool {
		return k == n.Edge.Blocker || k.PID == n.Edge.WaiterPID || !f.mayHave(k, row)
	})
	slices.SortFunc(out, compareKeys)
	return slices.Compact(out)
}

func (f *Forest) wantsShare(n *Node) bool {
	m := f.touched.mode[n.Edge.WaiterPID]
	return m == probes.AccessShareLock || m == probes.RowShareLock
}

// modesOf is in which modes n's blocker has the table of the row that n waits for.
func (f *Forest) modesOf(n *Node, row probes.LockTag) (table probes.LockTag, shares, writes bool) {
	table = probes.LockTag{Type: "relation", Database: row.Database, Relation: row.Relation}
	b := n.Edge.Blocker
	return table, slices.Contains(f.touched.shares[table], b), slices.Contains(f.touched.writes[b], table)
}

// untold reports whether it is not known who else may have the row locked that n waits
// for: the modes of its table were not read, or not since the blocker has it.
func (f *Forest) untold(n *Node) bool {
	if n.Edge == nil || n.Edge.LockType != "transactionid" {
		return false
	}
	row, ok := f.g.row[n.Edge.WaiterPID]
	if !ok || f.wantsShare(n) || row.Relation < probes.FirstUser {
		return false
	}
	_, shares, writes := f.modesOf(n, row)
	return f.touched.lacks || f.touched.read && !shares && !writes
}

// mayHave reports whether a session may have a row locked. Who stands in the row's queue
// has not, for who has it locked and wants more waits without the queue; and who has no
// transaction id has locked no row.
func (f *Forest) mayHave(k Key, row probes.LockTag) bool {
	p, ok := f.g.find(k)
	if !ok {
		return true
	}
	if s := f.g.procs[p].session; s != nil && s.Kind == probes.KindClient && s.XID == "" {
		return false
	}
	return !slices.ContainsFunc(f.g.procs[p].waits, func(w *wait) bool {
		return *w.shape == row || w.shape.Type == "transactionid" && f.g.row[w.pid] == row
	})
}

// mayShare says who else may lock the row that one waits for behind a root, ""
// nobody.
func (f *Forest) mayShare(t *Tree) string {
	for _, n := range t.Root.Children {
		if s := f.sharers(n); len(s) > 0 {
			return ": " + f.list(s, "or") + " may lock the row, too"
		}
		if f.untold(n) {
			return ": whether others lock the row, too, is not known"
		}
	}
	return ""
}
