package explain

import "testing"

// TestFilterOnSortKeys: a filter over the page's keys with which no scan can start is
// a warning, one that is no cursor is none.
func TestFilterOnSortKeys(t *testing.T) {
	for filter, want := range map[string]bool{
		"((t.a > $1) OR (t.b > $2))":                                                true,
		"((t.a > $1) OR (t.b > $2) OR (t.a > $3))":                                  true,
		"((t.a)::text || '_'::text) || (t.b)::text > $1":                            true,
		"(ARRAY[EXTRACT(epoch FROM t.a), (t.b)::numeric] > ARRAY[$1, $2])":          true,
		"((t.a > $1) OR ((t.a = $1) AND (t.b > $2)) OR (t.f = 5))":                  true,
		"((t.a > $1) OR ((t.a = $1) AND (t.b > $2)) OR (t.a IS NULL) OR (t.f = 5))": true,
		"((t.a > 3) OR ((t.a = 3) AND (t.b > 2)) OR (t.f = 5))":                     false,
		"((t.a = $1) OR ((t.a = $2) AND (t.b > $3)) OR (t.f = 5))":                  false,
		"((t.a > $1) OR (t.b < $2))":                                                false,
		"((t.a > $1) OR (t.f > $2))":                                                false,
		"((t.a > $1) OR (t.b = $2))":                                                false,
		"((t.a > 5) OR (t.b > 7))":                                                  false,
		"((t.a + t.b) > $1)":                                                        false,
		"(concat(t.a, t.b) > $1)":                                                   true,
		"((t.a + t.b) > 100)":                                                       false,
		"((t.a + t.b) > t.f)":                                                       false,
		"((t.a + t.b) = $1)":                                                        false,
		"(t.b > $1)":                                                                false,
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
		"(((t.a IS NULL) AND (t.b < $1)) OR (t.a IS NOT NULL))":                                    NullBranch,
		"((t.a IS NULL) OR (t.f = $1))":                                                            FromStart,
		"((t.a IS NOT NULL) OR (t.b > $1))":                                                        FromStart, // without its index it may be a filter
		"((t.a > COALESCE($1, t.a)) OR ((t.a = COALESCE($1, t.a)) AND (t.b > $2)))":                OpaqueKey,
		"(ROW(t.a, t.b) >= ROW(COALESCE($1, t.a), COALESCE($2, t.b)))":                             OpaqueKey,
		"((t.a = COALESCE($1, t.a)) OR (t.b > $2))":                                                FromStart,
		"CASE WHEN (t.a > $1) THEN true WHEN ((t.a = $1) AND (t.b > $2)) THEN true ELSE false END": OpaqueKey,
		"(t.a > COALESCE($1, t.a))":                                                                OpaqueKey,
		"(t.a > COALESCE($1, t.f))":                                                                FromStart,
		"(CASE WHEN (t.a > $1) THEN 1 WHEN ((t.a = $1) AND (t.b > $2)) THEN 1 ELSE 0 END = 1)":     OpaqueKey,
		"(CASE WHEN (t.a > $1) THEN 1 ELSE 0 END = 1)":                                             FromStart,
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

// TestStartsAmongNulls: a page that starts among the NULLs that come first reads as many
// rows as there are, which may be few.
func TestStartsAmongNulls(t *testing.T) {
	few, some, many := 0.0005, 0.002, 0.3
	for _, c := range []struct {
		filter string
		nulls  *float64
		want   Class
	}{
		{"(((t.a IS NULL) AND (t.b > $1)) OR (t.a IS NOT NULL))", &few, Seek},
		{"((t.a IS NOT NULL) OR (t.b > $1))", &few, Seek},
		{"((t.a IS NOT NULL) OR ((t.a IS NULL) AND (t.b > $1)) OR ((t.a IS NULL) AND (t.b = $1) AND (t.f > $2)))", &few, Seek},
		{"(((t.a IS NULL) AND (t.b > $1)) OR (t.a IS NOT NULL))", &some, NullBranch},
		{"((t.a IS NOT NULL) OR (t.b > $1))", &many, NullBranch},
		{"(((t.a IS NULL) AND (t.b > $1)) OR (t.a IS NOT NULL))", nil, NullBranch},
		// a cursor that may stand behind the NULLs starts at them all the same
		{"((($1 IS NULL) AND (t.a IS NULL) AND (t.b > $2)) OR (($1 IS NULL) AND (t.a IS NOT NULL)) OR (t.a > $1) OR ((t.a = $1) AND (t.b > $2)))", &few, NullBranch},
		// not a cursor, but a filter
		{"((t.a IS NOT NULL) OR (t.f > $1))", &many, FromStart},
		{"((t.a > 7) OR (t.b > $1))", &many, FromStart},
	} {
		catalog := catalogT(1e6, IndexKey{Text: "a", Column: "a", NullsFirst: true}, IndexKey{Text: "b", Column: "b"})
		for _, x := range catalog {
			x.Columns["a"].NullFrac = c.nulls
		}
		res, err := JudgePlan("test", scanPlan(t, "", c.filter, "Forward"), catalog)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Scans[0].Class; got != c.want {
			t.Errorf("%s: got %s (%s), want %s", c.filter, got, res.Scans[0].Why, c.want)
		}
		if f := find(res, "cursor-null-branch"); (f != nil) != (c.want == NullBranch) {
			t.Errorf("%s: %+v", c.filter, res.Findings)
		}
	}
}
