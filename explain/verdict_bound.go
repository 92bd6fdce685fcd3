package explain

import "github.com/pgsonde/pgsonde/explain/sqltext"

// bound is what a condition implies about a key: wherever the condition is true,
// the key is at or behind the least (for an ascending scan, else the greatest)
// of the values, unless one of the guards, which look at no row, is true.
type bound struct {
	values []*sqltext.Expr
	guards []*sqltext.Expr
}

// impliedBy works out the bound that e implies on the key for a scan of the side.
func impliedBy(e, key *sqltext.Expr, side int) (bound, bool) {
	switch e.Kind {
	case sqltext.And:
		var best bound
		found := false
		for _, a := range e.Args {
			b, ok := impliedBy(a, key, side)
			if ok && (!found || len(b.guards) < len(best.guards) || len(b.guards) == len(best.guards) && len(b.values) < len(best.values)) {
				best, found = b, true
			}
		}
		return best, found
	case sqltext.Or:
		var all bound
		for _, a := range e.Args {
			switch b, ok := impliedBy(a, key, side); {
			case a.Kind == sqltext.Bool && a.Name == "false":
			case ok:
				all.values = appendNew(all.values, b.values)
				all.guards = append(all.guards, b.guards...)
			case !a.HasColumn():
				all.guards = append(all.guards, a)
			default:
				return bound{}, false
			}
		}
		return all, len(all.values) > 0
	case sqltext.Between:
		low := e.Args[1]
		if side < 0 {
			low = e.Args[2]
		}
		return bound{values: []*sqltext.Expr{low}}, e.Name == "" && sqltext.Equal(e.Args[0], key) && !low.HasColumn()
	case sqltext.Compare:
		op, l, r := e.Cmp, e.Args[0], e.Args[1]
		if l.Kind == sqltext.Row && r.Kind == sqltext.Row && len(l.Args) == len(r.Args) && len(l.Args) > 0 {
			l, r = l.Args[0], r.Args[0]
		}
		if sqltext.Equal(r, key) {
			op, l, r = flipped(op), r, l
		}
		return bound{values: []*sqltext.Expr{r}}, sqltext.Equal(l, key) && !r.HasColumn() && startsOn(op, side)
	}
	return bound{}, false
}

func appendNew(to, more []*sqltext.Expr) []*sqltext.Expr {
next:
	for _, m := range more {
		for _, t := range to {
			if sqltext.Equal(m, t) {
				continue next
			}
		}
		to = append(to, m)
	}
	return to
}
