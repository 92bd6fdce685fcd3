package waits

import (
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

// Who gets the row or the key that it waits for goes on to others where its statement wants
// several: it may stop at one that somebody has who stays, or that another takes who is
// freed with it, and has meanwhile taken what others came for. Which rows and keys these
// are is in no lock; that a statement wants one is in its text, and who may have any of a
// table has that in one of rowModes.

// want is one who is freed, or may be, of those who want rows or keys of one table.
type want struct {
	p       int
	sure    bool
	inserts bool // it comes to keys, and to no row
	many    bool // it wants several
	ordered bool // … keys of one row, which all come to in the same order
	fresh   bool // it has nothing from before its statement
	beyond  bool // it wants rows of other tables, too, or of partitions
}

// further leaves as sure of those found who want rows and keys of one table as many as
// nobody can hinder.
func (s *simulation) further() {
	if !s.f.touched.read {
		return
	}
	tables := map[probes.LockTag][]want{}
	for _, list := range []struct {
		ps   []int
		sure bool
	}{{s.found, true}, {s.unsure, false}} {
		for _, p := range list.ps {
			for t, w := range s.f.wants(p) {
				w.sure = list.sure
				tables[t] = append(tables[t], w)
			}
		}
	}
	doubt := map[int]bool{}
	for t, all := range tables {
		rows, keys := part(all)
		slices.SortFunc(rows, func(a, b want) int { return a.p - b.p })
		slices.SortFunc(keys, func(a, b want) int { return a.p - b.p })
		s.leaveSure(rows, doubt, func(in map[int]bool) bool { return s.haveOf(t, in, false) })
		if len(rows) > 0 { // one of them may get the row whose key is wanted
			for _, w := range keys {
				doubt[w.p] = true
			}
			continue
		}
		s.leaveSure(keys, doubt, func(in map[int]bool) bool { return s.haveOf(t, in, true) })
	}
	s.found = slices.DeleteFunc(s.found, func(p int) bool {
		if doubt[p] {
			s.unsure = append(s.unsure, p)
		}
		return doubt[p]
	})
}

// part tells those who come to rows from those who come to keys only.
func part(all []want) (rows, keys []want) {
	for _, w := range all {
		if w.inserts {
			keys = append(keys, w)
		} else {
			rows = append(rows, w)
		}
	}
	return rows, keys
}

// leaveSure puts in doubt those of all who are not sure to run: where one wants several,
// all but one, and this one, too, if somebody else has some, or if two may wait for
// each other in the end.
func (s *simulation) leaveSure(all []want, doubt map[int]bool, held func(but map[int]bool) bool) {
	in, many, ordered, fresh, beyond := map[int]bool{}, 0, true, true, false
	for _, w := range all {
		in[w.p] = w.sure || w.inserts
		fresh, beyond = fresh && w.fresh, beyond || w.beyond
		if w.many {
			many++
			ordered = ordered && w.ordered
		}
	}
	if many == 0 {
		return
	}
	none := beyond || held(in) || len(all) > 1 && (!fresh || many > 1 && !ordered)
	for _, w := range all {
		if w.sure && (none || doubt[w.p]) {
			doubt[w.p] = true
		} else if w.sure {
			none = true
		}
	}
}

// wants are the tables of which p, which waits for a transaction, wants rows or keys.
func (f *Forest) wants(p int) map[probes.LockTag]want {
	pr := &f.g.procs[p]
	w := pr.waits[0]
	if w.shape.Type != "transactionid" {
		return nil
	}
	var query string
	clipped := true
	if pr.session != nil {
		query, clipped = pr.session.Query, pr.session.QueryClipped
	}
	x := want{p: p, many: true, fresh: f.fresh(p)}
	if row, ok := f.g.row[w.pid]; ok {
		if row.Relation < probes.FirstUser {
			return nil
		}
		t := probes.LockTag{Type: "relation", Database: row.Database, Relation: row.Relation}
		x.many = !f.comesToOne(query, clipped, t, f.touched.mode[w.pid] == probes.AccessShareLock)
		o := f.touched.named[t]
		x.beyond = x.many && o != nil && !clipped && (o.Children || !mentions(query, o.Name) || namesOther(statement(query, clipped), o))
		return map[probes.LockTag]want{t: x}
	}
	x.inserts = onlyInserts(query, clipped)
	x.ordered = x.inserts && insertsOne(query, clipped)
	out := map[probes.LockTag]want{}
	mine := f.touched.writes[Key{PID: w.pid}]
	for _, t := range mine {
		o := f.touched.named[t]
		if o != nil && (o.Parent != 0 || o.Sequence) {
			continue
		}
		if x.inserts && insertsOne(query, clipped) || insertsOne(query, clipped) && f.keepsKeys(w) {
			x.many = f.keysOf(mine, t) > 1
		} else {
			x.many = !one(query, clipped, o)
		}
		out[t] = x
	}
	return out
}

// comesToOne reports whether a statement that waits for a row of a table comes to no
// other row of it: by its condition, or since it inserts one row of another that
// references the table.
func (f *Forest) comesToOne(query string, clipped bool, t probes.LockTag, references bool) bool {
	return one(query, clipped, f.touched.named[t]) || references && insertsOne(query, clipped)
}

// keysOf counts the unique indexes of a table among what a statement writes to; one that
// is late twice, for an entry of it may be in the way of several.
func (f *Forest) keysOf(writes []probes.LockTag, table probes.LockTag) int {
	n := 0
	for _, t := range writes {
		o := f.touched.named[t]
		if o == nil && t != table || o != nil && o.Parent == table.Relation && o.Unique {
			n++
		}
		if o != nil && o.Parent == table.Relation && o.Late {
			n++
		}
	}
	return n
}

// fresh reports whether p's statement has begun its transaction, so that it had nothing
// before.
func (f *Forest) fresh(p int) bool {
	s := f.g.procs[p].session
	return s != nil && !s.XactStart.IsZero() && !s.QueryStart.IsZero() && !maySave(s)
}

// haveOf reports whether anybody who stays may have rows of a table, or keys alone, other
// than those in but.
func (s *simulation) haveOf(t probes.LockTag, but map[int]bool, keys bool) bool {
	has := func(k Key) bool {
		p, ok := s.g.find(k)
		return !ok || !s.gone[p] && !but[p] && s.f.has(p, t)
	}
	for k, tags := range s.f.touched.writes {
		if slices.Contains(tags, t) && has(k) {
			return true
		}
	}
	return !keys && slices.ContainsFunc(s.f.touched.shares[t], has)
}

// has reports whether p may have a row or key of a table that others want: not who has no
// transaction id, and not who waits for the first that it wants.
func (f *Forest) has(p int, t probes.LockTag) bool {
	pr := &f.g.procs[p]
	if pr.session == nil || pr.key.Prepared() {
		return true
	}
	if pr.session.Kind == probes.KindClient && pr.session.XID == "" {
		return false
	}
	if len(pr.waits) != 1 || !f.fresh(p) {
		return true
	}
	q, clipped := pr.session.Query, pr.session.QueryClipped
	return !one(q, clipped, f.touched.named[t]) && !(insertsOne(q, clipped) && f.keysOf(f.touched.writes[Key{PID: pr.key.PID}], t) == 1)
}
