package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// row replaces the cursor by the row comparison it is. With merged, several
// values of one key are taken for the same value, and the candidate says so.
func (w *rewriter) row(merged bool) {
	x := w.c.exact(merged, w.sure(false)...)
	if x == nil || merged && !severalValues(x.keys) {
		return
	}
	for _, k := range x.keys {
		if mixedTypes(k.Values) {
			return
		}
		if why := w.differ(k); merged && why != "" {
			w.refuse(RowComparison, why)
			return
		}
		if w.facts.unstable(k.Values[0]) != "" || w.facts.unstable(k.Key.Expr) != "" {
			return
		}
	}
	row := rowText(x)
	c := Candidate{Kind: RowComparison, Row: row, Proof: rowProof(x, row), Assumes: w.sameValues(x)}
	c.Edits = w.replace(x.units, row)
	w.add(c)
	if is, known := w.facts.partitioned(w.c.Block); known && !is || w.c.Bounded && len(x.units) == 1 {
		return
	}
	b := Bound{Values: []BoundValue{{Expr: x.keys[0].Values[0]}}}
	text, claim, ok := w.boundText(b)
	if !ok {
		return
	}
	c.Kind, c.Bound, c.Claim = BoundAndRow, text, claim
	c.Edits = w.replace(x.units, text+" "+w.word("AND")+" "+row)
	c.Proof = append([]string{fmt.Sprintf("%s is true only if %s is: its first pair decides or is equal", row, text)}, c.Proof...)
	w.add(c)
}

// mixedTypes: a key is compared with one value as text and with another not, so
// that it is not compared in one way: citext by its equality and by that of text.
func mixedTypes(values []*sqltext.Expr) bool {
	text, other := false, false
	for _, v := range values {
		if v.Kind == sqltext.Cast && isText(v.Name) {
			text = true
		} else {
			other = true
		}
	}
	return text && other
}

// differ says why values of a key are not the same though all parameters are given the
// same value, "" where they are: one parameter under two types or collations.
func (w *rewriter) differ(k SortKey) string {
	for i, v := range k.Values {
		for _, u := range k.Values[:i] {
			collated := v.Kind == sqltext.Collate || u.Kind == sqltext.Collate
			if !sqltext.Equal(v, u) && (collated || sqltext.Equal(bare(v), bare(u)) && !w.sameType(v, u)) {
				return oneLine(u.Text()) + " and " + oneLine(v.Text()) + " need not be the same value: write one of them in both places, then a row comparison can say it"
			}
		}
	}
	return ""
}

// sameType: both are the same parameter, and a cast gives it no other type than it has.
func (w *rewriter) sameType(v, u *sqltext.Expr) bool {
	n := paramNumber(uncast(v))
	if n != paramNumber(uncast(u)) || n == 0 || n > len(w.facts.Params) {
		return false
	}
	for _, e := range []*sqltext.Expr{v, u} {
		if e.Kind == sqltext.Cast && (uncast(e) != e.Args[0] || plainType(e.Name) != plainType(w.facts.Params[n-1])) {
			return false
		}
	}
	return true
}

// plainType is the name that format_type has for a type.
func plainType(name string) string {
	switch name {
	case "timestamp":
		return "timestamp without time zone"
	case "timestamptz":
		return "timestamp with time zone"
	case "int", "int4":
		return "integer"
	case "int8":
		return "bigint"
	case "float8", "float":
		return "double precision"
	}
	return name
}

func severalValues(keys []SortKey) bool {
	for _, k := range keys {
		if len(k.Values) > 1 {
			return true
		}
	}
	return false
}

// sameValues is the assumption behind taking several values for one.
func (w *rewriter) sameValues(x *lexicographic) []string {
	var out []string
	if !x.merged {
		return nil
	}
	for _, k := range x.keys {
		if slices.ContainsFunc(k.Values, func(v *sqltext.Expr) bool { return v != k.Values[0] && !w.sameType(v, k.Values[0]) }) {
			parts := make([]string, len(k.Values))
			for i, v := range k.Values {
				parts[i] = v.Text()
			}
			out = append(out, strings.Join(parts, " and ")+" are given the same value")
		}
	}
	return out
}

