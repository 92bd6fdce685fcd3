package explain

import (
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// Side says from which side a bound limits a key.
type Side int8

// Lower: key >= value, where an ascending scan starts. Upper: key <= value,
// where a descending one does.
const (
	Lower Side = 1
	Upper Side = -1
)

// Key is a sort or index key.
type Key struct {
	Expr *sqltext.Expr // a column or an expression
	Type string        // type of a plain column if known: varchar may stand behind ::text
	// Domain says that the column's type is a domain over Type, which stands behind a
	// cast to that.
	Domain bool
	// Outer lets values name columns of other relations (another qualifier): the
	// cursor row is joined in.
	Outer bool
	// Absent takes "x IS NULL" of another relation's column for a guard: the cursor row
	// is joined in by an outer join, and may be missing.
	Absent bool
	// Loose sees the key through casts and collations too.
	Loose bool
	// Exact asks for the same qualifiers, none or the same one.
	Exact bool
}

// ColumnKey is the key of a plain column. Without a qualifier it matches the
// column under any qualifier: use that only where one relation is in sight, as
// in the filter of a scan.
func ColumnKey(qualifier, name string) Key {
	e := &sqltext.Expr{Kind: sqltext.Column, Name: name}
	if qualifier != "" {
		e.Qual = []string{qualifier}
	}
	return Key{Expr: e}
}

// BoundValue is one value of a bound: an expression without columns of the
// key's relation. Item counts the column of a row sub-select, from 0; it is 0
// for everything else.
type BoundValue struct {
	Expr   *sqltext.Expr
	Strict bool // the key was compared with < or >
	Item   int
}

// Bound is what a condition says about a key: while the condition is true,
// key >= LEAST(Values) on the Lower side and key <= GREATEST(Values) on the
// Upper side, unless one of Guards is true. A guard does not look at the row
// ($1 IS NULL).
//
// NotNull says that it holds only for a key that is not NULL: K IS NOT DISTINCT
// FROM v is true of two NULLs.
type Bound struct {
	Values  []BoundValue
	Guards  []*sqltext.Expr
	NotNull bool
}

// Implied extracts the bound that e puts on the key, ok false if there is none.
// It holds in three-valued logic: only rows for which e is TRUE matter.
//
//	K > v, K >= v, K = v, v < K, K IS NOT DISTINCT FROM v, K BETWEEN v AND …, K IN (v, …), (K, …) > (v, …)   {v}
//	AND: the smallest set of its parts     OR: the union, if every part has one
//	NOT is pushed down                     false, NULL: a part that is never true
func Implied(e *sqltext.Expr, key Key, side Side) (Bound, bool) {
	if e == nil || key.Expr == nil {
		return Bound{}, false
	}
	x := extractor{key: key, side: side}
	r := x.walk(e, false)
	return r.Bound, r.found && len(r.Values) > 0
}

type extractor struct {
	key   Key
	side  Side
	open  bool // the rows for which the condition is not FALSE matter: those for which it is NULL too
	nulls *int // counts the branches that ask for a NULL key, which then are passed over; nil to take them for unbounded
}

// part is the bound of one part of a condition.
type part struct {
	Bound
	found bool
	never bool // the part is never true
}

// isTrueOf returns x of x IS TRUE, x = true and COALESCE(x, false), which are true
// where x is, nil for anything else. A column that is true has a value.
func isTrueOf(e *sqltext.Expr) *sqltext.Expr {
	switch {
	case e.Kind == sqltext.Compare && e.Cmp == "=":
		for i, a := range e.Args {
			if x := e.Args[1-i]; a.Kind == sqltext.Bool && a.Name == "true" && (x.Kind == sqltext.Compare || x.Kind == sqltext.And || x.Kind == sqltext.Or || x.Kind == sqltext.Not) {
				return x
			}
		}
	case e.Kind == sqltext.IsTrue,
		e.Kind == sqltext.Func && e.Name == "coalesce" && len(e.Args) == 2 && e.Args[1].Kind == sqltext.Bool && e.Args[1].Name == "false":
		return e.Args[0]
	}
	return nil
}

func (x extractor) walk(e *sqltext.Expr, neg bool) part {
	if inner := isTrueOf(e); inner != nil && !neg {
		x.open = false
		return x.walk(inner, false)
	}
	switch e.Kind {
	case sqltext.Not:
		return x.walk(e.Args[0], !neg)
	case sqltext.And, sqltext.Or:
		if (e.Kind == sqltext.And) == !neg {
			return x.all(e.Args, neg)
		}
		return x.any(e.Args, neg)
	case sqltext.Bool:
		return part{never: e.Name == "null" && !x.open || e.Name != "null" && (e.Name == "true") == neg}
	case sqltext.IsNull, sqltext.IsNotNull:
		if x.nulls != nil && (e.Kind == sqltext.IsNotNull) == neg && x.key.Matches(e.Args[0]) {
			*x.nulls++
			return part{never: true}
		}
		return part{}
	case sqltext.Case:
		if !neg && !x.open {
			return x.cases(e)
		}
		return part{}
	}
	if p := x.test(e, neg); p.found {
		return x.unlessNull(p)
	}
	return part{}
}

// test is walk for a single comparison.
func (x extractor) test(e *sqltext.Expr, neg bool) part {
	switch e.Kind {
	case sqltext.Compare:
		return x.compare(e, neg)
	case sqltext.Distinct:
		if neg {
			return x.notDistinct(e)
		}
	case sqltext.Between:
		if !neg {
			return x.between(e)
		}
	case sqltext.InList:
		if !neg && x.key.Matches(e.Args[0]) {
			return x.values(e.Args[1:])
		}
	case sqltext.Opaque:
		if list := anyOf(e); list != nil && !neg && x.key.Matches(e.Args[0]) {
			return x.values(list)
		}
	}
	return part{}
}

// valuesHeld is the number of values that an equality, or "= ANY" of a list, leaves
// its left side, 0 for anything else. Of an array that is not known PostgreSQL takes
// it for ten.
func valuesHeld(e *sqltext.Expr) float64 {
	switch {
	case e.Kind == sqltext.Compare && e.Cmp == "=":
		return 1
	case e.Kind != sqltext.Opaque || e.Name != "any" || len(e.Args) != 2 || anyOperator(e) != "=any":
		return 0
	}
	if list := anyOf(e); list != nil {
		return float64(len(list))
	}
	if _, list, ok := strings.Cut(e.Args[1].Text(), "'{"); ok {
		return float64(strings.Count(list, ",") + 1)
	}
	return 10
}

// anyOperator writes what stands between the sides of "K = ANY (…)": "=any".
func anyOperator(e *sqltext.Expr) string {
	op := strings.Join(strings.Fields(e.Text()[e.Args[0].End-e.Start:e.Args[1].Start-e.Start]), "")
	return strings.ToLower(strings.Trim(op, "()"))
}

// anyOf lists v, … of "K = ANY (ARRAY[v, …])", nil for anything else.
func anyOf(e *sqltext.Expr) []*sqltext.Expr {
	if e.Name != "any" || len(e.Args) != 2 {
		return nil
	}
	array := e.Args[1].Text()
	for {
		inner, ok := strings.CutPrefix(strings.TrimSpace(array), "(")
		if !ok || !strings.HasSuffix(inner, ")") {
			break
		}
		array = strings.TrimSuffix(inner, ")")
	}
	if len(array) < 7 || !strings.EqualFold(array[:5], "array") || anyOperator(e) != "=any" {
		return nil
	}
	items, ok := strings.CutPrefix(strings.TrimSpace(array[5:]), "[")
	if !ok || !strings.HasSuffix(items, "]") {
		return nil
	}
	row, err := sqltext.ParseExpr("ROW(" + strings.TrimSuffix(items, "]") + ")")
	if err != nil || row.Kind != sqltext.Row {
		return nil
	}
	return row.Args
}

// all: the parts hold together, the smallest set without guards is the best.
func (x extractor) all(args []*sqltext.Expr, neg bool) part {
	var best part
	for _, a := range args {
		p := x.walk(a, neg)
		if p.never {
			return p
		}
		if p.found && (!best.found || p.better(best)) {
			best = p
		}
	}
	return best
}

func (p part) better(q part) bool {
	if p.NotNull != q.NotNull {
		return q.NotNull
	}
	if len(p.Guards) != len(q.Guards) {
		return len(p.Guards) < len(q.Guards)
	}
	return len(p.Values) < len(q.Values)
}

// any: one of the parts holds, so every one must bound the key.
func (x extractor) any(args []*sqltext.Expr, neg bool) part {
	out := part{never: true}
	for _, a := range args {
		p := x.walk(a, neg)
		if p.never {
			continue
		}
		out.never = false
		switch {
		case p.found:
			if out.merge(p); len(out.Values) > maxValues || len(out.Guards) > maxValues {
				return part{}
			}
		case (isGuard(a) || x.absent(a)) && !neg && (!x.open || a.Kind == sqltext.IsNull || a.Kind == sqltext.IsNotNull):
			out.Guards = append(out.Guards, a)
		default:
			return part{}
		}
	}
	out.found = len(out.Values) > 0
	return out
}

// merge adds the values and guards of q; a value both have is strict only if it
// is in both.
func (p *part) merge(q part) {
	for _, g := range q.Guards {
		if !has(p.Guards, g) {
			p.Guards = append(p.Guards, g)
		}
	}
	p.NotNull = p.NotNull || q.NotNull
next:
	for _, v := range q.Values {
		for i, w := range p.Values {
			if v.Item == w.Item && sqltext.Equal(v.Expr, w.Expr) {
				p.Values[i].Strict = w.Strict && v.Strict
				continue next
			}
		}
		p.Values = append(p.Values, v)
	}
}

// cases: a searched CASE is true only where one of its results is.
func (x extractor) cases(e *sqltext.Expr) part {
	var results []*sqltext.Expr
	for i, a := range e.Args {
		if i%2 == 1 || i == len(e.Args)-1 {
			if isGuard(a) && a.Kind != sqltext.Bool {
				return part{}
			}
			results = append(results, a)
		}
	}
	p := x.any(results, false)
	if len(p.Guards) > 0 { // ELSE true: the guard is not written anywhere
		return part{}
	}
	return p
}

func (x extractor) between(e *sqltext.Expr) part {
	if !x.key.Matches(e.Args[0]) {
		return part{}
	}
	switch {
	case e.Name == "symmetric":
		return x.values(e.Args[1:])
	case x.side == Lower:
		return x.values(e.Args[1:2])
	}
	return x.values(e.Args[2:3])
}

// maxValues is how many values a bound may have: a start at the least of more is no
// cursor, and a list of some ten thousand constants is not gone through.
const maxValues = 100

// values is the bound with these values, if all are values.
func (x extractor) values(vs []*sqltext.Expr) part {
	var p part
	if len(vs) > maxValues {
		return p
	}
	for _, v := range vs {
		if !x.isValue(v) {
			return part{}
		}
		p.merge(part{Bound: Bound{Values: []BoundValue{{Expr: v}}}})
	}
	p.found = len(p.Values) > 0
	return p
}

// isValue: the expression does not depend on the key's relation.
func (x extractor) isValue(v *sqltext.Expr) bool {
	return v.Walk(func(e *sqltext.Expr) bool {
		switch e.Kind {
		case sqltext.Column:
			return x.key.Outer && e.Qualifier() != "" && x.key.Expr.Qualifier() != "" && e.Qualifier() != x.key.Expr.Qualifier()
		case sqltext.Subquery:
			return e.Sub == nil || !e.Sub.Correlated()
		}
		return e.Kind != sqltext.Opaque
	})
}

// absent: the condition says that the joined cursor row is missing.
func (x extractor) absent(e *sqltext.Expr) bool {
	return x.key.Absent && e.Kind == sqltext.IsNull && e.Args[0].Kind == sqltext.Column && x.isValue(e.Args[0])
}

// isGuard: a condition over parameters and constants only.
func isGuard(e *sqltext.Expr) bool {
	return e.Walk(func(x *sqltext.Expr) bool {
		return x.Kind != sqltext.Column && x.Kind != sqltext.Opaque && x.Kind != sqltext.Subquery
	})
}
