package waits

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// Who gets the table that it waits for goes on to others where its statement is about
// several: it names them, or comes to them by a view, a partitioned table or a foreign
// key. It stops again at one that somebody keeps from it who stays. Strong locks are few,
// and read for that; weak ones, which keep off a DDL only, are not.

// keeper is one who keeps others from a table, or is to get it before them.
type keeper struct {
	proc int // -1: nothing else is known of it
	mode probes.LockMode
}

// findKeepers collects the strong locks on tables and the requests for them.
func (f *Forest) findKeepers(l *probes.Locks) {
	for i := range l.Rows {
		r := &l.Rows[i]
		if !r.Strong() {
			continue
		}
		k := Key{PID: r.PID}
		if r.PID == 0 {
			k.VXID = r.VXID
		} else if leader, ok := f.g.leader[r.PID]; ok {
			k.PID = leader
		}
		p, ok := f.g.find(k)
		if !ok {
			p = -1
		}
		if f.keepers == nil {
			f.keepers = map[probes.LockTag][]keeper{}
		}
		f.keepers[r.Tag] = append(f.keepers[r.Tag], keeper{p, r.Mode})
	}
}

// stops reports whether p, once it has the table or the advisory key that it waits for,
// may stop at another.
func (s *simulation) stops(p int) bool {
	return slices.ContainsFunc(s.g.procs[p].waits, func(w *wait) bool {
		switch x := s.g.procs[p].session; {
		case w.shape.Type == "advisory":
			return s.f.severalKeys(w)
		case w.shape.Type == "object" && x != nil: // then come what is in the schema, or the role's
			q := statement(x.Query, x.QueryClipped)
			return len(q) > 0 && q[0].is("drop", "reassign")
		}
		if w.shape.Type != "relation" || w.shape.Relation < probes.FirstUser {
			return false
		}
		if s.f.hasMore(w) {
			return true
		}
		for tag, all := range s.f.keepers {
			if tag != *w.shape && tag.Database == w.shape.Database && slices.ContainsFunc(all, func(k keeper) bool { return s.keepsOff(k, w) }) && s.f.comesTo(w, tag) {
				return true
			}
		}
		return false
	})
}

// keepsOff reports whether k, who stays, keeps w's statement from the table it has.
func (s *simulation) keepsOff(k keeper, w *wait) bool {
	return k.proc != w.proc && (k.proc < 0 || s.blocks(k.proc) || k.proc == s.keeps-1) &&
		(w.mode == probes.NoLock || w.mode.Conflicts()&k.mode.Bit() != 0)
}

// hasMore reports whether w's statement wants several tables in a mode that weak locks,
// which are not read, keep off.
func (f *Forest) hasMore(w *wait) bool {
	if w.mode < probes.ShareUpdateExclusiveLock {
		return false
	}
	o := f.names[nameKey{w.shape.Database, classRelation, w.shape.Relation}]
	if o != nil && o.Children {
		return true
	}
	s := f.g.procs[w.proc].session
	if s == nil || s.Query == "" {
		return false
	}
	if o != nil && !s.QueryClipped && !mentions(s.Query, o.Name) {
		return true
	}
	q := statement(s.Query, s.QueryClipped)
	return len(q) > 1 && (slices.ContainsFunc(q, func(t token) bool {
		return t.is("references") || t.is("drop", "truncate") && o != nil && o.Tied // foreign keys lock the other table
	}) ||
		q[0].is("drop", "reassign") && q[1].is("schema", "owned", "extension") ||
		q[0].is("drop", "truncate", "lock", "vacuum", "analyze") && !last(q, o))
}

// last reports whether o is the last of the tables that a statement lists, which it
// comes to in that order.
func last(q []token, o *probes.ObjectName) bool {
	list := split(q, func(t token) bool { return t.sign(",") })
	if len(list) == 1 {
		return true
	}
	end := list[len(list)-1]
	if len(end) > 0 && end[0].is("only") {
		end = end[1:]
	}
	name, _ := named(end)
	return o != nil && sameTable(name, o.Name)
}

// severalKeys reports whether w's statement asks for several advisory keys by its text.
func (f *Forest) severalKeys(w *wait) bool {
	s, n := f.g.procs[w.proc].session, 0
	if s == nil {
		return false
	}
	for _, word := range words(s.Query) {
		if strings.Contains(word, "advisory") && strings.Contains(word, "lock") {
			n++
		}
	}
	return n > 1
}

// coming is the question whether a wait's statement comes to another table.
type coming struct {
	wait  int
	other uint32
}

func (f *Forest) comesTo(w *wait, other probes.LockTag) bool {
	if f.comes == nil {
		f.comes = map[coming]bool{}
	}
	k := coming{w.index, other.Relation}
	yes, known := f.comes[k]
	if !known {
		yes = f.wantsToo(w, other)
		f.comes[k] = yes
	}
	return yes
}

// wantsToo reports whether w's statement may want another table, too. One without a name
// is too new to be seen by it, or of another database.
func (f *Forest) wantsToo(w *wait, other probes.LockTag) bool {
	name := func(oid uint32) *probes.ObjectName { return f.names[nameKey{other.Database, classRelation, oid}] }
	o, mine := name(other.Relation), name(w.shape.Relation)
	if o == nil {
		return f.nameless
	}
	if strings.HasPrefix(o.Name, "pg_") {
		return false
	}
	if o.Parent != 0 {
		if o.Parent == w.shape.Relation {
			return true
		}
		if o = name(o.Parent); o == nil {
			return f.nameless
		}
	}
	s := f.g.procs[w.proc].session
	if s == nil || s.Query == "" || mine == nil {
		return f.nameless
	}
	writes := w.mode > probes.AccessShareLock
	return s.QueryClipped || mine.Children || writes && (mine.Tied || mine.Triggers) || !mentions(s.Query, mine.Name) || mentions(s.Query, o.Name)
}
