package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// corpora are the folders of testdata with a schema and queries over it; each
// folder's name is that of its schema.
var corpora = []string{"corpus", "shop"}

// corpusFile is one query of a corpus with its header.
type corpusFile struct {
	name, sql string
	path      string // search_path
	verdict   string // bad, good, smell
	types     []string
	args      []string // SQL, $c1 … stand for the cursor's columns
	cursor    string   // a query whose rows are cursors, in the page's order
}

func corpus(t testing.TB) []corpusFile {
	t.Helper()
	var paths []string
	for _, c := range corpora {
		found, err := filepath.Glob("testdata/" + c + "/[0-9]*.sql")
		if err != nil || len(found) == 0 {
			t.Fatalf("no corpus in %s: %v", c, err)
		}
		paths = append(paths, found...)
	}
	var out []corpusFile
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		query, _, _ := strings.Cut(string(text), "-- @fixed")
		f := corpusFile{name: filepath.Base(p), sql: sqltext.Split(query)[0].Text, path: filepath.Base(filepath.Dir(p)) + ", public"}
		for _, line := range strings.Split(query, "\n") {
			if v, ok := strings.CutPrefix(line, "-- verdict: "); ok {
				f.verdict = v
			}
			if v, ok := strings.CutPrefix(line, "-- types: "); ok && v != "" {
				f.types = strings.Split(v, ", ")
			}
			if v, ok := strings.CutPrefix(line, "-- args: "); ok {
				f.args = splitArgs(v)
			}
			if v, ok := strings.CutPrefix(line, "-- cursor: "); ok {
				f.cursor = v
			}
		}
		out = append(out, f)
	}
	return out
}

// splitArgs splits at commas outside quotes.
func splitArgs(s string) []string {
	var out []string
	quoted, start := false, 0
	for i, c := range s {
		if c == '\'' {
			quoted = !quoted
		}
		if c == ',' && !quoted {
			out = append(out, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	return append(out, strings.TrimSpace(s[start:]))
}

// headerAllows maps the header's verdict to ours: a bad page starts too early or
// sorts everything, a good one never starts too early, and a smell may be any
// but has a finding.
func headerAllows(header string, r *Result) error {
	severe := slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Error })
	switch header {
	case "bad":
		if r.Verdict != StartsAtOldest && r.Verdict != SortsWholeTable {
			return fmt.Errorf("got verdict %s, want it to start at the oldest row", r.Verdict)
		}
		if !severe {
			return fmt.Errorf("no finding of severity error")
		}
	case "good":
		if r.Verdict == StartsAtOldest || r.Verdict == Unknown {
			return fmt.Errorf("got verdict %s for a good page", r.Verdict)
		}
		if severe {
			return fmt.Errorf("severity error on a good page: %v", r.Findings)
		}
	case "smell":
		if len(r.Findings) == 0 {
			return fmt.Errorf("no finding")
		}
		if r.Verdict == Unknown {
			return fmt.Errorf("not judged: %v", r.Findings)
		}
	default:
		return fmt.Errorf("unknown verdict %q in the header", header)
	}
	return nil
}

// corpusConn is a session that can be told the plan of what it executes.
type corpusConn struct {
	*pgx.Conn
	told  bool     // auto_explain is there
	plans []string // JSON
}

// connectCorpus opens one. auto_explain tells the blocks that an execution read, so
// that what it returns and what it reads takes one.
func connectCorpus(t testing.TB, dsn string) *corpusConn {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	c := &corpusConn{}
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if _, text, ok := strings.Cut(n.Message, "plan:\n"); ok {
			c.plans = append(c.plans, text)
		}
	}
	if c.Conn, err = pgx.ConnectConfig(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	if _, err := c.Exec(t.Context(), "LOAD 'auto_explain'"); err != nil {
		t.Logf("blocks are counted by a second execution: %v", err)
		return c
	}
	c.told = true
	for _, set := range []string{
		"log_level = notice", "log_format = json", "log_analyze = on", "log_buffers = on", "log_timing = off", "log_min_duration = -1",
	} {
		if _, err := c.Exec(t.Context(), "SET auto_explain."+set); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// corpusServer starts a server with the corpus in it.
func corpusServer(t testing.TB, in pgserver.Install) (*Runner, *corpusConn) {
	t.Helper()
	s := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{"autovacuum": "off"}})
	dsn := s.DSN("postgres", "postgres")
	conn := connectCorpus(t, dsn)
	for _, c := range corpora {
		schema, err := os.ReadFile("testdata/" + c + "/schema.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range sqltext.Split(string(schema)) { // one by one: VACUUM stands alone
			if _, err := conn.PgConn().Exec(t.Context(), st.Text).ReadAll(); err != nil {
				t.Fatalf("loading %s: %v\n%s", c, err, clip(st.Text, 200))
			}
		}
	}
	if _, err := conn.Exec(t.Context(), "SET client_min_messages = notice"); err != nil { // the schemas are loaded quietly
		t.Fatal(err)
	}
	r, err := Open(t.Context(), dsn, RunnerOptions{StatementTimeout: time.Minute}) // for slow machines
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.WithoutCancel(t.Context())) })
	return r, conn
}

