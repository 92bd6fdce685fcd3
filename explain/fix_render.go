package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// Rendered is a candidate in the spelling of the statement's source.
type Rendered struct {
	SQL              string
	Start, End       int // the changed range of the source
	NewStart, NewEnd int // where the new text stands in SQL
	// Bind: which of the old values to bind, in order, from 1; nil for all as before.
	// For ? and %s, and for $n, ?n and :n where the rewrite has no use for some value: the
	// others move up, since a statement with a gap in its numbers cannot be prepared.
	Bind      []int
	Unused    []int  // old numbers that the rewrite no longer has
	When      string // as Candidate.When; for ? and %s by the number of the value
	First     string // says in a comment which values it takes, if not all
	FirstBind []int
}

// Render writes the candidate with the source's placeholders; outside the
// changed range the source stays byte for byte.
func (c Candidate) Render(n *sqltext.Normal) Rendered {
	edits := n.Original(c.Edits)
	r := Rendered{SQL: sqltext.Splice(n.Source, edits)}
	r.Start, r.End, r.NewStart, r.NewEnd = sqltext.Span(edits)
	switch {
	case n.Dialect.Positional():
		r.Bind = append([]int{}, sqltext.Bindings(c.SQL)...)
	case n.Dialect.Numbered():
		left := sqltext.Bindings(c.SQL)
		for _, p := range n.Params {
			if !slices.Contains(left, p.N) {
				r.Unused = append(r.Unused, p.N)
			}
		}
		if r.SQL, r.Bind = moveUp(r.SQL, n); r.Bind != nil {
			e := difference1(n.Source, r.SQL)
			r.Start, r.End, r.NewStart, r.NewEnd = e.Start, e.End, e.Start, e.Start+len(e.Text)
		}
	}
	if c.First == "" {
		return r
	}
	if r.When = c.When; !n.Dialect.Positional() {
		r.When = n.Original([]sqltext.Edit{{Text: c.When}})[0].Text
	}
	r.First = sqltext.Splice(n.Source, n.Original(c.FirstEdits))
	switch {
	case n.Dialect.Positional():
		r.FirstBind = append([]int{}, sqltext.Bindings(c.First)...)
	case n.Dialect.Numbered():
		if r.First, r.FirstBind = moveUp(r.First, n); len(r.FirstBind) > 0 {
			r.First = "/* values: " + strings.Trim(strings.ReplaceAll(fmt.Sprint(r.FirstBind), " ", ", "), "[]") + " of the old ones */ " + r.First
		}
	}
	return r
}

// moveUp closes the gaps in the numbers of $n, ?n or :n. It returns the old number of
// each one, nil if they are all of the source's and stay as they are.
func moveUp(sql string, n *sqltext.Normal) (string, []int) {
	old := []int{}
	var edits []sqltext.Edit // with the old numbers, for now
	for _, t := range sqltext.LexDialect(sql, n.Dialect) {
		if number := sql[t.Start:t.End]; t.Kind == sqltext.Param {
			if i, err := strconv.Atoi(number[1:]); err == nil {
				old, edits = append(old, i), append(edits, sqltext.Edit{Start: t.Start + 1, End: t.End, Text: number[1:]})
			}
		}
	}
	slices.Sort(old)
	old = slices.Compact(old)
	switch {
	case len(old) > 0 && old[len(old)-1] > len(old):
	case len(old) == len(n.Params):
		return sql, nil
	default:
		return sql, old
	}
	for i := range edits {
		was, _ := strconv.Atoi(edits[i].Text)
		edits[i].Text = strconv.Itoa(slices.Index(old, was) + 1)
	}
	return sqltext.Splice(sql, edits), old
}
