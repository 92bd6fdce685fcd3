package explain

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// heldByEquality: an equality or a list of values on the first column of a comparison of
// rows is where the scan starts, and the comparison is only tested behind that.
func heldByEquality(t *testing.T, judge judgeFunc) {
	for _, c := range []struct{ where, order, values, verdict, fix string }{
		{"state = any('{1,2,3}') and (state, score, uid) > ($1, $2, $3)", "state, score, uid", "2 500 80000000-0000-0000-0000-000000000000", "starts-at-oldest", "union-all"},
		{"state in (1, 2) and (state, score, uid) > ($1, $2, $3)", "state, score, uid", "2 500 80000000-0000-0000-0000-000000000000", "starts-at-oldest", "union-all"},
		{"state = any($4) and (state > $1 or state = $1 and (score, uid) > ($2, $3))", "state, score, uid", "2 500 80000000-0000-0000-0000-000000000000 {1,2,3}", "starts-at-oldest", "union-all"},
		{"state = $1 and (state, score, uid) > ($1, $2, $3)", "state, score, uid", "2 500 80000000-0000-0000-0000-000000000000", "starts-at-oldest", "row-comparison"},
		{"state = $1 and (state, score, uid) > ($1, $2, $3)", "score, uid", "2 500 80000000-0000-0000-0000-000000000000", "starts-at-oldest", "row-comparison"},
		{"state = $1 and (state, created_at, id) > ($1, $2, $3)", "created_at, id", "2 2024-01-06 30000", "starts-at-oldest", "row-comparison"}, // an index on the other keys alone
		{"state = 2 and (state, score, uid) > ($1, $2, $3)", "state, score, uid", "2 500 80000000-0000-0000-0000-000000000000", "starts-at-oldest", "row-comparison"},
		{"state = $1 and (score, uid) > ($2, $3)", "score, uid", "2 500 80000000-0000-0000-0000-000000000000", "starts-at-cursor", ""},
		{"state > 1 and (state, score, uid) > ($1, $2, $3)", "state, score, uid", "2 500 80000000-0000-0000-0000-000000000000", "starts-at-cursor", ""},
		{"state = any('{1,2}') and state > $1", "state, score, uid", "2", "not-applicable", ""},
	} {
		sql := "select id, state, score, uid, created_at from held where " + c.where + " order by " + c.order + " limit 20"
		params := map[string]string{}
		for i, v := range strings.Fields(c.values) {
			params[strconv.Itoa(i+1)] = v
		}
		r := judge(sql, Options{Analyze: true}, params)
		kind := ""
		if r.Fix != nil {
			kind = r.Fix.Kind
		}
		if string(r.Verdict) != c.verdict || kind != c.fix {
			t.Errorf("%s\ngot %s, fix %q, want %s, %q: %+v", sql, r.Verdict, kind, c.verdict, c.fix, r.Tried)
		}
		if slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule == "cursor-on-other-key" }) {
			t.Errorf("%s\nthe key that the page starts behind is one of its sort, or held to one value", sql)
		}
		if f := r.Fix; f != nil {
			if f.Equivalent == NotProved && !strings.Contains(c.where, "= 2") {
				t.Errorf("%s\n%s is not proved", f.SQL, f.Kind)
			}
			before, after := 0.0, 0.0 // the most blocks
			for _, x := range f.Steps {
				if x.Fixed {
					after = max(after, x.Blocks)
				} else {
					before = max(before, x.Blocks)
				}
			}
			if before < 2*after {
				t.Errorf("%s\nreads %.0f blocks, before %.0f", f.SQL, after, before)
			}
		}
	}
}
