package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// factored takes the conditions that every branch of the cursor's OR repeats, at
// whatever depth and of whatever shape, out of it and proposes what can be done about
// the rest:
//
//	p = $3 AND a > $1 OR p = $3 AND a = $1 AND b > $2    p = $3 AND (a, b) > ($1, $2)
//
// The whole is true only where they are, and where they are, TRUE can stand in the
// place of each: that holds in three-valued logic too, for only TRUE keeps a row.
func (w *rewriter) factored() {
	whole := w.c.Term.Whole
	if whole.Kind != sqltext.Or || w.c.Term.Not {
		return
	}
	common := repeated(whole)
	var out []string
	for _, e := range common {
		if w.facts.unstable(e) != "" {
			return
		}
		out = append(out, condition(e))
	}
	if len(common) == 0 {
		return
	}
	and := " " + w.word("AND") + " "
	rest := w.without(whole, common)
	if rest == "" { // some branch is nothing else: that is no cursor
		return
	}
	text := strings.Join(out, and) + and + rest
	kept := comments(whole.Text())
	sql := sqltext.Splice(w.q.SQL, []sqltext.Edit{{Start: whole.Start, End: whole.End, Text: kept + text}})
	q, c := w.again(sql)
	if c == nil {
		return
	}
	proof := oneLine(strings.Join(out, and)) + " is in every branch, so it can stand before them once"
	for _, x := range rewrites(q, c, w.facts) {
		x.Edits = []sqltext.Edit{difference1(w.q.SQL, x.SQL)}
		if x.First != "" {
			x.FirstEdits = []sqltext.Edit{difference1(w.q.SQL, x.First)}
		}
		x.Proof = append([]string{proof}, x.Proof...)
		w.add(x)
	}
}

// again reads a rewritten statement and finds the same page's cursor in it, nil if
// there is none any more.
func (w *rewriter) again(sql string) (*sqltext.Query, *Cursor) {
	q, err := sqltext.ParseQuery(sql)
	if err != nil {
		return nil, nil
	}
	page := slices.Index(w.q.Blocks, w.c.Page)
	for _, c := range Cursors(q) {
		if slices.Index(q.Blocks, c.Page) == page {
			return q, c
		}
	}
	return q, nil
}

// without writes a condition with TRUE in the place of some others, in parentheses
// if it is an OR; "" if that leaves TRUE.
func (w *rewriter) without(e *sqltext.Expr, gone []*sqltext.Expr) string {
	if has(gone, e) {
		return ""
	}
	if e.Kind != sqltext.And && e.Kind != sqltext.Or {
		return condition(e)
	}
	var rest []string
	for _, a := range e.Args {
		text := w.without(a, gone)
		switch {
		case text != "":
			rest = append(rest, text)
		case e.Kind == sqltext.Or:
			return ""
		}
	}
	if len(rest) < 2 {
		return strings.Join(rest, "")
	}
	word := map[sqltext.ExprKind]string{sqltext.And: "AND", sqltext.Or: "OR"}[e.Kind]
	return "(" + strings.Join(rest, " "+w.word(word)+" ") + ")"
}

// bared is a condition without some of its parts, to look at, not to write: its text
// is still the whole one.
func bared(e *sqltext.Expr, gone []*sqltext.Expr) *sqltext.Expr {
	if len(gone) == 0 || e.Kind != sqltext.And && e.Kind != sqltext.Or {
		return e
	}
	out := *e
	out.Args = nil
	for _, a := range e.Args {
		if !has(gone, a) {
			out.Args = append(out.Args, bared(a, gone))
		}
	}
	if e.Kind == sqltext.And && len(out.Args) == 1 {
		return out.Args[0]
	}
	return &out
}

// repeated lists what all branches of an OR require, the outermost of each.
func repeated(or *sqltext.Expr) []*sqltext.Expr {
	out := required(or.Args[0])
	for _, branch := range or.Args[1:] {
		also := required(branch)
		out = slices.DeleteFunc(out, func(e *sqltext.Expr) bool { return !has(also, e) })
	}
	return slices.DeleteFunc(slices.Clone(out), func(e *sqltext.Expr) bool {
		return slices.ContainsFunc(out, func(x *sqltext.Expr) bool { return x != e && x.Start <= e.Start && e.End <= x.End })
	})
}

// required lists what has to be true for a condition to be, each once: the parts of
// an AND, what all branches of an OR require, else the condition itself.
func required(e *sqltext.Expr) []*sqltext.Expr {
	var out []*sqltext.Expr
	switch e.Kind {
	case sqltext.And:
		for _, a := range e.Args {
			for _, x := range required(a) {
				if !has(out, x) {
					out = append(out, x)
				}
			}
		}
		return out
	case sqltext.Or:
		out = repeated(e)
	}
	return append(out, e)
}

// has reports an expression that is written the same.
func has(list []*sqltext.Expr, e *sqltext.Expr) bool {
	return slices.ContainsFunc(list, func(x *sqltext.Expr) bool { return sqltext.Equal(x, e) })
}
