package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

type judgeFunc func(sql string, o Options, params map[string]string) *Result

// TestPages judges pages over one set of tables.
func TestPages(t *testing.T) {
	judge := pages(t)
	for name, f := range map[string]func(*testing.T, judgeFunc){
		"mixed row over few values": mixedRowOverFewValues, "factored equality": factoredEquality, "short prefix": shortPrefix,
		"sort over a join": sortOverJoin, "sort by a hashed side": sortByHashedSide, "no index for a NULL branch": noIndexForNullBranch, "values given": valuesGiven,
		"hidden cursors": hiddenCursors, "advice": advice, "NULL is true": nullIsTrue, "reasons": reasons,
		"functions": ownFunctions, "volatile output": volatileOutput, "no index can": noIndexCan,
		"union": union, "a joined row that may be missing": missingRow,
		"held by an equality": heldByEquality, "arrays": arrays, "a joined row and one key": joinedOneKey,
		"words": words, "unsaid": unsaid, "extremes": extremes,
	} {
		t.Run(name, func(t *testing.T) { f(t, judge) })
	}
}

// pages starts a server with the tables of a tracker: 60,000 issues, of which one
// project has four in ten and 300 the others, and two comments an issue.
func pages(t *testing.T) judgeFunc {
	t.Helper()
	dsn := pgtest.Start(t, pgtest.Any(t), pgserverOptions()).DSN("postgres", "postgres")
	pgtest.Exec(t, dsn,
		"create extension if not exists citext",
		`create table issues (id bigint primary key, project_id int not null, created_at timestamptz not null, relative_position int, weight numeric,
			due date, state int not null, title text not null, score int not null, uid uuid not null, kind int not null)`,
		`insert into issues select i, case when i % 5 < 2 then 1 else 2 + (i * 7919) % 300 end, timestamptz '2024-01-01 00:00Z' + (i / 4) * interval '1 min',
			case when i % 4 > 0 then (i * 16807::bigint) % 60000 end, case when i % 3 > 0 then (i * 40692::bigint) % 60000 end,
			case when i % 7 > 0 then date '2024-01-01' + i % 900 end, (i * 13) % 4, 'T' || (i * 40014::bigint) % 15000, (i * 37) % 1000, md5(i::text)::uuid, i % 300
			from generate_series(1, 60000) i`,
		"create index on issues (created_at, id)",
		"create index on issues (project_id, relative_position, id desc)",
		"create index on issues (state, created_at desc, id)",
		"create index on issues (weight desc nulls last, id desc)",
		"create index on issues (score desc, uid)",
		"create index on issues (title, id)",
		"create function vol(timestamptz) returns timestamptz language sql volatile as $$ select $1 $$",
		"create function counted(timestamptz) returns timestamptz language plpgsql stable as $$ begin perform nextval('s'); return $1; end $$",
		"create sequence s",
		"create function fixed(timestamptz) returns timestamptz language plpgsql immutable as $$ begin return $1; end $$",
		"create function steady(timestamptz) returns timestamptz language plpgsql stable as $$ begin return $1; end $$",
		"create index on issues (due, id)",
		"create table jobs (id bigint primary key, prio int not null, run_at timestamptz not null, done bool not null)",
		"insert into jobs select i, i % 5, timestamptz '2024-01-01 00:00Z' + (i / 3) * interval '1 min', i % 10 > 0 from generate_series(1, 40000) i",
		"create index on jobs (prio desc, run_at, id) where not done",
		"create table comments (id bigint primary key, issue_id bigint not null, created_at timestamptz not null)",
		"insert into comments select i, 1 + (i * 7919::bigint) % 60000, timestamptz '2024-01-01 00:00Z' + (i / 4) * interval '1 min' from generate_series(1, 120000) i",
		"create index on comments (issue_id, created_at, id)",
		"create table held as select id, state, score, uid, created_at from issues",
		"create index on held (state, score, uid)", "create index on held (created_at, id)", "vacuum analyze held",
		"create table users (id int primary key)",
		"insert into users select generate_series(1, 3000)",
		"vacuum analyze issues", "vacuum analyze jobs", "vacuum analyze comments", "vacuum analyze users")
	r := open(t, dsn, RunnerOptions{})
	return func(sql string, o Options, params map[string]string) *Result {
		res := Judge(t.Context(), r, Input{Source: "t", SQL: sql, OwnText: true, Params: params}, o)
		if f := res.Fix; f != nil && slices.ContainsFunc(res.Tried, func(x Rejected) bool { return x.Kind == f.Kind && x.SQL == f.SQL }) {
			t.Errorf("%s\n%s is offered and not offered: %v", sql, f.Kind, res.Tried)
		}
		fixOrReason(t, sql, res)
		contradicts(t, sql, res)
		return res
	}
}

