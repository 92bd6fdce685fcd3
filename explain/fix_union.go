package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// unionAll splits a cursor with an IS NULL branch into two queries: the rows
// after the cursor and the rows with a NULL key. No row is in both.
func (w *rewriter) unionAll() {
	c, b := w.c, w.c.Block
	whole := c.Term.Whole
	if c.Page != b || !w.splittable(b) || whole.Kind != sqltext.Or || c.Term.Not {
		return
	}
	nulls := nullBranches(whole, c.Keys[0].Key, c.Side)
	w.union(nulls, fmt.Sprintf("%s is true only for rows with %s IS NULL, the other branches only for rows without: no row is in both", oneLine(texted(nulls)), c.Keys[0].Text))
}

// union reads some branches of the cursor's OR, which have no row in common with
// the others, in a query of their own; apart says why they have none.
func (w *rewriter) union(some []*sqltext.Expr, apart string) {
	b, whole := w.c.Block, w.c.Term.Whole
	var rest []*sqltext.Expr
	for _, a := range whole.Args {
		if !slices.Contains(some, a) {
			rest = append(rest, a)
		}
	}
	order, ok := w.outerOrder(b)
	if !ok || len(some) == 0 || len(rest) == 0 {
		return
	}
	first, proof := w.branch(b, whole, rest)
	second, more := w.branch(b, whole, some)
	text := "(" + first + ")\n" + w.word("UNION ALL") + "\n(" + second + ")\n" + order
	w.add(Candidate{
		Kind: UnionAll, Edits: []sqltext.Edit{{Start: b.Start, End: b.End, Text: text}},
		Proof: append(append([]string{
			apart, "each part gives its first rows in the same order, so the first rows of both together are those of the whole",
		}, proof...), more...),
	})
}

// TieFixes splits a cursor whose first key has few values, so that no single scan
// can start at it: the rows that share the cursor's value, and those behind it.
func TieFixes(q *sqltext.Query, c *Cursor, f Facts) []Candidate {
	if c == nil || c.Form != FormOr || c.Hidden || c.Term.Not || c.Term.Whole.Kind != sqltext.Or || len(c.Keys[0].Values) != 1 {
		return nil
	}
	w := &rewriter{q: q, c: c, facts: f, lower: q.SQL[c.Block.WhereWord] == 'w'}
	key, value := c.Keys[0].Key, c.Keys[0].Values[0]
	if c.Page != c.Block || !w.splittable(c.Block) || f.unstable(value) != "" {
		return nil
	}
	var ties []*sqltext.Expr
	for _, a := range c.Term.Whole.Args {
		tie, behind := false, false
		for _, t := range Conjuncts(a) {
			tie = tie || t.Fixes(key)
			b, ok := t.Implied(key, c.Side)
			behind = behind || ok && len(b.Values) == 1 && b.Values[0].Strict && len(b.Guards) == 0 && sqltext.Equal(b.Values[0].Expr, value)
		}
		switch {
		case tie:
			ties = append(ties, a)
		case !behind:
			return nil
		}
	}
	w.union(ties, fmt.Sprintf("%s is true only for rows with the cursor's %s, the other branches only for rows behind it: no row is in both", oneLine(texted(ties)), c.Keys[0].Text))
	return w.out
}

func texted(es []*sqltext.Expr) string {
	parts := make([]string, len(es))
	for i, e := range es {
		parts[i] = e.Text()
	}
	return strings.Join(parts, " OR ")
}

// splittable: a plain page whose rows do not depend on each other.
func (w *rewriter) splittable(b *sqltext.Block) bool {
	if b.Distinct || b.GroupBy || b.Having || b.Window || b.Locking || b.WithTies || hasOffset(b) || !b.HasLimit || b.Limit == nil {
		return false
	}
	for _, it := range b.Items {
		if it.Expr != nil && it.Expr.Kind == sqltext.Opaque && it.Expr.Name != "" || it.Expr == nil && !it.Star {
			return false
		}
	}
	return true
}

// branch writes the block with only some branches of its cursor, in its best form.
func (w *rewriter) branch(b *sqltext.Block, whole *sqltext.Expr, branches []*sqltext.Expr) (string, []string) {
	parts := make([]string, len(branches))
	for i, e := range branches {
		parts[i] = e.Text()
	}
	text := strings.Join(parts, " "+w.word("OR")+" ")
	if len(branches) > 1 {
		text = "(" + text + ")"
	} else {
		text = condition(branches[0])
	}
	sql := sqltext.Splice(w.q.SQL[b.Start:b.End], []sqltext.Edit{{Start: whole.Start - b.Start, End: whole.End - b.Start, Text: text}})
	q, err := sqltext.ParseQuery(sql)
	if err != nil {
		return sql, nil
	}
	for _, f := range Fixes(q, RecogniseCursor(q), w.facts) {
		if len(f.Assumes) == 0 && (f.Kind == RowComparison || f.Kind == AddBound) {
			return f.SQL, f.Proof
		}
	}
	return sql, nil
}

// outerOrder writes ORDER BY and LIMIT over the output columns; ok is false if a
// sort key is no output column.
func (w *rewriter) outerOrder(b *sqltext.Block) (string, bool) {
	var keys []string
	for _, o := range b.OrderBy {
		name, ok := w.outputName(b, o.Expr)
		if !ok {
			return "", false
		}
		keys = append(keys, name+w.q.SQL[o.Expr.End:o.End])
	}
	return w.word("ORDER BY") + " " + list(keys) + " " + w.word("LIMIT") + " " + operand(b.Limit), true
}

// outputName is the name under which a sort key is in the result.
func (w *rewriter) outputName(b *sqltext.Block, e *sqltext.Expr) (string, bool) {
	if e.Kind == sqltext.Const {
		return e.Text(), true
	}
	if e.Kind != sqltext.Column {
		return "", false
	}
	name, count := "", 0
	for _, it := range b.Items {
		switch {
		case it.Star:
			if len(b.From) == 1 || it.Qual != "" && it.Qual == e.Qualifier() && len(e.Qual) == 1 {
				name, count = lastName(e), count+1
			} else if it.Qual == "" {
				return "", false
			}
		case it.Expr != nil && it.Expr.Kind == sqltext.Column && sameKey(it.Expr, e):
			name = lastName(it.Expr)
			if it.Given {
				name = w.q.SQL[lastStart(w.q.SQL[it.Start:it.End])+it.Start : it.End]
			}
			count++
		case len(e.Qual) == 0 && it.Given && it.Alias == e.Name:
			name, count = e.Text(), count+1
		case it.Alias == e.Name:
			return "", false
		}
	}
	return name, count == 1
}

// lastName is the column's name as written, without qualifiers.
func lastName(e *sqltext.Expr) string {
	s := e.Text()
	return strings.TrimRight(s[lastStart(s):], ") ")
}

// lastStart is the offset of the last token of a text.
func lastStart(s string) int {
	toks := sqltext.Lex(s)
	for i := len(toks) - 1; i >= 0; i-- {
		if toks[i].Kind == sqltext.Word || toks[i].Kind == sqltext.Quoted {
			return toks[i].Start
		}
	}
	return 0
}
