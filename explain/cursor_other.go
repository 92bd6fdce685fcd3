package explain

import (
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// pagesOtherwise reports a block whose page starts at a value by a condition that is
// no Cursor: it stands in the ON of a join, in COALESCE, in a CASE that gives a
// number, among NULLs that come first, behind ANY or ALL, or compares the keys apart.
func pagesOtherwise(b *sqltext.Block) bool {
	if b.SetOp != "" || len(b.Operands) > 0 {
		return false
	}
	keys := sortKeys(b)
	for at, depth := b, 0; at != nil && len(keys) > 0 && depth < 5; depth++ {
		if startsOtherwise(at, keys) {
			return true
		}
		at, keys = beneath(at, keys)
	}
	return false
}

func startsOtherwise(b *sqltext.Block, sort []SortKey) bool {
	terms := innerTerms(b)
	var keys []SortKey
	var sided []sidedKey
	for _, k := range sort {
		if !fixed(terms, k.Key) {
			k.Key.Outer = k.Key.Expr.Qualifier() != ""
			keys, sided = append(keys, k), append(sided, sidedKey{k.Key, sideOf(k)})
		}
	}
	if len(keys) == 0 {
		return false
	}
	c := &Cursor{Block: b, Sort: sort, Keys: keys, Side: sided[0].side, terms: terms}
	if len(terms) > len(Conjuncts(b.Where)) && c.look() {
		return true
	}
	for _, t := range terms {
		e := t.Expr
		amongNulls, _ := startsAtNulls(e, sided)
		number := caseOfNumber(e)
		switch {
		case t.Not:
		case coalesced(e, sided[0].Key, sided[0].side), number != nil && comparesInside(number, sided[0].Key), startsAtList(e, sided[0].Key, sided[0].side),
			apart(e, sided) != nil, keys[0].NullsFirst && amongNulls:
			return true
		}
	}
	return false
}

// innerTerms are the conditions that all rows of a block meet: those of WHERE and of
// the inner joins.
func innerTerms(b *sqltext.Block) []Term {
	all := Conjuncts(b.Where)
	for _, t := range b.From {
		if t.On != nil && (t.Join == "inner" || t.Join == "") {
			all = append(all[:len(all):len(all)], Conjuncts(t.On)...)
		}
	}
	return all
}

// startsAtList reports "K > ANY (…)", SOME or ALL, of one key or a row that begins
// with it.
func startsAtList(e *sqltext.Expr, key Key, side Side) bool {
	if e.Kind != sqltext.Opaque || len(e.Args) != 2 {
		return false
	}
	if l := e.Args[0]; !key.Matches(l) && (l.Kind != sqltext.Row || len(l.Args) == 0 || !key.Matches(l.Args[0])) {
		return false
	}
	op := strings.Trim(e.Text()[e.Args[0].End-e.Start:e.Args[1].Start-e.Start], "() \t\r\n")
	return strings.HasPrefix(op, map[Side]string{Lower: ">", Upper: "<"}[side]) && !strings.HasPrefix(op, "<>")
}

// pagedBy says how a plan pages whose text shows no cursor, "" where it has none.
func pagedBy(s *Scan) Pagination {
	switch {
	case s == nil || !s.Ordered || s.Key == "":
	case s.held != "":
		return KeysetRow
	case s.Class == Seek:
		return KeysetRow
	case s.Class.early() && !s.ranged, s.apart != "":
		return KeysetOr
	}
	return ""
}