// fixOrReason: an error comes with a fix, or with the reason why there is none.
func fixOrReason(t *testing.T, sql string, r *Result) {
	t.Helper()
	if severe(r) && r.Fix == nil && !slices.ContainsFunc(r.Tried, func(x Rejected) bool { return x.Why != "" }) {
		t.Errorf("%s\nneither a fix nor a reason: %+v", sql, r.Findings)
	}
}

// ownFunctions: a scan can start at the value of a function that is not volatile.
func ownFunctions(t *testing.T, judge judgeFunc) {
	for f, fixed := range map[string]bool{"fixed": true, "steady": true, "public.steady": true, "vol": false} {
		res := judge("select id from issues where created_at > "+f+"($1) or (created_at = "+f+"($1) and id > $2) order by created_at, id limit 5", Options{}, nil)
		if !severe(res) || (res.Fix != nil) != fixed {
			t.Errorf("%s: verdict %s, fix %+v", f, res.Verdict, res.Fix)
		}
	}
}

// volatileOutput: the parts of a union would call a volatile function for rows that the
// page leaves out.
func volatileOutput(t *testing.T, judge judgeFunc) {
	for f, union := range map[string]bool{"fixed": true, "steady": true, "vol": false} {
		res := judge("select "+f+"(created_at), due, id from issues where due > $1 or (due = $1 and id > $2) or due is null order by due, id limit 5", Options{}, nil)
		if got := res.Fix != nil && res.Fix.Kind == string(UnionAll); got != union {
			t.Errorf("%s: a union: %v, want %v; %+v", f, got, union, res.Tried)
		}
	}
}

func severe(r *Result) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Error })
}

// A row comparison with swapped pairs bounds the first key alone.
func mixedRowOverFewValues(t *testing.T, judge judgeFunc) {
	const row = "select id from issues where (state, $2, id) > ($1, created_at, $3) order by state, created_at desc, id limit 10"
	res := judge(row, Options{}, nil)
	f := find(res, "cursor-bound-on-few-values")
	if res.Verdict != StartsAtOldest || f == nil || f.Severity != Error || !strings.Contains(f.Action, "UNION ALL") {
		t.Errorf("%s %+v", res.Verdict, res.Findings)
	}
	for _, sql := range []string{
		"select distinct id, state, created_at from issues where state > $1 or (state = $1 and (created_at < $2 or (created_at = $2 and id > $3))) order by state, created_at desc, id limit 10",
		"select id from jobs where not done and (prio < $1 or (prio = $1 and (run_at > $2 or (run_at = $2 and id > $3)))) order by prio desc, run_at, id limit 10 for update skip locked",
	} {
		res := judge(sql, Options{}, nil)
		f := find(res, "cursor-starts-at-oldest")
		if partial := strings.Contains(sql, "jobs"); f == nil || !strings.Contains(f.Action, "UNION ALL") || strings.Contains(f.Action, "compare rows") || partial && res.Fix != nil {
			t.Errorf("%s: fix %+v, findings %+v", sql, res.Fix, res.Findings)
		}
		if res.Fix != nil && (res.Fix.After.Starts == "cursor" || !strings.Contains(res.Fix.Why, "does not start at the cursor itself")) {
			t.Errorf("%s: fix %+v", sql, res.Fix)
		}
	}
	// The branches are two scans, whether the keys are in the output or not.
	const or = "state > $1 or (state = $1 and (created_at < $2 or (created_at = $2 and id > $3)))"
	for _, sql := range []string{
		row,
		"select id, state, created_at from issues where " + or + " order by state, created_at desc, id limit 10",
		"select id from issues where " + or + " order by state, created_at desc, id limit 10",
		"select id, title from issues where state >= $1 and (" + or + ") order by state, created_at desc, id limit 10",
	} {
		res = judge(sql, Options{Analyze: true}, nil)
		if res.Fix == nil || res.Fix.Kind != string(UnionAll) || res.Fix.After.Starts != "cursor" || res.Fix.Equivalent != Proved || res.Fix.Steps[3].Blocks > 100 {
			t.Errorf("%s: fix %v, tried %v", sql, res.Fix != nil, len(res.Tried))
		}
	}
}

