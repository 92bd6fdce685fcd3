package explain

import (
	"strings"
	"testing"
)

// joinedOneKey: a cursor row that is joined in for one key, whose own row is on the page.
func joinedOneKey(t *testing.T, judge judgeFunc) {
	const sql = "select issues.id from issues, (select issues.created_at as k from issues where issues.id = $1) as cmp where (issues.created_at >= cmp.k) order by issues.created_at limit 20 offset 1"
	r := judge(sql, Options{Analyze: true}, nil)
	if f := r.Fix; f == nil || f.Kind != string(RowSubselect) || f.Equivalent != Proved || !strings.Contains(f.SQL, "issues.created_at >= (select") {
		t.Fatalf("got %+v, tried %+v", r.Fix, r.Tried)
	}
	if find(r, "missing-tiebreaker") == nil {
		t.Errorf("the sort by one key of many rows: %+v", r.Findings)
	}
	for _, f := range r.Findings {
		if strings.Contains(f.Message, "issues.created_at >= issues.created_at") || strings.Contains(f.Action, "created_at > ") {
			t.Errorf("%s: %s; %s", f.Rule, f.Message, f.Action)
		}
	}
}
