package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// maxGuards is by how many values that may be NULL a cursor is split: into twice as
// many parts each.
const maxGuards = 2

// piece is the part of a condition for some rows and values: where the premises hold
// it is TRUE for the same rows as text is.
type piece struct {
	premises []premise
	text     string // "" for all of them
}

// reducer is one without premises, for the keys of the cursor.
func (c *Cursor) reducer(f Facts, lower bool) reducer {
	r := reducer{keys: c.Keys, and: "AND", or: "OR", not: "NOT"}
	if lower {
		r.and, r.or, r.not = "and", "or", "not"
	}
	r.notNull = func(e *sqltext.Expr) bool {
		is, _ := f.notNull(c.Block, e)
		return is
	}
	return r
}

// nullPieces takes a condition apart by whether the leading key is NULL, and by the
// values whose NULLs it tests where it depends on them: the pieces with and those
// without, none for a condition that does not test the key.
func (c *Cursor) nullPieces(e *sqltext.Expr, r reducer) (nulls, others []piece) {
	key := c.Keys[0]
	written := key.Text
	tests := false
	var guards []premise
	add := func(v *sqltext.Expr) {
		if uncast(v).Kind == sqltext.Value && !slices.ContainsFunc(guards, func(p premise) bool { return p.about(v) }) {
			guards = append(guards, premise{expr: uncast(v), text: v.Text()})
		}
	}
	e.Walk(func(x *sqltext.Expr) bool {
		switch x.Kind {
		case sqltext.IsNull, sqltext.IsNotNull:
			if key.Key.Matches(x.Args[0]) {
				tests, written = true, x.Args[0].Text()
			} else {
				add(x.Args[0])
			}
		case sqltext.Distinct:
			for i, a := range x.Args {
				if key.Key.Matches(a) {
					tests, written = true, a.Text()
					add(x.Args[1-i])
				}
			}
		}
		return true
	})
	if !tests || len(guards) > maxGuards {
		return nil, nil
	}
	for _, null := range []bool{true, false} {
		r.premises = []premise{{key: key.Key, text: written, null: null}}
		if out := r.pieces(e, guards); null {
			nulls = out
		} else {
			others = out
		}
	}
	return nulls, others
}

// pieces splits by each guard that makes a difference, those that are never true left
// out.
func (r reducer) pieces(e *sqltext.Expr, guards []premise) []piece {
	if len(guards) == 0 {
		switch x := r.reduce(e, false); {
		case x.is == isTrue:
			return []piece{{premises: r.premises}}
		case x.is == isUnknown && x.or:
			return []piece{{r.premises, "(" + x.text + ")"}}
		case x.is == isUnknown:
			return []piece{{r.premises, x.text}}
		}
		return nil
	}
	under := func(null bool) []piece {
		g := guards[0]
		g.null = null
		s := r
		s.premises = append(slices.Clone(r.premises), g)
		return s.pieces(e, guards[1:])
	}
	there, missing := under(false), under(true)
	if plain := r.pieces(e, guards[1:]); sameTexts(there, missing) && sameTexts(there, plain) {
		return plain
	}
	return append(there, missing...)
}

func sameTexts(a, b []piece) bool {
	return slices.EqualFunc(a, b, func(x, y piece) bool { return x.text == y.text })
}

// where writes a piece as a condition. A premise that what is left requires is left out.
func (w *rewriter) where(p piece) string {
	e, err := sqltext.ParseExpr(p.text)
	if p.text == "" || err != nil {
		e = nil
	}
	var parts []string
	for _, x := range p.premises {
		if x.null || !w.requires(e, x) {
			parts = append(parts, x.write(w))
		}
	}
	if e != nil {
		parts = append(parts, p.text)
	}
	return strings.Join(parts, " "+w.word("AND")+" ")
}

func (p premise) write(w *rewriter) string {
	if p.null {
		return p.text + w.word(" IS NULL")
	}
	return p.text + w.word(" IS NOT NULL")
}