// What every branch repeats stands before the cursor once.
func factoredEquality(t *testing.T, judge judgeFunc) {
	for _, o := range []Options{{}, {Analyze: true}} {
		res := judge("select id from issues where (kind = $3 and created_at > $1) or (kind = $3 and created_at = $1 and id > $2) order by created_at, id limit 20", o, nil)
		if res.Fix == nil || !strings.Contains(res.Fix.SQL, "kind = $3 and (created_at, id) > ($1, $2)") || res.Fix.Equivalent != Proved {
			t.Errorf("fix %+v, tried %+v", res.Fix, res.Tried)
		}
	}
}

func shortPrefix(t *testing.T, judge judgeFunc) {
	for sql, most := range map[string]float64{
		"select id from comments where issue_id = $1 and (created_at > $2 or (created_at = $2 and id > $3)) order by created_at, id limit 20":                                                                    20,
		"select x.id from unnest($3::bigint[]) u(u) cross join lateral (select id from comments where issue_id = u.u and (created_at > $1 or (created_at = $1 and id > $2)) order by created_at, id limit 5) x":  20,
		"select id from issues where project_id = 77 and (relative_position > $1 or (relative_position = $1 and id < $2)) order by relative_position, id desc limit 20":                                          400,
		"select id from issues where project_id = 77 and (relative_position > $1 or (relative_position = $1 and id < $2) or relative_position is null and id < $3) order by relative_position, id desc limit 20": 400,
		"select id from comments where issue_id in (7920, 7921, 7922, 7923) and (created_at > $1 or (created_at = $1 and id > $2)) order by created_at, id limit 40":                                             20,
	} {
		res := judge(sql, Options{}, nil)
		if find(res, "page-reads-all-after-cursor") != nil || severe(res) || res.Verdict == StartsAtOldest {
			t.Errorf("%s: %s %+v", sql, res.Verdict, res.Findings)
			continue
		}
		f := find(res, "cursor-starts-at-oldest")
		if f == nil { // read whole and sorted, which is as good
			continue
		}
		if rows, _ := f.Evidence["rows"].(float64); rows < 1 || rows > most {
			t.Errorf("%s: evidence %v", sql, f.Evidence)
		}
	}
	for _, params := range []map[string]string{nil, {"project_id": "1"}} { // the commonest value has four rows in ten
		res := judge("select id from issues where project_id = $3 and (relative_position > $1 or (relative_position = $1 and id < $2)) order by relative_position, id desc limit 20", Options{}, params)
		if res.Verdict != StartsAtOldest || !severe(res) || res.Fix == nil {
			t.Errorf("%s %+v", res.Verdict, res.Findings)
		}
	}
	res := judge("select id from issues where project_id = $3 and (relative_position > $1 or (relative_position = $1 and id < $2)) order by relative_position, id desc limit 20", Options{}, map[string]string{"3": "77"})
	if res.Verdict == StartsAtOldest || severe(res) {
		t.Errorf("%s %+v", res.Verdict, res.Findings)
	}
}

// Below a sort the inner side of a join is read too.
func sortOverJoin(t *testing.T, judge judgeFunc) {
	res := judge("select id from issues where project_id in (select id from users where id < 5) and (created_at < $1 or (created_at = $1 and id < $2)) order by title, id limit 20", Options{}, nil)
	if res.Verdict == StartsAtCursor || find(res, "page-reads-all-after-cursor") == nil && find(res, "page-sorts-filtered-rows") == nil && find(res, "page-sorts-whole-table") == nil {
		t.Errorf("%s %+v", res.Verdict, res.Findings)
	}
}

