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

// What an operator of another schema compares by is not known: there is no fix.
func TestOperatorsOfOtherSchemas(t *testing.T) {
	for op, want := range map[string]bool{
		">": true, "operator(pg_catalog.>)": true, "OPERATOR ( pg_catalog . > )": true,
		"operator(public.>)": false, "operator(>)": false, `operator("S".>)`: false,
	} {
		for _, sql := range []string{
			"select 1 from f where a " + op + " $1 or a = $1 and b > $2 order by a, b limit 3",
			"select 1 from f where (case when a = $1 then b > $2 else a " + op + " $1 end) order by a, b limit 3",
			"select a, b from f where a " + op + " $1 or a = $1 and b > $2 or a is null order by a, b limit 3",
		} {
			q, err := sqltext.ParseQuery(sql)
			if err != nil {
				t.Fatal(err)
			}
			c := RecogniseCursor(q)
			if c == nil {
				continue
			}
			if got := append(rewrites(q, c, dateFacts(true)), TieFixes(q, c, dateFacts(true))...); len(got) > 0 != want {
				t.Errorf("%s: fixes %v, want any: %v", sql, got, want)
			}
		}
	}
}
