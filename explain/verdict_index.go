package explain

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// indexScan judges an index scan.
func (w *walker) indexScan(n *plan.Node, at place) *Scan {
	t := w.catalog.Of(n)
	s := &Scan{Node: n, Table: t, Index: t.Index(n.Index), Limited: at.limited, Ordered: at.ordered}
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
		w.walkKeys(s, at)
	}
	if !at.limited {
		s.unlimited()
	}
	return s
}

// unlimited turns the class of a scan that feeds no limit: it has to read to the
// end anyway, but may still start too early, which Class keeps saying through Bound.
func (s *Scan) unlimited() {
	if s.Class != PrefixScan {
		s.Bound = ""
	}
	s.Class, s.Why = NoPage, "it does not feed a limit"
}

// conditions of a scan, ready to compare with index keys.
type conditions struct {
	index  []*sqltext.Expr // conjuncts of the index condition
	filter *sqltext.Expr   // nil without one
}

// walkKeys applies the rule of Scans to an ordered index scan.
func (w *walker) walkKeys(s *Scan, at place) {
	n := s.Node
	c := conditions{index: conjuncts(w.parse(s, n.IndexCond)), filter: w.parse(s, n.Filter)}
	if at.filter != nil {
		c.filter = joined(c.filter, at.filter, n.Alias)
	}
	for _, k := range s.Index.Keys {
		key := keyExpr(k, n)
		if key == nil {
			s.Class, s.Why = NoIndex, "the index expression "+k.Text+" could not be read"
			return
		}
		if fixedBy(c.index, key) {
			s.Fixed = append(s.Fixed, key.Text())
			continue
		}
		s.Key, s.Side = key.Text(), 1
		if n.Backward != k.Desc {
			s.Side = -1
		}
		w.decide(s, c, key, k)
		return
	}
	s.Class, s.Why = Seek, "equality on every index column"
}

// decide compares where the scan starts on its key with what the filter implies.
func (w *walker) decide(s *Scan, c conditions, key *sqltext.Expr, k IndexKey) {
	start := startBounds(c.index, key, s.Side)
	var implied bound
	implies := false
	if c.filter != nil {
		implied, implies = impliedBy(c.filter, key, s.Side)
	}
	switch {
	case len(start) > 0:
		s.Class, s.Why = Seek, "the index condition bounds "+s.Key+" where the scan starts"
		if implies && len(implied.guards) == 0 && !anyRow(start) {
			w.looser(s, start, implied, key)
		}
		if s.Class == Seek && !anyRow(start) && orOn(c.filter, key) {
			if rows := s.Table.PerValue(k.Column); rows > manyPerValue {
				s.Class = WeakBound
				s.Why = fmt.Sprintf("the scan starts at the first row of the cursor's %s, a value that about %.0f rows share", s.Key, rows)
			}
		}
	case implies:
		s.Class, s.Bound = PrefixScan, boundText(key, s.Side, implied.values)
		s.Why = fmt.Sprintf("the filter implies %s, but the index condition does not have it", s.Bound)
		if len(implied.guards) > 0 {
			s.Why = fmt.Sprintf("the filter implies a start on %s unless %s, so the plan cannot start there", s.Key, texts(implied.guards, " or "))
		}
	case c.filter != nil && nullBranch(c.filter, key, s.Side):
		s.Class, s.Why = NullBranch, "every branch but "+s.Key+" IS NULL bounds it: only two scans, added up, can both start right"
	case c.filter != nil && hidden(c.filter, key, s.Table) != "":
		s.Class, s.Why = OpaqueKey, s.Key+" is inside "+hidden(c.filter, key, s.Table)+", so its comparison cannot be an index condition"
	default:
		s.Class, s.Why = FromStart, "nothing in the filter bounds "+s.Key
	}
}