// The side of a hash join that is hashed feeds the sort too: it decides where it is the
// one that the page is ordered by, and does not where it is only looked up.
func sortByHashedSide(t *testing.T, judge judgeFunc) {
	for _, c := range []struct {
		sql           string
		hashedDecides bool
		subject       string
	}{
		{"select i.id from issues i join jobs j on j.id = i.score where j.run_at > $1 or (j.run_at = $1 and j.id > $2) order by j.run_at, j.id limit 20", true, "public.jobs"},
		{"select i.id from issues i join jobs j on j.run_at = i.created_at where j.prio = 3 and (i.uid > $1 or (i.uid = $1 and i.id > $2)) order by i.uid, i.id limit 20", false, "public.issues"},
	} {
		res := judge(c.sql, Options{}, nil)
		raw := res.Plans[0].Plan.Raw
		if join := res.Plans[0].Plan.Root.Find(func(n *plan.Node) bool { return n.Type == "Hash Join" }); join == nil {
			t.Fatalf("%s: no hash join: %s", c.sql, raw)
		}
		hashed, probed := scanOf(t, res, "j"), scanOf(t, res, "i")
		if n := hashed.Node.Parent; n == nil || n.Type != "Hash" {
			t.Fatalf("%s: the other side is hashed: %s", c.sql, raw)
		}
		if hashed.Limited != c.hashedDecides || !probed.Limited {
			t.Errorf("%s: hashed side decides: %t, the other: %t", c.sql, hashed.Limited, probed.Limited)
		}
		f := find(res, "page-sorts-whole-table")
		if res.Verdict != SortsWholeTable || f == nil || f.Subject != c.subject || f.Severity != Error {
			t.Errorf("%s: %s %+v", c.sql, res.Verdict, res.Findings)
		}
	}
}

// scanOf is the scan of the relation with an alias.
func scanOf(t *testing.T, r *Result, alias string) *Scan {
	t.Helper()
	for _, s := range r.Scans {
		if s.Node.Alias == alias {
			return s
		}
	}
	t.Fatalf("no scan of %s", alias)
	return nil
}

// The index would be scanned from its first row all the same.
func noIndexForNullBranch(t *testing.T, judge judgeFunc) {
	res := judge("select id from issues where project_id = $4 and ((relative_position, id) > ($1, $2) or relative_position is null and id > $3) order by relative_position, id limit 20", Options{}, nil)
	if res.Fix != nil && res.Fix.Kind == IndexKind && res.Fix.SQL == res.SQL {
		t.Errorf("fix %+v", res.Fix)
	}
}

func valuesGiven(t *testing.T, judge judgeFunc) {
	const sql = "select id from issues where created_at > $1 or (created_at = $1 and id > $2) order by created_at, id limit 20"
	for _, params := range []map[string]string{{"$1": "2024-01-10", "$2": "5"}, {"1": "2024-01-10", "$2": "5"}} {
		res := judge(sql, Options{Analyze: true}, params)
		if len(res.Used) != 2 || res.Fix == nil {
			t.Fatalf("used %v, fix %+v", res.Used, res.Fix)
		}
		if last := res.Plans[len(res.Plans)-1]; len(res.Plans) != 2 || last.Case != "given" {
			t.Errorf("%d plans, the last %s", len(res.Plans), last.Case)
		}
		proof := strings.Join(res.Fix.Proof, "\n")
		if !strings.Contains(proof, "with the values given:") || !strings.Contains(proof, "at 5 cursors") {
			t.Error(proof)
		}
	}
	for name, spelled := range map[string][2]string{
		":at": {":at", ":id"}, "at": {":at", ":id"}, "@at": {"@at", "@id"}, "%(at)s": {"%(at)s", "%(id)s"},
		"?1": {"?1", "?2"}, "1": {"?1", "?2"}, ":2": {":2", ":1"}, "2": {":2", ":1"}, "$2": {"?2", "?1"},
	} {
		named := strings.NewReplacer("$1", spelled[0], "$2", spelled[1]).Replace(sql)
		res := judge(named, Options{}, map[string]string{name: "2024-01-10"})
		if !slices.Contains(res.Used, name) {
			t.Errorf("--param %s=… is not used: %v", name, res.Used)
		}
		if f := res.Fix; f == nil || !strings.Contains(f.SQL, "(created_at, id) > ("+spelled[0]+", "+spelled[1]+")") || len(f.Bind) > 0 || f.Equivalent != Proved {
			t.Errorf("%s: fix %+v, %+v", named, f, res.Findings)
		}
	}
	// No other cursor can be had where the statistics have none.
	res := judge("select v from (values (1), (2)) x (v) where v > $1 order by v limit 1", Options{Analyze: true}, map[string]string{"1": "1"})
	if res.Fix != nil {
		t.Errorf("fix %+v", res.Fix)
	}
}

