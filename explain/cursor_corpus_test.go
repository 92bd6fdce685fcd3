package explain

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

var header = regexp.MustCompile(`(?m)^-- (shape|verdict|sort|smells): (.*)$`)

// formOf translates the shape in a corpus file's header; "" for no cursor.
func formOf(shape string) Form {
	switch shape {
	case "or2-count", "offset", "row-number", "or-other-columns", "first-page":
		return ""
	case "le-ne-or", "cnf2", "cnf3", "or2-between":
		return FormBoundedOr
	case "or2-wrong-bound":
		return FormOr
	case "join-cursor", "joined":
		return FormJoined
	case "coalesce":
		return FormCoalesce
	case "case-row", "case-plain":
		return FormCase
	case "or-isnull-param":
		return FormOptionalOr
	case "row-or-isnull":
		return FormOptionalRow
	case "or-optional":
		return FormOptionalOr
	case "not-or", "not-and", "not-single", "not-row":
		return FormNot
	case "and-independent", "and-joined":
		return FormAnd
	case "single-part", "single-lateral", "single-group", "distinct-on", "le-offset", "ge-offset", "strict-single", "row1-cast", "single", "single-subselect":
		return FormSingle
	case "or-join-inner":
		return FormRow
	}
	switch {
	case strings.HasPrefix(shape, "row"):
		return FormRow
	case strings.Contains(shape, "-bound"):
		return FormBoundedOr
	}
	return FormOr
}

// Every file of the corpus reads without a part that is not understood, its
// cursor is what the header says, a bad one gets a rewrite or an error, a good one
// no error.
func TestCorpusText(t *testing.T) {
	var files []string
	for _, c := range corpora {
		found, err := filepath.Glob("testdata/" + c + "/[0-9]*.sql")
		if err != nil || len(found) == 0 {
			t.Fatalf("no corpus in %s: %v", c, err)
		}
		files = append(files, found...)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		head := map[string]string{}
		for _, m := range header.FindAllStringSubmatch(string(b), -1) {
			head[m[1]] = m[2]
		}
		name := filepath.Base(f)
		for i, st := range sqltext.Split(string(b)) {
			q, _ := parse(t, st.Text)
			for _, x := range q.Blocks {
				x.Where.Walk(func(e *sqltext.Expr) bool {
					if e.Kind == sqltext.Opaque && e.Name != "any" {
						t.Errorf("%s: not understood: %s", name, e.Text())
					}
					return true
				})
			}
			c := RecogniseCursor(q)
			if i > 0 { // the repaired statement
				if c != nil && !c.Bounded && c.Form != FormNullBranch && !strings.Contains(head["smells"], "function-on-sort-column") {
					t.Errorf("%s: the repaired statement has the unbounded form %s", name, c.Form)
				}
				continue
			}
			form := Form("")
			if c != nil {
				form = c.Form
			}
			if want := formOf(head["shape"]); form != want && !(head["shape"] == "or-nulls" && form == FormNullBranch) {
				t.Errorf("%s: shape %s is taken for %q, want %q", name, head["shape"], form, want)
			}
			severe := ""
			for _, s := range Smells(q, Facts{}) {
				if s.Severity == Error {
					severe = s.Rule
				}
			}
			if head["verdict"] == "good" && severe != "" {
				t.Errorf("%s: good, but %s", name, severe)
			}
			if fixes := Fixes(q, c, shopFacts()); head["verdict"] == "bad" && len(fixes) == 0 && severe == "" {
				t.Errorf("%s: bad, but no rewrite", name)
			}
		}
	}
}

// shopFacts says what a statement's text cannot: which key is NOT NULL.
func shopFacts() Facts {
	return Facts{Tables: map[string]*Table{"audit": {Name: "audit", Kind: "r", Columns: map[string]*Column{"happened": {Name: "happened", NotNull: true}}}}}
}
