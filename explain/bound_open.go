package explain

import "github.com/pgsonde/pgsonde/explain/sqltext"

// notFalseOf returns x of COALESCE(x, true) and x IS NOT FALSE, which are true where x
// is or where it is NULL, nil for anything else.
func notFalseOf(e *sqltext.Expr) *sqltext.Expr {
	switch {
	case e.Kind == sqltext.Opaque && e.Name == sqltext.IsNotFalse && len(e.Args) == 1,
		e.Kind == sqltext.Func && len(e.Qual) == 0 && e.Name == "coalesce" && len(e.Args) == 2 && e.Args[1].Kind == sqltext.Bool && e.Args[1].Name == "true":
		return e.Args[0]
	}
	return nil
}

// unlessNull makes of the bound by a comparison, if NULL counts as true, one that
// holds unless the key or a value is NULL: then the comparison is NULL.
func (x extractor) unlessNull(p part) part {
	if !x.open {
		return p
	}
	p.NotNull = true
	for _, v := range p.Values {
		if v.Expr.Kind == sqltext.Const {
			continue
		}
		g, err := sqltext.ParseExpr(operand(v.Expr) + " IS NULL")
		if err != nil || g.Kind != sqltext.IsNull {
			return part{}
		}
		p.Guards = append(p.Guards, g)
	}
	return p
}

// boundOf is the bound that a term puts on the leading key; NULL counts as true where
// the term says so.
func (c *Cursor) boundOf(t Term) (Bound, bool) {
	inner := notFalseOf(t.Expr)
	if inner == nil || t.Not {
		return t.Implied(c.Keys[0].Key, c.Side)
	}
	x := extractor{key: c.Keys[0].Key, side: c.Side, open: true}
	r := x.walk(inner, false)
	return r.Bound, r.found && len(r.Values) > 0
}

// opened names the form of a cursor inside COALESCE(…, true): its values, where they
// are NULL, switch it off.
func (c *Cursor) opened(t Term) Form {
	inner := Term{Expr: notFalseOf(t.Expr), Whole: t.Whole}
	if e := inner.Expr; e.Kind == sqltext.Not {
		inner.Expr, inner.Not = e.Args[0], true
	}
	b, ok := c.boundOf(t)
	if !ok {
		return ""
	}
	row := inner.direct(c.Keys[0].Key, c.Side)
	if f := c.spelled(inner); !row && f != FormOr && f != FormNot {
		return ""
	}
	switch {
	case len(b.Guards) == 0:
		return FormOr
	case row:
		return FormOptionalRow
	}
	return FormOptionalOr
}
