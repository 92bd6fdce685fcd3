package waits

import (
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

// A transaction is waited for with the lock of a row, which its queue's head has,
// or without: for a unique key, or for a row whose new version its waiter has
// followed. Those without stand side by side. When the transaction ends all of them
// wake, and the first to come back takes what is wanted: those who want the same
// wait for that one now. The lock table does not show what they want.

// contest is what several wait for side by side.
type contest struct {
	tag probes.LockTag
	by  int // the first blocker, where only answers are known
}

// contestants are those whom a contest's end wakes.
type contestants struct {
	heads  map[probes.LockTag][]int // of rows' queues, by table
	rows   int                      // so many heads are sure
	keys   map[uint32]bool          // of those that are counted, by index
	open   bool                     // there is one of whom nobody knows what it wants
	first  bool                     // … and one of these is counted
	late   int                      // so many may want a key whose waiters wait for each other next
	unsure map[int]bool             // heads that are not counted
}

// contest is the one that p takes part in, if it waits for a transaction.
func (s *simulation) contest(p int) (contest, bool) {
	w := s.g.procs[p].waits[0]
	if w.shape.Type != "transactionid" {
		return contest{}, false
	}
	c := contest{tag: *w.shape}
	if w.obj == nil && len(w.explicit) > 0 {
		c.by = w.explicit[0].proc
	}
	return c, true
}

// races reports whether p waits for a transaction without the lock of a row.
func (s *simulation) races(p int) bool {
	_, row := s.g.row[s.g.procs[p].waits[0].pid]
	_, in := s.contest(p)
	return in && !row
}

// race decides how many of those who wait for one transaction are sure to run at
// once, whoever they are: who heads a row's queue, one for each key that is known, and
// one when nobody else is sure to run, for those of whom nothing is known may want what
// another gets.
func (s *simulation) race() {
	in := map[contest]*contestants{}
	at := func(c contest) *contestants {
		if in[c] == nil {
			in[c] = &contestants{keys: map[uint32]bool{}}
		}
		return in[c]
	}
	for _, p := range s.racers {
		c, _ := s.contest(p)
		r := at(c)
		r.open = r.open || s.f.keyOf(s.g.procs[p].waits[0]) == 0
		if s.f.late(s.g.procs[p].waits[0]) {
			r.late++
		}
	}
	for _, p := range s.found {
		if c, ok := s.contest(p); ok {
			at(c).head(p, s.g.row[s.g.procs[p].waits[0].pid])
		}
	}
	for _, r := range in {
		r.settle(s)
	}
	s.found = slices.DeleteFunc(s.found, func(p int) bool {
		c, ok := s.contest(p)
		if ok = ok && in[c].unsure[p]; ok {
			s.unsure = append(s.unsure, p)
		}
		return ok
	})
	for _, known := range []bool{true, false} {
		for _, p := range s.racers {
			c, _ := s.contest(p)
			r, key := in[c], s.f.keyOf(s.g.procs[p].waits[0])
			switch {
			case known != (key != 0):
			case known && !r.keys[key], !known && r.rows+len(r.keys) == 0 && !r.first && s.f.single(s.g.procs[p].waits[0]) && (r.late < 2 || !s.f.late(s.g.procs[p].waits[0])):
				if s.found = append(s.found, p); known {
					r.keys[key] = true
				} else {
					r.first = true
				}
			default:
				s.unsure = append(s.unsure, p)
			}
		}
	}
	s.racers = s.racers[:0]
}

func (r *contestants) head(p int, row probes.LockTag) {
	if r.heads == nil {
		r.heads = map[probes.LockTag][]int{}
	}
	row.Page, row.Tuple = 0, 0
	r.heads[row] = append(r.heads[row], p)
}

// settle decides which heads are sure. Two of them that share a row, and those of two
// rows, do not hinder each other. But one without the row's lock may be before them,
// and so may one that keeps the lock of a version that it has followed to the next: one
// for each row is sure then.
func (r *contestants) settle(s *simulation) {
	for _, heads := range r.heads {
		rows := map[probes.LockTag]int{} // → its first head
		followed := false
		for _, p := range heads {
			row := s.g.row[s.g.procs[p].waits[0].pid]
			if _, ok := rows[row]; !ok {
				rows[row] = p
			}
		}
		if len(heads) > 1 && len(rows) > 1 {
			followed = slices.ContainsFunc(heads, func(p int) bool { return !s.f.stays(s.g.procs[p].waits[0]) })
		}
		sure := 0
		for _, p := range heads {
			w := s.g.procs[p].waits[0]
			first := rows[s.g.row[w.pid]] == p
			if !r.open && !followed || first && (!followed || s.f.stays(w)) {
				sure++
			} else {
				r.doubt(p)
			}
		}
		if sure == 0 {
			delete(r.unsure, heads[0])
			sure++
		}
		r.rows += sure
	}
}

func (r *contestants) doubt(p int) {
	if r.unsure == nil {
		r.unsure = map[int]bool{}
	}
	r.unsure[p] = true
}

// stays reports whether w's statement, which has the lock of a row, is one that gives it
// back before it follows the row to its next version: an UPDATE or a DELETE, not a
// SELECT … FOR UPDATE.
func (f *Forest) stays(w *wait) bool {
	s, row := f.g.procs[w.proc].session, f.g.row[w.pid]
	return s != nil && onlyWrites(s.Query, s.QueryClipped) && mentions(s.Query, f.names.get(row.Database, classRelation, row.Relation))
}

// single reports whether w, of which is not known what it is for, waits for no more
// than the transaction that it waits for: not for a row that others share-lock, too. The
// other side has written and has locked no row for itself to read, and w's statement by
// its text goes along with a FOR KEY SHARE that is beside that.
func (f *Forest) single(w *wait) bool {
	if !f.touched.read {
		return !f.touched.lacks
	}
	sure := f.keepsKeys(w)
	f.g.blockers(w, func(l link) bool {
		k := f.g.member(l)
		sure = sure && !k.Prepared() && len(f.touched.writes[k]) > 0
		for _, who := range f.touched.shares {
			sure = sure && !slices.Contains(who, k)
		}
		return sure
	})
	return sure
}

// keepsKeys reports whether w's statement by its text inserts, or updates no column of a
// unique key, into what has no triggers that might do more.
func (f *Forest) keepsKeys(w *wait) bool {
	s, tables := f.g.procs[w.proc].session, f.touched.writes[Key{PID: w.pid}]
	if s == nil || s.QueryClipped || len(tables) == 0 {
		return false
	}
	q := statement(s.Query, s.QueryClipped)
	if len(q) == 0 || !q[0].is("insert", "copy", "update") || slices.ContainsFunc(q, func(t token) bool { return t.is("for", "delete", "merge") }) {
		return false
	}
	var set []token
	if slices.ContainsFunc(q, func(t token) bool { return t.is("update") }) {
		if atWord(q, "set") < 0 || slices.ContainsFunc(q, func(t token) bool { return t.is("select") }) {
			return false
		}
		set = setList(q)
	}
	return !slices.ContainsFunc(tables, func(t probes.LockTag) bool {
		o := f.touched.named[t]
		return o == nil || o.Triggers || !keepsAll(set, o)
	})
}

// late reports whether w may wait for a key of an exclusion constraint or of a deferrable
// one: those who wait for the same have made their entries before they look for others',
// and wait for each other next.
func (f *Forest) late(w *wait) bool {
	return slices.ContainsFunc(f.touched.writes[Key{PID: w.pid}], func(t probes.LockTag) bool {
		o := f.touched.named[t]
		return o != nil && o.Late
	})
}

// keyOf is the unique index whose key w surely waits for, 0 when it may be for
// something else. An INSERT waits for a key, but its triggers, and the functions they
// call, may write rows, and its foreign keys lock them: it is sure where there are no
// triggers, and the table that it names is the only one of these that the other side
// has written to.
func (f *Forest) keyOf(w *wait) uint32 {
	if len(f.touched.writes[Key{PID: w.pid}]) == 0 {
		return 0
	}
	if f.keys == nil {
		f.keys = map[*wait]uint32{}
	}
	oid, ok := f.keys[w]
	if !ok {
		oid = f.surely(w)
		f.keys[w] = oid
	}
	return oid
}

func (f *Forest) surely(w *wait) uint32 {
	s := f.g.procs[w.proc].session
	if s == nil || !onlyInserts(s.Query, s.QueryClipped) {
		return 0
	}
	theirs := map[probes.LockTag]bool{}
	f.g.blockers(w, func(l link) bool {
		for _, t := range f.touched.writes[f.g.member(l)] {
			theirs[t] = true
		}
		return true
	})
	me := Key{PID: w.pid}
	var table, index *probes.ObjectName
	for _, t := range f.touched.writes[me] {
		switch o := f.touched.named[t]; {
		case o == nil:
			return 0
		case o.Sequence:
		case o.Parent != 0:
			if t.Relation = o.Parent; o.Unique && !o.Late && theirs[t] {
				if index != nil {
					return 0
				}
				index = o
			}
		case o.Triggers:
			return 0
		case theirs[t]:
			if table != nil {
				return 0
			}
			table = o
		}
	}
	for t, who := range f.touched.shares {
		if theirs[t] && slices.Contains(who, me) {
			return 0
		}
	}
	if table == nil || index == nil || index.Parent != table.OID || !mentions(s.Query, table.Name) {
		return 0
	}
	return index.OID
}

// follow adds who may run beside the head of a row's queue: where that share-locks the
// row and has followed it to its next version, the queue is for a version that nobody
// wants any more, and who share-locks it, too, is held up by no writer before it.
func (s *simulation) follow() {
	for _, p := range slices.Concat(s.found, s.unsure) {
		w := s.g.procs[p].waits[0]
		row, head := s.g.row[w.pid]
		if !head || w.shape.Type != "transactionid" {
			continue
		}
		for _, h := range s.g.procs[p].holds {
			if h.obj.tag != row || h.mask&^shareModes != 0 {
				continue
			}
			for _, q := range h.obj.queue {
				if q.mode.Bit()&shareModes != 0 && !s.gone[q.proc] && s.hit[q.proc] != s.run && len(s.g.procs[q.proc].waits) == 1 {
					s.hit[q.proc] = s.run
					s.unsure = append(s.unsure, q.proc)
				}
			}
		}
	}
}

// shareModes are those in which the queue of a row is for who share-locks it.
const shareModes = 1<<probes.AccessShareLock | 1<<probes.RowShareLock
