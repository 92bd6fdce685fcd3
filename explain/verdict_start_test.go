package explain

import "testing"

// TestFilterOnSortKeys: a filter over the page's keys with which no scan can start is
// a warning, one that is no cursor is none.
func TestFilterOnSortKeys(t *testing.T) {
	for filter, want := range map[string]bool{
		"((t.a > $1) OR (t.b > $2))":                                       true,
		"((t.a > $1) OR (t.b > $2) OR (t.a > $3))":                         true,
		"((t.a)::text || '_'::text) || (t.b)::text > $1":                   true,
		"(ARRAY[EXTRACT(epoch FROM t.a), (t.b)::numeric] > ARRAY[$1, $2])": true,
		"((t.a > $1) OR (t.b < $2))":                                       false,
		"((t.a > $1) OR (t.f > $2))":                                       false,
		"((t.a > $1) OR (t.b = $2))":                                       false,
		"((t.a > 5) OR (t.b > 7))":                                         false,
		"((t.a + t.b) > $1)":                                               false,
		"(concat(t.a, t.b) > $1)":                                          true,
		"((t.a + t.b) > 100)":                                              false,
		"((t.a + t.b) > t.f)":                                              false,
		"((t.a + t.b) = $1)":                                               false,
		"(t.b > $1)":                                                       false,
	} {
		res, err := JudgePlan("test", scanPlan(t, "", filter, "Forward"), catalogT(1e6, IndexKey{Text: "a", Column: "a"}, IndexKey{Text: "b", Column: "b"}))
		if err != nil {
			t.Fatal(err)
		}
		if f := find(res, "filter-on-sort-keys"); (f != nil) != want || want && f.Severity != Warn {
			t.Errorf("%s: got %+v, want a warning: %t", filter, res.Findings, want)
		}
	}
}

// TestStartsWithoutCatalog: the same cursors are seen in a plan alone.
func TestStartsWithoutCatalog(t *testing.T) {
	for filter, want := range map[string]Class{
		"(((t.a IS NULL) AND (t.b < $1)) OR (t.a IS NOT NULL))": NullBranch,
		"((t.a IS NULL) OR (t.f = $1))":                         FromStart,
		"(t.a > COALESCE($1, t.a))":                             OpaqueKey,
		"(t.a > COALESCE($1, t.f))":                             FromStart,
		"(CASE WHEN (t.a > $1) THEN 1 WHEN ((t.a = $1) AND (t.b > $2)) THEN 1 ELSE 0 END = 1)": OpaqueKey,
		"(CASE WHEN (t.a > $1) THEN 1 ELSE 0 END = 1)":                                         FromStart,
	} {
		res, err := JudgePlan("test", scanPlan(t, "", filter, "Forward"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Scans[0].Class; got != want {
			t.Errorf("%s: got %s (%s), want %s", filter, got, res.Scans[0].Why, want)
		}
	}
}
