package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// sidedKey is a key of an index and the side from which a scan comes to it.
type sidedKey struct {
	Key
	side Side
}

// keysFrom are the keys of the scan's index from the at-th on, as far as they can be read.
func (s *Scan) keysFrom(at int) []sidedKey {
	var out []sidedKey
	for _, k := range s.Index.Keys[at:] {
		key, ok := keyOf(k, s.Table, s.Node)
		if !ok {
			break
		}
		out = append(out, sidedKey{key, sideIn(k, s.Node)})
	}
	return out
}

// sideIn is the side from which a scan comes to a key of its index.
func sideIn(k IndexKey, n *plan.Node) Side {
	if n.Backward != k.Desc {
		return Upper
	}
	return Lower
}

// startsAtNulls reports a cursor that stands among the rows whose first key is NULL,
// where those come first: "K IS NULL AND later > v OR K IS NOT NULL". An OR of both
// is no index condition. parts counts the two kinds of branches, switches that do
// not look at the row left out.
func startsAtNulls(filter *sqltext.Expr, keys []sidedKey) bool {
	for _, c := range Conjuncts(filter) {
		if c.Not || c.Expr.Kind != sqltext.Or {
			continue
		}
		if nulls, others, ok := nullParts(c.Expr, keys); ok && nulls > 0 && others > 0 {
			return true
		}
	}
	return false
}

// nullParts counts the branches that go on among the rows with a NULL key and those
// about rows with one; ok is false where some branch is neither.
func nullParts(e *sqltext.Expr, keys []sidedKey) (nulls, others int, ok bool) {
	first := keys[0]
	if e.Kind == sqltext.Or {
		for _, a := range e.Args {
			n, o, ok := nullParts(a, keys)
			if !ok {
				return 0, 0, false
			}
			nulls, others = nulls+n, others+o
		}
		return nulls, others, true
	}
	if requiresNull(e, first.Key) {
		for _, k := range keys[1:] {
			if b, ok := Implied(e, k.Key, k.side); ok && len(b.Guards) == 0 {
				return 1, 0, true
			}
		}
		return 0, 0, false
	}
	if e.Kind == sqltext.And { // a switch, and what it lets through
		if rest := slices.DeleteFunc(slices.Clone(e.Args), isGuard); len(rest) == 1 && len(rest) < len(e.Args) {
			return nullParts(rest[0], keys)
		}
	}
	_, bounds := Implied(e, first.Key, first.side)
	return 0, 1, bounds || slices.ContainsFunc(Conjuncts(e), func(t Term) bool { return requiresNotNull(t, first.Key) })
}

// requiresNotNull: the term is "K IS NOT NULL".
func requiresNotNull(t Term, key Key) bool {
	return (t.Expr.Kind == sqltext.IsNotNull && !t.Not || t.Expr.Kind == sqltext.IsNull && t.Not) && key.Matches(t.Expr.Args[0])
}

// coalesced takes "K > COALESCE(v, K)" apart, a cursor that a NULL switches off:
// value is nil for anything else.
func coalesced(e *sqltext.Expr, key Key, side Side) (value *sqltext.Expr, op string) {
	if e.Kind != sqltext.Compare {
		return nil, ""
	}
	l, r, op := e.Args[0], e.Args[1], e.Cmp
	if !key.Matches(l) {
		l, r, op = r, l, mirrored(op)
	}
	x := extractor{key: key, side: side}
	if op == "=" || !key.Matches(l) || !x.startsAt(op) || r.Kind != sqltext.Func || r.Name != "coalesce" || len(r.Args) != 2 ||
		!x.isValue(r.Args[0]) || !key.Matches(r.Args[1]) {
		return nil, ""
	}
	return r.Args[0], op
}

// comparedTogether reports an inequality between a value and something that is made
// of the first two keys: a||b > v, ARRAY[a, b] > v.
func comparedTogether(e *sqltext.Expr, keys []sidedKey) bool {
	if e.Kind != sqltext.Compare || e.Cmp == "=" || e.Cmp == "<>" || len(keys) < 2 {
		return false
	}
	for i, a := range e.Args {
		value := e.Args[1-i]
		if a.Kind != sqltext.Row && joins(a) && mentions(a, keys[0].Key) && mentions(a, keys[1].Key) && !hasColumns(value) && !isConstant(value) {
			return true
		}
	}
	return false
}

