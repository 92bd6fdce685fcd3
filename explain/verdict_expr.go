package explain

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// conjuncts splits a condition at its top-level ANDs.
func conjuncts(e *sqltext.Expr) []*sqltext.Expr {
	if e == nil {
		return nil
	}
	if e.Kind != sqltext.And {
		return []*sqltext.Expr{e}
	}
	var out []*sqltext.Expr
	for _, a := range e.Args {
		out = append(out, conjuncts(a)...)
	}
	return out
}

// fixedBy reports an equality between the key and a value among the conjuncts of
// an index condition; "= ANY" counts, for the scan is over its values in turn.
func fixedBy(conds []*sqltext.Expr, key *sqltext.Expr) bool {
	for _, c := range conds {
		switch c.Kind {
		case sqltext.Compare:
			if c.Cmp == "=" && (sqltext.Equal(c.Args[0], key) || sqltext.Equal(c.Args[1], key)) {
				return true
			}
		case sqltext.IsNull:
			if sqltext.Equal(c.Args[0], key) {
				return true
			}
		case sqltext.InList, sqltext.Opaque:
			if (c.Kind == sqltext.InList || c.Name == "any") && len(c.Args) > 0 && sqltext.Equal(c.Args[0], key) {
				return true
			}
		}
	}
	return false
}

// startBounds returns the conjuncts of an index condition that bound the key on
// the side where the scan starts: a comparison, a BETWEEN or a row comparison.
func startBounds(conds []*sqltext.Expr, key *sqltext.Expr, side int) []*sqltext.Expr {
	var out []*sqltext.Expr
	for _, c := range conds {
		if c.Kind == sqltext.And || c.Kind == sqltext.Or {
			continue
		}
		if _, ok := impliedBy(c, key, side); ok || comparesWithOther(c, key, side) {
			out = append(out, c)
		}
	}
	return out
}

// comparesWithOther is an index condition against a column of another relation,
// whose value is fixed while the scan runs.
func comparesWithOther(c, key *sqltext.Expr, side int) bool {
	if c.Kind != sqltext.Compare {
		return false
	}
	op, l, r := c.Cmp, c.Args[0], c.Args[1]
	if l.Kind == sqltext.Row && r.Kind == sqltext.Row && len(l.Args) > 0 && len(r.Args) > 0 {
		l, r = l.Args[0], r.Args[0]
	}
	if sqltext.Equal(r, key) {
		op, l = flipped(op), r
	}
	return sqltext.Equal(l, key) && startsOn(op, side)
}

