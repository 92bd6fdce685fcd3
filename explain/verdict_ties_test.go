package explain

import (
	"bytes"
	"testing"
)

// A start at the cursor's first key is as good as few rows share it. Where nobody
// knows how many do, the judgement says that it does not know.
func TestTiesNotKnown(t *testing.T) {
	const bound, or = "(t.a >= $1)", "((t.a > $1) OR ((t.a = $1) AND (t.b > $2)))"
	a, b := IndexKey{Text: "a", Column: "a"}, IndexKey{Text: "b", Column: "b"}
	analyzed := catalogT(1e6, a, b)
	half := -0.5
	analyzed["public.t"].Columns["a"].NDistinct = &half
	unique := catalogT(1e6, a)
	unique["public.t"].Indexes[0].Unique = true
	executed := func(plan []byte) []byte {
		return bytes.Replace(plan, []byte(`"Plan Rows":1000`), []byte(`"Plan Rows":1000,"Actual Rows":20,"Actual Loops":1,"Rows Removed by Filter":3`), 1)
	}
	for _, c := range []struct {
		name    string
		plan    []byte
		catalog Catalog
		want    bool
	}{
		{"no catalog", scanPlan(t, bound, or, "Forward"), nil, true},
		{"no statistics", scanPlan(t, bound, or, "Forward"), catalogT(1e6, a, b), true},
		{"never analyzed", scanPlan(t, bound, or, "Forward"), catalogT(-1, a, b), true},
		{"statistics", scanPlan(t, bound, or, "Forward"), analyzed, false},
		{"unique", scanPlan(t, bound, or, "Forward"), unique, false},
		{"tiny", scanPlan(t, bound, or, "Forward"), catalogT(300, a, b), false},
		{"executed", executed(scanPlan(t, bound, or, "Forward")), nil, false},
		{"a row", scanPlan(t, "(ROW(t.a, t.b) > ROW($1, $2))", "", "Forward"), nil, false},
		{"first key of a row", scanPlan(t, bound, "(ROW(t.a, $2) > ROW($1, t.b))", "Forward"), catalogT(1e6, a, b), true},
		{"one key", scanPlan(t, "(t.a > $1)", "", "Forward"), catalogT(1e6, a), false},
	} {
		res, err := JudgePlan("test", c.plan, c.catalog)
		if err != nil {
			t.Fatal(err)
		}
		f := find(res, "ties-not-known")
		if res.Verdict != StartsAtCursor && c.name != "tiny" || (f != nil) != c.want || f != nil && f.Severity != Info {
			t.Errorf("%s: got %s, %+v", c.name, res.Verdict, res.Findings)
		}
	}
}