// hiddenCursors start at the first row though no comparison of the key stands alone.
func hiddenCursors(t *testing.T, judge judgeFunc) {
	for sql, rule := range map[string]string{
		"select id from issues where (($1::numeric is not null and (weight < $1 or (weight = $1 and id < $2) or weight is null)) or ($1 is null and weight is null and id < $2)) order by weight desc nulls last, id desc limit 20": "cursor-null-branch",
		"select id from issues where coalesce(created_at > $1 or (created_at = $1 and id > $2), true) order by created_at, id limit 20":                                                                                             "cursor-key-hidden",
		"select id from issues where (created_at > $1 or (created_at = $1 and id > $2)) is not false order by created_at, id limit 20":                                                                                              "cursor-key-hidden",
		"select id from issues where (-score, uid) > ($1, $2) order by score desc, uid limit 20":                                                                                                                                    "cursor-key-hidden",
		"select id from issues where created_at > $1 or (created_at = any (array[$1]) and id > $2) order by created_at, id limit 20":                                                                                                "cursor-starts-at-oldest",
		`select id from issues where title > $1 or (title collate "C" = $1 and id > $2) order by title, id limit 20`:                                                                                                                "cursor-key-hidden",
	} {
		res := judge(sql, Options{}, nil)
		if f := find(res, rule); res.Verdict != StartsAtOldest || f == nil || strings.Contains(f.Message, "a CASE") {
			t.Errorf("%s: %s %+v", sql, res.Verdict, res.Findings)
		}
	}
	for _, sql := range []string{ // equal as text is not equal as citext: no row comparison says the same
		"select id from issues where title::citext > $1::citext or (title::citext = $1::text and id > $2) order by title::citext, id limit 20",
	} {
		if res := judge(sql, Options{}, nil); res.Fix != nil && strings.Contains(res.Fix.SQL, "::citext, id) >") {
			t.Errorf("%s: fix %s", sql, res.Fix.SQL)
		}
	}
	for _, sql := range []string{
		"select id from issues where created_at > $1 or created_at::date = $2 order by created_at, id limit 20",
		"select id from issues where weight is null and id < $1 order by weight desc nulls last, id desc limit 20",
		"select id from issues where (-score) > $1 order by uid limit 20",
	} {
		if res := judge(sql, Options{}, nil); severe(res) {
			t.Errorf("%s: %s %+v", sql, res.Verdict, res.Findings)
		}
	}
}

// nullIsTrue are cursors whose NULL counts as true: mended where the key cannot be
// NULL, else the reason is said.
func nullIsTrue(t *testing.T, judge judgeFunc) {
	for _, sql := range []string{
		"select id from issues where coalesce(created_at > $1 or (created_at = $1 and id > $2), true) order by created_at, id limit 20",
		"select id from issues where (created_at > $1 or (created_at = $1 and id > $2)) is not false and kind < $3 order by created_at, id limit 20",
	} {
		res := judge(sql, Options{Analyze: true}, nil)
		f := find(res, "cursor-key-hidden")
		if f == nil || f.Action != "use the fix" || res.Fix == nil || res.Fix.Kind != string(TwoStatements) || res.Fix.Equivalent != Proved || res.Fix.After.Starts != "cursor" {
			t.Errorf("%s: %+v\nfix %+v, tried %+v", sql, f, res.Fix, res.Tried)
			continue
		}
		if !strings.Contains(res.Fix.SQL, "created_at >= $1 and") || res.Fix.When != "$1 IS NULL" || strings.Contains(res.Fix.First, "created_at >") {
			t.Errorf("fix %s\nfirst %s when %s", res.Fix.SQL, res.Fix.First, res.Fix.When)
		}
		if n := len(res.Fix.Steps); n == 0 || res.Fix.Steps[n-1].Blocks > 100 {
			t.Errorf("measured %+v, proof %v", res.Fix.Steps, res.Fix.Proof)
		}
	}
	for sql, want := range map[string]string{
		"select id from issues where coalesce(due > $1 or (due = $1 and id > $2), true) order by due, id limit 20":                      "may be NULL, and",
		"select id from issues where coalesce(created_at > $1 or (created_at = $2 and id > $3), true) order by created_at, id limit 20": "give the cursor's value once",
	} {
		res := judge(sql, Options{}, nil)
		if f := find(res, "cursor-key-hidden"); f == nil || !strings.Contains(f.Action, want) || res.Fix != nil && res.Fix.SQL != res.SQL {
			t.Errorf("%s: %+v, fix %+v", sql, f, res.Fix)
		}
	}
}

