package explain

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// sure is what is known of the cursor's keys: NOT NULL columns, and values that are
// constants. With given every value is taken for one that is there.
func (w *rewriter) sure(given bool) []sure {
	var out []sure
	for _, k := range w.c.compared() {
		is, _ := w.facts.notNull(w.c.Block, k.Key.Expr)
		out = append(out, sure{key: is, value: given || len(k.Values) == 1 && k.Values[0].Kind == sqltext.Const})
	}
	return out
}

// openStatements splits a cursor inside COALESCE(…, true), which its value, where it
// is NULL, switches off: one statement without it, one with the bound before it. Rows
// with a NULL key would be kept behind every cursor, so the key has to be NOT NULL.
func (w *rewriter) openStatements() {
	c := w.c
	inner := notFalseOf(c.Term.Expr)
	if c.Term.Whole != c.Term.Expr || c.Bounded || len(c.Bound.Values) != 1 || len(c.Bound.Guards) != 1 || c.Bound.Values[0].Item > 0 {
		return
	}
	v, guard := c.Bound.Values[0].Expr, c.Bound.Guards[0]
	is, _ := w.facts.notNull(c.Block, c.Keys[0].Key.Expr)
	if !is || !sqltext.Equal(guard.Args[0], v) || v.HasColumn() || w.facts.unstable(v) != "" {
		return
	}
	n, ok := c.passesAll(inner)
	if !ok {
		return
	}
	op := map[Side]string{Lower: " >= ", Upper: " <= "}[c.Side]
	bound := c.Keys[0].Text + op + operand(v)
	first := fmt.Sprintf("while %s is true, the comparison is NULL, in none of %d cases FALSE, and kept for every row: the first statement", oneLine(guard.Text()), n)
	whole := c.Term.Whole
	two := Candidate{
		Kind: TwoStatements, FirstEdits: w.drop(whole), When: guard.Text(), Bound: bound,
		Edits: w.before(bound+" "+w.word("AND")+" ", whole), Proof: []string{first, "otherwise " + w.boundedOpen(bound) + ": the second"},
	}
	w.add(two)
	x := c.exact(false, w.sure(true)...)
	if x == nil || len(x.units) != 1 {
		return
	}
	for _, k := range x.keys[1:] {
		if k.Values[0].Kind != sqltext.Const {
			two.Assumes = append(two.Assumes, oneLine(k.Values[0].Text())+" is not NULL where "+oneLine(v.Text())+" is not")
		}
	}
	two.Bound, two.Row = "", rowText(x)
	two.Edits, two.Proof = w.replace(x.units, two.Row), append([]string{first}, rowProof(x, two.Row)...)
	w.add(two)
}

// boundedOpen says why a bound holds where NULL counts as true.
func (w *rewriter) boundedOpen(bound string) string {
	return fmt.Sprintf("%s, whose sides are not NULL, is true wherever %s is: every branch compares %s that way, and a comparison of what is not NULL is TRUE or FALSE",
		bound, oneLine(w.c.Term.Whole.Text()), w.c.Keys[0].Text)
}

// passesAll: a comparison of keys and values is FALSE in no case in which the leading
// key's value is NULL. It says how many those are.
func (c *Cursor) passesAll(e *sqltext.Expr) (n int, ok bool) {
	comp := &compiler{keys: c.compared()}
	if len(comp.keys) == 0 || len(comp.keys) > maxKeys {
		return 0, false
	}
	f := comp.compile(e)
	if f == nil {
		return 0, false
	}
	ok = true
	cases(len(comp.keys), true, func(s []standing) bool {
		if s[0].valueNull {
			n++
			ok = f.eval(s) != isFalse
		}
		return ok
	})
	return n, ok
}

// openReason says why a cursor inside COALESCE(…, true) has no fix, "" if it is none.
func (c *Cursor) openReason(f Facts) string {
	if c == nil || notFalseOf(c.Term.Expr) == nil {
		return ""
	}
	key := oneLine(c.Keys[0].Text)
	switch is, known := f.notNull(c.Block, c.Keys[0].Key.Expr); {
	case known && !is:
		return key + " may be NULL, and a NULL comparison is kept behind every cursor: compare outside the test, and read the rows without " + key + " by a query of their own, UNION ALL"
	case !is:
		return "it is not known whether " + key + " can be NULL, and a NULL comparison is kept behind every cursor: compare outside the test if it cannot"
	case len(c.Bound.Values) > 1:
		var names []string
		for _, v := range c.Bound.Values {
			names = append(names, oneLine(v.Expr.Text()))
		}
		return "give the cursor's value once: " + strings.Join(names, " and ") + " may be NULL each for itself"
	}
	return ""
}
