package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// rowOf writes the comparison of rows that come after one in an order in which
// all keys go one way: (a, b) < ($1, $2) for a descending one.
func rowOf(keys []string, desc bool) string {
	sort := make([]SortKey, len(keys))
	for i, k := range keys {
		sort[i] = SortKey{Text: k, Desc: desc}
	}
	return afterRow(sort)
}

// afterRow writes the comparison of rows that come after one in the order of the
// keys: with the values of the cursor where it has any, the pairs of another
// direction than the first swapped.
func afterRow(keys []SortKey) string { return rowsFrom(keys, false) }

// rowsFrom is afterRow, or with the row itself.
func rowsFrom(keys []SortKey, inclusive bool) string {
	if len(keys) == 0 {
		return "(a, b) > ($1, $2)"
	}
	var left, right []string
	for i, k := range keys {
		l, r := oneLine(k.Text), fmt.Sprintf("$%d", i+1)
		if len(k.Values) > 0 {
			r = oneLine(k.Values[0].Text())
		}
		if k.Desc != keys[0].Desc {
			l, r = r, l
		}
		left, right = append(left, l), append(right, r)
	}
	op := " > "
	if keys[0].Desc {
		op = " < "
	}
	if inclusive {
		op = op[:2] + "= "
	}
	if len(keys) == 1 {
		return left[0] + op + right[0]
	}
	return "(" + strings.Join(left, ", ") + ")" + op + "(" + strings.Join(right, ", ") + ")"
}

// afterSelect writes the comparison with a row that a sub-select looks up, where all
// keys go one way.
func (c *Cursor) afterSelect() string {
	var keys, columns []string
	for _, k := range c.compared() {
		keys, columns = append(keys, oneLine(k.Text)), append(columns, quoted(k.Key.Expr))
	}
	if c.Mixed() || slices.Contains(columns, "") {
		return "one for each value"
	}
	row := strings.Join(keys, ", ")
	if len(keys) > 1 {
		row = "(" + row + ")"
	}
	op := map[bool]string{false: " >", true: " <"}[c.Keys[0].Desc]
	if c.inclusive() {
		op += "="
	}
	return row + op + " (SELECT " + strings.Join(columns, ", ") + " FROM …)"
}

// quoted is the name of a column as it has to be written, "" for anything else.
func quoted(e *sqltext.Expr) string {
	if e.Kind != sqltext.Column {
		return ""
	}
	return quote(e.Name)
}

// after writes the comparison of rows that come after the cursor; scan says which
// way the page goes where there is no cursor to tell.
func (c *Cursor) after(scan Side) string {
	if c == nil {
		return rowOf([]string{"a", "b"}, scan == Upper)
	}
	if keys := c.compared(); len(keys) > 1 || len(c.Keys) == 1 {
		return rowsFrom(keys, c.inclusive())
	}
	return afterRow(c.Keys)
}

// inclusive: the condition keeps the cursor's own row.
func (c *Cursor) inclusive() bool {
	x := c.exactOver(1, true)
	return x != nil && x.inclusive
}
