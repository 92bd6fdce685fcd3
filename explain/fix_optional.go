package explain

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// twoStatements splits a condition that is switched off on the first page: one
// statement without it, one with the cursor alone.
func (w *rewriter) twoStatements() {
	whole := w.c.Term.Whole
	if notFalseOf(w.c.Term.Expr) != nil {
		w.openStatements()
		return
	}
	when, next := w.optional()
	if next == "" || w.unstableGuard() {
		return
	}
	first := w.drop(whole)
	c := Candidate{
		Kind: TwoStatements, FirstEdits: first, When: when,
		Proof: []string{
			fmt.Sprintf("while %s is true the condition is true for every row: the first statement", oneLine(when)),
			fmt.Sprintf("otherwise it is true exactly where %s is: the second", oneLine(next)),
		},
	}
	nested, cur := w.again(sqltext.Splice(w.q.SQL, []sqltext.Edit{{Start: whole.Start, End: whole.End, Text: next}}))
	if nested == nil {
		return
	}
	if cur != nil {
		c.Fault = faultOf(nested, cur, w.facts)
		for _, better := range Fixes(nested, cur, w.facts) {
			if better.Kind == TwoStatements || better.Kind == GuardedBound || better.Kind == UnionAll {
				continue
			}
			c.Bound, c.Row, c.Assumes, c.Claim = better.Bound, better.Row, better.Assumes, better.Claim
			c.Proof = append(c.Proof, better.Proof...)
			c.Edits = []sqltext.Edit{difference1(w.q.SQL, better.SQL)}
			w.add(c)
			return
		}
	}
	c.Edits = []sqltext.Edit{{Start: whole.Start, End: whole.End, Text: next}}
	w.add(c)
}

// unstableGuard: what switches the cursor off may differ from row to row.
func (w *rewriter) unstableGuard() bool {
	e := w.c.Term.Whole
	guards := w.c.Bound.Guards
	if e.Kind == sqltext.Case {
		guards = e.Args[:1]
	}
	for _, g := range guards {
		if w.facts.unstable(g) != "" {
			return true
		}
	}
	return false
}

// optional takes the cursor's conjunct apart: the condition under which it is
// true for every row, and what it says otherwise; "" if it has another shape.
func (w *rewriter) optional() (when, next string) {
	e, key, side := w.c.Term.Whole, w.c.Keys[0].Key, w.c.Side
	if w.c.Term.Not {
		return "", ""
	}
	if e.Kind == sqltext.Case {
		then := caseCursor(e, key, side)
		if then == nil {
			return "", ""
		}
		when = e.Args[0].Text()
		if then == e.Args[1] {
			when = "(" + when + ") IS NOT TRUE"
		}
		return when, condition(then)
	}
	if e.Kind != sqltext.Or {
		return "", ""
	}
	var guards, rest []string
	var last *sqltext.Expr
	for _, a := range e.Args {
		if isGuard(a) {
			guards = append(guards, a.Text())
		} else {
			rest = append(rest, a.Text())
			last = a
		}
	}
	if len(guards) != len(w.c.Bound.Guards) || len(rest) == 0 {
		return "", ""
	}
	when = strings.Join(guards, " OR ")
	if len(rest) == 1 {
		return when, condition(last)
	}
	return when, "(" + strings.Join(rest, " "+w.word("OR")+" ") + ")"
}

// condition writes an expression so that it can stand among ANDs.
func condition(e *sqltext.Expr) string {
	if e.Kind == sqltext.Or && !e.Parens {
		return "(" + e.Text() + ")"
	}
	return e.Text()
}

// drop takes a conjunct out, and the WHERE with it if it was all of it.
func (w *rewriter) drop(e *sqltext.Expr) []sqltext.Edit {
	where := w.c.Block.Where
	if e != where {
		if edits := w.remove(e, ""); len(edits) == 1 && !strings.EqualFold(edits[0].Text, "TRUE") {
			return edits
		}
		if end := w.andAfter(e); end > 0 {
			return []sqltext.Edit{{Start: e.Start, End: end}}
		}
		return w.remove(e, "")
	}
	start := w.c.Block.WhereWord
	for start > 0 && strings.IndexByte(" \t\r\n", w.q.SQL[start-1]) >= 0 {
		start--
	}
	return []sqltext.Edit{{Start: start, End: e.End}}
}

