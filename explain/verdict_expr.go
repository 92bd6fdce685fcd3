package explain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// fixedBy reports an equality between the key and a value among the conjuncts of
// an index condition; "= ANY" counts, for the scan goes over its values in turn.
func fixedBy(conds []Term, key Key) bool {
	return slices.ContainsFunc(conds, func(c Term) bool {
		switch e := c.Expr; e.Kind {
		case sqltext.Compare:
			return c.Fixes(key)
		case sqltext.IsNull, sqltext.InList:
			return !c.Not && key.Matches(e.Args[0])
		case sqltext.Opaque:
			return !c.Not && e.Name == "any" && len(e.Args) > 0 && key.Matches(e.Args[0])
		}
		return false
	})
}

// startBounds returns the conjuncts of an index condition that bound the key on
// the side where the scan starts: a comparison, a BETWEEN or a row comparison.
func startBounds(conds []Term, key Key, side Side) []*sqltext.Expr {
	var out []*sqltext.Expr
	for _, c := range conds {
		if _, ok := c.Implied(key, side); ok && c.Expr.Kind != sqltext.Or || startsAtAny(c.Expr, key, side) {
			out = append(out, c.Expr)
		}
	}
	return out
}

// startsAtAny reports "key > ANY (…)", which 18 makes of an OR over one operator:
// the scan starts at the least of the values.
func startsAtAny(e *sqltext.Expr, key Key, side Side) bool {
	if e.Kind != sqltext.Opaque || len(e.Args) != 2 || !key.Matches(e.Args[0]) {
		return false
	}
	op, ok := strings.CutSuffix(strings.TrimSpace(e.Text()[e.Args[0].End-e.Start:e.Args[1].Start-e.Start]), "ANY")
	switch op = strings.TrimSpace(op); {
	case !ok:
		return false
	case side == Lower:
		return op == ">" || op == ">="
	}
	return op == "<" || op == "<="
}

// anyRow reports a row comparison of two or more keys, which starts at the
// cursor itself.
func anyRow(conds []*sqltext.Expr) bool {
	return slices.ContainsFunc(conds, func(c *sqltext.Expr) bool {
		return c.Kind == sqltext.Compare && c.Args[0].Kind == sqltext.Row && len(c.Args[0].Args) > 1
	})
}

// orOn reports an OR over the key among the conjuncts of a filter.
func orOn(filter *sqltext.Expr, key Key) bool {
	return slices.ContainsFunc(Conjuncts(filter), func(c Term) bool {
		return c.Expr.Kind == sqltext.Or && mentions(c.Expr, key)
	})
}

func mentions(e *sqltext.Expr, key Key) bool {
	return !e.Walk(func(x *sqltext.Expr) bool { return !key.Matches(x) })
}

// nullBranch reports an OR in which every branch but "key IS NULL" bounds it.
func nullBranch(filter *sqltext.Expr, key Key, side Side) bool {
	for _, c := range Conjuncts(filter) {
		if c.Expr.Kind != sqltext.Or || c.Not {
			continue
		}
		nulls, bounded, other := 0, 0, 0
		for _, a := range c.Expr.Args {
			if isNullOf(a, key) {
				nulls++
			} else if _, ok := Implied(a, key, side); ok {
				bounded++
			} else {
				other++
			}
		}
		if nulls > 0 && bounded > 0 && other == 0 {
			return true
		}
	}
	return false
}

// isNullOf reports "key IS NULL", alone or among the conjuncts of a branch.
func isNullOf(e *sqltext.Expr, key Key) bool {
	return slices.ContainsFunc(Conjuncts(e), func(c Term) bool {
		return c.Expr.Kind == sqltext.IsNull && !c.Not && key.Matches(c.Expr.Args[0])
	})
}

// hidden names what keeps an inequality on the key out of the index condition,
// "" when there is none: a CASE or a COALESCE that compares it, or a cast, another collation or
// an expression round it that the filter bounds.
func hidden(filter *sqltext.Expr, key Key, side Side, t *Table) string {
	for _, c := range Conjuncts(filter) {
		if (c.Expr.Kind == sqltext.Case || c.Expr.Kind == sqltext.Opaque) && comparesInside(c.Expr, key) {
			return "a CASE"
		}
		if c.Expr.Kind == sqltext.Func && comparesInside(c.Expr, key) {
			return "a " + strings.ToUpper(c.Expr.Name)
		}
	}
	for _, e := range hiddenIn(filter, key) {
		if _, ok := Implied(filter, Key{Expr: e, Outer: key.Outer}, side); ok {
			return wrapper(e, t)
		}
	}
	return ""
}

// comparesInside reports an inequality on the key somewhere inside e.
func comparesInside(e *sqltext.Expr, key Key) bool {
	return !e.Walk(func(x *sqltext.Expr) bool {
		return x.Kind != sqltext.Compare || x.Cmp == "=" || x.Cmp == "<>" || !mentions(x, key)
	})
}

// boundText writes "key >= value", with LEAST or GREATEST over several values.
func boundText(key Key, side Side, values []BoundValue) string {
	op, pick := " >= ", "LEAST("
	if side == Upper {
		op, pick = " <= ", "GREATEST("
	}
	es := make([]*sqltext.Expr, len(values))
	for i, v := range values {
		es[i] = v.Expr
	}
	if len(es) == 1 {
		return key.Expr.Text() + op + es[0].Text()
	}
	return key.Expr.Text() + op + pick + texts(es, ", ") + ")"
}

func wrapper(e *sqltext.Expr, t *Table) string {
	switch e.Kind {
	case sqltext.Cast:
		if c := e.Args[0]; c.Kind == sqltext.Column && t.column(c.Name) != nil && t.column(c.Name).Type == e.Name {
			return "another collation"
		}
		return "a cast"
	case sqltext.Collate:
		return "another collation"
	case sqltext.Func, sqltext.Operator:
		return "an expression"
	}
	return ""
}

// contains reports that the expression, or one of its operands, is written as v,
// or has a value known to be the same.
func contains(e, v *sqltext.Expr, k *Known) bool {
	return !e.Walk(func(x *sqltext.Expr) bool { return !sqltext.Equal(x, v) && !k.same(x, v) })
}

// tells reports that two different parameters are known to be two values.
func (k *Known) tells() bool {
	return k != nil && (k.Reuses || slices.ContainsFunc(k.Params, func(v string) bool { return v != "" }))
}

// same reports two parameters that are known to hold one value.
func (k *Known) same(a, b *sqltext.Expr) bool {
	if k == nil || a.Kind != sqltext.Value || b.Kind != sqltext.Value {
		return false
	}
	x, y := k.param(a), k.param(b)
	return x != "" && x == y
}

func (k *Known) param(e *sqltext.Expr) string {
	if n := paramNumber(e); n > 0 && n <= len(k.Params) {
		return k.Params[n-1]
	}
	return ""
}

func texts(es []*sqltext.Expr, sep string) string {
	var parts []string
	for _, e := range es {
		parts = append(parts, e.Text())
	}
	return strings.Join(parts, sep)
}

// paramNumber is n of the parameter $n, 0 for anything else.
func paramNumber(e *sqltext.Expr) int {
	text := strings.Trim(e.Text(), "() ")
	if e.Kind != sqltext.Value || !strings.HasPrefix(text, "$") {
		return 0
	}
	n, _ := strconv.Atoi(text[1:])
	return n
}
