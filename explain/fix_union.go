package explain

import (
	"fmt"
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
	var rest []*sqltext.Expr
	for _, a := range whole.Args {
		isNull := false
		for _, n := range nulls {
			isNull = isNull || n == a
		}
		if !isNull {
			rest = append(rest, a)
		}
	}
	order, ok := w.outerOrder(b)
	if !ok || len(nulls) == 0 || len(rest) == 0 {
		return
	}
	later, proof := w.branch(b, whole, rest)
	null, _ := w.branch(b, whole, nulls)
	text := "(" + later + ")\n" + w.word("UNION ALL") + "\n(" + null + ")\n" + order
	w.add(Candidate{
		Kind: UnionAll, Edits: []sqltext.Edit{{Start: b.Start, End: b.End, Text: text}},
		Proof: append([]string{
			fmt.Sprintf("%s is true only for rows with %s IS NULL, the other branches only for rows without: no row is in both", oneLine(texted(nulls)), c.Keys[0].Text),
			"each part gives its first rows in the same order, so the first rows of both together are those of the whole",
		}, proof...),
	})
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
