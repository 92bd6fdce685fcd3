package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// indexScan judges an index scan.
func (w *walker) indexScan(n *plan.Node, at place) *Scan {
	t := w.catalog.Of(n)
	s := &Scan{Node: n, Table: t, Index: t.Index(n.Index), Limited: at.limited, Ordered: at.ordered, beside: at.beside, loops: at.loops, renamed: w.renamed(n)}
	switch {
	case at.limited && !at.ordered:
		s.sortedScan()
		return s
	case s.Index == nil && w.catalog == nil:
		w.withoutCatalog(s, at)
	case s.Index == nil:
		s.Class, s.Why = NoIndex, "the index is not in the catalog"
	case s.Index.Method != "btree":
		s.Class, s.Why = FromStart, "a "+s.Index.Method+" index has no first row to start at"
	default:
		s.absent = at.absent
		w.walkKeys(s, at)
	}
	if !at.limited {
		s.unlimited()
	}
	return s
}

// window turns the class of a scan that a window function reads on behind the page:
// to the end, or to that of a partition of many rows.
func (s *Scan) window(k *Known) {
	why := k.Window + " needs all rows behind the cursor for the first, so each page reads them"
	if len(k.WindowBy) > 0 {
		rows := 0.0
		for i, column := range k.WindowBy {
			if n := s.sharing(column); i == 0 || n < rows {
				rows = n
			}
		}
		if rows <= manyPerValue {
			return
		}
		why = fmt.Sprintf("%s needs all rows with the same %s, about %.0f, for the first, so each page reads them", k.Window, strings.Join(k.WindowBy, " and "), rows)
	}
	s.Class, s.Why, s.whole = PartSort, why, true
}

// unlimited turns the class of a scan that feeds no limit: it has to read to the
// end anyway, but may still start too early, which Class keeps saying through Bound.
func (s *Scan) unlimited() {
	if s.Class != PrefixScan {
		s.Bound = ""
	}
	s.Class, s.Why = Unpaged, "it does not feed a limit"
}

// conditions of a scan, ready to compare with index keys.
type conditions struct {
	index  []Term        // conjuncts of the index condition
	filter *sqltext.Expr // nil without one
}

func conditionsOf(n *plan.Node, at place) conditions {
	text := n.Filter
	if at.join != "" {
		if text != "" {
			text = "(" + text + ") AND "
		}
		text += "(" + at.join + ")"
	}
	return conditions{index: Conjuncts(parseCond(n.IndexCond)), filter: parseCond(text)}
}

// parseCond reads a condition of a plan, nil for none and for what cannot be read.
func parseCond(text string) *sqltext.Expr {
	e, err := sqltext.ParseExpr(text)
	if err != nil {
		return nil
	}
	return e
}

// walkKeys applies the rule of Scans to an ordered index scan.
func (w *walker) walkKeys(s *Scan, at place) {
	n := s.Node
	c := conditionsOf(n, at)
	for i, k := range s.Index.Keys {
		key, ok := s.keyOf(k)
		if !ok {
			s.Class, s.Why = NoIndex, "the index expression "+k.Text+" could not be read"
			return
		}
		if fixedBy(c.index, key) {
			s.Fixed = append(s.Fixed, key.Expr.Text())
			s.narrow(c.index, key, k.Column, w.known)
			continue
		}
		s.Key, s.Side = key.Expr.Text(), sideIn(k, n)
		w.decide(s, c, key, k)
		if s.Class == FromStart && c.filter != nil {
			s.startsAnyway(c.filter, s.keysFrom(i), n.Backward != k.NullsFirst)
		}
		if s.Class == FromStart && s.apart == "" {
			s.startsAtHeld(c, i)
		}
		return
	}
	s.Class, s.Why = Seek, "equality on every index column"
}

