package explain

import (
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// compare bounds the key from one comparison, of single values or of rows.
func (x extractor) compare(e *sqltext.Expr, neg bool) part {
	l, r, op := e.Args[0], e.Args[1], e.Cmp
	if neg {
		op = negated(op)
	}
	if l.Kind == sqltext.Row || r.Kind == sqltext.Row {
		return x.row(l, r, op)
	}
	if !x.key.Matches(l) {
		l, r, op = r, l, mirrored(op)
	}
	if !x.key.Matches(l) || !x.startsAt(op) || !x.isValue(r) {
		return part{}
	}
	return one(BoundValue{Expr: r, Strict: op == ">" || op == "<"})
}

// notDistinct: an equality, but for two NULLs.
func (x extractor) notDistinct(e *sqltext.Expr) part {
	l, r := e.Args[0], e.Args[1]
	if !x.key.Matches(l) {
		l, r = r, l
	}
	if !x.key.Matches(l) || !x.isValue(r) {
		return part{}
	}
	p := one(BoundValue{Expr: r})
	p.NotNull = true
	return p
}

func one(v BoundValue) part { return part{Bound: Bound{Values: []BoundValue{v}}, found: true} }

// row: (K, …) > (v, …) is decided by its first pair or later ones, so K >= v.
// An equality of rows is one of every pair.
func (x extractor) row(l, r *sqltext.Expr, op string) part {
	if l.Kind != sqltext.Row {
		l, r, op = r, l, mirrored(op)
	}
	if r.Kind == sqltext.Subquery {
		return x.rowSubquery(l, r, op)
	}
	if r.Kind != sqltext.Row || len(l.Args) != len(r.Args) {
		return part{}
	}
	for i := range l.Args {
		if i > 0 && op != "=" {
			break
		}
		a, b, o := l.Args[i], r.Args[i], op
		if !x.key.Matches(a) {
			a, b, o = b, a, mirrored(o)
		}
		if x.key.Matches(a) && x.startsAt(o) && x.isValue(b) {
			return one(BoundValue{Expr: b})
		}
	}
	return part{}
}

// rowSubquery: (K, …) > (SELECT v, …).
func (x extractor) rowSubquery(l, r *sqltext.Expr, op string) part {
	for i, a := range l.Args {
		if i > 0 && op != "=" {
			break
		}
		if x.key.Matches(a) && x.startsAt(op) && x.isValue(r) {
			return one(BoundValue{Expr: r, Item: i})
		}
	}
	return part{}
}

// startsAt: does key op value bound the key on this side?
func (x extractor) startsAt(op string) bool {
	switch op {
	case "=":
		return true
	case ">", ">=":
		return x.side == Lower
	case "<", "<=":
		return x.side == Upper
	}
	return false
}

// mirrored is the operator with its operands swapped.
func mirrored(op string) string {
	switch op {
	case "<":
		return ">"
	case ">":
		return "<"
	case "<=":
		return ">="
	case ">=":
		return "<="
	}
	return op
}

// negated is the operator that is true exactly when op is false. In SQL's
// logic NOT (a < b) is true if and only if a >= b is, NULL operands included.
func negated(op string) string {
	switch op {
	case "<":
		return ">="
	case ">":
		return "<="
	case "<=":
		return ">"
	case ">=":
		return "<"
	case "=":
		return "<>"
	case "<>":
		return "="
	}
	return op
}

// Matches reports whether e is the key: the same column, or the same expression
// over it. Qualifiers must agree where both have one.
func (k Key) Matches(e *sqltext.Expr) bool {
	if k.Exact && e.Kind == sqltext.Column && e.Qualifier() != k.Expr.Qualifier() {
		return false
	}
	if sameKey(k.Expr, e) {
		return true
	}
	if k.Loose && (e.Kind == sqltext.Cast || e.Kind == sqltext.Collate) {
		return k.Matches(e.Args[0])
	}
	return e.Kind == sqltext.Cast && k.Expr.Kind == sqltext.Column && k.relabels(e.Name) && sameKey(k.Expr, e.Args[0])
}

// relabels: a cast of the key to the type changes nothing that an index knows of.
func (k Key) relabels(to string) bool {
	base, _, _ := strings.Cut(k.Type, "(")
	return isText(to) && isVarchar(k.Type) || k.Domain && to == base
}

// A cast from varchar to text changes nothing: PostgreSQL compares varchar as text.
func isText(t string) bool { return t == "text" || t == "pg_catalog.text" }

func isVarchar(t string) bool {
	return len(t) >= 7 && t[:7] == "varchar" || len(t) >= 17 && t[:17] == "character varying"
}

func sameKey(a, b *sqltext.Expr) bool {
	if a == nil || b == nil {
		return false
	}
	if x, y := number(a), number(b); x != nil && y != nil {
		return x.Cmp(y) == 0 && (a.Kind == sqltext.Cast || b.Kind == sqltext.Cast || strings.Contains(a.Text(), ".") == strings.Contains(b.Text(), "."))
	}
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case sqltext.Operator:
		return sqltext.Equal(a, b) || sameOperator(a, b)
	case sqltext.Column:
		return a.Name == b.Name && sameQualifier(a.Qual, b.Qual)
	case sqltext.Func, sqltext.Cast, sqltext.Collate:
		if a.Name != b.Name || len(a.Args) != len(b.Args) || a.Kind == sqltext.Func && len(a.Args) == 0 {
			return sqltext.Equal(a, b)
		}
		for i := range a.Args {
			if !sameKey(a.Args[i], b.Args[i]) {
				return false
			}
		}
		return true
	}
	return sqltext.Equal(a, b)
}

