package explain

import (
	"cmp"
	"slices"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// settle decides what the direct bounds beside a spelled-out cursor mean.
func (c *Cursor) settle(starts []Term) {
	key := c.Keys[0].Key
	own := Bound{}
	for _, v := range c.Keys[0].Values {
		own.Values = append(own.Values, BoundValue{Expr: v})
	}
	ownFirst := slices.Clone(starts)
	slices.SortStableFunc(ownFirst, func(s, t Term) int {
		return cmp.Compare(c.likeOwn(s, own), c.likeOwn(t, own))
	})
	for _, s := range ownFirst {
		b, _ := s.Implied(key, c.Side)
		switch {
		case c.Form == FormBoundedOr, c.Form == FormNot:
			if c.Bounded && !covers(b, own) { // another limit beside the cursor's own
				continue
			}
			c.Bound, c.Bounded = b, true
			for _, v := range b.Values {
				c.Keys[0].add(v.Expr)
			}
		case covers(b, c.Bound):
			c.Bounded = true
		default:
			c.Loose = s.Whole
		}
	}
	switch {
	case c.Form == FormOr && c.Bounded:
		c.Form = FormBoundedOr
	case c.Form == FormNot && len(c.Bound.Values) > 0 && len(starts) == 0 && c.Term.Expr.Kind != sqltext.And && !isRow(c.Term.Expr):
		c.Bounded = true
	}
	if c.Bounded {
		c.Loose = nil
	}
}

// likeOwn ranks a direct bound: one by the cursor's own value comes before one by
// another parameter, and that before one by a value that is computed.
func (c *Cursor) likeOwn(t Term, own Bound) int {
	switch b, _ := t.Implied(c.Keys[0].Key, c.Side); {
	case covers(b, own):
		return 0
	case len(b.Values) > 0 && bare(b.Values[0].Expr).Kind == sqltext.Value:
		return 1
	}
	return 2
}

// covers: does the direct bound give the cursor's own start? It does if it
// names every value of it, or a LEAST or GREATEST over them. One that something is
// subtracted from is another limit.
func covers(direct, cursor Bound) bool {
	for _, v := range cursor.Values {
		if !slices.ContainsFunc(direct.Values, func(d BoundValue) bool { return d.Item == v.Item && chosenFrom(d.Expr, v.Expr) }) {
			return false
		}
	}
	return len(cursor.Values) > 0
}

// chosenFrom: e is the value v, under casts or not, or one of several, of which v is one.
func chosenFrom(e, v *sqltext.Expr) bool {
	if e = bare(e); sqltext.Equal(e, bare(v)) {
		return true
	}
	return e.Kind == sqltext.Func && (e.Name == "least" || e.Name == "greatest" || e.Name == "coalesce") &&
		slices.ContainsFunc(e.Args, func(a *sqltext.Expr) bool { return chosenFrom(a, v) })
}

// bare takes casts off a value.
func bare(e *sqltext.Expr) *sqltext.Expr {
	for e.Kind == sqltext.Cast {
		e = e.Args[0]
	}
	return e
}

// start is the cursor that is nothing but direct bounds.
func (c *Cursor) start(starts []Term) {
	key := c.Keys[0].Key
	best := starts[0]
	for _, s := range starts {
		if isRow(s.Expr) && !isRow(best.Expr) {
			best = s
		}
	}
	c.Term, c.part, c.Bounded = best, best.Whole, true
	c.Bound, _ = best.Implied(key, c.Side)
	c.collect(best)
	c.Form = FormSingle
	switch {
	case isRow(best.Expr):
		c.Form = FormRow
		c.Swapped = c.swapped(best.Expr)
		if len(starts) > 1 {
			c.Form = FormBoundedRow
		}
	case best.Whole.Kind == sqltext.Not:
		c.Form = FormNot
	case len(c.Keys) > 1:
		c.independent()
	}
	if c.Form == FormRow || c.Form == FormSingle {
		return
	}
	for _, s := range starts {
		if b, _ := s.Implied(key, c.Side); !covers(b, c.Bound) {
			c.Loose = s.Whole
			if c.Form == FormBoundedRow {
				c.Form, c.Loose = FormRow, nil // the row comparison is the tighter start
			}
		}
	}
}

// independent: the later keys are compared with values too, each by itself.
func (c *Cursor) independent() {
	for i := 1; i < len(c.Keys); i++ {
		k := &c.Keys[i]
		for _, t := range c.terms {
			if t.direct(k.Key, sideOf(*k)) && !isRow(t.Expr) && t.Expr.Kind == sqltext.Compare {
				c.Form = FormAnd
				b, _ := t.Implied(k.Key, sideOf(*k))
				for _, v := range b.Values {
					k.add(v.Expr)
				}
			}
		}
	}
}

func isRow(e *sqltext.Expr) bool {
	return e.Kind == sqltext.Compare && (e.Args[0].Kind == sqltext.Row && len(e.Args[0].Args) > 1 || e.Args[1].Kind == sqltext.Row && len(e.Args[1].Args) > 1)
}

// swapped: some pair of the row comparison has key and value the other way round.
func (c *Cursor) swapped(e *sqltext.Expr) bool {
	if e.Args[0].Kind != sqltext.Row || e.Args[1].Kind != sqltext.Row {
		return false
	}
	left, right := false, false
	for i := range e.Args[0].Args {
		for _, k := range c.Keys {
			left = left || k.Key.Matches(e.Args[0].Args[i])
			right = right || i < len(e.Args[1].Args) && k.Key.Matches(e.Args[1].Args[i])
		}
	}
	return left && right
}

// collect gathers what each key is compared with, and how it is written there.
func (c *Cursor) collect(t Term) {
	for i := range c.Keys {
		c.Keys[i].Values = nil
		c.Keys[i].written = false
	}
	t.Whole.Walk(func(e *sqltext.Expr) bool { // all of a NOT that was taken apart
		switch e.Kind {
		case sqltext.Compare, sqltext.Distinct:
			c.pair(e.Args[0], e.Args[1])
		case sqltext.Between:
			if t.Not || e.Name != "" {
				break
			}
			v := e.Args[1]
			if c.Side == Upper {
				v = e.Args[2]
			}
			c.pair(e.Args[0], v)
		}
		return true
	})
	c.dropEnds(t.Whole)
}

// dropEnds takes from the values of the leading key those that are only compared
// where the scan ends: a limit in each branch is no value of the cursor.
func (c *Cursor) dropEnds(whole *sqltext.Expr) {
	k := &c.Keys[0]
	if len(k.Values) < 2 {
		return
	}
	starts := make([]bool, len(k.Values))
	walkNot(whole, false, func(e *sqltext.Expr, not bool) {
		if e.Kind != sqltext.Compare && e.Kind != sqltext.Between && e.Kind != sqltext.Distinct {
			return
		}
		t := Term{Expr: e, Not: not}
		_, near := t.Implied(k.Key, c.Side)
		_, far := t.Implied(k.Key, -c.Side)
		for i, v := range k.Values {
			mentioned := !e.Walk(func(x *sqltext.Expr) bool { return !sqltext.Equal(x, v) })
			starts[i] = starts[i] || mentioned && (near || !far)
		}
	})
	var left []*sqltext.Expr
	for i, v := range k.Values {
		if starts[i] {
			left = append(left, v)
		}
	}
	if len(left) > 0 {
		k.Values = left
	}
}

// walkNot calls f for a condition and its parts, and says which stand under an odd
// number of NOTs.
func walkNot(e *sqltext.Expr, not bool, f func(e *sqltext.Expr, not bool)) {
	f(e, not)
	for _, a := range e.Args {
		walkNot(a, not != (e.Kind == sqltext.Not), f)
	}
}

// pair notes a comparison of a key with a value, rows pair by pair.
func (c *Cursor) pair(l, r *sqltext.Expr) {
	if l.Kind == sqltext.Row && r.Kind == sqltext.Row && len(l.Args) == len(r.Args) {
		for i := range l.Args {
			c.pair(l.Args[i], r.Args[i])
		}
		return
	}
	if l.Kind == sqltext.Row && r.Kind == sqltext.Subquery {
		for _, a := range l.Args {
			c.pair(a, r)
		}
		return
	}
	for i := range c.Keys {
		k := &c.Keys[i]
		x := extractor{key: k.Key}
		key, v := l, r
		if !k.Key.Matches(key) {
			key, v = r, l
		}
		if !k.Key.Matches(key) || !x.isValue(v) {
			continue
		}
		if !k.written {
			k.Text, k.written = key.Text(), true
		}
		k.add(v)
		return
	}
}

func (k *SortKey) add(v *sqltext.Expr) {
	for _, w := range k.Values {
		if sqltext.Equal(v, w) {
			return
		}
	}
	k.Values = append(k.Values, v)
}
