package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// unhidden is a condition without the CASE or COALESCE that hides its comparisons.
type unhidden struct {
	form Form
	expr *sqltext.Expr // TRUE for the same rows where absent is not, or always without one
	// absent is the value that may be NULL, as written, nil for none; then the
	// condition is TRUE for the rows that other says.
	absent *sqltext.Expr
	other  reduced
}

// plainly takes the CASE and the COALESCE(v, key) out of a condition, nil where there
// is nothing of the kind or where it cannot be done. What is sure of the keys is for r
// to know.
func (c *Cursor) plainly(e *sqltext.Expr, r reducer) *unhidden {
	if p := c.withoutCase(e, r); p != nil {
		return p
	}
	return c.withoutCoalesce(e, r)
}

// withoutCase writes "CASE WHEN x THEN 1 WHEN y THEN 1 ELSE 0 END = 1" as x OR y.
func (c *Cursor) withoutCase(e *sqltext.Expr, r reducer) *unhidden {
	arms, ok := armsOf(e)
	if !ok {
		return nil
	}
	if e := notOthers(arms, r); e != nil {
		return &unhidden{form: FormCase, expr: e}
	}
	var parts []string
	for _, a := range arms {
		if a.result.is == isFalse {
			continue
		}
		var both []string
		if a.when != nil {
			both = append(both, among(a.when))
		}
		if a.result.is == isUnknown {
			both = append(both, among(a.then))
		}
		if len(both) == 0 { // ELSE true
			return nil
		}
		parts = append(parts, strings.Join(both, " "+r.and+" "))
	}
	x, err := sqltext.ParseExpr(strings.Join(parts, " "+r.or+" "))
	if len(parts) == 0 || err != nil {
		return nil
	}
	if !inOrder(arms) && !c.sameAsCase(x, arms) {
		return nil
	}
	return &unhidden{form: FormCase, expr: x}
}

// notOthers writes "CASE WHEN x THEN 0 WHEN y THEN 0 ELSE 1 END = 1", which is TRUE where
// neither x nor y is, nil for anything else.
func notOthers(arms []arm, r reducer) *sqltext.Expr {
	last := len(arms) - 1
	if last < 1 || arms[last].when != nil || arms[last].result.is != isTrue {
		return nil
	}
	parts := make([]string, last)
	for i, a := range arms[:last] {
		if a.result.is != isFalse {
			return nil
		}
		parts[i] = among(a.when)
	}
	is := " IS NOT FALSE"
	if r.not == "not" {
		is = " is not false"
	}
	e, err := sqltext.ParseExpr("(" + r.not + " (" + strings.Join(parts, " "+r.or+" ") + "))" + is)
	if err != nil {
		return nil
	}
	return e
}

// among writes an expression so that it can stand among ANDs and ORs.
func among(e *sqltext.Expr) string {
	if e.Kind == sqltext.And && !e.Parens {
		return e.Text()
	}
	return condition(e)
}

// arm is a WHEN with its THEN, or the ELSE without a when.
type arm struct {
	when, then *sqltext.Expr
	result     reduced // is the whole TRUE with it: by a constant, or unknown by a condition
}

// armsOf takes a CASE apart that is a condition, or that is compared with a constant.
func armsOf(e *sqltext.Expr) ([]arm, bool) {
	op, value := "=", (*sqltext.Expr)(nil)
	if inner := isTrueOf(e); inner != nil {
		e = inner
	}
	if e.Kind == sqltext.Compare {
		l, r := e.Args[0], e.Args[1]
		if op = e.Cmp; l.Kind != sqltext.Case {
			l, r, op = r, l, mirrored(op)
		}
		e, value = l, r
	}
	if e.Kind != sqltext.Case {
		return nil, false
	}
	var out []arm
	for i := 0; i < len(e.Args); i += 2 {
		a := arm{then: e.Args[min(i+1, len(e.Args)-1)]}
		if i+1 < len(e.Args) {
			a.when = e.Args[i]
		}
		var ok bool
		if a.result, ok = gives(a.then, op, value); !ok {
			return nil, false
		}
		out = append(out, a)
	}
	return out, true
}

