package schema

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/explain/sqltext"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

const corpusDir = "../../../explain/testdata/corpus"

// corpusDDL is the corpus's schema without its rows and without ANALYZE.
func corpusDDL(t *testing.T) File {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(corpusDir, "schema.sql"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, st := range sqltext.Split(string(text)) {
		switch sqltext.FirstKeyword(st.Text) {
		case "insert", "analyze", "vacuum", "update", "delete":
		default:
			b.WriteString(st.Text + ";\n")
		}
	}
	return File{"schema.sql", b.String()}
}

// start makes a server of the install that ends with the test.
func start(t *testing.T, in pgserver.Install, o Options) (*Server, error) {
	t.Helper()
	o.Major, o.Progress = in.Major, t.Output()
	s, err := Start(t.Context(), o)
	if err == nil {
		t.Cleanup(s.Stop)
	}
	return s, err
}

func runner(t *testing.T, s *Server) *explain.Runner {
	t.Helper()
	r, err := explain.Open(t.Context(), s.DSN(), explain.RunnerOptions{StatementTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.WithoutCancel(t.Context())) })
	return r
}

// header are the lines of a corpus file that are asked for here.
func header(text, key string) string {
	for _, line := range strings.Split(text, "\n") {
		if v, ok := strings.CutPrefix(line, "-- "+key+": "); ok {
			return v
		}
	}
	return ""
}

// TestCorpus judges the corpus without one row of it: with sizes alone, and the
// distinct values of the one column that a verdict turns on, every verdict is
// that of the real tables.
func TestCorpus(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(corpusDir, "[0-9]*.sql"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	ddl := corpusDDL(t)
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		s, err := start(t, in, Options{
			Files: []File{ddl}, Rows: []Rows{{N: 1e6}}, Tell: func(s string) { t.Errorf("told: %s", s) },
			Stats: &File{"stats.tsv", "table\trows\tcolumn\tn_distinct\tnull_frac\ncorpus.doc\t1000000\tpriority\t5\t0\n"},
		})
		if err != nil {
			t.Fatal(err)
		}
		r := runner(t, s)
		for _, p := range paths {
			text, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			query, _, _ := strings.Cut(string(text), "-- @fixed")
			res := explain.Judge(t.Context(), r, explain.Input{
				Source: p, SQL: sqltext.Split(query)[0].Text, Types: strings.Split(header(query, "types"), ", "), OwnText: true, SearchPath: "corpus, public",
			}, explain.Options{})
			severe := slices.ContainsFunc(res.Findings, func(f explain.Finding) bool { return f.Severity == explain.Error })
			verdict := header(query, "verdict")
			if res.Verdict == explain.Unknown || verdict == "bad" && !severe || verdict == "good" && severe {
				t.Errorf("%s is %s: got %s, %v", filepath.Base(p), verdict, res.Verdict, res.Findings)
			}
			if verdict == "bad" && res.Fix == nil {
				t.Errorf("%s: no fix; tried %v", filepath.Base(p), res.Tried)
			}
		}
	})
}
