package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// ArrayFixes write a page's comparison of arrays as the comparison of rows:
//
//	ARRAY[a, b] > ARRAY[$1, $2]    (a, b) > ($1, $2)
//
// Both compare element by element, but an array takes NULL for the greatest value, and
// its elements for one type: so it is for keys that are NOT NULL, of one type or of whole
// numbers, which compare the same under each other's types.
func ArrayFixes(q *sqltext.Query, f Facts) []Candidate {
	b := pageBlock(q, nil)
	if b == nil || b.Where == nil {
		return nil
	}
	keys := sortKeys(b)
	if len(keys) == 0 {
		return nil
	}
	w := &rewriter{q: q, facts: f, lower: q.SQL[b.WhereWord] == 'w'}
	for _, t := range Conjuncts(b.Where) {
		a := arrayFrom(t.Expr, keys[0].Key, sideOf(keys[0]))
		if a == nil || t.Not || f.unstable(t.Expr) != "" {
			continue
		}
		value, op := t.Expr.Args[1], t.Expr.Cmp
		if value == a {
			value, op = t.Expr.Args[0], mirrored(op)
		}
		left, typ := arrayKeys(b, a, f)
		right := arrayOf(value)
		if left == nil || len(right) != len(left) {
			w.refuse(RowComparison, "an array is compared as one type and with NULL as its greatest value: rows are compared the same only for columns that are NOT NULL and of one type, which is not known of "+oneLine(a.Text()))
			continue
		}
		c := Candidate{Kind: RowComparison, Exact: true, Proof: []string{
			oneLine(t.Expr.Text()) + " compares element by element, as rows do: the first that is not equal decides",
			"no key is NULL; a value that is NULL is greater than all keys in an array, and unknown in a row: neither keeps a row by it",
		}}
		values := make([]string, len(right))
		for i, v := range right {
			if values[i] = v.Text(); value.Kind == sqltext.Cast {
				values[i] = operand(v) + "::" + strings.TrimSuffix(value.Name, "[]")
			} else if v.Kind == sqltext.Value && isInteger(typ) {
				values[i] += "::" + typ
			}
			if op[:1] == "<" && v.Kind != sqltext.Const {
				c.Assumes = append(c.Assumes, v.Text()+" is not NULL")
			}
		}
		c.Row = "(" + list(left) + ") " + op + " (" + list(values) + ")"
		c.Edits = []sqltext.Edit{{Start: t.Expr.Start, End: t.Expr.End, Text: c.Row}}
		w.add(c)
	}
	return w.out
}

// arrayKeys are the columns of ARRAY[a, b], and their type, which for whole numbers is
// the widest: nil where some may be NULL, or are not of one type, or of one that is
// compared under a collation.
func arrayKeys(b *sqltext.Block, array *sqltext.Expr, f Facts) (names []string, typ string) {
	for _, e := range arrayOf(array) {
		key := bare(e)
		col := f.column(b, key)
		is, _ := f.notNull(b, key)
		if col == nil || !is || col.Domain {
			return nil, ""
		}
		own, whole := col.Type, isInteger(col.Type)
		if e != key {
			own = plainType(e.Name)
		}
		switch {
		case e != key && (e.Kind != sqltext.Cast || e.Args[0] != key || !whole || !isInteger(own)),
			!whole && !slices.Contains([]string{"uuid", "date", "timestamp without time zone", "timestamp with time zone", "numeric"}, own),
			typ != "" && typ != own && (!whole || !isInteger(typ)):
			return nil, ""
		case typ != "bigint" && (typ == "" || typ == "smallint" || own == "bigint"):
			typ = own
		}
		names = append(names, key.Text())
	}
	return names, typ
}