func flipped(op string) string {
	switch op {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return op
}

func startsOn(op string, side int) bool {
	return op == "=" || side > 0 && (op == ">" || op == ">=") || side < 0 && (op == "<" || op == "<=")
}

// anyRow reports a row comparison of two or more keys, which starts at the
// cursor itself.
func anyRow(conds []*sqltext.Expr) bool {
	return slices.ContainsFunc(conds, func(c *sqltext.Expr) bool {
		return c.Kind == sqltext.Compare && c.Args[0].Kind == sqltext.Row && len(c.Args[0].Args) > 1
	})
}

// orOn reports an OR over the key among the conjuncts of a filter.
func orOn(filter, key *sqltext.Expr) bool {
	for _, c := range conjuncts(filter) {
		if c.Kind == sqltext.Or && mentions(c, key) {
			return true
		}
	}
	return false
}

func mentions(e, key *sqltext.Expr) bool {
	return !e.Walk(func(x *sqltext.Expr) bool { return !sqltext.Equal(x, key) })
}

// nullBranch reports an OR in which every branch but "key IS NULL" bounds it.
func nullBranch(filter, key *sqltext.Expr, side int) bool {
	for _, c := range conjuncts(filter) {
		if c.Kind != sqltext.Or {
			continue
		}
		nulls, bounded, other := 0, 0, 0
		for _, a := range c.Args {
			if isNullOf(a, key) {
				nulls++
			} else if _, ok := impliedBy(a, key, side); ok {
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
func isNullOf(e, key *sqltext.Expr) bool {
	return slices.ContainsFunc(conjuncts(e), func(c *sqltext.Expr) bool {
		return c.Kind == sqltext.IsNull && sqltext.Equal(c.Args[0], key)
	})
}

// hidden names what keeps an inequality on the key out of the index condition,
// "" when there is none: a CASE that compares it, a cast, another collation or a
// function round it on one side of an inequality.
func hidden(filter, key *sqltext.Expr, t *Table) string {
	for _, c := range conjuncts(filter) {
		switch c.Kind {
		case sqltext.Case, sqltext.Opaque:
			if comparesInside(c, key) {
				return "a CASE"
			}
		case sqltext.Compare:
			if c.Cmp == "=" || c.Cmp == "<>" {
				continue
			}
			for i, side := range c.Args {
				other := c.Args[1-i]
				if side.Kind == sqltext.Row && len(side.Args) > 0 {
					side = side.Args[0]
				}
				if what := wrapper(side, t); what != "" && mentions(side, key) && !mentions(other, key) {
					return what
				}
			}
		}
	}
	return ""
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

// comparesInside reports an inequality on the key somewhere inside e.
func comparesInside(e, key *sqltext.Expr) bool {
	return !e.Walk(func(x *sqltext.Expr) bool {
		return x.Kind != sqltext.Compare || x.Cmp == "=" || x.Cmp == "<>" || !mentions(x, key)
	})
}

// contains reports that the expression, or one of its operands, is written as v,
// or has a value known to be the same.
func contains(e, v *sqltext.Expr, k *Known) bool {
	return !e.Walk(func(x *sqltext.Expr) bool { return !sqltext.Equal(x, v) && !k.same(x, v) })
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

// joined adds to the filter of an outer scan the join filter above it, in which
// the columns of other relations stand for values.
func joined(filter, join *sqltext.Expr, alias string) *sqltext.Expr {
	text := join.Text()
	var edits []sqltext.Edit
	join.Walk(func(x *sqltext.Expr) bool {
		if x.Kind == sqltext.Column && x.Qualifier() != "" && x.Qualifier() != alias {
			edits = append(edits, sqltext.Edit{Start: x.Start - join.Start, End: x.End - join.Start, Text: "(InitPlan 1).\"" + strings.ReplaceAll(x.Text(), `"`, "") + "\""})
		}
		return true
	})
	text = sqltext.Splice(text, edits)
	if filter != nil {
		text = "(" + filter.Text() + ") AND (" + text + ")"
	}
	e, err := sqltext.ParseExpr(text)
	if err != nil {
		return filter
	}
	return e
}

// columnsOf lists the columns of the scanned relation that a filter compares.
func columnsOf(filter *sqltext.Expr, n *plan.Node) []*sqltext.Expr {
	var out []*sqltext.Expr
	filter.Walk(func(x *sqltext.Expr) bool {
		if x.Kind == sqltext.Column && (x.Qualifier() == "" || x.Qualifier() == n.Alias) &&
			!slices.ContainsFunc(out, func(y *sqltext.Expr) bool { return sqltext.Equal(x, y) }) {
			out = append(out, x)
		}
		return true
	})
	return out
}

// boundText writes "key >= value", with LEAST or GREATEST over several values.
func boundText(key *sqltext.Expr, side int, values []*sqltext.Expr) string {
	op, pick := " >= ", "LEAST("
	if side < 0 {
		op, pick = " <= ", "GREATEST("
	}
	if len(values) == 1 {
		return key.Text() + op + texts(values, "")
	}
	return key.Text() + op + pick + texts(values, ", ") + ")"
}

func texts(es []*sqltext.Expr, sep string) string {
	var parts []string
	for _, e := range es {
		parts = append(parts, e.Text())
	}
	return otherColumn.ReplaceAllString(strings.Join(parts, sep), "$1")
}

// otherColumn is how joined writes a column of another relation.
var otherColumn = regexp.MustCompile(`\(InitPlan 1\)\."([^"]*)"`)

// paramNumber is n of the parameter $n, 0 for anything else.
func paramNumber(e *sqltext.Expr) int {
	text := strings.Trim(e.Text(), "() ")
	if e.Kind != sqltext.Value || !strings.HasPrefix(text, "$") {
		return 0
	}
	n, _ := strconv.Atoi(text[1:])
	return n
}
