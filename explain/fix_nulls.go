package explain

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// NullFixes proposes the page with another NULLS FIRST or LAST in its ORDER BY,
// such that an index gives the order, where the keys are known to be NOT NULL:
// then the order is the same. Each comes alone and together with every rewrite of
// the cursor. The cursor c is nil for a page that has none.
func NullFixes(q *sqltext.Query, c *Cursor, f Facts) []Candidate {
	b := pageBlock(q, c)
	if b == nil {
		return nil
	}
	keys := sortKeys(b)
	var out []Candidate
	for _, edits := range nullOrders(q, b, keys, f) {
		sql := sqltext.Splice(q.SQL, edits)
		if seen(out, sql) {
			continue
		}
		base := Candidate{Kind: NullsOrder, SQL: sql, Edits: edits, Proof: []string{
			fmt.Sprintf("%s cannot be NULL there, so where NULLs sort changes no row's place", nullKeys(edits, keys, b)),
		}}
		turned, err := sqltext.ParseQuery(sql)
		if err != nil {
			continue
		}
		for _, x := range Fixes(turned, RecogniseCursor(turned), f) {
			x.Edits, x.Proof = []sqltext.Edit{difference1(q.SQL, x.SQL)}, append(base.Proof[:1:1], x.Proof...)
			if x.First != "" {
				x.FirstEdits = []sqltext.Edit{difference1(q.SQL, x.First)}
			}
			out = append(out, x)
		}
		out = append(out, base)
	}
	return out
}

func seen(cs []Candidate, sql string) bool {
	for _, c := range cs {
		if c.SQL == sql {
			return true
		}
	}
	return false
}

// pageBlock is the block whose order is the page's: the cursor's, else the first
// with ORDER BY and a limit.
func pageBlock(q *sqltext.Query, c *Cursor) *sqltext.Block {
	if c != nil {
		return c.Page
	}
	for _, b := range q.Blocks {
		if b.HasLimit && len(b.OrderBy) > 0 {
			return b
		}
	}
	return nil
}

// nullOrders are the edits of ORDER BY, one list an index, after which the sort
// keys stand as the index has them.
func nullOrders(q *sqltext.Query, b *sqltext.Block, keys []SortKey, f Facts) [][]sqltext.Edit {
	if len(keys) == 0 {
		return nil
	}
	t := f.table(f.tableOf(b, keys[0].Key.Expr))
	if t == nil {
		return nil
	}
	terms := Conjuncts(b.Where)
	var out [][]sqltext.Edit
	for _, ix := range t.Indexes {
		if !ix.Valid || ix.Method != "btree" {
			continue
		}
		if edits, ok := nullOrder(q, b, keys, terms, ix, f); ok && len(edits) > 0 {
			out = append(out, edits)
		}
	}
	return out
}

// nullOrder lines the sort keys up with the columns of one index, those that an
// equality fixes passed over. ok is false if it does not give the order of the
// first key, or if a key that may be NULL stands in another order than the index's.
func nullOrder(q *sqltext.Query, b *sqltext.Block, keys []SortKey, terms []Term, ix *Index, f Facts) (edits []sqltext.Edit, ok bool) {
	at, first, turned := 0, true, false
	for _, column := range ix.Keys {
		for at < len(keys) && fixed(terms, keys[at].Key) {
			at++
		}
		if at == len(keys) {
			break
		}
		if column.Column != "" && fixed(terms, ColumnKey("", column.Column)) {
			continue
		}
		k := keys[at]
		if k.Key.Expr.Kind != sqltext.Column || k.Key.Expr.Name != column.Column {
			break
		}
		if first {
			first, turned = false, column.Desc != k.Desc
		} else if column.Desc != turned != k.Desc {
			break
		}
		if nullsFirst := column.NullsFirst != turned; nullsFirst != k.NullsFirst {
			if is, _ := f.notNull(b, k.Key.Expr); !is {
				return nil, false
			}
			edits = append(edits, nullsEdit(q, b.OrderBy[at], nullsFirst))
		}
		at++
	}
	return edits, !first
}

// nullsEdit writes where the NULLs of a sort key go: nothing where that is the default.
func nullsEdit(q *sqltext.Query, o sqltext.OrderItem, first bool) sqltext.Edit {
	start, end := o.End, o.End
	if o.Nulls != "" {
		for _, t := range sqltext.Lex(q.SQL[o.Expr.End:o.End]) {
			if t.Is(q.SQL[o.Expr.End:o.End], "nulls") {
				start = o.Expr.End + t.Start
			}
		}
		start = o.Expr.End + len(strings.TrimRight(q.SQL[o.Expr.End:start], " \t\r\n"))
	}
	text := ""
	if first != o.Desc {
		text = map[bool]string{true: " NULLS FIRST", false: " NULLS LAST"}[first]
	}
	return sqltext.Edit{Start: start, End: end, Text: text}
}

// nullKeys names the sort keys that edits are about.
func nullKeys(edits []sqltext.Edit, keys []SortKey, b *sqltext.Block) string {
	var names []string
	for i, k := range keys {
		for _, e := range edits {
			if e.End == b.OrderBy[i].End {
				names = append(names, oneLine(k.Text))
			}
		}
	}
	return strings.Join(names, " and ")
}
