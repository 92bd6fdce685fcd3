package explain

import "github.com/pgsonde/pgsonde/explain/sqltext"

// findCursor looks in the block's WHERE for the cursor of a sort.
func findCursor(b *sqltext.Block, sort []SortKey) *Cursor {
	terms := Conjuncts(b.Where)
	if len(terms) == 0 {
		return nil
	}
	all := innerTerms(b)
	var keys []SortKey
	for i := range sort {
		if sort[i].Fixed = fixed(all, sort[i].Key); !sort[i].Fixed {
			keys = append(keys, sort[i])
		}
	}
	if len(keys) == 0 {
		return nil
	}
	c := &Cursor{Block: b, Sort: sort, Keys: keys, Side: sideOf(keys[0]), terms: terms}
	if c.look() {
		return c
	}
	if (len(b.From) > 1 || b.Parent != nil) && c.Keys[0].Key.Expr.Qualifier() != "" { // is the cursor row joined in?
		for i := range c.Keys {
			c.Keys[i].Key.Outer = true
		}
		if c.look() && c.joined() {
			c.Form = FormJoined
			return c
		}
		for i := range c.Keys {
			c.Keys[i].Key.Outer = false
		}
	}
	if c.findHidden() {
		return c
	}
	return nil
}

// fixed: some term lets the key have one value only, or NULL only.
func fixed(terms []Term, k Key) bool {
	for _, t := range terms {
		if t.Fixes(k) || t.Expr.Kind == sqltext.IsNull && !t.Not && k.Matches(t.Expr.Args[0]) {
			return true
		}
	}
	return false
}

func sideOf(k SortKey) Side {
	if k.Desc {
		return Upper
	}
	return Lower
}

// joined: the values are columns of another table.
func (c *Cursor) joined() bool {
	for _, v := range c.Bound.Values {
		if v.Expr.HasColumn() {
			return true
		}
	}
	return false
}

// look sorts the conjuncts into those that give the start of the scan and the
// one that spells the cursor out, and names the form. It reports whether there
// is a cursor.
func (c *Cursor) look() bool {
	key := c.Keys[0].Key
	var starts []Term
	var main *Term
	form := Form("")
	keys := 0
	for i, t := range c.terms {
		if t.direct(key, c.Side) {
			starts = append(starts, t)
			continue
		}
		if f := c.spelled(t); f != "" {
			// of several parts in conjunctive form, the one with the most keys
			if n := c.mentioned(t.Whole); main == nil || rank(f) < rank(form) || rank(f) == rank(form) && n > keys {
				main, form, keys = &c.terms[i], f, n
			}
		}
	}
	switch {
	case main != nil:
		c.Form = form
		c.Term = *main
		core := c.core(*main)
		if form == FormCase || form == FormCoalesce {
			_, core = c.hidesCursor(*main)
		}
		c.part = core.Whole
		c.Bound, _ = c.boundOf(core)
		c.collect(core)
		c.settle(starts)
		if c.Form == FormBoundedOr && !c.Bounded { // the part about ties alone is no cursor
			return false
		}
	case len(starts) > 0:
		c.start(starts)
	default:
		return false
	}
	whole := c.Term.Whole
	c.Start, c.End = whole.Start, whole.End
	return true
}

// mentioned counts the keys that an expression names.
func (c *Cursor) mentioned(e *sqltext.Expr) int {
	n := 0
	for _, k := range c.Keys {
		if names(e, k.Key) {
			n++
		}
	}
	return n
}

// direct: a single comparison, BETWEEN or row comparison that an index can
// start at. A NOT before a row comparison stays there.
func (t Term) direct(key Key, side Side) bool {
	if t.Not && isRow(t.Expr) {
		return false
	}
	switch t.Expr.Kind {
	case sqltext.Compare, sqltext.Between, sqltext.InList:
		b, ok := t.Implied(key, side)
		return ok && len(b.Guards) == 0 && !t.Fixes(key)
	}
	return false
}

// rank orders the forms of one conjunct by how surely they are the cursor.
func rank(f Form) int {
	for i, g := range []Form{FormOr, FormNot, FormNullBranch, FormOptionalOr, FormOptionalRow, FormCase, FormCoalesce, FormBoundedOr} {
		if f == g {
			return i
		}
	}
	return 99
}