// gives says whether a result of a CASE makes the whole TRUE; ok is false where that
// cannot be told.
func gives(then *sqltext.Expr, op string, value *sqltext.Expr) (reduced, bool) {
	if then.Kind == sqltext.Bool && then.Name == "null" {
		return always(false), true
	}
	if value == nil || value.Kind == sqltext.Bool && op == "=" && value.Name == "true" {
		if then.Kind == sqltext.Bool {
			return always(then.Name == "true"), true
		}
		return reduced{is: isUnknown}, then.Kind == sqltext.And || then.Kind == sqltext.Or || then.Kind == sqltext.Not || then.Kind == sqltext.Compare
	}
	switch a, b := number(then), number(value); {
	case a != nil && b != nil:
		return always(compares(int8(a.Cmp(b)), op) == isTrue), true
	case then.Kind == sqltext.Const && value.Kind == sqltext.Const && isPlainString(then) && isPlainString(value) && (op == "=" || op == "<>"):
		return always((then.Text() == value.Text()) == (op == "=")), true
	}
	return reduced{}, false
}

// isPlainString: 'text', without a prefix, an escape or a space at its end.
func isPlainString(e *sqltext.Expr) bool {
	t := e.Text()
	return len(t) > 2 && t[0] == '\'' && t[len(t)-1] == '\'' && !strings.ContainsAny(t[1:len(t)-1], `'\ `)
}

// inOrder: no arm that is not TRUE stands before one that may be, so it does not
// matter which of several is the first.
func inOrder(arms []arm) bool {
	decided := false
	for _, a := range arms {
		if a.result.is != isFalse && decided {
			return false
		}
		decided = decided || a.result.is != isTrue
	}
	return true
}

// sameAsCase compares a condition with the CASE in every case.
func (c *Cursor) sameAsCase(x *sqltext.Expr, arms []arm) bool {
	d := *c
	d.Keys = slices.Clone(c.Keys)
	d.collect(Term{Expr: x, Whole: x})
	comp := &compiler{keys: d.compared()}
	if len(comp.keys) == 0 || len(comp.keys) > maxKeys {
		return false
	}
	want := comp.compile(x)
	type formulas struct{ when, then *formula }
	var fs []formulas
	for _, a := range arms {
		f := formulas{then: &formula{kind: sqltext.Bool, set: a.result.is}}
		if a.when != nil {
			f.when = comp.compile(a.when)
		}
		if a.result.is == isUnknown {
			f.then = comp.compile(a.then)
		}
		if a.when != nil && f.when == nil || f.then == nil {
			return false
		}
		fs = append(fs, f)
	}
	if want == nil {
		return false
	}
	same := true
	cases(len(comp.keys), true, func(s []standing) bool {
		got := false
		for _, f := range fs {
			if f.when == nil || f.when.eval(s) == isTrue {
				got = f.then.eval(s) == isTrue
				break
			}
		}
		same = got == (want.eval(s) == isTrue)
		return same
	})
	return same
}

// withoutCoalesce writes "K > COALESCE(v, K)" as K > v. The two differ where v is NULL
// unless no row is kept there.
func (c *Cursor) withoutCoalesce(e *sqltext.Expr, r reducer) *unhidden {
	var v *sqltext.Expr
	e.Walk(func(x *sqltext.Expr) bool {
		if d, ok := c.defaulted(x, c.Keys[:1]); v == nil && ok {
			v = d
		}
		return true
	})
	if v == nil {
		return nil
	}
	there := c.defaults(e, func(d *sqltext.Expr) bool { return sqltext.Equal(uncast(d), uncast(v)) }, 0)
	missing := c.defaults(e, func(d *sqltext.Expr) bool { return sqltext.Equal(uncast(d), uncast(v)) }, 1)
	with, err := sqltext.ParseExpr(there)
	without, err2 := sqltext.ParseExpr(missing)
	if err != nil || err2 != nil {
		return nil
	}
	if with = c.strictly(with); with == nil {
		return nil
	}
	if without = c.strictly(without); without == nil {
		return nil
	}
	r.premises = []premise{{expr: uncast(v), text: v.Text(), null: true}}
	p := &unhidden{form: FormCoalesce, expr: with}
	if x := r.reduce(without, false); x.is != isFalse {
		p.absent, p.other = v, x
	} else if y := r.reduce(with, false); y.is != isFalse {
		return nil
	}
	return p
}

