package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// withoutCatalog judges a scan whose index is not known: what the filter bounds
// like a cursor, and the index condition does not, is taken for the index's first
// key, or the first behind those that equalities fix.
func (w *walker) withoutCatalog(s *Scan, at place) {
	n := s.Node
	c := conditionsOf(n, at)
	s.Doubt = true
	first := Lower
	if n.Backward {
		first = Upper
	}
	cursors := likeCursors(c.filter)
	for _, side := range []Side{first, -first} {
		for _, key := range comparands(c.filter, n) {
			if fixedBy(c.index, key) {
				continue
			}
			if start := startBounds(c.index, key, first); side != first && len(start) > 0 {
				s.Class, s.Why, s.Key, s.Side = Seek, "the index condition bounds "+key.Expr.Text()+" (assuming the index is on it)", key.Expr.Text(), first
				return
			}
			if w.guess(s, c, cursors, key, side) {
				return
			}
		}
	}
	equal := !slices.ContainsFunc(c.index, func(t Term) bool { return t.Not || t.Expr.Kind != sqltext.Compare || t.Expr.Cmp != "=" })
	if key := nullsTested(c.filter, n); equal && key != nil {
		s.Class, s.Key, s.Side = NullBranch, key.Text(), first
		s.Why = "one branch goes on among the rows with " + s.Key + " IS NULL, the others are about the rows behind them: only two scans, added up, can both start right (assuming the index starts with it)"
		return
	}
	if len(c.index) > 0 {
		s.Class, s.Why = Seek, "there is an index condition; without the catalog its place in the index is not known"
		return
	}
	s.Class, s.Why = FromStart, "nothing in the filter bounds a key"
}

// guess judges the scan as one over an index that starts with the key, if the
// filter has a cursor over it.
func (w *walker) guess(s *Scan, c conditions, cursors []Term, key Key, side Side) bool {
	implied, ok := impliedByAny(cursors, key, side)
	why := " (assuming the index starts with it)"
	name := key.Expr.Text()
	switch {
	case ok:
	case nullBranch(c.filter, key, side):
		s.Class, s.Why = NullBranch, "every branch but "+name+" IS NULL bounds it: only two scans, added up, can both start right"+why
	case coalescedIn(c.filter, key, side):
		s.Class, s.Why = OpaqueKey, name+" is inside a COALESCE, so its comparison cannot be an index condition"+why
	case caseOn(c.filter, key, side):
		s.Class, s.Why = OpaqueKey, name+" is inside a CASE, so its comparison cannot be an index condition"+why
	default:
		return false
	}
	s.Key, s.Side = name, side
	if !ok {
		return true
	}
	start := startBounds(c.index, key, side)
	if len(start) == 0 {
		s.Class, s.Bound = PrefixScan, boundText(key, side, implied.Values)
		s.Why = "the filter implies " + s.Bound + ", but the index condition does not have it" + why
		return true
	}
	s.Class, s.Why = Seek, "the index condition bounds "+name+" (assuming the index is on it)"
	if anyRow(start) {
		return true
	}
	if len(implied.Guards) == 0 && strict(start) {
		s.Doubt = false
		w.looser(s, start, implied, key)
	}
	if s.Class != Seek || !goesOn(c.filter, key) {
		return true
	}
	removed, ok := s.Node.Removed()
	s.ties = !ok
	if ok && removed > manyPerValue {
		s.Class, s.Why = WeakBound, fmt.Sprintf("the scan starts at the first row of the cursor's %s, and %.0f rows that share it were thrown away", name, removed)
	}
	return true
}

// likeCursors are the conjuncts of a filter that a cursor may be: an OR, or a
// comparison of rows. A plain comparison on a column that is in no index is just
// a filter.
func likeCursors(filter *sqltext.Expr) []Term {
	return slices.DeleteFunc(Conjuncts(filter), func(t Term) bool {
		return t.Expr.Kind != sqltext.Or && (t.Expr.Kind != sqltext.Compare || t.Expr.Args[0].Kind != sqltext.Row)
	})
}

// impliedByAny is the bound by the first term that has one on this side; one that
// has one on the other too holds values or ranges of the key, and has no direction.
func impliedByAny(terms []Term, key Key, side Side) (Bound, bool) {
	for _, t := range terms {
		b, ok := t.Implied(key, side)
		if _, far := t.Implied(key, -side); ok && (!far || tied(t.Expr, key, side)) {
			return b, true
		}
	}
	return Bound{}, false
}

// caseOn reports a CASE over parameters of which one result is a cursor over the
// key, and the other is true, or such a COALESCE.
func caseOn(filter *sqltext.Expr, key Key, side Side) bool {
	return slices.ContainsFunc(Conjuncts(filter), func(t Term) bool {
		if t.Expr.Kind == sqltext.Func && t.Expr.Name == "coalesce" && !t.Not {
			_, ok := Implied(t.Expr.Args[0], key, side)
			return ok
		}
		e := caseOfNumber(t.Expr)
		if e == nil {
			e = t.Expr
		}
		if _, ok := Implied(firstArg(e), key, side); e.Kind == sqltext.Case && !t.Not && ok && len(e.Args) > 3 { // a single WHEN is a filter as well
			return true
		}
		return t.Expr.Kind == sqltext.Case && !t.Not && caseCursor(t.Expr, key, side) != nil
	})
}

// firstArg is the first operand, nil for none.
func firstArg(e *sqltext.Expr) *sqltext.Expr {
	if len(e.Args) == 0 {
		return nil
	}
	return e.Args[0]
}

// comparands lists what a filter compares by an inequality or a row comparison,
// of the scanned relation: columns and expressions.
func comparands(filter *sqltext.Expr, n *plan.Node) []Key {
	var out []Key
	add := func(e *sqltext.Expr) {
		own := false
		other := !e.Walk(func(x *sqltext.Expr) bool {
			if x.Kind == sqltext.Column && !isField(e, x) {
				own = own || x.Qualifier() == "" || x.Qualifier() == n.Alias
				return x.Qualifier() == "" || x.Qualifier() == n.Alias
			}
			return x.Kind != sqltext.Opaque && x.Kind != sqltext.Row
		})
		if own && !other && !slices.ContainsFunc(out, func(k Key) bool { return k.Matches(e) }) {
			out = append(out, Key{Expr: e, Outer: true})
		}
	}
	filter.Walk(func(x *sqltext.Expr) bool {
		if x.Kind != sqltext.Compare || x.Cmp == "<>" {
			return true
		}
		for _, a := range x.Args {
			if a.Kind == sqltext.Row && len(a.Args) > 0 {
				a = a.Args[0]
			}
			add(a)
		}
		return true
	})
	return out
}

// sortedOr reports an OR over the leading key of the sort above the scan, which
// is all that a plan says of a cursor where there is no text.
func (s *Scan) sortedOr() bool {
	n := s.Node.Parent
	for n != nil && len(n.SortKey) == 0 && n.Type != "WindowAgg" && n.Type != "Aggregate" {
		n = n.Parent
	}
	if n == nil || len(n.SortKey) == 0 {
		return false
	}
	order := " " + n.SortKey[0]
	side := Lower
	if i := strings.Index(order, " NULLS "); i > 0 {
		order = order[:i]
	}
	if text, ok := strings.CutSuffix(order, " DESC"); ok {
		order, side = text, Upper
	}
	e, err := sqltext.ParseExpr(order)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(likeCursors(parseCond(s.Node.Filter)), func(t Term) bool {
		_, ok := t.Implied(Key{Expr: e}, side)
		return ok && t.Expr.Kind == sqltext.Or
	})
}