// requires: a condition is true only if what the premise is about is not NULL.
func (w *rewriter) requires(e *sqltext.Expr, p premise) bool {
	if e == nil {
		return false
	}
	b, ok := Implied(e, w.c.Keys[0].Key, w.c.Side)
	if !ok || b.NotNull || len(b.Guards) > 0 {
		return false
	}
	return p.expr == nil || !slices.ContainsFunc(b.Values, func(v BoundValue) bool { return v.Item > 0 || !p.about(v.Expr) })
}

// amongNulls reports a condition that tells where a page goes on in an order with
// NULLs in the leading key: behind a value there, or among the rows with a NULL.
func (c *Cursor) amongNulls(e *sqltext.Expr) bool {
	if len(c.Keys) == 0 || !testsNull(e, c.Keys[0].Key) {
		return false
	}
	nulls, others := c.nullPieces(e, c.reducer(Facts{}, false))
	if len(nulls) == 0 || len(others) == 0 {
		return false
	}
	goes := false // on behind a value, or from the first row that has one
	for _, p := range others {
		starts, far := c.bounds(p.text, c.Keys[:1])
		if p.text != "" && !starts {
			return false
		}
		if p.text == "" && !c.Keys[0].NullsFirst { // they are before all NULLs
			return false
		}
		goes = goes || p.text == "" || !far
	}
	if len(nulls) == 1 && len(nulls[0].premises) == 1 && nulls[0].text == "" { // all NULLs are behind the cursor
		return goes && !slices.ContainsFunc(others, func(p piece) bool { return p.text == "" })
	}
	return goes && slices.ContainsFunc(nulls, func(p piece) bool {
		starts, far := c.bounds(p.text, c.Keys[1:])
		return starts && !far
	})
}

// amongFew reports a cursor that stands among the NULLs of its first key alone, where
// those are known to be few.
func (c *Cursor) amongFew(f Facts) bool {
	col, t := f.column(c.Block, c.Keys[0].Key.Expr), f.table(f.tableOf(c.Block, c.Keys[0].Key.Expr))
	return len(c.Keys[0].Values) == 0 && col != nil && col.NullFrac != nil && t.Rows >= 0 && t.Rows**col.NullFrac < fewSorted
}

// bounds: the text bounds one of the keys on the side from which its scan comes; far
// says that it does on the other side too.
func (c *Cursor) bounds(text string, keys []SortKey) (starts, far bool) {
	e, err := sqltext.ParseExpr(text)
	if text == "" || err != nil {
		return false, false
	}
	for _, k := range keys {
		if b, ok := Implied(e, k.Key, sideOf(k)); ok && len(b.Guards) == 0 {
			_, far = Implied(e, k.Key, -sideOf(k))
			return true, far
		}
	}
	return false, false
}

func testsNull(e *sqltext.Expr, key Key) bool {
	return !e.Walk(func(x *sqltext.Expr) bool {
		switch x.Kind {
		case sqltext.IsNull, sqltext.IsNotNull:
			return !key.Matches(x.Args[0])
		case sqltext.Distinct:
			return !key.Matches(x.Args[0]) && !key.Matches(x.Args[1])
		}
		return true
	})
}

// unionAll splits a cursor whose leading key may be NULL: the rows with a NULL there
// and the others, each as a query of its own. ties splits the others once more.
func (w *rewriter) unionAll(ties bool) {
	c, b := w.c, w.c.Block
	whole := c.Term.Whole
	if c.Page != b || !w.splittable(b) || w.facts.unstable(whole) != "" {
		return
	}
	nulls, others := c.nullPieces(whole, c.reducer(w.facts, w.lower))
	if len(nulls) == 0 || len(others) == 0 {
		return
	}
	var conditions, why []string
	for _, p := range append(others, nulls...) {
		conditions = append(conditions, w.where(p))
		names := make([]string, len(p.premises))
		for i, x := range p.premises {
			names[i] = x.String()
		}
		text := p.text
		if text == "" {
			text = "true"
		}
		why = append(why, fmt.Sprintf("  where %s the condition is true for the same rows as %s", strings.Join(names, " and "), oneLine(text)))
	}
	if ties {
		var ok bool
		if conditions, ok = w.splitTies(conditions); !ok {
			return
		}
	}
	w.union(conditions, append([]string{fmt.Sprintf("each row is in one part: %s is NULL or is not", c.Keys[0].Text)}, why...))
}
