package waits

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// touched are the relation locks that tell what waits for transactions are about.
type touched struct {
	read   bool
	lacks  bool                                  // it was not read for the waits there are
	writes map[Key][]probes.LockTag              // RowExclusive
	shares map[probes.LockTag][]Key              // RowShare, by table
	mode   map[int]probes.LockMode               // of the row lock that a pid holds
	named  map[probes.LockTag]*probes.ObjectName // of what is touched
}

func newTouched(l *probes.Locks, n names) touched {
	t := touched{read: len(l.Touched) > 0, lacks: l.Untouched}
	t.writes, t.shares = map[Key][]probes.LockTag{}, map[probes.LockTag][]Key{}
	t.mode, t.named = map[int]probes.LockMode{}, map[probes.LockTag]*probes.ObjectName{}
	for i := range l.Touched {
		r := &l.Touched[i]
		k := Key{PID: r.PID}
		if r.PID == 0 {
			k.VXID = r.VXID
		}
		t.named[r.Tag] = n[nameKey{r.Tag.Database, classRelation, r.Tag.Relation}]
		switch r.Mode {
		case probes.RowExclusiveLock:
			t.writes[k] = append(t.writes[k], r.Tag)
		case probes.RowShareLock:
			t.shares[r.Tag] = append(t.shares[r.Tag], k)
		}
	}
	for i := range l.Rows {
		if r := &l.Rows[i]; r.Granted && r.PID != 0 && r.Tag.Type == "tuple" {
			t.mode[r.PID] = r.Mode
		}
	}
	return t
}

// member is the key under which the locks of a blocker of a wait are kept.
func (g *graph) member(l link) Key {
	if k := g.procs[l.proc].key; k.Prepared() {
		return k
	}
	return Key{PID: l.pid}
}

// key names the unique key, or the row, that a wait for a transaction without a
// row's lock is about, "" unknown: of an index that the waiter's statement has open for writing (a
// statement's locks on indexes end with it), of a table that the other side has
// written to.
func (f *Forest) key(w *wait) string {
	if !f.touched.read {
		return ""
	}
	var found []*probes.ObjectName
	f.g.blockers(w, func(l link) bool {
		theirs := f.touched.writes[f.g.member(l)]
		for _, tag := range f.touched.writes[Key{PID: w.pid}] {
			o := f.touched.named[tag]
			if o == nil || !o.Unique || strings.HasPrefix(o.Name, "pg_toast.") || slices.Contains(found, o) {
				continue
			}
			if tag.Relation = o.Parent; slices.Contains(theirs, tag) {
				found = append(found, o)
			}
		}
		return true
	})
	if len(found) == 0 {
		return f.keyTable(w)
	}
	var tables []string
	for _, o := range found {
		if t := f.names.relation(o.Database, o.Parent); !slices.Contains(tables, t) {
			tables = append(tables, t)
		}
	}
	slices.Sort(tables)
	switch what := f.after(w); {
	case len(found) == 1 && what == keyOf:
		return what + tables[0] + ", " + index(found[0].Name)
	case len(tables) == 1:
		return what + tables[0]
	case len(tables) == 2 && what == keyOf:
		return rowOrKeyOf + tables[0] + " or " + tables[1] // a trigger may write to the other
	case len(tables) == 2:
		return what + tables[0] + " or " + tables[1]
	}
	return ""
}

// What a wait may be for; a table follows.
const (
	keyOf      = "key of "
	rowOf      = "row of "
	rowOrKeyOf = "row or unique key of "
)

// after is what w's statement may be after: by its text, for who has waited for a row
// while that changed hands waits as an insert does.
func (f *Forest) after(w *wait) string {
	s := f.g.procs[w.proc].session
	if s == nil {
		return rowOrKeyOf
	}
	switch aboutOf(s.Query, s.QueryClipped) {
	case aKey:
		if f.triggered(w) {
			return rowOrKeyOf
		}
		return keyOf
	case aRow:
		return rowOf
	}
	return rowOrKeyOf
}

// triggered reports whether a table that w's session has written to has triggers.
func (f *Forest) triggered(w *wait) bool {
	return slices.ContainsFunc(f.touched.writes[Key{PID: w.pid}], func(t probes.LockTag) bool {
		o := f.touched.named[t]
		return o != nil && o.Triggers
	})
}

// keyTable is key where nothing has a name, as in another database: the one
// relation that both sides have written to.
func (f *Forest) keyTable(w *wait) string {
	var both []probes.LockTag
	f.g.blockers(w, func(l link) bool {
		for _, tag := range f.touched.writes[f.g.member(l)] {
			if slices.Contains(f.touched.writes[Key{PID: w.pid}], tag) && !slices.Contains(both, tag) {
				both = append(both, tag)
			}
		}
		return true
	})
	if len(both) != 1 || f.names.get(both[0].Database, classRelation, both[0].Relation) != "" {
		return ""
	}
	return f.after(w) + f.names.relation(both[0].Database, both[0].Relation)
}

// index is an index's name without its schema: its table's.
func index(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 && !strings.HasSuffix(name, `"`) {
		return name[i+1:]
	}
	return name
}

// unless is the condition on ending a root that row sharers make, and the other
// transactions that a command waits for one after the other.
func (f *Forest) unless(t *Tree) string {
	if s := f.mayShare(t); s != "" {
		return s
	}
	for _, n := range t.Root.Children {
		p := f.prog[n.Key.PID]
		if n.Edge == nil || n.Edge.LockType != "virtualxid" {
			continue
		}
		pr := &f.g.procs[n.proc]
		if p == nil {
			return fmt.Sprintf(": %s may wait for others next", n.Key)
		}
		if !pr.more {
			if len(pr.rest) > 0 {
				return fmt.Sprintf(": %s holds %s up, too", f.then(n), n.Key)
			}
			if next := f.next(n); next != "" {
				return fmt.Sprintf(": %s waits for %s in a later phase", n.Key, next)
			}
			continue
		}
		if more := p.LockersTotal - p.LockersDone - 1; more > 0 {
			return fmt.Sprintf(": up to %d more transactions hold %s up", more, n.Key)
		}
	}
	return ""
}

// list names a few keys.
func (f *Forest) list(ks []Key, and string) string {
	const most = 3
	var parts []string
	for _, k := range ks[:min(most, len(ks))] {
		parts = append(parts, f.Name(k))
	}
	if len(ks) > most {
		return strings.Join(parts, ", ") + " " + and + " others"
	}
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " " + and + " " + parts[last]
	}
	return parts[0]
}