func TestCorpus(t *testing.T) {
	files := corpus(t)
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		r, conn := corpusServer(t, in)
		passed, fixed, proved := 0, 0, 0
		seen := map[string][][]string{} // cursors
		for _, f := range files {
			res := Judge(t.Context(), r, Input{Source: f.name, Line: 1, SQL: f.sql, Types: f.types, OwnText: true, SearchPath: f.path}, Options{})
			if err := headerAllows(f.verdict, res); err != nil {
				t.Errorf("%s (%s): %v", f.name, f.verdict, err)
				continue
			}
			if _, err := json.Marshal(res); err != nil {
				t.Errorf("%s: %v", f.name, err)
			}
			passed++
			fixOrReason(t, f.name, res)
			if f.verdict != "bad" {
				continue
			}
			if res.Fix == nil || res.Fix.SQL == "" {
				t.Errorf("%s: no fix; tried %v", f.name, res.Tried)
				continue
			}
			if bug := find(res, "precedence-bug"); bug != nil {
				meant, _ := bug.Evidence["meant"].(string)
				if res.Fix.Keeps != bug.Rule || !strings.Contains(res.Fix.Why, "mend that first") || !strings.Contains(meant, " AND (") {
					t.Errorf("%s: the fix does not say that it keeps the fault: %s; meant %q", f.name, res.Fix.Why, meant)
				}
			}
			if checkFix(t, conn, f, res.Fix, seen) {
				fixed++
			}
			if res.Fix.Equivalent == Proved {
				proved++
			} else if len(res.Fix.Proof) == 0 {
				t.Errorf("%s: %s without a reason", f.name, res.Fix.Equivalent)
			}
		}
		t.Logf("%s: %d of %d verdicts as in the header; %d fixes hold, %d proved", in.Version, passed, len(files), fixed, proved)
	})
}

// checkFix runs the statement and its fix at five cursors of the header: the rows
// have to be the same, and fewer blocks read.
func checkFix(t *testing.T, conn *corpusConn, f corpusFile, fix *Fix, seen map[string][][]string) bool {
	t.Helper()
	old, errOld := sqltext.Readable(f.sql)
	fixed, errNew := sqltext.Readable(fix.SQL)
	if errOld != nil || errNew != nil {
		t.Errorf("%s: %v %v", f.name, errOld, errNew)
		return false
	}
	var before, after float64
	for at := range cursorShares {
		args := cursorArgs(t, conn, f, at, seen)
		count := at >= 2 // blocks behind the middle only
		a, blocksA := execute(t, conn, f, old.SQL, args, count)
		g := f
		if len(fix.Bind) > 0 {
			var moved []string
			g.types = nil
			for _, n := range fix.Bind {
				moved, g.types = append(moved, args[n-1]), append(g.types, f.types[n-1])
			}
			args = moved
		}
		b, blocksB := execute(t, conn, g, fixed.SQL, args, count)
		if a != b {
			t.Errorf("%s at cursor %d: rows differ\nfix: %s\nbefore: %s\nafter:  %s", f.name, at, fix.SQL, clip(a, 300), clip(b, 300))
			return false
		}
		before, after = before+blocksA, after+blocksB
	}
	if after >= before {
		t.Errorf("%s: the fix reads %.0f blocks at the later cursors, the statement %.0f\n%s", f.name, after, before, fix.SQL)
		return false
	}
	return true
}

