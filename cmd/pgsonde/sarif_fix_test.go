package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// TestSARIFFixes applies the replacements to the file, once by bytes and once by
// lines and columns: what comes out holds the fix, and all else is as it was.
func TestSARIFFixes(t *testing.T) {
	const text = "-- name: a :many\nselect 1;\n\n/* 𝄞 ü */ select id, 'ß𝄞' from doc where a > $1 or (a = $1\n  and id > $2) order by a, id limit 5; -- end\n"
	const fixed = "select id, 'ß𝄞' from doc where (a, id) > ($1, $2) order by a, id limit 5"
	st := sqltext.Split(text)[1]
	index := "CREATE INDEX ON doc (a, id)"
	from, to := strings.Index(st.Text, "a > $1"), strings.Index(st.Text, " order")
	q := &judged{
		file: "list ü.sql", text: text, at: st.Start,
		Result: &explain.Result{
			Source: "list ü.sql:4", SQL: st.Text, Verdict: explain.StartsAtOldest,
			Findings: []explain.Finding{
				{Rule: "cursor-starts-at-oldest", Severity: explain.Error, Message: "m", Evidence: map[string]any{}},
				{Rule: "precedence-bug", Severity: explain.Error, Message: "m", Evidence: map[string]any{"start": from, "end": to, "line": 4, "meant": fixed}},
				{Rule: "offset", Severity: explain.Warn, Message: "m", Evidence: map[string]any{"start": -1, "end": -1, "line": 5}},
			},
			Fix: &explain.Fix{
				SQL: fixed, Why: "because", Equivalent: explain.NotProved, IndexSQL: &index, First: "select 2", When: "$1 is null",
				Bind: []int{1, 2}, FirstBind: []int{3}, Assumes: []string{"nothing"},
			},
		},
	}
	raw, err := json.Marshal(sarifLog(&explainDoc{Queries: []*judged{q}}))
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	for _, e := range sarifErrors("log", "log", doc) {
		t.Error(e)
	}
	var log sarif
	if err := json.Unmarshal(raw, &log); err != nil {
		t.Fatal(err)
	}
	results := log.Runs[0].Results
	for i, want := range []int{1, 1, 0} {
		if got := len(results[i].Fixes); got != want {
			t.Fatalf("%s: got %d fixes, want %d", results[i].RuleID, got, want)
		}
		if want == 0 {
			continue
		}
		x := results[i].Fixes[0].Changes[0]
		r := x.Replacements[0]
		want := strings.Replace(text, st.Text, fixed, 1)
		at, n := *r.Deleted.ByteOffset, *r.Deleted.ByteLength
		if got := text[:at] + r.Inserted.Text + text[at+n:]; got != want {
			t.Errorf("%s: by bytes: got\n%s\nwant\n%s", results[i].RuleID, got, want)
		}
		if got := string(applyColumns(text, r)); got != want {
			t.Errorf("%s: by columns: got\n%s\nwant\n%s", results[i].RuleID, got, want)
		}
		if x.Artifact.URI != "list%20%C3%BC.sql" {
			t.Errorf("got URI %s", x.Artifact.URI)
		}
	}
	words := results[0].Fixes[0].Description.Text
	for _, want := range []string{"because", "not proved", "assumed: nothing", "that were 1, 2", "while $1 is null", "that were 3", index} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q in %q", want, words)
		}
	}
	if r := results[1].Locations[0].Physical.Region; r.StartLine != 4 || r.EndLine != 5 || text[*r.ByteOffset:*r.ByteOffset+*r.ByteLength] != st.Text[from:to] {
		t.Errorf("the finding is at %+v", r)
	}
	if r := results[2].Locations[0].Physical.Region; r.StartLine != 5 || r.StartColumn != 0 {
		t.Errorf("a finding that knows its line alone is at %+v", r)
	}
}

// applyColumns replaces by lines and columns, as an editor that counts UTF-16 units does.
func applyColumns(text string, r sarifReplacement) []byte {
	lines := strings.SplitAfter(text, "\n")
	offset := func(line, column int) int {
		at := 0
		for _, l := range lines[:line-1] {
			at += len(l)
		}
		return at + len(string(utf16.Decode(utf16.Encode([]rune(lines[line-1]))[:column-1])))
	}
	start, end := offset(r.Deleted.StartLine, r.Deleted.StartColumn), offset(r.Deleted.EndLine, r.Deleted.EndColumn)
	return bytes.Join([][]byte{[]byte(text[:start]), []byte(r.Inserted.Text), []byte(text[end:])}, nil)
}
