package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// maxKeys bounds the cases: 6^5 at most.
const maxKeys = 5

// unit is a part of the WHERE that is replaced as a whole.
type unit struct {
	whole *sqltext.Expr
	f     *formula
}

// lexicographic is a condition found to be "the row comes after the cursor".
type lexicographic struct {
	units     []unit
	keys      []SortKey
	inclusive bool // the cursor's own row belongs to it
	merged    bool // several values of a key were taken for one
	cases     int  // how many cases were compared
}

// units returns the conjuncts that compare nothing but the cursor's keys with
// the cursor's values, the main one, taken for main, first.
func (c *Cursor) units(merged bool, main *sqltext.Expr) ([]unit, *compiler) {
	comp := &compiler{keys: c.compared(), merged: merged}
	if len(comp.keys) == 0 || len(comp.keys) > maxKeys {
		return nil, comp
	}
	f := comp.compile(main)
	if f == nil {
		return nil, comp
	}
	out := []unit{{c.Term.Whole, f}}
	seen := map[*sqltext.Expr]bool{c.Term.Whole: true}
	for _, t := range c.terms {
		if seen[t.Whole] {
			continue
		}
		seen[t.Whole] = true
		if f := comp.compile(t.Whole); f != nil && f.kind != sqltext.Bool {
			out = append(out, unit{t.Whole, f})
		}
	}
	return out, comp
}

// exact looks for the row comparison that the cursor is, by its main conjunct
// alone or together with the other conjuncts about the same values. It returns
// nil if there is none, or if it has one key only. What is sure of each key counts
// where NULL is taken for true.
func (c *Cursor) exact(merged bool, known ...sure) *lexicographic {
	return c.exactOver(2, merged, known...)
}

// exactOver is exact for a comparison of so many keys at least.
func (c *Cursor) exactOver(least int, merged bool, known ...sure) *lexicographic {
	units, comp := c.units(merged, c.Term.Whole)
	if len(units) == 0 || len(comp.keys) < least {
		return nil
	}
	var comparing []unit
	for _, u := range units {
		if u.f.compares() {
			comparing = append(comparing, u)
		}
	}
	for _, set := range [][]unit{units[:1], comparing, units} {
		if len(set) == 0 {
			continue
		}
		for _, inclusive := range []bool{false, true} {
			if n, ok := same(set, comp, inclusive, known); ok {
				return &lexicographic{units: set, keys: comp.keys, inclusive: inclusive, merged: merged, cases: n}
			}
		}
	}
	return nil
}

// halves are the sides of a BETWEEN that compare a key with its value, where the
// other side is another limit, which only leaves out more rows.
func (c *Cursor) halves(comp *compiler) []unit {
	var out []unit
	for _, t := range c.terms {
		if t.Not || t.Expr.Kind != sqltext.Between || t.Expr.Name != "" {
			continue
		}
		low, high := comp.pair(t.Expr.Args[0], t.Expr.Args[1], ">="), comp.pair(t.Expr.Args[0], t.Expr.Args[2], "<=")
		if low != nil && high == nil {
			out = append(out, unit{t.Whole, low})
		} else if low == nil && high != nil {
			out = append(out, unit{t.Whole, high})
		}
	}
	return out
}

// compares: is there a comparison in it, not only NULL tests?
func (f *formula) compares() bool {
	if f.kind == sqltext.Compare {
		return true
	}
	for _, a := range f.args {
		if a.compares() {
			return true
		}
	}
	return false
}

// excludes: it only leaves one value of a key out, as that of the current row,
// which is a filter and no part of a cursor.
func (f *formula) excludes() bool {
	if f.kind == sqltext.Not {
		return f.args[0].kind == sqltext.Compare && f.args[0].op == "="
	}
	return f.kind == sqltext.Compare && f.op == "<>"
}

// limits: it is a limit by a constant on the side of a key where the page ends, which only
// happens to be the value that the cursor has there.
func (c *Cursor) limits(u unit, keys []SortKey) bool {
	far := "<"
	if u.f.kind == sqltext.Compare && keys[u.f.key].Desc {
		far = ">"
	}
	return u.f.kind == sqltext.Compare && strings.HasPrefix(u.f.op, far) && u.f.op != "<>" && u.whole != c.Term.Whole && fixedText(u.whole)
}

// fixedText: no parameter is in it.
func fixedText(e *sqltext.Expr) bool {
	return e.Walk(func(e *sqltext.Expr) bool { return e.Kind != sqltext.Value })
}

// sure says that a key, or its value, cannot be NULL.
type sure struct{ key, value bool }

// impossible: something is NULL that cannot be.
func impossible(s []standing, known []sure) bool {
	for i, k := range known {
		if i < len(s) && (k.key && s[i].keyNull || k.value && s[i].valueNull) {
			return true
		}
	}
	return false
}

// same compares the conjunction of the units with "follows" in every case.
func same(set []unit, comp *compiler, inclusive bool, known []sure) (n int, ok bool) {
	desc := directions(comp.keys)
	ok = true
	cases(len(comp.keys), comp.nulls, func(s []standing) bool {
		if comp.open && impossible(s, known) {
			return true
		}
		n++
		ok = holds(set, s) == follows(s, desc, inclusive)
		return ok
	})
	return n, ok
}

func holds(set []unit, s []standing) bool {
	for _, u := range set {
		if u.f.eval(s) != isTrue {
			return false
		}
	}
	return true
}

func directions(keys []SortKey) []bool {
	out := make([]bool, len(keys))
	for i, k := range keys {
		out[i] = k.Desc
	}
	return out
}

// difference is a case in which the condition and the order disagree.
type difference struct {
	standings []standing
	lost      bool // the row comes after the cursor, but is left out
}

// disagreement finds the first case, with every value there, in which the
// conjuncts about the cursor leave out a row that comes after it, or keep one
// that does not. The cursor's own row may be in or out. Known is false if the
// condition is more than comparisons of keys and values.
func (c *Cursor) disagreement() (d *difference, known bool) {
	units, comp := c.units(true, c.part)
	if len(units) == 0 {
		return nil, false
	}
	units = slices.DeleteFunc(append(units, c.halves(comp)...), func(u unit) bool { return u.f.excludes() || c.limits(u, comp.keys) })
	desc := directions(comp.keys)
	cases(len(comp.keys), comp.nulls, func(s []standing) bool {
		own := true
		for _, k := range s {
			if k.cmp == unknown {
				return true
			}
			own = own && k.cmp == 0
		}
		if kept := holds(units, s); !own && kept != follows(s, desc, false) {
			if d == nil || !d.lost && !kept {
				d = &difference{append([]standing(nil), s...), !kept}
			}
			return kept // a lost row is the worse one: stop there
		}
		return true
	})
	return d, true
}
