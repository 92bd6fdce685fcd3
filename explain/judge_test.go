package explain

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

func find(r *Result, rule string) *Finding {
	if i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Rule == rule }); i >= 0 {
		return &r.Findings[i]
	}
	return nil
}

func corpusSQL(t testing.TB, prefix string) corpusFile {
	t.Helper()
	for _, f := range corpus(t) {
		if strings.HasPrefix(f.name, prefix) {
			return f
		}
	}
	t.Fatalf("no corpus file %s", prefix)
	return corpusFile{}
}

// TestJudgeOnCorpus holds what needs the corpus's data, on one server.
func TestJudgeOnCorpus(t *testing.T) {
	r, conn := corpusServer(t, pgtest.Any(t))
	in := func(f corpusFile) Input {
		return Input{Source: f.name, SQL: f.sql, Types: f.types, OwnText: true, SearchPath: f.path}
	}
	t.Run("analyze proves by the slope", func(t *testing.T) {
		for _, name := range []string{"001", "011", "018", "021", "040", "049"} {
			f := corpusSQL(t, name)
			res := Judge(t.Context(), r, in(f), Options{Analyze: true})
			if res.Fix == nil || len(res.Fix.Steps) != 4 {
				t.Fatalf("%s: fix %+v", f.name, res.Fix)
			}
			s := res.Fix.Steps
			if !(s[1].Blocks > s[0].Blocks && s[3].Blocks < 50*s[2].Blocks+50) {
				t.Errorf("%s: steps %+v do not show a slope before and none after", f.name, s)
			}
			if res.Fix.Equivalent == NotProved {
				t.Errorf("%s: rows not compared: %s", f.name, strings.Join(res.Fix.Proof, "\n"))
			}
			if !slices.ContainsFunc(res.Fix.Proof, func(l string) bool { return strings.HasPrefix(l, "the same rows in the same order at 5") }) {
				t.Errorf("%s: %s", f.name, strings.Join(res.Fix.Proof, "\n"))
			}
		}
	})
	t.Run("analyze is refused for volatile functions", func(t *testing.T) {
		q := in(corpusSQL(t, "015"))
		q.SQL = strings.Replace(q.SQL, "SELECT *", "SELECT *, random() AS r", 1)
		res := Judge(t.Context(), r, q, Options{Analyze: true})
		if res.Fix == nil || len(res.Fix.Steps) > 0 || !slices.ContainsFunc(res.Fix.Proof, func(l string) bool { return strings.Contains(l, "volatile function random") }) {
			t.Errorf("got %+v", res.Fix)
		}
	})
	t.Run("nothing is executed without analyze", func(t *testing.T) {
		q := in(corpusSQL(t, "015"))
		q.SQL = strings.Replace(q.SQL, "SELECT *", "SELECT 1 / (seq - seq) AS boom", 1)
		if res := Judge(t.Context(), r, q, Options{}); res.Verdict != StartsAtOldest || res.Fix == nil {
			t.Errorf("got %s %+v", res.Verdict, res.Findings)
		}
	})
	t.Run("the sixth execution", func(t *testing.T) {
		q := in(corpusSQL(t, "021"))
		var at string
		if err := conn.QueryRow(t.Context(), "SELECT created_at::text FROM corpus.doc ORDER BY created_at OFFSET 30 LIMIT 1").Scan(&at); err != nil {
			t.Fatal(err)
		}
		q.Params = map[string]string{"created_at": at, "id": "80000000-0000-0000-0000-000000000000"}
		res := Judge(t.Context(), r, q, Options{})
		if last := res.Plans[len(res.Plans)-1]; last.Case != "given" || last.Starts == "oldest" {
			t.Errorf("custom plan near the end: %s starts at %s", last.Node, last.Starts)
		}
		if find(res, "plan-flips-at-sixth-execution") == nil {
			t.Errorf("no flip found: %+v", res.Findings)
		}
	})
	t.Run("an index where a rewrite is not enough", func(t *testing.T) {
		for name, want := range map[string]string{
			"118": `CREATE INDEX CONCURRENTLY ON "corpus"."doc" ("touched_at", "id")`,
			"107": `CREATE INDEX CONCURRENTLY ON "corpus"."doc" ("status")`,
			"226": `CREATE INDEX CONCURRENTLY ON "shop"."Order" ((("placedAt" AT TIME ZONE 'UTC')::date), "Id")`,
		} {
			res := Judge(t.Context(), r, in(corpusSQL(t, name)), Options{})
			if res.Fix == nil || res.Fix.IndexSQL == nil || *res.Fix.IndexSQL != want {
				t.Errorf("%s: got %+v, want %s", name, res.Fix, want)
			}
		}
	})
	t.Run("the place of NULLs where an index has another", func(t *testing.T) {
		res := Judge(t.Context(), r, in(corpusSQL(t, "225")), Options{})
		if res.Fix == nil || res.Fix.Kind != string(NullsOrder) || res.Fix.Equivalent != Proved || res.Fix.After.Starts != "cursor" {
			t.Errorf("got %+v, tried %v", res.Fix, res.Tried)
		}
	})
	t.Run("no index over what is not immutable", func(t *testing.T) {
		res := Judge(t.Context(), r, in(corpusSQL(t, "119")), Options{})
		if res.Fix != nil && res.Fix.IndexSQL != nil || !slices.ContainsFunc(res.Tried, func(x Rejected) bool { return strings.Contains(x.Why, "not immutable") }) {
			t.Errorf("got %+v, tried %v", res.Fix, res.Tried)
		}
	})
	t.Run("placeholders of the source", func(t *testing.T) {
		q := in(corpusSQL(t, "021"))
		q.Types = nil
		q.SQL = "SELECT id FROM doc /* page */ WHERE created_at < :at OR (created_at = :at AND id < :id) ORDER BY created_at DESC, id DESC LIMIT 21"
		res := Judge(t.Context(), r, q, Options{})
		if res.Fix == nil || !strings.Contains(res.Fix.SQL, "(created_at, id) < (:at, :id)") || !strings.Contains(res.Fix.SQL, "/* page */") {
			t.Errorf("got %+v", res.Fix)
		}
		said := res.Fix.Why + strings.Join(res.Fix.Proof, " ")
		for _, f := range res.Findings {
			said += f.Message + f.Action
		}
		if strings.Contains(said, "$") || !strings.Contains(said, "created_at <= :at") || !strings.Contains(said, "(created_at, id) < (:at, :id)") {
			t.Errorf("not in the statement's placeholders: %s", said)
		}
	})
	t.Run("plans from elsewhere", func(t *testing.T) { plansFromElsewhere(t, r) })
}