// defaulted returns v of COALESCE(v, key) with a placeholder v.
func (c *Cursor) defaulted(e *sqltext.Expr, keys []SortKey) (v *sqltext.Expr, ok bool) {
	if e.Kind != sqltext.Func || len(e.Qual) > 0 || e.Name != "coalesce" || len(e.Args) != 2 || uncast(e.Args[0]).Kind != sqltext.Value {
		return nil, false
	}
	return e.Args[0], slices.ContainsFunc(keys, func(k SortKey) bool {
		return k.Key.Expr.Kind == sqltext.Column && k.Key.Matches(e.Args[1])
	})
}

// defaults writes a condition with the COALESCE of some values replaced by their n-th
// operand.
func (c *Cursor) defaults(e *sqltext.Expr, which func(*sqltext.Expr) bool, n int) string {
	var edits []sqltext.Edit
	e.Walk(func(x *sqltext.Expr) bool {
		if v, ok := c.defaulted(x, c.Keys); ok && which(v) {
			edits = append(edits, sqltext.Edit{Start: x.Start - e.Start, End: x.End - e.Start, Text: x.Args[n].Text()})
		}
		return true
	})
	return sqltext.Splice(e.Text(), edits)
}

// strictly writes "b > COALESCE(v, b)" as b > v wherever it stands among ANDs and ORs:
// where v is NULL the one is never TRUE, and so is the other.
func (c *Cursor) strictly(e *sqltext.Expr) *sqltext.Expr {
	var edits []sqltext.Edit
	swap := func(key, x *sqltext.Expr) {
		if v, ok := c.defaulted(x, c.Keys); ok && sameKey(key, x.Args[1]) {
			edits = append(edits, sqltext.Edit{Start: x.Start - e.Start, End: x.End - e.Start, Text: v.Text()})
		}
	}
	var visit func(*sqltext.Expr)
	visit = func(x *sqltext.Expr) {
		switch {
		case x.Kind == sqltext.And || x.Kind == sqltext.Or:
			for _, a := range x.Args {
				visit(a)
			}
		case x.Kind == sqltext.Compare && (x.Cmp == ">" || x.Cmp == "<"):
			l, r := x.Args[0], x.Args[1]
			if l.Kind == sqltext.Row && r.Kind == sqltext.Row && len(l.Args) == len(r.Args) && len(l.Args) > 0 {
				l, r = l.Args[len(l.Args)-1], r.Args[len(r.Args)-1]
			}
			swap(l, r)
			swap(r, l)
		}
	}
	visit(e)
	out, err := sqltext.ParseExpr(sqltext.Splice(e.Text(), edits))
	if err != nil {
		return nil
	}
	return out
}

// hidesCursor names the form of a conjunct that is a cursor but for a CASE or a
// COALESCE, "" for anything else.
func (c *Cursor) hidesCursor(t Term) (Form, Term) {
	if t.Not || t.Expr.Kind == sqltext.Case && caseCursor(t.Expr, c.Keys[0].Key, c.Side) != nil {
		return "", t
	}
	p := c.plainly(t.Expr, c.reducer(Facts{}, false))
	if p == nil {
		return "", t
	}
	inner := Term{Expr: p.expr, Whole: p.expr}
	switch f := c.spelled(inner); {
	case f == FormOptionalOr || f == FormOptionalRow: // the CASE has an arm for the first page
		return p.form, inner
	case f != "" && f != FormNot && f != FormOr && f != FormNullBranch && f != FormBoundedOr:
		return "", t
	case f != "" || inner.direct(c.Keys[0].Key, c.Side):
		return p.form, inner
	}
	return "", t
}
