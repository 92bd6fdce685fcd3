package tui

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// judgedRecord is a judgement as it is kept in a file: what its JSON leaves out
// stands beside it.
type judgedRecord struct {
	Statement explain.Statement
	Result    *explain.Result
	Changed   [2]int
	Plans     []planRecord
	After     *planRecord  `json:",omitempty"`
	Steps     []planRecord `json:",omitempty"`
	Analyzed  bool         `json:",omitempty"`
}

type planRecord struct {
	Raw   json.RawMessage
	Scans []scanRecord
}

type scanRecord struct {
	Node             int // in the order of Walk
	Class            explain.Class
	Why              string
	Rows             float64
	Limited, Ordered bool
}

func keepPlan(p explain.Plan, scans []*explain.Scan) planRecord {
	out := planRecord{Raw: p.Raw}
	i := 0
	p.Root.Walk(func(n *plan.Node) bool {
		for _, s := range scans {
			if s.Node == n {
				out.Scans = append(out.Scans, scanRecord{i, s.Class, s.Why, s.Rows(), s.Limited, s.Ordered})
			}
		}
		i++
		return true
	})
	return out
}

func (r planRecord) plan(t testing.TB) (explain.Plan, []*explain.Scan) {
	t.Helper()
	tree, err := plan.Parse(r.Raw)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []*plan.Node
	tree.Root.Walk(func(n *plan.Node) bool { nodes = append(nodes, n); return true })
	var scans []*explain.Scan
	for _, s := range r.Scans {
		scans = append(scans, &explain.Scan{
			Node: nodes[s.Node], Class: s.Class, Why: s.Why, Table: &explain.Table{Rows: s.Rows}, Limited: s.Limited, Ordered: s.Ordered,
		})
	}
	return explain.Plan{Tree: tree, Raw: r.Raw}, scans
}

func keep(s explain.Statement, r *explain.Result) judgedRecord {
	out := judgedRecord{Statement: s, Result: r}
	for _, c := range r.Plans {
		out.Plans = append(out.Plans, keepPlan(c.Plan, c.Scans))
	}
	if f := r.Fix; f != nil {
		out.Changed = f.Changed
		if f.After.Plan.Tree != nil {
			p := keepPlan(f.After.Plan, f.After.Scans)
			out.After = &p
		}
		for _, s := range f.Steps {
			out.Steps = append(out.Steps, keepPlan(s.Plan, s.Scans))
		}
	}
	return out
}

// result puts the judgement together again.
func (r judgedRecord) result(t testing.TB) *explain.Result {
	t.Helper()
	res := r.Result
	for i := range res.Plans {
		res.Plans[i].Plan, res.Plans[i].Scans = r.Plans[i].plan(t)
	}
	if len(res.Plans) > 0 {
		res.Scans = res.Plans[0].Scans
	}
	if f := res.Fix; f != nil {
		f.Changed = r.Changed
		f.Before.Plan, f.Before.Scans = res.Plans[0].Plan, res.Plans[0].Scans
		if r.After != nil {
			f.After.Plan, f.After.Scans = r.After.plan(t)
		}
		for i := range f.Steps {
			f.Steps[i].Plan, f.Steps[i].Scans = r.Steps[i].plan(t)
		}
	}
	return res
}

// judgements is an Explainer that plays what a real server's judged.
type judgements struct {
	all    []judgedRecord
	err    error
	t      testing.TB
	closed int
}

func recordedJudgements(t testing.TB) *judgements {
	t.Helper()
	b, err := os.ReadFile("testdata/judged.json")
	if err != nil {
		t.Fatalf("%v; go test ./tui -run TestRecordJudgements -update makes it", err)
	}
	x := &judgements{t: t}
	if err := json.Unmarshal(b, &x.all); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *judgements) Statements(context.Context, int) (explain.Listing, error) {
	var out explain.Listing
	for _, r := range x.all {
		if !r.Analyzed {
			out.Statements = append(out.Statements, r.Statement)
		}
	}
	return out, x.err
}