// advice is what can be done about the statement at hand.
func advice(t *testing.T, judge judgeFunc) {
	for sql, want := range map[string]string{
		"select id from issues where created_at > vol($1) or (created_at = vol($1) and id > $2) order by created_at, id limit 20":             "compute it first",
		"select id from issues where due > $1 or (due is not distinct from $1 and id > $2) order by due, id limit 20":                         "a statement of their own",
		"select id from issues where (created_at > $1 and created_at < $3) or (created_at = $1 and id > $2) order by created_at, id limit 20": "use the fix",
	} {
		f := find(judge(sql, Options{}, nil), "cursor-starts-at-oldest")
		if f == nil || !strings.Contains(f.Action, want) || strings.Contains(f.Action, "compare rows") {
			t.Errorf("%s: %+v", sql, f)
		}
	}
	for sql, want := range map[string]string{
		"select id from issues where created_at > counted($1) or (created_at = counted($1) and id > $2) order by created_at, id limit 20": "nextval",
		"select id from issues where created_at > vol($1) or (created_at = vol($1) and id > $2) order by created_at, id limit 20":         "volatile",
	} {
		f := find(judge(sql, Options{Analyze: true}, nil), "statement-not-executed")
		if f == nil || !strings.Contains(f.Message, want) || strings.Contains(f.Action, "--param") {
			t.Errorf("%s: %+v", sql, f)
		}
	}
	res := judge("select i.id, l.id from issues i left join lateral (select id from comments c where c.issue_id = i.id order by created_at desc limit 1) l on true where (i.created_at, i.id) > ($1, $2) order by i.created_at, i.id limit 20", Options{}, nil)
	if find(res, "missing-tiebreaker") != nil {
		t.Errorf("%+v", res.Findings)
	}
	res = judge("select id from issues where project_id = $4 and ((relative_position, id) > ($1, $2) or relative_position is null and id > $3) order by relative_position, id limit 20", Options{}, nil)
	if find(res, "duplicate-parameters") != nil {
		t.Errorf("%+v", res.Findings)
	}
	res = judge("select id from issues where created_at::date > $1 or (created_at::date = $1 and id > $2) order by created_at::date, id limit 20", Options{}, nil)
	if res.Fix != nil && res.Fix.IndexSQL != nil {
		t.Errorf("an index over what is not immutable: %s", *res.Fix.IndexSQL)
	}
}

// reasons are why errors have no fix, and what is advised then.
func reasons(t *testing.T, judge judgeFunc) {
	const nulls = "(due > $1 or (due = $1 and id > $2) or due is null)"
	const after = "(created_at > $1 or (created_at = $1 and id > $2))"
	for sql, want := range map[string]string{
		"select id, due, count(*) over () from issues where " + nulls + " order by due, id limit 20":                                                                                                        "other numbers",
		"select id, due, row_number() over (order by due, id) from issues where " + nulls + " order by due, id limit 20":                                                                                    "other numbers",
		"select distinct due from issues where " + nulls + " order by due limit 20":                                                                                                                         "DISTINCT",
		"select due, count(*) from issues where " + nulls + " group by due order by due limit 20":                                                                                                           "GROUP BY",
		"select id, due from issues where " + nulls + " order by due, id limit 20 for update":                                                                                                               "locks no rows of a UNION",
		"select id, due from issues where " + nulls + " order by due, id limit 20 offset 3":                                                                                                                 "OFFSET",
		"select id, due from issues where " + nulls + " order by due fetch first 20 rows with ties":                                                                                                         "WITH TIES",
		"select id as due, due as id from issues where " + nulls + " order by issues.due, issues.id limit 20":                                                                                               "under a name of its own",
		"select * from issues i left join users u on u.id = i.kind where " + strings.ReplaceAll(nulls, "id", "i.id") + " order by due, i.id limit 20":                                                       "under a name of its own",
		"select i.*, u.* from issues i join users u on u.id = i.kind where " + strings.ReplaceAll(nulls, "id", "i.id") + " order by due limit 20":                                                           "of which table due is",
		"select id from issues where case when $1 is null then state > 2 else (created_at, id) > ($1, $2) end order by created_at, id limit 20":                                                             "the CASE",
		"select id from issues where case $3 when 'a' then true else " + after + " end order by created_at, id limit 20":                                                                                    "CASE WHEN",
		"select id from issues where not ($1 is not null and not " + after + ") order by created_at, id limit 20":                                                                                           "NOT",
		"select id from issues i where exists (select 1 from issues k where k.id = $1 and (i.created_at > k.created_at or (i.created_at = k.created_at and i.id > k.id))) order by created_at, id limit 20": "sub-select",
		"select i.id from issues i join issues k on k.id = $1 and (i.created_at > k.created_at or (i.created_at = k.created_at and i.id > k.id)) order by i.created_at, i.id limit 20":                      "ON of a join",
		"select id, due from issues where (due > $1 or (due = $1 and id > $2)) is not false order by due, id limit 20":                                                                                      "due may be NULL",
		"select id from issues where (created_at < $1 or (created_at = $1 and id <= $2)) is not true order by created_at, id limit 20":                                                                      "IS NOT TRUE",
		"select min(created_at) from issues where created_at > vol($1) or created_at = vol($1)":                                                                                                             "no ORDER BY and LIMIT",
	} {
		r := judge(sql, Options{}, nil)
		said := func(x Rejected) bool { return strings.Contains(x.Why, want) }
		acts := func(f Finding) bool { return f.Severity == Error && strings.Contains(f.Action, want) }
		switch {
		case !severe(r):
			t.Errorf("%s\nno error: %s %+v", sql, r.Verdict, r.Findings)
		case r.Fix != nil || !slices.ContainsFunc(r.Tried, said) && !slices.ContainsFunc(r.Findings, acts):
			t.Errorf("%s\nfix %+v, tried %v, want %q", sql, r.Fix, r.Tried, want)
		}
		if f := find(r, "cursor-null-branch"); f != nil && strings.HasPrefix(f.Action, "split the statement") && want != "under a name of its own" {
			t.Errorf("%s\nadvises what would change the rows: %s", sql, f.Action)
		}
	}
}

