package explain

import (
	"slices"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// covers: all rows of the conditions are in the index.
func (i *Index) covers(terms []Term) bool {
	if i.Predicate == "" {
		return true
	}
	return !slices.ContainsFunc(Conjuncts(parseCond(i.Predicate)), func(p Term) bool {
		return !slices.ContainsFunc(terms, func(t Term) bool { return says(t, p) })
	})
}

// says: one condition is written like the other, but for casts of constants and for "= true".
func says(t, p Term) bool {
	a, not := truthOf(t)
	b, notB := truthOf(p)
	if not != notB {
		return false
	}
	if a.Kind == sqltext.Compare && b.Kind == sqltext.Compare {
		same := func(l, r *sqltext.Expr) bool { return sameKey(constant(l), constant(r)) }
		return a.Cmp == b.Cmp && same(a.Args[0], b.Args[0]) && same(a.Args[1], b.Args[1]) ||
			mirrored(a.Cmp) == b.Cmp && same(a.Args[1], b.Args[0]) && same(a.Args[0], b.Args[1])
	}
	if a.Kind != b.Kind || len(a.Args) != len(b.Args) {
		return false
	}
	if a.Kind == sqltext.IsNull || a.Kind == sqltext.IsNotNull {
		return sameKey(a.Args[0], b.Args[0])
	}
	return sameKey(a, b)
}

// truthOf takes NOT, "= true" and "= false" off a condition; not says that it has to be
// false.
func truthOf(t Term) (e *sqltext.Expr, not bool) {
	e, not = t.Expr, t.Not
	if e.Kind == sqltext.Compare && (e.Cmp == "=" || e.Cmp == "<>") {
		for i, a := range e.Args {
			if a.Kind == sqltext.Bool && a.Name != "null" {
				return e.Args[1-i], not != ((a.Name == "false") != (e.Cmp == "<>"))
			}
		}
	}
	return e, not
}

// constant takes the casts off a constant.
func constant(e *sqltext.Expr) *sqltext.Expr {
	if c := bare(e); c.Kind == sqltext.Const {
		return c
	}
	return e
}

// names: the predicate of the index is about the column.
func (i *Index) names(column string) bool {
	e := parseCond(i.Predicate)
	return e != nil && names(e, ColumnKey("", column))
}
