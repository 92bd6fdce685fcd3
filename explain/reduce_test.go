package explain

import (
	"testing"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// A NOT inside an operator goes with it, in parentheses too.
func TestReduceNegatedOperators(t *testing.T) {
	r := reducer{and: "and", or: "or", not: "not"}
	for _, op := range []string{"c is not distinct from $1", "c not in (1, 2)", "c not between 1 and 2", "c not like 'x'"} {
		for sql, want := range map[string]string{
			"not ((" + op + ") or a is null or false)":          "not (" + op + ") and not (a is null)",
			"not (((" + op + ")) or (a is null) or false)":      "not ((" + op + ")) and not (a is null)",
			"not (not ((" + op + ")) or a = 1 or false)":        "((" + op + ")) and not (a = 1)",
			"not ((" + op + " /* NOT */ ) or false)":            "not (" + op + " /* NOT */ )",
			"not (" + op + " or not a = 1) and (a = 2 or true)": "not (" + op + ") and a = 1",
		} {
			e, err := sqltext.ParseExpr(sql)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.reduce(e, false); got.text != want {
				t.Errorf("%s\n got %s\nwant %s", sql, got.text, want)
			}
		}
	}
}