// spelled names the form of a conjunct that is more than one comparison, ""
// if it is no cursor over the leading key.
func (c *Cursor) spelled(t Term) Form {
	if notFalseOf(t.Expr) != nil && !t.Not {
		return c.opened(t)
	}
	if f, _ := c.hidesCursor(t); f != "" {
		return f
	}
	key := c.Keys[0].Key
	t = c.core(t)
	bound, ok := t.Implied(key, c.Side)
	e := t.Expr
	if _, far := t.Implied(key, -c.Side); ok && far && !tied(e, key, c.Side) {
		return "" // values or ranges of the key: no direction
	}
	switch {
	case e.Kind == sqltext.Case && !t.Not:
		if caseCursor(e, key, c.Side) != nil {
			return FormCase
		}
		return ""
	case t.Not && ok && isRow(e):
		return FormNot
	case e.Kind != sqltext.Or && e.Kind != sqltext.And:
		return ""
	case ok && len(bound.Guards) > 0:
		if branch := unguarded(e, bound.Guards); branch != nil && branch.Kind == sqltext.Compare {
			return FormOptionalRow
		}
		return FormOptionalOr
	case ok && t.Not:
		return FormNot
	case ok:
		return FormOr
	case c.amongNulls(t.Whole):
		return FormNullBranch
	case e.Kind == sqltext.Or && !t.Not && c.tieBreak(e):
		return FormBoundedOr // needs a start beside it
	case t.Not && c.tieBreak(e):
		return FormNot
	}
	return ""
}

// core is a term without what all branches of its OR repeat. That is a filter beside
// the cursor, if the rest still compares the same keys and bounds the first.
func (c *Cursor) core(t Term) Term {
	if t.Not || t.Expr.Kind != sqltext.Or {
		return t
	}
	common := repeated(t.Expr)
	if len(common) == 0 {
		return t
	}
	e := bared(t.Expr, common)
	if len(e.Args) < len(t.Expr.Args) || c.mentioned(e) < c.mentioned(t.Expr) {
		return t
	}
	key := c.Keys[0].Key
	if _, ok := Implied(e, key, c.Side); !ok && !c.amongNulls(e) {
		return t
	}
	return Term{Expr: e, Whole: e}
}

// tied: one branch of an OR compares the key with a value by an inequality,
// another by an equality with the same value.
func tied(e *sqltext.Expr, key Key, side Side) bool {
	var ties, starts []BoundValue
	for _, a := range e.Args {
		b, ok := Implied(a, key, side)
		if !ok {
			continue
		}
		fixes := false
		for _, t := range Conjuncts(a) {
			fixes = fixes || t.Fixes(key)
		}
		if fixes {
			ties = append(ties, b.Values...)
		} else {
			starts = append(starts, b.Values...)
		}
	}
	for _, v := range ties {
		for _, w := range starts {
			if sqltext.Equal(bare(v.Expr), bare(w.Expr)) {
				return true
			}
		}
	}
	return false
}

// tieBreak: the part of a cursor in conjunctive form that is about ties: it
// compares the leading key and a later one.
func (c *Cursor) tieBreak(e *sqltext.Expr) bool {
	first, later := false, false
	e.Walk(func(x *sqltext.Expr) bool {
		if x.Kind == sqltext.Compare {
			for _, a := range x.Args {
				first = first || c.Keys[0].Key.Matches(a)
				for _, k := range c.Keys[1:] {
					later = later || k.Key.Matches(a)
				}
			}
		}
		return true
	})
	return first && later
}

// unguarded is the one branch of an OR that is no guard, nil if there are more.
func unguarded(e *sqltext.Expr, guards []*sqltext.Expr) *sqltext.Expr {
	if e.Kind != sqltext.Or || len(e.Args) != len(guards)+1 {
		return nil
	}
	for _, a := range e.Args {
		if !isGuard(a) {
			return a
		}
	}
	return nil
}

// requiresNull: e is true only for rows whose key is NULL.
func requiresNull(e *sqltext.Expr, key Key) bool {
	for _, t := range Conjuncts(e) {
		if t.Expr.Kind == sqltext.IsNull && !t.Not && key.Matches(t.Expr.Args[0]) {
			return true
		}
		if t.Expr.Kind == sqltext.IsNotNull && t.Not && key.Matches(t.Expr.Args[0]) {
			return true
		}
	}
	return false
}

// caseCursor returns the result of CASE WHEN guard THEN cursor ELSE true END (or
// the other way round) that is the cursor.
func caseCursor(e *sqltext.Expr, key Key, side Side) *sqltext.Expr {
	if len(e.Args) != 3 || !isGuard(e.Args[0]) {
		return nil
	}
	for _, i := range [][2]int{{1, 2}, {2, 1}} {
		then, other := e.Args[i[0]], e.Args[i[1]]
		if other.Kind != sqltext.Bool || other.Name != "true" {
			continue
		}
		b, ok := Implied(then, key, side)
		if _, far := Implied(then, key, -side); ok && !far && len(b.Guards) == 0 {
			return then
		}
	}
	return nil
}
