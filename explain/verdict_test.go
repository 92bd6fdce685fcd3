package explain

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// scanPlan is a Limit over one ordered index scan, as EXPLAIN VERBOSE prints it.
func scanPlan(t testing.TB, cond, filter, direction string) []byte {
	t.Helper()
	scan := map[string]any{
		"Node Type": "Index Scan", "Parent Relationship": "Outer", "Schema": "public", "Relation Name": "t", "Alias": "t",
		"Index Name": "i", "Scan Direction": direction, "Plan Rows": 1000,
	}
	if cond != "" {
		scan["Index Cond"] = cond
	}
	if filter != "" {
		scan["Filter"] = filter
	}
	text, err := json.Marshal([]any{map[string]any{"Plan": map[string]any{"Node Type": "Limit", "Plan Rows": 20, "Plans": []any{scan}}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func catalogT(rows float64, keys ...IndexKey) Catalog {
	few := 5.0
	return Catalog{"public.t": {
		Schema: "public", Name: "t", Kind: "r", Rows: rows,
		Columns: map[string]*Column{
			"a": {Name: "a", Type: "integer", NotNull: true}, "b": {Name: "b", Type: "integer", NotNull: true},
			"f": {Name: "f", Type: "smallint", NDistinct: &few}, "v": {Name: "v", Type: "character varying(20)"},
		},
		Indexes: []*Index{{Name: "i", Method: "btree", Valid: true, Keys: keys}},
	}}
}

func TestScanClasses(t *testing.T) {
	a, b, f := IndexKey{Text: "a", Column: "a"}, IndexKey{Text: "b", Column: "b"}, IndexKey{Text: "f", Column: "f"}
	v := IndexKey{Text: "v", Column: "v"}
	aNulls := IndexKey{Text: "a", Column: "a", NullsFirst: true}
	aDesc := IndexKey{Text: "a", Column: "a", Desc: true}
	or := "((t.a > $1) OR ((t.a = $1) AND (t.b > $2)))"
	for _, c := range []struct {
		name, cond, filter string
		back               bool
		rows               float64
		keys               []IndexKey
		want               Class
	}{
		{"OR without a bound", "", or, false, 1e6, []IndexKey{a, b}, PrefixScan},
		{"the bound", "(t.a >= $1)", or, false, 1e6, []IndexKey{a, b}, Seek},
		{"a row", "(ROW(t.a, t.b) > ROW($1, $2))", "", false, 1e6, []IndexKey{a, b}, Seek},
		{"a bound at the far end", "(t.a < $3)", or, false, 1e6, []IndexKey{a, b}, PrefixScan},
		{"read backward, the OR is a filter", "", or, true, 1e6, []IndexKey{a, b}, FromStart},
		{"descending index read forward", "", "((t.a < $1) OR ((t.a = $1) AND (t.b > $2)))", false, 1e6, []IndexKey{aDesc, b}, PrefixScan},
		{"descending index read backward", "", or, true, 1e6, []IndexKey{aDesc, b}, PrefixScan},
		{"equality first", "(t.b = $3)", or, false, 1e6, []IndexKey{b, a}, PrefixScan},
		{"= ANY first", "(t.b = ANY ($3))", or, false, 1e6, []IndexKey{b, a}, PrefixScan},
		{"> ANY bounds", "(t.a > ANY (ARRAY[$1, $2]))", "", false, 1e6, []IndexKey{a}, Seek},
		{"< ANY does not", "(t.a < ANY (ARRAY[$1, $2]))", or, false, 1e6, []IndexKey{a}, PrefixScan},
		{"retention limit", "(t.a > $3)", or, false, 1e6, []IndexKey{a, b}, WeakStart},
		{"LEAST", "(t.a >= LEAST($1, $3))", "((t.a > $1) OR ((t.a = $3) AND (t.b > $2)))", false, 1e6, []IndexKey{a, b}, Seek},
		{"few values", "(t.f >= $1)", "((t.f > $1) OR ((t.f = $1) AND (t.a > $2)))", false, 1e6, []IndexKey{f, a}, WeakBound},
		{"few values in few rows", "(t.f >= $1)", "((t.f > $1) OR ((t.f = $1) AND (t.a > $2)))", false, 3000, []IndexKey{f, a}, Seek},
		{"null branch", "", "((t.a > $1) OR (t.a IS NULL))", false, 1e6, []IndexKey{a, b}, NullBranch},
		{"an OR that bounds nothing", "", "((t.a > $1) OR (t.b = $2))", false, 1e6, []IndexKey{a, b}, FromStart},
		{"NULLs first", "", "(((t.a IS NULL) AND (t.b > $1)) OR (t.a IS NOT NULL))", false, 1e6, []IndexKey{aNulls, b}, NullBranch},
		{"NULLs first, read backward", "", "(((t.a IS NULL) AND (t.b < $1)) OR (t.a IS NOT NULL))", true, 1e6, []IndexKey{a, b}, NullBranch},
		{"NULLs first, behind a switch", "", "((($1 IS NULL) AND (((t.a IS NULL) AND (t.b > $2)) OR (t.a IS NOT NULL))) OR (($1 IS NOT NULL) AND ((t.a > $1) OR ((t.a = $1) AND (t.b > $2)))))", false, 1e6, []IndexKey{aNulls, b}, NullBranch},
		{"NULLs last", "", "(((t.a IS NULL) AND (t.b > $1)) OR (t.a IS NOT NULL))", false, 1e6, []IndexKey{a, b}, FromStart},
		{"NULLs first, a filter", "", "((t.a IS NULL) OR (t.f = $1))", false, 1e6, []IndexKey{aNulls, b}, FromStart},
		{"NULLs first, other rows by another column", "", "(((t.a IS NULL) AND (t.b > $1)) OR (t.f = $2))", false, 1e6, []IndexKey{aNulls, b}, FromStart},
		{"COALESCE with the key", "", "(t.a > COALESCE($1, t.a))", false, 1e6, []IndexKey{a, b}, OpaqueKey},
		{"COALESCE with the key, at the far end", "", "(t.a < COALESCE($1, t.a))", false, 1e6, []IndexKey{a, b}, FromStart},
		{"COALESCE with another column", "", "(t.a > COALESCE($1, t.f))", false, 1e6, []IndexKey{a, b}, FromStart},
		{"CASE as a number", "", "(CASE WHEN (t.a > $1) THEN 1 WHEN ((t.a = $1) AND (t.b > $2)) THEN 1 ELSE 0 END = 1)", false, 1e6, []IndexKey{a, b}, OpaqueKey},
		{"CASE of another column as a number", "", "(CASE WHEN (t.f > $1) THEN 1 ELSE 0 END = 1)", false, 1e6, []IndexKey{a, b}, FromStart},
		{"a filter on another column", "", "(t.b > $1)", false, 1e6, []IndexKey{a}, FromStart},
		{"cast", "", "((t.a)::numeric > $1)", false, 1e6, []IndexKey{a}, OpaqueKey},
		{"CASE", "", "CASE WHEN ($1 IS NOT NULL) THEN (t.a > $1) ELSE true END", false, 1e6, []IndexKey{a}, OpaqueKey},
		{"varchar prints as text", "", "(((t.v)::text > $1) OR (((t.v)::text = $1) AND (t.b > $2)))", false, 1e6, []IndexKey{v, b}, PrefixScan},
		{"optional cursor", "", "(($1 IS NULL) OR (ROW(t.a, t.b) > ROW($1, $2)))", false, 1e6, []IndexKey{a, b}, PrefixScan},
		{"equality on all keys", "((t.a = $1) AND (t.b = $2))", "", false, 1e6, []IndexKey{a, b}, Seek},
	} {
		direction := "Forward"
		if c.back {
			direction = "Backward"
		}
		res, err := JudgePlan("test", scanPlan(t, c.cond, c.filter, direction), catalogT(c.rows, c.keys...))
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Scans[0].Class; got != c.want {
			t.Errorf("%s: got %s (%s), want %s", c.name, got, res.Scans[0].Why, c.want)
		}
	}
}

// A start that may well be the cursor's own value is no error; one that is known
// not to be is.
func TestDoubtfulStart(t *testing.T) {
	text := scanPlan(t, "(t.a >= $1)", "((t.a > $2) OR ((t.a = $2) AND (t.b > $3)))", "Forward")
	c := catalogT(1e6, IndexKey{Text: "a", Column: "a"}, IndexKey{Text: "b", Column: "b"})
	res, err := JudgePlan("test", text, c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != StartsAtCursor || res.Plans[0].Starts != "cursor" || find(res, "cursor-starts-at-looser-limit").Severity != Info {
		t.Errorf("in doubt: got %s, starts at %s, %+v", res.Verdict, res.Plans[0].Starts, res.Findings)
	}
	for _, k := range []struct {
		known Known
		want  Class
	}{
		{Known{Reuses: true}, WeakStart},
		{Known{Params: []string{"5", "5", "1"}}, Seek},
		{Known{Params: []string{"5", "7", "1"}}, WeakStart},
	} {
		s := Scans(res.Plans[0].Plan.Tree, c, &k.known)[0]
		if s.Class != k.want || s.Doubt {
			t.Errorf("%+v: got %s, doubt %t, want %s", k.known, s.Class, s.Doubt, k.want)
		}
	}
}

func TestTinyTablesAndUnknownIndexes(t *testing.T) {
	text := scanPlan(t, "", "((t.a > $1) OR ((t.a = $1) AND (t.b > $2)))", "Forward")
	for name, c := range map[string]struct {
		catalog Catalog
		want    Verdict
	}{
		"tiny":             {catalogT(300, IndexKey{Text: "a", Column: "a"}), NotApplicable},
		"large":            {catalogT(3000, IndexKey{Text: "a", Column: "a"}), StartsAtOldest},
		"never analyzed":   {catalogT(-1, IndexKey{Text: "a", Column: "a"}), StartsAtOldest},
		"no catalog":       {nil, StartsAtOldest},
		"index is missing": {Catalog{}, Unknown},
	} {
		res, err := JudgePlan("test", text, c.catalog)
		if err != nil {
			t.Fatal(err)
		}
		if res.Verdict != c.want {
			t.Errorf("%s: got %s, want %s", name, res.Verdict, c.want)
		}
	}
}

func FuzzJudgePlan(f *testing.F) {
	paths, err := filepath.Glob("plan/testdata/*.json")
	if err != nil || len(paths) == 0 {
		f.Fatal("no plans")
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add(scanPlan(f, "(t.a >= $1)", "((t.a > $1) OR (t.a = $1 AND t.b > $2))", "Backward"))
	c := catalogT(1e6, IndexKey{Text: "a", Column: "a"}, IndexKey{Text: "lower((v)::text)"})
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, catalog := range []Catalog{nil, c} {
			res, err := JudgePlan("fuzz", text, catalog)
			if err != nil {
				return
			}
			if _, err := json.Marshal(res); err != nil {
				t.Fatal(err)
			}
			usesOf(res.Plans[0].Plan.Tree)
		}
	})
}
