package explain

import (
	"fmt"
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
		key, ok := s.keyOf(k)
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
// is no index condition. only says that it can stand nowhere else: no branch bounds K.
func startsAtNulls(filter *sqltext.Expr, keys []sidedKey) (found, only bool) {
	for _, c := range Conjuncts(filter) {
		if c.Not || c.Expr.Kind != sqltext.Or {
			continue
		}
		if p, ok := nullPartsOf(c.Expr, keys); ok && p.nulls+p.later > 0 && p.others > 0 {
			return true, p.bounds == 0
		}
	}
	return false, false
}

// nullParts counts the branches of a cursor, switches that do not look at the row
// left out.
type nullParts struct {
	nulls  int // that go on among the rows with a NULL key
	others int // that are about rows with a key
	bounds int // of those: that bound it
	later  int // that bound a later key alone
}

// nullPartsOf counts; ok is false where some branch is none of these, or where a later
// key is bounded beside branches that do more than leave the NULLs out.
func nullPartsOf(e *sqltext.Expr, keys []sidedKey) (p nullParts, ok bool) {
	first := keys[0]
	later := slices.ContainsFunc(keys[1:], func(k sidedKey) bool {
		b, ok := Implied(e, k.Key, k.side)
		return ok && len(b.Guards) == 0
	})
	if e.Kind == sqltext.Or {
		for _, a := range e.Args {
			q, ok := nullPartsOf(a, keys)
			if !ok {
				return p, false
			}
			p.nulls, p.others, p.bounds, p.later = p.nulls+q.nulls, p.others+q.others, p.bounds+q.bounds, p.later+q.later
		}
		return p, p.later == 0 || p.bounds == 0
	}
	if requiresNull(e, first.Key) {
		return nullParts{nulls: 1}, later
	}
	if e.Kind == sqltext.And { // a switch, and what it lets through
		if rest := slices.DeleteFunc(slices.Clone(e.Args), isGuard); len(rest) == 1 && len(rest) < len(e.Args) {
			return nullPartsOf(rest[0], keys)
		}
	}
	switch _, bounds := Implied(e, first.Key, first.side); {
	case bounds:
		return nullParts{others: 1, bounds: 1}, true
	case slices.ContainsFunc(Conjuncts(e), func(t Term) bool { return requiresNotNull(t, first.Key) }):
		return nullParts{others: 1}, true
	}
	return nullParts{later: 1}, later && !mentions(e, first.Key)
}

// nullRows estimates the rows with a NULL in the column among those that Fixed leaves,
// -1 when it is not known.
func (s *Scan) nullRows(column string) float64 {
	c := s.Table.column(column)
	if c == nil || c.NullFrac == nil || s.Table.Rows < 0 {
		return -1
	}
	rows := s.Table.Rows * *c.NullFrac
	if s.Prefix > 0 {
		rows = min(rows, s.Prefix)
	}
	return rows
}

// requiresNotNull: the term is "K IS NOT NULL".
func requiresNotNull(t Term, key Key) bool {
	return (t.Expr.Kind == sqltext.IsNotNull && !t.Not || t.Expr.Kind == sqltext.IsNull && t.Not) && key.Matches(t.Expr.Args[0])
}

// coalesced reports "K > COALESCE(v, K)", a cursor that a NULL switches off, also with
// a later key behind it, in an OR or in rows.
func coalesced(e *sqltext.Expr, key Key, side Side) bool {
	starts := false
	return coalescedPart(e, key, side, &starts) && starts
}

// coalescedPart reports what is true only where K is at COALESCE(v, K) or behind it;
// starts is set where there is an inequality.
func coalescedPart(e *sqltext.Expr, key Key, side Side, starts *bool) bool {
	switch e.Kind {
	case sqltext.Or:
		return !slices.ContainsFunc(e.Args, func(a *sqltext.Expr) bool { return !coalescedPart(a, key, side, starts) })
	case sqltext.And:
		return slices.ContainsFunc(e.Args, func(a *sqltext.Expr) bool { return coalescedPart(a, key, side, starts) })
	case sqltext.Compare:
	default:
		return false
	}
	l, r, op := e.Args[0], e.Args[1], e.Cmp
	if l.Kind == sqltext.Row && r.Kind == sqltext.Row && len(l.Args) > 1 && len(l.Args) == len(r.Args) {
		l, r = l.Args[0], r.Args[0]
	}
	if !key.Matches(l) {
		l, r, op = r, l, mirrored(op)
	}
	x := extractor{key: key, side: side}
	if !key.Matches(l) || !x.startsAt(op) || r.Kind != sqltext.Func || r.Name != "coalesce" || len(r.Args) != 2 ||
		!x.isValue(r.Args[0]) || !key.Matches(r.Args[1]) {
		return false
	}
	*starts = *starts || op != "="
	return true
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

// tiedBesideOthers reports an OR that is a cursor but for a branch of another kind:
// "a > $1 OR a = $1 AND b > $2 OR c = 5" keeps rows before it too.
func tiedBesideOthers(e *sqltext.Expr, key sidedKey) bool {
	return e.Kind == sqltext.Or && tied(e, key.Key, key.side) && !isConstant(e) && slices.ContainsFunc(e.Args, func(a *sqltext.Expr) bool {
		t := Term{Expr: a, Whole: a}
		_, far := t.Implied(key.Key, -key.side)
		return t.direct(key.Key, key.side) && !far
	})
}

// apart is the conjunct of a filter that says something of the page's keys with
// which no scan can start, nil for none.
func apart(filter *sqltext.Expr, keys []sidedKey) *sqltext.Expr {
	for _, c := range Conjuncts(filter) {
		if !c.Not && (boundApart(c.Expr, keys) || comparedTogether(c.Expr, keys) || tiedBesideOthers(c.Expr, keys[0])) {
			return c.Expr
		}
	}
	return nil
}

// caseOfNumber is the CASE of "CASE … END = 1" or of any comparison with a constant, nil
// for anything else.
func caseOfNumber(e *sqltext.Expr) *sqltext.Expr {
	if e.Kind != sqltext.Compare {
		return nil
	}
	for i, a := range e.Args {
		if isCase(a) && bare(e.Args[1-i]).Kind == sqltext.Const {
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
	if found, only := startsAtNulls(filter, keys); nullsFirst && found {
		if n := s.nullRows(s.Index.Keys[len(s.Fixed)].Column); only && n >= 0 && n < fewSorted {
			s.Class, s.Why = Seek, fmt.Sprintf("the page goes on among the rows with %s IS NULL, which come first and are few: about %.0f", s.Key, n)
			return
		}
		s.Class, s.Why = NullBranch, "one branch goes on among the rows with "+s.Key+" IS NULL, which come first, the others are about the rows behind them: only two scans, added up, can both start right"
		return
	}
	if e := apart(filter, keys); e != nil {
		s.apart, s.others = oneLine(e.Text()), tiedBesideOthers(e, keys[0])
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
		if e.Kind == sqltext.IsNull && e.Args[0].Kind == sqltext.Column {
			if ok, _ := startsAtNulls(filter, append([]sidedKey{{Key{Expr: e.Args[0], Outer: true}, Lower}}, later...)); ok {
				found = e.Args[0]
			}
		}
		return found == nil
	})
	return found
}

// coalescedIn reports a conjunct that compares the key with COALESCE(v, key).
func coalescedIn(filter *sqltext.Expr, key Key, side Side) bool {
	return slices.ContainsFunc(Conjuncts(filter), func(t Term) bool {
		return !t.Not && coalesced(t.Expr, key, side)
	})
}