// decide compares where the scan starts on its key with what the filter implies.
func (w *walker) decide(s *Scan, c conditions, key Key, k IndexKey) {
	start := startBounds(c.index, key, s.Side)
	implied, implies := Implied(c.filter, key, s.Side)
	switch {
	case len(start) > 0:
		s.Class, s.Why = Seek, "the index condition bounds "+s.Key+" where the scan starts"
		if implies && len(implied.Guards) == 0 && !anyRow(start) {
			w.looser(s, start, implied, key)
		}
		if s.Class == Seek && !anyRow(start) && goesOn(c.filter, key) {
			rows := s.sharing(k.Column)
			s.ties = rows == 0 && (!s.Index.Unique || len(s.Index.Keys) > len(s.Fixed)+1)
			if rows > manyPerValue {
				s.Class = WeakBound
				s.Why = fmt.Sprintf("the scan starts at the first row of the cursor's %s, a value that about %.0f rows share", s.Key, rows)
			}
		}
	case implies:
		_, s.ranged = Implied(c.filter, key, -s.Side)
		s.Class, s.Bound = PrefixScan, boundText(key, s.Side, implied.Values)
		s.Why = fmt.Sprintf("the filter implies %s, but the index condition does not have it", s.Bound)
		if s.orNull = implied.NotNull; s.orNull {
			s.Why = fmt.Sprintf("the filter implies %s unless both are NULL, so the plan cannot start there", s.Bound)
		}
		if len(implied.Guards) > 0 {
			s.Why = fmt.Sprintf("the filter implies a start on %s unless %s, so the plan cannot start there", s.Key, texts(implied.Guards, " or "))
		}
	case c.filter != nil && nullBranch(c.filter, key, s.Side):
		s.Class, s.Why = NullBranch, "every branch but "+s.Key+" IS NULL bounds it: only two scans, added up, can both start right"
	case c.filter != nil && hidden(c.filter, key, s.Side, s.Table) != "":
		s.Class, s.Why = OpaqueKey, s.Key+" is inside "+hidden(c.filter, key, s.Side, s.Table)+", so its comparison cannot be an index condition"
	default:
		s.Class, s.Why = FromStart, "nothing in the filter bounds "+s.Key
	}
}

// looser checks whether the scan starts at a value that the implied start does
// not name: a retention limit, say, and not the cursor.
func (w *walker) looser(s *Scan, start []*sqltext.Expr, implied Bound, key Key) {
	for _, v := range implied.Values {
		covered := false
		for _, b := range start {
			covered = covered || contains(b, v.Expr, w.known) && !s.shifted(b, v.Expr)
		}
		if covered {
			continue
		}
		s.Class, s.Bound = WeakStart, boundText(key, s.Side, implied.Values)
		s.Why = "the scan starts at " + texts(start, " and ") + ", which is looser than " + s.Bound
		named := slices.ContainsFunc(start, func(b *sqltext.Expr) bool { return s.shifted(b, v.Expr) })
		if !w.known.tells() && !strict(start) && !named {
			s.Doubt = true
			s.Why = "the scan starts at " + texts(start, " and ") + "; unless that is the cursor's own value it is looser than " + s.Bound
		}
		return
	}
}

// strict reports a start with > or <. A bound that is there for the cursor's sake
// has to keep the ties, so it is not strict: that is some other limit.
func strict(start []*sqltext.Expr) bool {
	return slices.ContainsFunc(start, func(e *sqltext.Expr) bool {
		return e.Kind == sqltext.Compare && (e.Cmp == ">" || e.Cmp == "<")
	})
}

// keyOf writes an index column as the plan's conditions do: with the scan's
// alias before column names where the plan qualifies them, and under the names
// that the alias gives them. A collation is left out: conditions that the planner
// matches with the index print without it. Columns of other relations are values,
// for a row of the scan at hand.
func (s *Scan) keyOf(k IndexKey) (Key, bool) {
	e, err := sqltext.ParseExpr(k.Text)
	if err != nil {
		return Key{}, false
	}
	n := s.Node
	alias := quote(n.Alias) + "."
	if n.Alias == "" || n.Schema == "" && !strings.Contains(n.Filter+n.IndexCond, alias) {
		alias = ""
	}
	var edits []sqltext.Edit
	e.Walk(func(x *sqltext.Expr) bool {
		if x.Kind == sqltext.Column && len(x.Qual) == 0 {
			text := strings.Trim(x.Text(), "() ")
			at := x.Start + strings.Index(x.Text(), text)
			if name := s.renamed[x.Name]; name != "" {
				edits = append(edits, sqltext.Edit{Start: at, End: at + len(text), Text: alias + quote(name)})
			} else if alias != "" {
				edits = append(edits, sqltext.Edit{Start: at, End: at, Text: alias})
			}
		}
		return true
	})
	if e, err = sqltext.ParseExpr(sqltext.Splice(k.Text, edits)); err != nil {
		return Key{}, false
	}
	key := Key{Expr: e, Outer: true, Absent: s.absent}
	if c := s.Table.column(k.Column); c != nil {
		key.Type, key.Domain = c.Type, c.Domain
	}
	return key, true
}
