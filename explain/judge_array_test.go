package explain

import (
	"strings"
	"testing"
)

// arrays: a comparison of arrays that begin with the key of the order hides it from its
// index; a comparison of rows says the same where no key may be NULL.
func arrays(t *testing.T, judge judgeFunc) {
	for where, want := range map[string]string{
		"array[score, id] > array[$1::bigint, $2] order by score, id":                       "(score, id) > ($1::bigint, $2::bigint)",
		"array[score::bigint, id] > array[$1, $2]::bigint[] order by score, id":             "(score, id) > ($1::bigint, $2::bigint)",
		"array[$1::bigint, $2] >= array[score, id] order by score desc, id desc":            "(score, id) <= ($1::bigint, $2::bigint)", // of NULL values it is not the same
		"array[score, kind, state] > array[$1::int, $2, $3] order by score, kind, state":    "(score, kind, state) > ($1::int, $2::integer, $3::integer)",
		"array[due, created_at::date] > array[$1::date, $2] order by due, created_at":       "", // may be NULL
		"array[score::text, id::text] > array[$1::text, $2::text] order by score, id":       "", // another order
		"score < 1000 and array[score, id] > array[100::bigint, 3] order by score, id, uid": "(score, id) > (100::bigint, 3)",
	} {
		sql := "select id, score, kind, state, due, created_at from issues where " + where + " limit 20"
		r := judge(sql, Options{Analyze: true}, nil)
		if find(r, "expression-on-key") == nil || r.Verdict != StartsAtOldest && r.Verdict != SortsWholeTable {
			t.Errorf("%s\n%s without a word on the array: %+v", sql, r.Verdict, r.Findings)
		}
		switch {
		case want == "" && (r.Fix != nil || len(r.Tried) == 0):
			t.Errorf("%s\ngot %+v, want a reason", sql, r.Fix)
		case want == "":
		case r.Fix == nil || !strings.Contains(r.Fix.SQL, want):
			t.Errorf("%s\ngot %+v, want %s; tried %+v", sql, r.Fix, want, r.Tried)
		case (r.Fix.Equivalent == Proved) != (len(r.Fix.Assumes) == 0), (len(r.Fix.Assumes) > 0) != strings.Contains(want, "<="):
			t.Errorf("%s\n%s, assumes %v", r.Fix.SQL, r.Fix.Equivalent, r.Fix.Assumes)
		}
	}
}