// andAfter returns the start of what follows the AND behind an expression.
func (w *rewriter) andAfter(e *sqltext.Expr) int {
	toks := sqltext.Lex(w.q.SQL)
	for i, t := range toks {
		if t.Start >= e.End {
			if t.Is(w.q.SQL, "and") && i+1 < len(toks) {
				return toks[i+1].Start
			}
			return 0
		}
	}
	return 0
}

// difference1 is the one edit that turns old into text, at token boundaries.
func difference1(old, text string) sqltext.Edit {
	n := min(len(old), len(text))
	i := 0
	for i < n && old[i] == text[i] {
		i++
	}
	for i > 0 && !boundary(old[i-1]) {
		i--
	}
	j := 0
	for j < n-i && old[len(old)-1-j] == text[len(text)-1-j] {
		j++
	}
	for j > 0 && !boundary(old[len(old)-j]) {
		j--
	}
	return sqltext.Edit{Start: i, End: len(old) - j, Text: text[i : len(text)-j]}
}

func boundary(c byte) bool { return strings.IndexByte(" \t\r\n(),", c) >= 0 }

// guardedBound adds a bound that is infinite while the cursor is switched off.
// It needs a key that is NOT NULL and of a type with infinity: a row with a NULL
// key would be lost on the first page.
func (w *rewriter) guardedBound() {
	c := w.c
	key := c.Keys[0]
	if len(c.Bound.Values) != 1 || len(c.Bound.Guards) == 0 || c.Bounded || c.Bound.Values[0].Item > 0 {
		return
	}
	is, known := w.facts.notNull(c.Block, key.Key.Expr)
	col := w.facts.column(c.Block, key.Key.Expr)
	v := c.Bound.Values[0].Expr
	if !known || !is || !infinite(col.Type) || w.facts.unstable(v) != "" || v.HasColumn() {
		return
	}
	if w.unstableGuard() {
		return
	}
	op, infinity := " >= ", "'-infinity'::"+col.Type
	if c.Side == Upper {
		op, infinity = " <= ", "'infinity'::"+col.Type
	}
	text := key.Text + op + w.guarded(v, infinity)
	w.add(Candidate{
		Kind: GuardedBound, Edits: w.before(text+" "+w.word("AND")+" ", c.Term.Whole), Bound: text,
		Proof: []string{
			fmt.Sprintf("while a guard is true, the bound is infinite and %s, which is NOT NULL, is within it", key.Text),
			fmt.Sprintf("otherwise the condition is true only if %s%s%s is", key.Text, op, v.Text()),
			"the server is not asked: it proves no bound that a COALESCE or CASE gives",
		},
	})
}

// guarded writes COALESCE(v, infinity) if the only guard is v IS NULL, else CASE.
func (w *rewriter) guarded(v *sqltext.Expr, infinity string) string {
	g := w.c.Bound.Guards
	if len(g) == 1 && g[0].Kind == sqltext.IsNull && sqltext.Equal(bare(g[0].Args[0]), bare(v)) {
		return w.word("COALESCE") + "(" + v.Text() + ", " + infinity + ")"
	}
	parts := make([]string, len(g))
	for i, x := range g {
		parts[i] = x.Text()
	}
	return w.word("CASE WHEN ") + strings.Join(parts, " "+w.word("OR")+" ") + w.word(" THEN ") + infinity + w.word(" ELSE ") + v.Text() + w.word(" END")
}

func infinite(typ string) bool {
	switch typ {
	case "date", "timestamp", "timestamptz", "timestamp with time zone", "timestamp without time zone":
		return true
	}
	return false
}
