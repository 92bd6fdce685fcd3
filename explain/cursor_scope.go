package explain

import (
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// sortKeys resolves ORDER BY as PostgreSQL does: a number is an item of the
// select list, a bare name first an output column, then an input column. It
// stops before the first key that cannot be resolved.
func sortKeys(b *sqltext.Block) []SortKey {
	var out []SortKey
	for _, o := range b.OrderBy {
		e, ok := resolve(b, o.Expr)
		if !ok || o.Using != "" && o.Using != "<" && o.Using != ">" || merged(b, e) && e.Kind != sqltext.Column {
			break
		}
		k := SortKey{Key: Key{Expr: e, Exact: merged(b, e)}, Text: o.Expr.Text(), Desc: o.Desc, NullsFirst: o.NullsFirst()}
		if e != o.Expr {
			k.Text = e.Text()
		}
		out = append(out, k)
	}
	return out
}

// resolve gives the expression that a sort key stands for.
func resolve(b *sqltext.Block, e *sqltext.Expr) (*sqltext.Expr, bool) {
	switch {
	case e == nil || e.Kind == sqltext.Opaque:
		return nil, false
	case e.Kind == sqltext.Const:
		n, err := strconv.Atoi(e.Text())
		if err != nil || n < 1 || n > len(b.Items) {
			return nil, false
		}
		for _, it := range b.Items[:n] {
			if it.Star {
				return nil, false
			}
		}
		item := b.Items[n-1].Expr
		return item, item != nil && item.Kind != sqltext.Opaque
	case e.Kind == sqltext.Column && len(e.Qual) == 0:
		return outputColumn(b, e)
	}
	return e, true
}

// outputColumn resolves a bare name of ORDER BY.
func outputColumn(b *sqltext.Block, e *sqltext.Expr) (*sqltext.Expr, bool) {
	star := ""
	stars := 0
	for _, it := range b.Items {
		switch {
		case !it.Star && it.Alias == e.Name:
			return it.Expr, it.Expr != nil && it.Expr.Kind != sqltext.Opaque
		case !it.Star && !it.Given && mayBeNamed(it.Expr, e.Name):
			return nil, false
		case it.Star && it.Qual != "":
			star = it.Qual
			stars++
		}
	}
	if len(b.From) > 1 && stars > 0 { // t.* may hold the name: then it is t's column
		if stars > 1 {
			return nil, false
		}
		c := *e
		c.Qual = []string{star}
		return &c, true
	}
	return e, true
}

// mayBeNamed: could an item without an alias get this output name? PostgreSQL
// names a::date after a, CASE after its ELSE, a sub-select after its column.
func mayBeNamed(e *sqltext.Expr, name string) bool {
	if e == nil {
		return true
	}
	switch e.Kind {
	case sqltext.Column, sqltext.Func:
		return e.Name == name
	case sqltext.Opaque:
		return e.Name == name || e.Name == "" && len(e.Args) == 0
	case sqltext.Subquery:
		return e.Sub == nil || len(e.Sub.Items) != 1 || e.Sub.Items[0].Alias == name || mayBeNamed(e.Sub.Items[0].Expr, name)
	case sqltext.Operator:
		return len(e.Args) == 1 && mayBeNamed(e.Args[0], name)
	case sqltext.Cast, sqltext.Collate, sqltext.Case:
		if e.Name == name || name == "case" {
			return true
		}
		for _, a := range e.Args {
			if mayBeNamed(a, name) {
				return true
			}
		}
	case sqltext.Const: // date '…' is named after its type
		return strings.HasPrefix(strings.ToLower(e.Text()), name)
	}
	return false
}

// merged: JOIN … USING or NATURAL makes a bare name another thing than t.name.
func merged(b *sqltext.Block, e *sqltext.Expr) bool {
	for _, t := range b.From {
		if len(t.Join) >= 7 && t.Join[:7] == "natural" {
			return true
		}
		for _, name := range t.Using {
			if e.Kind != sqltext.Column || name == e.Name {
				return true
			}
		}
	}
	return false
}

// beneath maps the keys into the one sub-select or WITH query that the block
// reads, if the planner folds it into the block: nil where it does not, or
// where a key is not a plain column of it.
func beneath(b *sqltext.Block, keys []SortKey) (*sqltext.Block, []SortKey) {
	if len(b.From) != 1 {
		return nil, nil
	}
	t := b.From[0]
	sub := t.Sub
	if c := t.CTE; c != nil && !c.Materialized && !c.Recursive && c.Uses == 1 {
		sub = c.Block
	}
	if sub == nil || !plain(sub) {
		return nil, nil
	}
	names := t.Columns
	if len(names) == 0 && t.CTE != nil {
		names = t.CTE.Columns
	}
	var out []SortKey
	for _, k := range keys {
		e := inside(sub, names, k.Key.Expr)
		if e == nil {
			break
		}
		k.Key = Key{Expr: e, Exact: merged(sub, e)}
		k.Text = e.Text()
		k.Fixed = false
		out = append(out, k)
	}
	return sub, out
}

// plain: the block filters and joins, nothing else.
func plain(b *sqltext.Block) bool {
	if b.SetOp != "" || len(b.Operands) > 0 || b.Distinct || b.GroupBy || b.Having || b.HasLimit || b.Offset != nil || b.Locking {
		return false
	}
	for _, it := range b.Items {
		if it.Expr != nil && it.Expr.Kind == sqltext.Opaque && it.Expr.Name != "" { // a window function
			return false
		}
	}
	return true
}

// inside finds the expression behind an output column of a sub-select.
func inside(sub *sqltext.Block, names []string, key *sqltext.Expr) *sqltext.Expr {
	if key.Kind != sqltext.Column {
		return nil
	}
	at := -1
	for i, n := range names {
		if n == key.Name {
			at = i
		}
	}
	if len(names) > 0 && at < 0 {
		return nil
	}
	var found *sqltext.Expr
	star := false
	for i, it := range sub.Items {
		switch {
		case it.Star && (at >= 0 || len(sub.From) != 1):
			return nil
		case it.Star:
			star = true
		case at == i, at < 0 && it.Alias == key.Name:
			if it.Expr == nil || it.Expr.Kind == sqltext.Opaque || found != nil {
				return nil
			}
			found = it.Expr
		}
	}
	if found == nil && star {
		c := *key
		c.Qual = nil
		found = &c
	}
	return found
}
