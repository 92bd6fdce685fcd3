package explain

import (
	"slices"
	"strings"
	"testing"
)

// contradicts: a finding advises by hand what the same result says is not to be had.
func contradicts(t *testing.T, sql string, r *Result) {
	t.Helper()
	for _, f := range r.Findings {
		for words, kind := range map[string]FixKind{
			"compare rows": RowComparison, "the next page two statements": TwoStatements, "one statement for the first page": TwoStatements,
			"split the statement": UnionAll, "query of their own: UNION ALL": UnionAll, "compare with a sub-select": RowSubselect,
		} {
			refused := func(x Rejected) bool { return x.Kind == string(kind) && x.SQL == "" }
			if strings.Contains(f.Action, words) && slices.ContainsFunc(r.Tried, refused) {
				t.Errorf("%s\n%s advises what is refused: %s; %v", sql, f.Rule, f.Action, r.Tried)
			}
		}
	}
}

// unsaid are pages whose usual advice is refused: what helps is said instead.
func unsaid(t *testing.T, judge judgeFunc) {
	const after = "(i.created_at > c.created_at or (i.created_at = c.created_at and i.id > c.id)) order by i.created_at, i.id limit 5"
	const nulls = "(due > $1 or (due = $1 and id > $2) or due is null)"
	for _, c := range []struct{ sql, rule, want, never string }{
		{"select id from issues where created_at > $1 or (created_at = $1::date and id > $2) order by created_at, id limit 20", "cursor-starts-at-oldest", "write one of them in both places", "compare rows"},
		{"select id from issues where created_at > $1::timestamptz or (created_at = $1::date and id > $2) order by created_at, id limit 20", "cursor-starts-at-oldest", "use the fix", "compare rows"},
		{"select id from issues where created_at > (select max(run_at) - random() * interval '1 day' from jobs) or (created_at = $1 and id > $2) order by created_at, id limit 20", "cursor-starts-at-oldest", "compute it first", "compare rows"},
		{"select i.id from issues i, issues c where c.kind = $1 and " + after, "cursor-starts-at-oldest", "read the row first", "compare rows"},
		{"select i.id from issues i, issues c where c.kind = $1 and " + after, "joined-cursor", "read the row first", "compare with a sub-select"},
		{"select id from issues where (created_at, id) > ($1, $2) or random() > 0.5 order by created_at, id limit 20", "cursor-starts-at-oldest", "a statement for each case", "compare rows"},
		{"select id from issues where (created_at, id) > ($1, $2) or random() > 0.5 order by created_at, id limit 20", "optional-cursor", "a statement for each case", "first page"},
		{"select id from issues where case when kind = $3 then true else created_at > $1 or (created_at = $1 and id > $2) end order by created_at, id limit 20", "cursor-key-hidden", "a statement for each case", "next page"},
		{"select id from issues where case when kind = $3 then true else created_at > $1 or (created_at = $1 and id > $2) end order by created_at, id limit 20", "case-cursor", "a statement for each case", "without it"},
		{"select id from issues where case $3 when 'a' then true else (created_at, id) > ($1, $2) end order by created_at, id limit 20", "cursor-key-hidden", "CASE WHEN x = v", "each of its ways"},
		{"select id from issues where case when $3 = 'a' then true else (created_at, id) > ($1, $2) end order by created_at, id limit 20", "cursor-key-hidden", "use the fix", "CASE WHEN x = v"},
		{"select id, due, row_number() over (order by due, id) from issues where " + nulls + " order by due, id limit 20", "null-branch", "", "UNION ALL"},
		{"select vol(created_at), due, id from issues where " + nulls + " order by due, id limit 20", "cursor-null-branch", "compute it first", "split the statement"},
		{"select id, due from issues where " + nulls + " order by due, id limit 20 for update", "few-values", "", "compare rows"},
		{"select id from issues where created_at::date > $1 or (created_at::date = $1 and id > $2) order by created_at::date, id limit 20", "page-sorts-whole-table", "not immutable", "add an index"},
	} {
		r := judge(c.sql, Options{}, nil)
		f := find(r, c.rule)
		if f == nil {
			t.Errorf("%s\nno %s: %s %+v", c.sql, c.rule, r.Verdict, r.Findings)
		} else if !strings.Contains(f.Action, c.want) || strings.Contains(f.Action, c.never) {
			t.Errorf("%s\n%s advises %q, want %q; fix %v", c.sql, c.rule, f.Action, c.want, r.Fix != nil)
		}
	}
}