// extremes are min and max, which the server reads as a page of one row.
func extremes(t *testing.T, judge judgeFunc) {
	for sql, bound := range map[string]string{
		"select min(created_at) from issues where created_at > $1 or created_at = $1":                                               "created_at >= $1",
		"select min(created_at) from issues where created_at > $1 or (created_at = $1 and id > $2)":                                 "created_at >= $1",
		"select max(i.created_at) as newest from issues i where (i.created_at < $1 or (i.created_at = $1 and i.id < $2))":           "i.created_at <= $1",
		"select x from (select max(created_at) x from issues where created_at < $1 or (created_at = $1 and id < $2)) y":             "created_at <= $1",
		"select (select min(created_at) from issues where created_at > $1 or (created_at = $1 and id > u.id)) from users u limit 5": "created_at >= $1",
		"select kind, min(created_at) from issues where created_at > $1 or (created_at = $1 and id > $2) group by kind":             "",
		"select count(created_at) from issues where created_at > $1 or (created_at = $1 and id > $2)":                               "",
	} {
		r := judge(sql, Options{Analyze: true}, nil)
		if bound == "" {
			if r.Fix != nil || severe(r) {
				t.Errorf("%s\n%s %+v, fix %+v", sql, r.Verdict, r.Findings, r.Fix)
			}
			continue
		}
		if r.Fix == nil || r.Fix.Kind != string(AddBound) || !strings.Contains(r.Fix.SQL, bound+" and (") || r.Fix.After.Starts != "cursor" || r.Fix.Equivalent != Proved || len(r.Fix.Assumes) > 0 {
			t.Errorf("%s\n%s, fix %+v, tried %v", sql, r.Verdict, r.Fix, r.Tried)
		}
	}
}

// union is UNION of the two branches of a cursor, which needs all rows of both.
func union(t *testing.T, judge judgeFunc) {
	for sql, want := range map[string]bool{
		"select id, created_at from issues where created_at > $1 union select id, created_at from issues where created_at = $1 and id > $2 order by created_at, id limit 20":                                                                           true,
		"select id, created_at from issues where created_at < $1 union select id, created_at from issues where created_at = $1 and id < $2 order by created_at desc, id desc limit 20":                                                                 true,
		"(select id, created_at from issues where created_at > $1 order by created_at, id limit 20) union all (select id, created_at from issues where created_at = $1 and id > $2 order by created_at, id limit 20) order by created_at, id limit 20": false,
		"select id, created_at from issues where created_at = $1 union select id, created_at from issues where id = $2 order by created_at, id limit 20":                                                                                               false,
		"select state from issues where kind = 3 group by state order by state limit 20":                                                                                                                                                               false,
	} {
		r := judge(sql, Options{}, nil)
		f := find(r, "page-reads-all-after-cursor")
		if want && (f == nil || f.Severity != Warn || !strings.Contains(f.Action, "UNION ALL") || r.Verdict != ReadsAllAfterCursor) || !want && f != nil {
			t.Errorf("%s\n%s %+v", sql, r.Verdict, r.Findings)
		}
	}
}

