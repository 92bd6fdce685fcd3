package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sarifShape is the part of the SARIF 2.1.0 schema that we write: the properties
// of each object, "!" behind those that it must have, and for a value its type or
// the values that it may have.
var sarifShape = map[string]map[string]string{
	"log":         {"$schema": "uri", "version!": "=2.1.0", "runs!": "[run"},
	"run":         {"tool!": "tool", "columnKind": "=utf16CodeUnits,unicodeCodePoints", "results": "[result"},
	"tool":        {"driver!": "component"},
	"component":   {"name!": "string", "version": "string", "rules": "[rule"},
	"rule":        {"id!": "string", "shortDescription": "message", "defaultConfiguration": "config"},
	"config":      {"level": "=none,note,warning,error"},
	"result":      {"ruleId": "string", "level": "=none,note,warning,error", "message!": "message", "locations": "[location", "fixes": "[fix"},
	"message":     {"text!": "string"},
	"location":    {"physicalLocation": "physical", "logicalLocations": "[logical"},
	"physical":    {"artifactLocation!": "artifact", "region": "region"},
	"artifact":    {"uri": "uri"},
	"region":      {"startLine": "line", "startColumn": "line", "endLine": "line", "endColumn": "line", "byteOffset": "count", "byteLength": "count"},
	"fix":         {"description": "message", "artifactChanges!": "[change"},
	"change":      {"artifactLocation!": "artifact", "replacements!": "[replacement"},
	"replacement": {"deletedRegion!": "region", "insertedContent": "content"},
	"content":     {"text": "text"},
	"logical":     {"fullyQualifiedName": "string"},
}

// sarifErrors lists what about a value is not as the shape says.
func sarifErrors(at, shape string, v any) []string {
	bad := func(want string) []string { return []string{fmt.Sprintf("%s: got %v, want %s", at, v, want)} }
	s, isText := v.(string)
	switch element, list := strings.CutPrefix(shape, "["); {
	case list:
		values, ok := v.([]any)
		if !ok {
			return bad("a list")
		}
		var out []string
		for i, x := range values {
			out = append(out, sarifErrors(fmt.Sprintf("%s[%d]", at, i), element, x)...)
		}
		return out
	case shape == "string":
		if !isText || s == "" {
			return bad("text")
		}
		return nil
	case shape == "uri":
		if _, err := url.Parse(s); !isText || err != nil || s == "" || strings.ContainsAny(s, " \\%") && !strings.Contains(s, "%2") {
			return bad("a URI reference")
		}
		return nil
	case shape == "text":
		if !isText {
			return bad("text, or none")
		}
		return nil
	case shape == "count":
		if n, ok := v.(float64); !ok || n < 0 || n != float64(int(n)) {
			return bad("a number from 0")
		}
		return nil
	case shape == "line":
		if n, ok := v.(float64); !ok || n < 1 || n != float64(int(n)) {
			return bad("a line from 1")
		}
		return nil
	case strings.HasPrefix(shape, "="):
		for _, one := range strings.Split(shape[1:], ",") {
			if s == one {
				return nil
			}
		}
		return bad(shape[1:])
	}
	return sarifObject(at, shape, v)
}

func sarifObject(at, shape string, v any) []string {
	object, ok := v.(map[string]any)
	if !ok {
		return []string{at + ": not an object"}
	}
	var out []string
	for name, value := range object {
		inner, ok := sarifShape[shape][name]
		if !ok {
			inner, ok = sarifShape[shape][name+"!"]
		}
		if !ok {
			out = append(out, at+": a "+shape+" has no "+name)
			continue
		}
		out = append(out, sarifErrors(at+"."+name, inner, value)...)
	}
	for name := range sarifShape[shape] {
		if name, must := strings.CutSuffix(name, "!"); must && object[name] == nil {
			out = append(out, at+": no "+name)
		}
	}
	return out
}

// TestSARIF holds the output against the parts of the 2.1.0 schema that it uses.
func TestSARIF(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Join("a b", "ü%"), 0o700); err != nil {
		t.Fatal(err)
	}
	plan := `[{"Plan": {"Node Type": "Limit", "Total Cost": 10, "Plan Rows": 50, "Plans": [{"Node Type": "Index Scan", "Scan Direction": "Forward",
		"Index Name": "i", "Relation Name": "t", "Schema": "s", "Alias": "t", "Total Cost": 900, "Plan Rows": 6666, "Filter": "((t.a > $1) OR ((t.a = $1) AND (t.b > $2)))"}]}}]`
	good := filepath.Join("a b", "ü%", "c:d.json")
	for path, text := range map[string]string{good: plan, "bad.json": "no plan", "x.log": "2026 LOG:  duration: 1 ms  plan:\n\t" + strings.Trim(plan, "[]")} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errw bytes.Buffer
	code := run(t.Context(), []string{"explain", "--format", "sarif", "--plan", good, "--plan", "bad.json", "--plan", "missing.json", "--log", "x.log", "--plan", "-"}, strings.NewReader(plan), &out, &errw)
	if code != exitFound {
		t.Fatalf("got exit %d, want %d: %s", code, exitFound, errw.String())
	}
	var doc map[string]any
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, e := range sarifErrors("log", "log", doc) {
		t.Error(e)
	}
	var log sarif
	if err := json.Unmarshal(out.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	rules := map[string]bool{}
	for _, r := range log.Runs[0].Tool.Driver.Rules {
		if rules[r.ID] {
			t.Errorf("rule %s is there twice", r.ID)
		}
		rules[r.ID] = true
	}
	found := map[string]bool{}
	for _, r := range log.Runs[0].Results {
		if !rules[r.RuleID] {
			t.Errorf("rule %s is not among the driver's", r.RuleID)
		}
		for _, l := range r.Locations {
			if l.Physical != nil {
				found[fmt.Sprint(r.RuleID, " ", l.Physical.Artifact.URI, " ", l.Physical.Region)] = true
			} else {
				found[r.RuleID+" "+l.Logical[0].Name] = true
			}
		}
	}
	for _, want := range []string{"cursor-starts-at-oldest a%20b/%C3%BC%25/c:d.json <nil>", "plan-not-read bad.json <nil>", "file-not-read missing.json <nil>", "cursor-starts-at-oldest stdin"} {
		if !found[want] {
			t.Errorf("no result %q among %v", want, found)
		}
	}
}

// The check must see what is wrong.
func TestSARIFErrors(t *testing.T) {
	for text, want := range map[string]int{
		`{"version": "2.1.0", "runs": []}`: 0,
		`{"version": "2.0", "runs": []}`:   1,
		`{"runs": [{}]}`:                   2,
		`{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x", "colour": 1}}, "results": [{}]}]}`:                                                                                                                                    2,
		`{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "results": [{"message": {"text": "m"}, "level": "warn", "locations": [{"physicalLocation": {"artifactLocation": {"uri": "a b"}, "region": {"startLine": 0}}}]}]}]}`: 3,
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if got := sarifErrors("log", "log", v); len(got) != want {
			t.Errorf("%s: got %d errors %q, want %d", text, len(got), got, want)
		}
	}
}