// looser checks whether the scan starts at a value that the implied start does
// not name: a retention limit, say, and not the cursor.
func (w *walker) looser(s *Scan, start []*sqltext.Expr, implied bound, key *sqltext.Expr) {
	for _, v := range implied.values {
		covered := false
		for _, b := range start {
			covered = covered || contains(b, v, w.known)
		}
		if covered {
			continue
		}
		s.Class, s.Bound = WeakStart, boundText(key, s.Side, implied.values)
		s.Why = "the scan starts at " + texts(start, " and ") + ", which is looser than " + s.Bound
		if w.known == nil || !w.known.Reuses && len(w.known.Params) == 0 {
			s.Doubt = true
			s.Why = "the scan starts at " + texts(start, " and ") + "; unless that is the cursor's own value it is looser than " + s.Bound
		}
		return
	}
}

// withoutCatalog judges a scan whose index is not known: the column that the
// filter bounds and the index condition does not is taken for its first.
func (w *walker) withoutCatalog(s *Scan, at place) {
	n := s.Node
	c := conditions{index: conjuncts(w.parse(s, n.IndexCond)), filter: w.parse(s, n.Filter)}
	if at.filter != nil {
		c.filter = joined(c.filter, at.filter, n.Alias)
	}
	s.Doubt = true
	side := 1
	if n.Backward {
		side = -1
	}
	for _, side := range []int{side, -side} {
		for _, key := range columnsOf(c.filter, n) {
			implied, ok := impliedBy(c.filter, key, side)
			if !ok || fixedBy(c.index, key) {
				continue
			}
			s.Key, s.Side = key.Text(), side
			if start := startBounds(c.index, key, side); len(start) > 0 {
				s.Class, s.Why = Seek, "the index condition bounds "+s.Key+" (assuming the index is on it)"
				return
			}
			s.Class, s.Bound = PrefixScan, boundText(key, side, implied.values)
			s.Why = "the filter implies " + s.Bound + ", but the index condition does not have it (assuming the index starts with it)"
			return
		}
	}
	if len(c.index) > 0 {
		s.Class, s.Why = Seek, "there is an index condition; without the catalog its place in the index is not known"
		return
	}
	s.Class, s.Why = FromStart, "nothing in the filter bounds a key"
}

// parse reads a condition of a scan; a cast that changes no byte (varchar to
// text) is taken off the table's columns, as the planner does for an index.
func (w *walker) parse(s *Scan, text string) *sqltext.Expr {
	if text == "" {
		return nil
	}
	e, err := sqltext.ParseExpr(text)
	if err != nil || s.Table == nil || !strings.Contains(text, "::text") {
		return e
	}
	var edits []sqltext.Edit
	e.Walk(func(x *sqltext.Expr) bool {
		if x.Kind == sqltext.Cast && x.Name == "text" && x.Args[0].Kind == sqltext.Column {
			if c := s.Table.column(x.Args[0].Name); c != nil && strings.HasPrefix(c.Type, "character varying") {
				edits = append(edits, sqltext.Edit{Start: x.Start, End: x.End, Text: x.Args[0].Text()})
			}
		}
		return true
	})
	if len(edits) == 0 {
		return e
	}
	if plain, err := sqltext.ParseExpr(sqltext.Splice(text, edits)); err == nil {
		return plain
	}
	return e
}

// keyExpr writes an index column as the plan's conditions do: with the scan's
// alias before column names where the plan qualifies them. A collation is left
// out: conditions that the planner matches with the index print without it.
func keyExpr(k IndexKey, n *plan.Node) *sqltext.Expr {
	text := k.Text
	if strings.Contains(n.Filter+n.IndexCond, n.Alias+".") || strings.Contains(n.Filter+n.IndexCond, quote(n.Alias)+".") || n.Schema != "" {
		e, err := sqltext.ParseExpr(text)
		if err != nil {
			return nil
		}
		var edits []sqltext.Edit
		e.Walk(func(x *sqltext.Expr) bool {
			if x.Kind == sqltext.Column && len(x.Qual) == 0 {
				edits = append(edits, sqltext.Edit{Start: x.Start, End: x.End, Text: quote(n.Alias) + "." + strings.Trim(x.Text(), "() ")})
			}
			return true
		})
		text = sqltext.Splice(text, edits)
	}
	e, err := sqltext.ParseExpr(text)
	if err != nil {
		return nil
	}
	return e
}
