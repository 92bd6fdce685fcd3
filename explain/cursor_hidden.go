package explain

import (
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// keepsOrder reports an expression that the key is wrapped in and that goes up,
// or stays, as the key does, like a cast, date_trunc or lower: a comparison of it
// is meant to say where the page starts. One that looks at something else, like
// length, is a filter.
func keepsOrder(e *sqltext.Expr, key Key) bool {
	for depth := 0; depth < 20; depth++ {
		if key.Matches(e) {
			return depth > 0
		}
		var inner *sqltext.Expr
		for _, a := range e.Args {
			switch {
			case !names(a, key):
				if a.HasColumn() && !isField(e, a) {
					return false
				}
			case inner != nil:
				return false
			default:
				inner = a
			}
		}
		if inner == nil || !wraps(e, inner) {
			return false
		}
		e = inner
	}
	return false
}

// wraps: e is a cast, a collation, or one of the functions and operators that
// keep the order of their operand inner.
func wraps(e, inner *sqltext.Expr) bool {
	switch e.Kind {
	case sqltext.Cast, sqltext.Collate:
		return true
	case sqltext.Func:
		switch e.Name {
		case "date_trunc", "date_bin", "date", "timezone", "lower", "upper", "coalesce", "trunc", "floor", "ceil", "ceiling", "round",
			"to_timestamp", "greatest", "least", "btrim", "ltrim", "rtrim", "unaccent":
			return true
		case "extract", "date_part":
			return len(e.Args) > 0 && strings.Contains(strings.ToLower(e.Args[0].Text()), "epoch")
		}
	case sqltext.Operator:
		if e.Args[0] != inner || len(e.Args) > 2 {
			return false
		}
		op := strings.ToLower(strings.Trim(e.Text()[inner.End-e.Start:], "() \t\r\n"))
		return strings.HasPrefix(op, "+") || strings.HasPrefix(op, "-") && !strings.HasPrefix(op, "->") || strings.HasPrefix(op, "at ")
	}
	return false
}

// findHidden looks for a cursor that compares an expression over the leading key
// where the sort is by the key itself, or the other way round.
func (c *Cursor) findHidden() bool {
	key := c.Keys[0]
	for _, e := range hiddenOf(c.Block.Where, key.Key) {
		c.Keys[0] = key
		c.Keys[0].Key = Key{Expr: e, Exact: key.Key.Exact}
		c.Keys[0].Text = e.Text()
		if c.look() {
			c.Hidden = true
			return true
		}
	}
	c.Keys[0] = key
	return false
}

// hiddenOf lists what a cursor may compare in the place of the key: expressions
// over a column, or the column that an expression is over.
func hiddenOf(where *sqltext.Expr, key Key) []*sqltext.Expr {
	if key.Expr.Kind == sqltext.Column {
		return hiddenIn(where, key)
	}
	var column *sqltext.Expr
	key.Expr.Walk(func(x *sqltext.Expr) bool {
		if x.Kind == sqltext.Column && !isField(key.Expr, x) {
			column = x
		}
		return true
	})
	if column == nil || !keepsOrder(key.Expr, Key{Expr: column}) {
		return nil
	}
	return []*sqltext.Expr{column}
}

// hiddenIn lists the expressions over the key that inequalities compare, each once.
func hiddenIn(where *sqltext.Expr, key Key) []*sqltext.Expr {
	var out []*sqltext.Expr
	add := func(e *sqltext.Expr) {
		for _, x := range out {
			if sqltext.Equal(x, e) {
				return
			}
		}
		if keepsOrder(e, key) {
			out = append(out, e)
		}
	}
	where.Walk(func(e *sqltext.Expr) bool {
		if e.Kind == sqltext.Between {
			add(e.Args[0])
		}
		if e.Kind != sqltext.Compare || e.Cmp == "=" || e.Cmp == "<>" {
			return true
		}
		for _, a := range e.Args {
			if a.Kind == sqltext.Row && len(a.Args) > 0 {
				a = a.Args[0]
			}
			add(a)
		}
		return true
	})
	return out
}
