package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// A start at the least of very many values is not looked for, in whatever way they
// are written: comparing each with each would take minutes.
func TestLongLists(t *testing.T) {
	items := func(n int, format, sep string) string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(out, sep)
	}
	for _, c := range []struct{ format, sep, around string }{
		{"%d", ", ", "a IN (%s)"},
		{"a > %d", " OR ", "(%s)"},
		{"a = %d", " OR ", "(%s)"},
		{"($%d IS NULL OR a > $1)", " OR ", "(%s)"},
		{"%d", ", ", "(a = ANY (ARRAY[%s]))"},
	} {
		for n, want := range map[int]bool{50: true, 20000: false} {
			e, err := sqltext.ParseExpr(fmt.Sprintf(c.around, items(n, c.format, c.sep)))
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := Implied(e, ColumnKey("", "a"), Lower); ok != want {
				t.Errorf("%s of %d: got a bound %t, want %t", c.around, n, ok, want)
			}
		}
	}
	for _, where := range []string{"a IN (%s) AND a > $1", "a > $1 AND b NOT IN (%s)", "(a > $1 OR a = $1 AND b > $2) AND b IN (%s)"} {
		q, err := sqltext.ParseQuery("SELECT * FROM t WHERE " + fmt.Sprintf(where, items(20000, "%d", ",")) + " ORDER BY a, b LIMIT 3")
		if err != nil {
			t.Fatal(err)
		}
		if RecogniseCursor(q) == nil {
			t.Errorf("%s: the cursor beside the list is not seen", where)
		}
	}
}