func (x *judgements) Judge(_ context.Context, in explain.Input, o explain.Options) *explain.Result {
	for _, r := range x.all {
		if r.Statement.SQL == in.SQL && r.Analyzed == o.Analyze {
			return r.result(x.t)
		}
	}
	return &explain.Result{SQL: in.SQL, Verdict: explain.Unknown, Findings: []explain.Finding{{Severity: explain.Warn, Message: "not recorded"}}}
}

func (x *judgements) Close() { x.closed++ }

// pagingServer is a real server with a table to page through, statements that do
// in its statistics, and a login that only reads. It returns their DSN.
func pagingServer(t *testing.T, rows string) (dsn string, srv *pgserver.Server) {
	t.Helper()
	srv = pgtest.Start(t, pgtest.Any(t), pgserver.Options{Settings: map[string]string{"shared_preload_libraries": "pg_stat_statements"}})
	admin := srv.DSN("postgres", "postgres")
	pgtest.Exec(
		t, admin, "CREATE EXTENSION pg_stat_statements", "CREATE ROLE werft LOGIN", "CREATE ROLE sonde LOGIN",
		"GRANT pg_monitor, pg_read_all_data TO sonde", "GRANT pg_read_all_data TO werft",
		`CREATE TABLE event AS SELECT n::bigint AS id, timestamptz '2026-01-01 00:00:00Z' + (n / 2) * interval '7 s' AS created_at,
			n % 40 AS project_id, (ARRAY['push', 'build', 'deploy'])[n % 3 + 1] AS kind, 'run ' || n AS note FROM generate_series(1, `+rows+`) n`,
		"ALTER TABLE event ADD PRIMARY KEY (id), ALTER created_at SET NOT NULL", "CREATE INDEX ON event (created_at, id)",
		"CREATE TABLE project AS SELECT n AS id, 'project ' || n AS name FROM generate_series(0, 39) n",
		"VACUUM ANALYZE",
	)
	c := pgtest.Connect(t, srv.DSN("werft", "postgres"))
	for sql, args := range pagingStatements() {
		if _, err := c.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return srv.DSN("sonde", "postgres"), srv
}

// badPage starts at the oldest row each time.
const badPage = "SELECT id, created_at, kind, note FROM event\nWHERE created_at > $1 OR (created_at = $1 AND id > $2)\nORDER BY created_at, id\nLIMIT 50"

func pagingStatements() map[string][]any {
	at := time.Date(2026, 1, 4, 0, 0, 0, 0, time.UTC)
	return map[string][]any{
		badPage: {at, 70000},
		"SELECT id, created_at, kind, note FROM event\nWHERE (created_at, id) > ($1, $2)\nORDER BY created_at, id\nLIMIT 50":                         {at, 70000},
		"SELECT id, created_at, kind, note FROM event\nORDER BY created_at, id\nLIMIT 50 OFFSET $1":                                                  {70000},
		"SELECT id, note FROM event WHERE note > $1 ORDER BY note LIMIT 50":                                                                          {"run 5"},
		"SELECT p.name, e.kind, count(*) FROM event e JOIN project p ON p.id = e.project_id GROUP BY p.name, e.kind ORDER BY count(*) DESC LIMIT 10": nil,
		"SELECT id /* \x1b]52;c;cm0=\x07 \x1b[2J \u202egpj */ FROM event WHERE id > $1 ORDER BY id LIMIT 3":                                          {7},
	}
}

// TestRecordJudgements writes what the golden frames show, from a real server.
func TestRecordJudgements(t *testing.T) {
	if !*update {
		t.Skip("writes testdata/judged.json; run with -update")
	}
	dsn, _ := pagingServer(t, "100000")
	r, err := explain.Open(t.Context(), dsn, explain.RunnerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.WithoutCancel(t.Context()))
	list, err := explain.Statements(t.Context(), r, 100)
	if err != nil {
		t.Fatal(err)
	}
	var all []judgedRecord
	for _, s := range list.Statements {
		if s.Role != "werft" {
			continue
		}
		in := explain.Input{Source: "pg_stat_statements", SQL: s.SQL, SearchPath: s.SearchPath}
		all = append(all, keep(s, explain.Judge(t.Context(), r, in, explain.Options{})))
		measured := keep(s, explain.Judge(t.Context(), r, in, explain.Options{Analyze: true}))
		measured.Analyzed = true
		all = append(all, measured)
	}
	b, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/judged.json", append(b, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
