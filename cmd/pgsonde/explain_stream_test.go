package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// onWrite calls f when it is first written to.
type onWrite struct {
	bytes.Buffer
	f func()
}

func (w *onWrite) Write(p []byte) (int, error) {
	if w.f != nil {
		w.f()
		w.f = nil
	}
	return w.Buffer.Write(p)
}

// TestExplainPrintsAsItJudges: the table of the second statement goes when the first
// judgement is printed, so that the second can only fail if it comes after it. A
// document is written when both are judged.
func TestExplainPrintsAsItJudges(t *testing.T) {
	dsn := pgtest.Start(t, pgtest.Any(t), pgserver.Options{}).DSN("postgres", "postgres")
	file := filepath.Join(t.TempDir(), "two.sql")
	if err := os.WriteFile(file, []byte("select * from one;\nselect * from two;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		format, want string
	}{
		{"text", "two.sql:2 · not judged"},
		{"json", `"verdict":"not-applicable"`},
		{"sarif", `"results":[]`},
	} {
		pgtest.Exec(t, dsn, "drop table if exists one, two", "create table one ()", "create table two ()")
		out := &onWrite{f: func() { pgtest.Exec(t, dsn, "drop table two") }}
		var errw bytes.Buffer
		if rc := run(t.Context(), []string{"explain", "--format", c.format, dsn, file}, strings.NewReader(""), out, io.Writer(&errw)); rc != exitOK {
			t.Errorf("%s: exit %d: %s", c.format, rc, errw.String())
		}
		if got := out.String(); !strings.Contains(got, c.want) || c.format != "text" && strings.Contains(got, "does not exist") {
			t.Errorf("%s: got\n%s\nwant %q in it", c.format, got, c.want)
		}
	}
}
