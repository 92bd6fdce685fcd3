package explain

import (
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// castsKey is the type that the value is cast to when PostgreSQL compares it with
// the column, and the column with it, so that the column's index is lost: "" where
// the index stands. Whole numbers are cast to numeric and to floating point,
// numeric to floating point, char(n) to text.
func (f Facts) castsKey(col *Column, v *sqltext.Expr) string {
	typ := ""
	switch v.Kind {
	case sqltext.Cast:
		typ = v.Name
	case sqltext.Const:
		if isInteger(col.Type) && strings.Contains(v.Text(), ".") && v.Text()[0] != '\'' {
			typ = "numeric"
		}
	case sqltext.Value:
		if n := paramNumber(v); n > 0 && n <= len(f.Params) {
			typ = f.Params[n-1]
		}
	}
	typ, _, _ = strings.Cut(typ, "(")
	typ = strings.TrimSpace(strings.ToLower(typ))
	column, _, _ := strings.Cut(col.Type, "(")
	floating := typ == "double precision" || typ == "float8" || typ == "real" || typ == "float4" || typ == "float"
	text := typ == "text" || typ == "varchar" || typ == "character varying"
	switch {
	case isInteger(column) && (floating || typ == "numeric" || typ == "decimal"),
		column == "numeric" && floating,
		column == "uuid" && typ == "text",
		column == "character" && text:
		return typ
	}
	return ""
}

// castValues casts the values of the cursor to the types of the keys, where their
// own would make PostgreSQL cast the keys and lose the index.
func (w *rewriter) castValues() {
	c := w.c
	var edits []sqltext.Edit
	var assumes []string
	for _, k := range c.compared() {
		col := w.facts.column(c.Block, k.Key.Expr)
		if col == nil {
			continue
		}
		for _, v := range k.Values {
			typ := w.facts.castsKey(col, v)
			if typ == "" || v.Kind == sqltext.Const {
				continue
			}
			c.Block.Where.Walk(func(e *sqltext.Expr) bool {
				if sqltext.Equal(e, v) {
					edits = append(edits, sqltext.Edit{Start: e.End, End: e.End, Text: "::" + col.Type})
				}
				return true
			})
			assume := oneLine(v.Text()) + " is a value that " + col.Type + " can hold as it is"
			if strings.HasPrefix(col.Type, "character(") { // as text its values have no blanks at their end
				assume = oneLine(v.Text()) + " has no blanks at its end, as a value read from the column may have, and is no longer than " + col.Type
			}
			assumes = append(assumes, assume)
		}
	}
	if len(edits) == 0 {
		return
	}
	sql := sqltext.Splice(w.q.SQL, edits)
	q, cast := w.again(sql)
	if q == nil {
		return
	}
	proof := []string{"a value of the key's own type leaves the key as it is, so that its index can be used"}
	w.add(Candidate{Kind: CastValue, Edits: edits, Assumes: assumes, Proof: proof})
	facts := w.facts
	facts.Params = nil
	for _, x := range Fixes(q, cast, facts) {
		if x.First != "" {
			continue
		}
		x.Edits = []sqltext.Edit{difference1(w.q.SQL, x.SQL)}
		x.Assumes, x.Proof = append(x.Assumes[:len(x.Assumes):len(x.Assumes)], assumes...), append(x.Proof[:len(x.Proof):len(x.Proof)], proof...)
		w.add(x)
	}
}

// oneType: may the values stand in one LEAST? Different types would be brought
// to a common one there, which need not compare as each does with the key, and
// collations would clash. Placeholders and plain literals all take the key's
// type, casts must be to the same type.
func oneType(values []BoundValue) bool {
	typ, casts := "", 0
	for _, v := range values {
		switch e := v.Expr; e.Kind {
		case sqltext.Value:
		case sqltext.Const:
			if len(e.Text()) == 0 || e.Text()[0] != '\'' && (e.Text()[0] < '0' || e.Text()[0] > '9') {
				return false
			}
		case sqltext.Cast:
			if k := bare(e).Kind; k != sqltext.Value && k != sqltext.Const || casts > 0 && typ != e.Name {
				return false
			}
			typ = e.Name
			casts++
		default:
			return false
		}
	}
	return casts == 0 || casts == len(values)
}

// daysAndTimes: the values are dates and one type of times, and the key is a date or
// of that type: all compare as these times, and a later day is no earlier time.
func (w *rewriter) daysAndTimes(values []BoundValue) bool {
	col := w.facts.column(w.c.Block, w.c.Keys[0].Key.Expr)
	if col == nil {
		return false
	}
	times := ""
	for _, v := range values {
		if v.Expr.Kind != sqltext.Cast || bare(v.Expr).Kind != sqltext.Value {
			return false
		}
		switch t := plainType(v.Expr.Name); {
		case t == "date":
		case !strings.HasPrefix(t, "timestamp with") || times != "" && times != t:
			return false
		default:
			times = t
		}
	}
	return times != "" && (col.Type == "date" || plainType(col.Type) == times)
}