// missingRow is a cursor row that is joined in by an outer join.
func missingRow(t *testing.T, judge judgeFunc) {
	const after = "(i.created_at > k.created_at or (i.created_at = k.created_at and i.id > k.id)) order by i.created_at, i.id limit 20"
	for sql, want := range map[string]bool{
		"select i.id from issues i left join issues k on k.id = $1 where k.id is null or " + after:                                                                                                                           true,
		"select i.id from issues i left join lateral (select created_at, id from issues x where x.id = $1) k on true where k.id is null or (i.created_at, i.id) > (k.created_at, k.id) order by i.created_at, i.id limit 20": true,
		// A row of its own for each of the list is no cursor, and a condition of the join drops no row.
		"select i.id from issues i left join issues k on k.id = i.kind where k.id is null or " + after:                                           false,
		"select i.id, u.id from issues i left join users u on u.id = $1 and i.created_at > $2::timestamptz order by i.created_at, i.id limit 20": false,
	} {
		r := judge(sql, Options{}, nil)
		if f := find(r, "cursor-starts-at-oldest"); (f != nil) != want {
			t.Errorf("%s\n%s %+v", sql, r.Verdict, r.Findings)
		} else if want && !strings.Contains(f.Action, "look the cursor's row up first") {
			t.Errorf("%s\nadvises %s", sql, f.Action)
		}
	}
}

// words say what is so of the statement at hand.
func words(t *testing.T, judge judgeFunc) {
	for _, c := range []struct{ sql, rule, want, never string }{
		{"select id, due from issues where (due > $1 or (due = $1 and id > $2)) is not false order by due, id limit 20", "optional-cursor", "kept as true", "$1 IS NULL is true"},
		{"select created_at, id, count(*) from issues where created_at > $1 or (created_at = $1 and id > $2) group by created_at, id order by created_at, id limit 50", "page-reads-all-after-cursor", "groups", "add an index"},
		{"select id from issues where id > ?1 and kind < ? order by id limit 3", "statement-not-judged", "of two styles, ?1 and ?:", "--param"},
		{"select id from issues where id > $1 and kind < :after order by id limit 3", "statement-not-judged", "of two styles, $1 and :after:", "check the"},
		{"select id from issues where id > ?0 order by id limit 3", "statement-not-judged", "?0 is of no known style", "check the"},
		{"select id from issues where id > {after} order by id limit 3", "statement-not-judged", "{after} is of no known style", "check the"},
		{"select id from issues where id > %d order by id limit 3", "statement-not-judged", "%d is of no known style", "search_path"},
		{"select id from issues where id > #{after} order by id limit 3", "statement-not-judged", "#{after} is of no known style", "check the syntax"},
		{"select id from issues where id > {{ after }} order by id limit 3", "statement-not-judged", "{{ after }} is of no known style", "check the syntax"},
		{"select id from issues where id > ${after} order by id limit 3", "statement-not-judged", "${after} is of no known style", "check the syntax"},
		{"select id from issues where id > :'after' order by id limit 3", "statement-not-judged", ":'after' is of no known style", "check the syntax"},
		{"select id from issues where title = '#{after}' or order by id limit 3", "statement-not-judged", "check the syntax", "style"},
	} {
		r := judge(c.sql, Options{}, nil)
		f := find(r, c.rule)
		if f == nil {
			t.Errorf("%s\nno %s: %s %+v", c.sql, c.rule, r.Verdict, r.Findings)
		} else if said := f.Message + "; " + f.Action; !strings.Contains(said, c.want) || strings.Contains(said, c.never) {
			t.Errorf("%s\n%s", c.sql, said)
		}
	}
	if r := judge("select a from unnest($1::int[]) a where a > $2 or a is null order by a limit 5", Options{}, nil); find(r, "null-branch") != nil {
		t.Errorf("a function: %+v", r.Findings)
	}
}