// rowText writes the row comparison: the pairs of keys that go another way than
// the first are swapped, since (a, x) > (y, b) says a > y, or a = y and x > b.
func rowText(x *lexicographic) string {
	var left, right []string
	for _, k := range x.keys {
		l, r := k.Text, k.Values[0].Text()
		if k.Desc != x.keys[0].Desc {
			l, r = r, l
		}
		left, right = append(left, l), append(right, r)
	}
	op := ">"
	if x.keys[0].Desc {
		op = "<"
	}
	if x.inclusive {
		op += "="
	}
	return "(" + list(left) + ") " + op + " (" + list(right) + ")"
}

// replace puts text in the place of the first unit and takes the others out,
// each with an AND beside it. Comments inside what goes are kept.
func (w *rewriter) replace(units []unit, text string) []sqltext.Edit {
	var edits []sqltext.Edit
	units = slices.Clone(units)
	slices.SortFunc(units, func(a, b unit) int { return a.whole.Start - b.whole.Start })
	for i, u := range units {
		s, e := u.whole.Start, u.whole.End
		kept := comments(w.q.SQL[s:e])
		if i == 0 {
			edits = append(edits, sqltext.Edit{Start: s, End: e, Text: kept + text})
			continue
		}
		edits = append(edits, w.remove(u.whole, kept)...)
	}
	return edits
}

// remove takes a conjunct out: TRUE in its place keeps every shape of nesting
// valid; where an AND stands before it, both go.
func (w *rewriter) remove(e *sqltext.Expr, kept string) []sqltext.Edit {
	toks := sqltext.Lex(w.q.SQL)
	for i, t := range toks {
		if t.Start != e.Start || i == 0 {
			continue
		}
		if p := toks[i-1]; p.Is(w.q.SQL, "and") {
			kept = comments(w.q.SQL[p.Start:e.Start]) + kept
			start := p.Start
			for start > 0 && (w.q.SQL[start-1] == ' ' || w.q.SQL[start-1] == '\t') {
				start--
			}
			if kept != "" {
				kept = " " + strings.TrimRight(kept, " ")
			}
			return []sqltext.Edit{{Start: start, End: e.End, Text: kept}}
		}
		break
	}
	return []sqltext.Edit{{Start: e.Start, End: e.End, Text: kept + w.word("TRUE")}}
}

// comments returns the comments in a piece of SQL, ready to stand before other
// text: "" without one.
func comments(sql string) string {
	if !strings.Contains(sql, "--") && !strings.Contains(sql, "/*") {
		return ""
	}
	out := ""
	at := 0
	for _, t := range sqltext.Lex(sql) {
		gap := sql[at:t.Start]
		at = t.End
		if !strings.Contains(gap, "--") && !strings.Contains(gap, "/*") {
			continue
		}
		gap = strings.Trim(gap, " \t\r\n")
		out += gap
		if strings.Contains(gap, "--") { // it may end in a line comment
			out += "\n"
		} else {
			out += " "
		}
	}
	return out
}

// boundBeforeRow adds the bound to a row comparison over a partitioned table,
// which the planner prunes by single comparisons only.
func (w *rewriter) boundBeforeRow() {
	c := w.c
	if is, _ := w.facts.partitioned(c.Block); !is || c.Form == FormBoundedRow {
		return
	}
	text, claim, ok := w.boundText(c.Bound)
	if !ok {
		return
	}
	row := c.Term.Whole.Text()
	w.add(Candidate{
		Kind: BoundAndRow, Edits: w.before(text+" "+w.word("AND")+" ", c.Term.Whole), Bound: text, Row: row, Claim: claim,
		Proof: []string{fmt.Sprintf("%s is true only if %s is: its first pair decides or is equal", row, text)},
	})
}