// plansFromElsewhere judges the corpus's plans as JSON: with the catalog the
// verdict is Judge's own; without it no good page gets an error, and every bad one
// is still seen, but for those of which only the statistics of a column tell.
func plansFromElsewhere(t *testing.T, r *Runner) {
	seen, bad := 0, 0
	for _, f := range corpus(t) {
		res := Judge(t.Context(), r, Input{Source: f.name, SQL: f.sql, Types: f.types, OwnText: true, SearchPath: f.path}, Options{PlanOnly: true})
		raw := res.Plans[0].Plan.Raw
		with, err := JudgePlan(f.name, raw, r.catalog)
		if err != nil {
			t.Fatal(err)
		}
		if with.Verdict != res.Verdict && with.Verdict != NotApplicable {
			t.Errorf("%s: verdict %s from the plan, %s from the text", f.name, with.Verdict, res.Verdict)
		}
		without, err := JudgePlan(f.name, raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		severe := slices.ContainsFunc(without.Findings, func(f Finding) bool { return f.Severity == Error })
		switch {
		case f.verdict == "good" && find(without, "cursor-null-branch") != nil: // how many NULLs come first, only statistics tell
			if with.Verdict != StartsAtCursor {
				t.Errorf("%s: %s with the catalog: %+v", f.name, with.Verdict, with.Findings)
			}
		case f.verdict == "good" && (severe || without.Verdict == StartsAtOldest):
			t.Errorf("%s: %s without the catalog: %+v", f.name, without.Verdict, without.Findings)
		case f.verdict == "bad":
			bad++
			if without.Verdict == StartsAtOldest && severe {
				seen++
			} else if find(res, "cursor-bound-on-few-values") == nil { // which only statistics tell
				t.Errorf("%s: %s without the catalog: %+v", f.name, without.Verdict, without.Findings)
			}
		}
	}
	t.Logf("without the catalog %d of %d bad plans are seen", seen, bad)
	if _, err := JudgePlan("x.json", []byte("SELECT 1"), nil); !errors.Is(err, plan.ErrNoPlan) {
		t.Errorf("got %v, want ErrNoPlan", err)
	}
}

func TestStatements(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		s := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{"shared_preload_libraries": "pg_stat_statements"}})
		admin := pgtest.Connect(t, s.DSN("postgres", "postgres"))
		r := open(t, s.DSN("postgres", "postgres"), RunnerOptions{})
		if _, err := Statements(t.Context(), r, 10); !errors.Is(err, ErrNoStatements) {
			t.Errorf("got %v, want ErrNoStatements", err)
		}
		schema, err := os.ReadFile("testdata/statements.sql")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := admin.PgConn().Exec(t.Context(), string(schema)).ReadAll(); err != nil {
			if strings.Contains(err.Error(), "is not available") {
				t.Skip("this server has no pg_stat_statements")
			}
			t.Fatal(err)
		}
		app := pgtest.Connect(t, s.DSN("app", "postgres"))
		for range 3 {
			if _, err := app.PgConn().Exec(t.Context(), "-- name: ListEvents :many\n/* page **/ SELECT * FROM events WHERE at > '2024-01-01 01:00' OR (at = '2024-01-01 01:00' AND id > 5) ORDER BY at, id LIMIT 10").ReadAll(); err != nil {
				t.Fatal(err)
			}
		}
		list, err := Statements(t.Context(), r, 100)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list.Statements, func(s Statement) bool { return s.Role == "app" && strings.Contains(s.SQL, "events") })
		if i < 0 {
			t.Fatalf("the page is not among %d statements", len(list.Statements))
		}
		st := list.Statements[i]
		if st.Calls != 3 || st.TotalMS <= 0 || !strings.Contains(st.SearchPath, "shop") {
			t.Errorf("got %+v", st)
		}
		if !slices.IsSortedFunc(list.Statements, func(a, b Statement) int { return int(b.TotalMS*1e6 - a.TotalMS*1e6) }) {
			t.Error("not ranked by total time")
		}
		reader := open(t, s.DSN("reader", "postgres"), RunnerOptions{})
		res := Judge(t.Context(), reader, Input{Source: "pg_stat_statements", SQL: st.SQL, SearchPath: st.SearchPath}, Options{})
		if res.Verdict != StartsAtOldest || res.Fix == nil {
			t.Errorf("got %s %+v", res.Verdict, res.Findings)
		}
	})
}
