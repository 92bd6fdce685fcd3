package explain

import (
	"fmt"
	"slices"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// startsAtHeld looks at a scan whose first n index columns equalities hold, for a cursor
// that begins with a column that an equality holds. The scan starts at the equality: a
// comparison of rows that begins so, in the index condition or not, is only tested at
// each row behind.
//
//	a = ANY ('{1,2}') AND (a, b) > ($1, $2)    starts at the first row of a = 1
//	a = $1 AND (a, b) > ($1, $2)               starts at the first row of a = $1, or of all by an index on b
func (s *Scan) startsAtHeld(c conditions, n int) {
	terms := append(slices.Clone(c.index), Conjuncts(c.filter)...)
	for i, k := range s.Index.Keys[:n] {
		key, ok := s.keyOf(k)
		if !ok {
			return
		}
		side := sideIn(k, s.Node)
		at := slices.IndexFunc(terms, func(t Term) bool {
			b, ok := t.Implied(key, side)
			_, far := t.Implied(key, -side)
			return ok && !far && !t.Not && len(b.Guards) == 0 && goesOn(t.Whole, key)
		})
		if at >= 0 {
			s.Class, s.held = WeakStart, s.Fixed[i]
			s.Why = fmt.Sprintf("an equality on %s is where it starts, so that %s, which begins with %s too, is only tested at each row behind that", s.held, oneLine(terms[at].Whole.Text()), s.held)
			return
		}
	}
	key, ok := s.keyOf(s.Index.Keys[n])
	if !ok {
		return
	}
	for _, t := range terms {
		if t.Not || !isRow(t.Expr) || t.Expr.Args[0].Kind != sqltext.Row || t.Expr.Args[1].Kind != sqltext.Row {
			continue
		}
		l := t.Expr.Args[0].Args
		x := extractor{side: s.Side}
		if x.startsAt(t.Expr.Cmp) && t.Expr.Cmp != "=" && key.Matches(l[1]) && fixed(terms, Key{Expr: l[0]}) {
			s.Class, s.held = PrefixScan, l[0].Text()
			s.Why = fmt.Sprintf("%s begins with %s, which an equality holds, so that the planner does not see where on %s the page starts", oneLine(t.Whole.Text()), s.held, s.Key)
			return
		}
	}
}

// HeldFixes leave out of a comparison of rows the first pair, where an equality says it:
//
//	a = $1 AND (a, b) > ($1, $2)    a = $1 AND b > $2
//
// A value that is not the same text is assumed to be the same.
func HeldFixes(q *sqltext.Query) (out []Candidate) {
	b := pageBlock(q, nil)
	if b == nil || b.Where == nil {
		return nil
	}
	terms := Conjuncts(b.Where)
	w := &rewriter{q: q, lower: q.SQL[b.WhereWord] == 'w'}
	for _, t := range terms {
		e := t.Expr
		if t.Not || !isRow(e) || e.Cmp == "=" || e.Cmp == "<>" || e.Args[0].Kind != sqltext.Row || e.Args[1].Kind != sqltext.Row || len(e.Args[0].Args) != len(e.Args[1].Args) {
			continue
		}
		l, r := e.Args[0].Args, e.Args[1].Args
		for _, u := range terms {
			col := fixedColumn(u)
			if col == nil || !sqltext.Equal(col, l[0]) {
				continue
			}
			row := rowOrValue(l[1:]) + " " + e.Cmp + " " + rowOrValue(r[1:])
			c := Candidate{Kind: RowComparison, Row: row, Edits: []sqltext.Edit{{Start: e.Start, End: e.End, Text: row}}, Exact: true, Proof: []string{
				fmt.Sprintf("where %s is true the first pair of %s is equal, so that the others decide", oneLine(u.Whole.Text()), oneLine(e.Text())),
			}}
			value := otherSide(u.Expr, Key{Expr: col})
			if !sqltext.Equal(value, r[0]) && fixedText(value) && fixedText(r[0]) {
				continue // the cursor is of another value
			}
			if !sqltext.Equal(value, r[0]) {
				c.Assumes = []string{value.Text() + " and " + r[0].Text() + " are given the same value"}
			}
			w.add(c)
		}
	}
	return w.out
}