// joins: the expression writes its operands one behind the other. A sum or the like
// is a filter. A call without a name is ARRAY[…].
func joins(e *sqltext.Expr) bool {
	switch e.Kind {
	case sqltext.Operator:
		return strings.Contains(e.Text(), "||")
	case sqltext.Func:
		return e.Name == "" || e.Name == "concat" || e.Name == "concat_ws" || e.Name == "format"
	}
	return false
}

// hasColumns: the expression names a column.
func hasColumns(e *sqltext.Expr) bool {
	return !e.Walk(func(x *sqltext.Expr) bool { return x.Kind != sqltext.Column })
}

// isConstant: the value names no parameter and calls nothing.
func isConstant(e *sqltext.Expr) bool {
	return e.Walk(func(x *sqltext.Expr) bool { return x.Kind != sqltext.Value && x.Kind != sqltext.Subquery })
}

// boundApart reports an OR each branch of which bounds a key of the order by a value
// of its own, the first and others, "a > $1 OR b > $2": meant as a cursor, but true
// of rows before it, and no start of a scan.
func boundApart(e *sqltext.Expr, keys []sidedKey) bool {
	if e.Kind != sqltext.Or || len(keys) < 2 {
		return false
	}
	seen := make([]bool, len(keys))
	for _, a := range e.Args {
		at := slices.IndexFunc(keys, func(k sidedKey) bool {
			t := Term{Expr: a, Whole: a}
			b, ok := t.Implied(k.Key, k.side)
			return ok && t.direct(k.Key, k.side) && a.Kind == sqltext.Compare && !isConstant(b.Values[0].Expr)
		})
		if at < 0 || isRow(a) {
			return false
		}
		seen[at] = true
	}
	return seen[0] && slices.Contains(seen[1:], true)
}

// apart is the conjunct of a filter that says something of the page's keys with
// which no scan can start, nil for none.
func apart(filter *sqltext.Expr, keys []sidedKey) *sqltext.Expr {
	for _, c := range Conjuncts(filter) {
		if !c.Not && (boundApart(c.Expr, keys) || comparedTogether(c.Expr, keys)) {
			return c.Expr
		}
	}
	return nil
}

// caseOfNumber is the CASE of "CASE … END = 1", nil for anything else.
func caseOfNumber(e *sqltext.Expr) *sqltext.Expr {
	if e.Kind != sqltext.Compare || e.Cmp != "=" {
		return nil
	}
	for i, a := range e.Args {
		if isCase(a) && e.Args[1-i].Kind == sqltext.Const {
			return a
		}
	}
	return nil
}

func isCase(e *sqltext.Expr) bool {
	return e.Kind == sqltext.Case || e.Kind == sqltext.Opaque && strings.HasPrefix(strings.ToUpper(strings.TrimLeft(e.Text(), "( ")), "CASE")
}

// startsAnyway looks once more at a scan that nothing in its filter seems to bound:
// for a cursor among the NULLs that come first, and for one that is no bound.
func (s *Scan) startsAnyway(filter *sqltext.Expr, keys []sidedKey, nullsFirst bool) {
	if len(keys) == 0 {
		return
	}
	if nullsFirst && startsAtNulls(filter, keys) {
		s.Class, s.Why = NullBranch, "one branch goes on among the rows with "+s.Key+" IS NULL, which come first, the others are about the rows behind them: only two scans, added up, can both start right"
		return
	}
	if e := apart(filter, keys); e != nil {
		s.apart = oneLine(e.Text())
	}
}

// nullsTested is the column among whose NULLs a cursor stands, nil for none, where the
// keys of the index are not known.
func nullsTested(filter *sqltext.Expr, n *plan.Node) (found *sqltext.Expr) {
	var later []sidedKey
	for _, k := range comparands(filter, n) {
		later = append(later, sidedKey{k, Lower}, sidedKey{k, Upper})
	}
	if filter == nil {
		return nil
	}
	filter.Walk(func(e *sqltext.Expr) bool {
		if e.Kind == sqltext.IsNull && e.Args[0].Kind == sqltext.Column && startsAtNulls(filter, append([]sidedKey{{Key{Expr: e.Args[0], Outer: true}, Lower}}, later...)) {
			found = e.Args[0]
		}
		return found == nil
	})
	return found
}

// coalescedIn reports a conjunct that compares the key with COALESCE(v, key).
func coalescedIn(filter *sqltext.Expr, key Key, side Side) bool {
	return slices.ContainsFunc(Conjuncts(filter), func(t Term) bool {
		v, _ := coalesced(t.Expr, key, side)
		return v != nil && !t.Not
	})
}
