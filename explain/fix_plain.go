package explain

import (
	"fmt"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// plain writes the cursor's comparisons without the CASE or COALESCE round them: as one
// statement, or as two where a value that is NULL keeps other rows.
func (w *rewriter) plain() {
	c, whole := w.c, w.c.Term.Whole
	if form, _ := c.hidesCursor(c.Term); form == "" || whole != c.Term.Expr && isTrueOf(whole) != c.Term.Expr || w.facts.unstable(whole) != "" {
		return
	}
	p := c.plainly(whole, c.reducer(w.facts, w.lower))
	if p == nil {
		return
	}
	text := condition(p.expr)
	edit := sqltext.Edit{Start: whole.Start, End: whole.End, Text: comments(whole.Text()) + text}
	q, cur := w.again(sqltext.Splice(w.q.SQL, []sqltext.Edit{edit}))
	if q == nil || cur == nil {
		return
	}
	better := rewrites(q, cur, w.facts)
	if p.absent != nil {
		w.plainTwice(p, edit, cur, better)
		return
	}
	proof := fmt.Sprintf("%s is true for the same rows as %s", oneLine(text), oneLine(whole.Text()))
	for _, x := range better {
		x.Edits = []sqltext.Edit{difference1(w.q.SQL, x.SQL)}
		if x.First != "" {
			x.FirstEdits = []sqltext.Edit{difference1(w.q.SQL, x.First)}
		}
		x.Proof = append([]string{proof}, x.Proof...)
		w.add(x)
	}
	if !cur.spelledOut() {
		w.add(Candidate{Kind: PlainCompare, Edits: []sqltext.Edit{edit}, Proof: []string{proof}, Row: text, Exact: true})
	}
}

// plainTwice makes a statement for a value that is NULL and one, in its best form, for
// one that is not.
func (w *rewriter) plainTwice(p *unhidden, edit sqltext.Edit, cur *Cursor, better []Candidate) {
	whole := w.c.Term.Whole
	two := Candidate{Kind: TwoStatements, When: p.absent.Text() + w.word(" IS NULL"), Edits: []sqltext.Edit{edit}}
	first := "every row"
	two.FirstEdits = w.drop(whole)
	if p.other.is == isUnknown {
		first = p.other.text
		if p.other.or {
			first = "(" + first + ")"
		}
		two.FirstEdits = []sqltext.Edit{{Start: whole.Start, End: whole.End, Text: comments(whole.Text()) + first}}
	}
	two.Proof = []string{
		fmt.Sprintf("while %s is true the condition is true for %s: the first statement", two.When, oneLine(first)),
		fmt.Sprintf("otherwise it is true exactly where %s is: the second", oneLine(condition(p.expr))),
	}
	for _, x := range better {
		if x.First != "" || x.Kind == GuardedBound || x.Kind == UnionAll || x.Refused != "" {
			continue
		}
		y := two
		y.Edits = []sqltext.Edit{difference1(w.q.SQL, x.SQL)}
		y.Bound, y.Row, y.Assumes, y.Claim, y.Proof = x.Bound, x.Row, x.Assumes, x.Claim, append(two.Proof[:2:2], x.Proof...)
		w.add(y)
	}
	if !cur.spelledOut() {
		w.add(two)
	}
}