func sameQualifier(a, b []string) bool {
	n, m := len(a), len(b)
	for i := 1; i <= n && i <= m; i++ {
		if a[n-i] != b[m-i] {
			return false
		}
	}
	return true
}

// Term is one of the conditions that must all hold; Not says that it is negated.
type Term struct {
	Expr *sqltext.Expr
	Not  bool
	// Whole is the expression as it stands at the top of the condition: Expr, or
	// the NOT around it.
	Whole *sqltext.Expr
}

// Conjuncts splits a condition at its ANDs, NOT pushed down.
func Conjuncts(e *sqltext.Expr) []Term {
	if e == nil {
		return nil
	}
	return splitTerms(nil, e, nil, false)
}

func splitTerms(out []Term, e, whole *sqltext.Expr, not bool) []Term {
	inner := isTrueOf(e)
	switch {
	case e.Kind == sqltext.Not:
		if whole == nil {
			whole = e
		}
		return splitTerms(out, e.Args[0], whole, !not)
	case inner != nil && !not:
		if whole == nil {
			whole = e
		}
		return splitTerms(out, inner, whole, false)
	case e.Kind == sqltext.And && !not, e.Kind == sqltext.Or && not:
		for _, a := range e.Args {
			out = splitTerms(out, a, whole, not)
		}
		return out
	}
	if whole == nil {
		whole = e
	}
	return append(out, Term{Expr: e, Not: not, Whole: whole})
}

// implied is Implied for a term.
func (t Term) implied(key Key, side Side) (Bound, bool) {
	x := extractor{key: key, side: side}
	r := x.walk(t.Expr, t.Not)
	return r.Bound, r.found && len(r.Values) > 0
}

// Implied extracts the bound of one term, as the function Implied does.
func (t Term) Implied(key Key, side Side) (Bound, bool) { return t.implied(key, side) }

// Fixes reports whether the term holds the key to one value: key = value.
func (t Term) Fixes(key Key) bool {
	if t.Not || t.Expr.Kind != sqltext.Compare || t.Expr.Cmp != "=" {
		return false
	}
	x := extractor{key: key, side: Lower}
	return x.compare(t.Expr, false).found
}
