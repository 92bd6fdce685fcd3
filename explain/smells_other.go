package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// otherKey reports a page that starts after the value of another key than the first
// of its sort. A comparison of rows, or an OR with a branch for ties, is nothing but
// a cursor. A single unique column behind a parameter may be a filter: it is a
// warning where the column and the sort are known to go together.
func (s *smeller) otherKey(b *sqltext.Block, keys []SortKey) {
	if s.q.Writes || b.Distinct || b.GroupBy || hasOffset(b) || looksUp(b) || pagesOtherwise(b) {
		return
	}
	terms := innerTerms(b)
	at := 0
	for at < len(keys) && fixed(terms, keys[at].Key) {
		at++
	}
	if keys = keys[at:]; len(keys) == 0 {
		return
	}
	for _, t := range terms {
		switch key, side := s.otherCursor(b, t); {
		case key == nil || keys[0].Key.Matches(key) || fixed(terms, Key{Expr: key}):
		case t.Expr.Kind == sqltext.Or || isRow(t.Expr):
			s.reportOther(t, key, keys)
			return
		case s.loneCursor(b, terms, keys, key, side):
			s.reportOther(t, key, keys)
			if !s.goTogether(b, key, keys[0]) {
				s.soften(Info)
			}
			return
		}
	}
}

func (s *smeller) reportOther(t Term, key *sqltext.Expr, keys []SortKey) {
	name, lead := oneLine(key.Text()), oneLine(keys[0].Text)
	var sort []string
	for _, k := range keys {
		sort = append(sort, oneLine(k.Text))
	}
	if len(sort) == 1 && !isRow(t.Expr) && t.Expr.Kind != sqltext.Or { // a unique key, with which the sort would be
		sort = append(sort, name)
	}
	s.about("cursor-on-other-key", t.Whole, "sort by "+name+" first, or sort by "+strings.Join(sort, ", ")+" and compare these with the last row's; where it is only a filter, leave it",
		"the page starts after a value of %s but is sorted by %s: as a cursor it loses rows, or shows some again, wherever the two orders differ", name, lead)
}

// otherCursor is the column whose parameter a term starts after, nil for none.
func (s *smeller) otherCursor(b *sqltext.Block, t Term) (found *sqltext.Expr, side Side) {
	t.Whole.Walk(func(x *sqltext.Expr) bool {
		if found != nil || x.Kind != sqltext.Compare || x.Cmp == "=" || x.Cmp == "<>" {
			return found == nil
		}
		for _, a := range x.Args {
			if a.Kind == sqltext.Row && len(a.Args) > 0 {
				a = a.Args[0]
			}
			if a.Kind != sqltext.Column || s.facts.tableOf(b, a) == nil {
				continue
			}
			for _, from := range []Side{Lower, Upper} {
				v, ok := t.Implied(Key{Expr: a}, from)
				switch {
				case !ok || len(v.Guards) > 0 || len(v.Values) > 2 || !severalParameters(valuesOf(v)) && paramNumber(bare(v.Values[0].Expr)) == 0:
				case t.Expr.Kind == sqltext.Or && !tied(t.Expr, Key{Expr: a}, from):
				case !isRow(t.Expr) && t.Expr.Kind != sqltext.Or && !v.Values[0].Strict:
				default:
					found, side = a, from
					return false
				}
			}
		}
		return true
	})
	return found, side
}

func valuesOf(b Bound) (out []*sqltext.Expr) {
	for _, v := range b.Values {
		out = append(out, v.Expr)
	}
	return out
}

// otherTie reports a cursor that goes on among the rows with its first key by another
// column than the sort does.
//
//	a > $1 OR (a = $1 AND x > $2) ORDER BY a, b    (a, x) > ($1, $2) ORDER BY a, b
func (s *smeller) otherTie(c *Cursor) bool {
	if len(c.Block.From) != 1 || c.Term.Not || c.part == nil || c.Page.GroupBy || c.Page.Distinct {
		return false
	}
	tie := tieColumn(c.part, c.Keys[0].Key)
	if tie == nil || slices.ContainsFunc(c.Sort, func(k SortKey) bool { return names(c.part, k.Key) && !k.Key.Matches(c.Keys[0].Key.Expr) }) || fixed(c.terms, Key{Expr: tie}) {
		return false
	}
	lead, name, sort := oneLine(c.Keys[0].Text), oneLine(tie.Text()), "nothing else"
	if len(c.Keys) > 1 {
		sort = oneLine(c.Keys[1].Text)
	}
	s.report("cursor-on-other-key", c.Start, c.End, "sort by "+lead+", "+name+", or compare what the page is sorted by with the last row's",
		"among the rows with the same %s the page goes on behind a value of %s, but is sorted by %s there: it loses rows, or shows some again, wherever the two orders differ", lead, name, sort)
	return true
}

// tieColumn is the column that a parameter bounds in the branch, or the pair, of a cursor
// that is about the rows with its first key, nil for none.
func tieColumn(e *sqltext.Expr, key Key) *sqltext.Expr {
	bounded := func(l, r *sqltext.Expr) *sqltext.Expr {
		if l.Kind != sqltext.Column {
			l, r = r, l
		}
		if l.Kind != sqltext.Column || paramNumber(bare(r)) == 0 {
			return nil
		}
		return l
	}
	if isRow(e) {
		l, r := e.Args[0], e.Args[1]
		if l.Kind != sqltext.Row || r.Kind != sqltext.Row || len(l.Args) != len(r.Args) || !key.Matches(l.Args[0]) && !key.Matches(r.Args[0]) {
			return nil
		}
		return bounded(l.Args[1], r.Args[1])
	}
	if e.Kind != sqltext.Or {
		return nil
	}
	for _, a := range e.Args {
		terms := Conjuncts(a)
		if !slices.ContainsFunc(terms, func(t Term) bool { return t.Fixes(key) }) {
			continue
		}
		for _, t := range terms {
			if !t.Not && t.Expr.Kind == sqltext.Compare && t.Expr.Cmp != "=" && t.Expr.Cmp != "<>" && !isRow(t.Expr) {
				if col := bounded(t.Expr.Args[0], t.Expr.Args[1]); col != nil && !key.Matches(col) {
					return col
				}
			}
		}
	}
	return nil
}

// loneCursor reports a column that is unique by itself, has no limit at its other end
// and is compared the way that the sort goes.
func (s *smeller) loneCursor(b *sqltext.Block, terms []Term, keys []SortKey, key *sqltext.Expr, side Side) bool {
	t := s.facts.table(s.facts.tableOf(b, key))
	if t == nil || !t.UniqueWithin([]string{key.Name}) {
		return false
	}
	way := sideOf(keys[0])
	for _, k := range keys {
		if k.Key.Matches(key) {
			way = sideOf(k)
		}
	}
	for _, x := range terms {
		if x.direct(Key{Expr: key}, -side) {
			return false
		}
	}
	return side == way
}

// goTogether: both columns go up with the place of the rows in the table, or both
// down, so that paging by one seems to page by the other.
func (s *smeller) goTogether(b *sqltext.Block, key *sqltext.Expr, lead SortKey) bool {
	x, y := s.facts.column(b, key), s.facts.column(b, lead.Key.Expr)
	const much = 0.9
	return x != nil && y != nil && x.Correlation != nil && y.Correlation != nil &&
		(*x.Correlation > much && *y.Correlation > much || *x.Correlation < -much && *y.Correlation < -much)
}