// cursorShares are where in the header's rows the cursors stand.
var cursorShares = []float64{0.05, 0.25, 0.5, 0.75, 0.95}

// cursorArgs fills the header's arguments with the cursor at one of cursorShares.
func cursorArgs(t *testing.T, conn *corpusConn, f corpusFile, at int, seen map[string][][]string) []string {
	t.Helper()
	if seen[f.cursor] == nil {
		seen[f.cursor] = cursorRows(t, conn, f)
	}
	args := slices.Clone(f.args)
	for i, a := range args {
		for n, v := range seen[f.cursor][at] {
			if a == fmt.Sprintf("$c%d", n+1) {
				args[i] = v
			}
		}
	}
	return args
}

// cursorRows reads the rows at cursorShares as SQL literals.
func cursorRows(t *testing.T, conn *corpusConn, f corpusFile) [][]string {
	t.Helper()
	if _, err := conn.Exec(t.Context(), "SET search_path = "+f.path); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), fmt.Sprintf(`
		SELECT ARRAY(SELECT quote_nullable(e.value) FROM json_each_text(to_json(c)) e)
		FROM (SELECT c, row_number() OVER () AS i, count(*) OVER () AS n FROM (%s) c) x
		WHERE i IN (SELECT 1 + (n * at)::bigint FROM unnest($1::float8[]) at) ORDER BY i`, f.cursor), cursorShares)
	if err != nil {
		t.Fatalf("%s: cursor: %v", f.name, err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[[]string])
	if err != nil || len(out) != len(cursorShares) {
		t.Fatalf("%s: %d cursors, %v", f.name, len(out), err)
	}
	return out
}

// execute returns the rows of the generic plan as text, and, if asked, the blocks
// it reads.
func execute(t *testing.T, conn *corpusConn, f corpusFile, sql string, args []string, count bool) (string, float64) {
	t.Helper()
	ctx := t.Context()
	if _, err := conn.Exec(ctx, "SET search_path = "+f.path); err != nil {
		t.Fatal(err)
	}
	run := func(sql string) [][][]byte {
		res := conn.PgConn().ExecParams(ctx, sql, nil, nil, nil, nil).Read()
		if res.Err != nil {
			t.Fatalf("%s: %v\n%s", f.name, res.Err, sql)
		}
		return res.Rows
	}
	run("SET plan_cache_mode = force_generic_plan")
	run("PREPARE q (" + strings.Join(f.types, ", ") + ") AS " + sql)
	defer run("DEALLOCATE q")
	call := "EXECUTE q (" + strings.Join(args, ", ") + ")"
	conn.plans = nil
	if count && conn.told {
		run("SET auto_explain.log_min_duration = 0")
	}
	var b strings.Builder
	for _, row := range run(call) {
		for _, v := range row {
			fmt.Fprintf(&b, "%q ", v)
		}
		b.WriteByte('\n')
	}
	if !count {
		return b.String(), 0
	}
	var text []byte
	if conn.told {
		run("SET auto_explain.log_min_duration = -1")
		if len(conn.plans) != 1 {
			t.Fatalf("%s: %d plans of one execution", f.name, len(conn.plans))
		}
		text = []byte(conn.plans[0])
	} else {
		text = run("EXPLAIN (ANALYZE, TIMING OFF, BUFFERS, FORMAT JSON) " + call)[0][0]
	}
	p, err := plan.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), p.Root.Buffers.Shared()
}
