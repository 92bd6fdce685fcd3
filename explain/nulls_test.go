package explain

import (
	"strings"
	"testing"
)

// TestNullFixes: where NULLs sort follows the index, for keys that are NOT NULL.
func TestNullFixes(t *testing.T) {
	facts := docFacts()
	doc := facts.Tables["doc"]
	doc.Indexes = append(doc.Indexes,
		&Index{Name: "at", Valid: true, Method: "btree", Keys: []IndexKey{{Text: "created_at", Column: "created_at"}, {Text: "id", Column: "id"}}},
		&Index{Name: "p", Valid: true, Method: "btree", Keys: []IndexKey{{Text: "p", Column: "p"}, {Text: "seq", Column: "seq", Desc: true}, {Text: "id", Column: "id", Desc: true, NullsFirst: true}}},
		&Index{Name: "closed", Valid: true, Method: "btree", Keys: []IndexKey{{Text: "closed_at", Column: "closed_at"}, {Text: "id", Column: "id"}}},
	)
	for _, c := range []struct {
		name, sql string
		want      []string
	}{
		{
			"dropped, alone and with the rewrite", "select * from doc where created_at < $1 or (created_at = $1 and id < $2) order by created_at desc nulls last, id desc /* key */ nulls last limit 5",
			[]string{
				"row-comparison: select * from doc where (created_at, id) < ($1, $2) order by created_at desc, id desc /* key */ limit 5",
				"add-bound: select * from doc where created_at <= $1 and (created_at < $1 or (created_at = $1 and id < $2)) order by created_at desc, id desc /* key */ limit 5",
				"nulls-order: select * from doc where created_at < $1 or (created_at = $1 and id < $2) order by created_at desc, id desc /* key */ limit 5",
			},
		},
		{
			"a first page", "SELECT * FROM doc ORDER BY created_at ASC NULLS FIRST LIMIT 5",
			[]string{"nulls-order: SELECT * FROM doc ORDER BY created_at ASC LIMIT 5"},
		},
		{
			"added where the index has it, behind a fixed column", "SELECT * FROM doc WHERE p = $1 ORDER BY seq DESC, id DESC LIMIT 5",
			[]string{"nulls-order: SELECT * FROM doc WHERE p = $1 ORDER BY seq DESC NULLS LAST, id DESC LIMIT 5"},
		},
		{"a key that may be NULL", "SELECT * FROM doc ORDER BY closed_at NULLS FIRST, id LIMIT 5", nil},
		{"as the index has it", "SELECT * FROM doc ORDER BY created_at DESC, id DESC LIMIT 5", nil},
		{"the side of an outer join that may be NULL", "SELECT * FROM author a LEFT JOIN doc d ON d.author = a.id ORDER BY d.created_at NULLS FIRST LIMIT 5", nil},
		{"other directions than the index", "SELECT * FROM doc ORDER BY created_at NULLS FIRST, id DESC NULLS LAST LIMIT 5", []string{"nulls-order: SELECT * FROM doc ORDER BY created_at, id DESC NULLS LAST LIMIT 5"}},
		{"no order", "SELECT * FROM doc LIMIT 5", nil},
		{"a view", "SELECT * FROM live ORDER BY created_at NULLS FIRST LIMIT 5", nil},
	} {
		q, n := parse(t, c.sql)
		var got []string
		for _, x := range NullFixes(q, RecogniseCursor(q), facts) {
			got = append(got, string(x.Kind)+": "+x.Render(n).SQL)
			if len(x.Proof) == 0 || !strings.Contains(x.Proof[0], "cannot be NULL") {
				t.Errorf("%s: proof %q", c.name, x.Proof)
			}
		}
		// the primary key orders nothing here, and one rewrite may serve two indexes
		if g, w := strings.Join(got, "\n"), strings.Join(c.want, "\n"); g != w {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", c.name, g, w)
		}
	}
}

// TestAfterRow: the advice compares in the direction of the page.
func TestAfterRow(t *testing.T) {
	for sql, want := range map[string]string{
		"select * from t where a > $1 or (a = $1 and b > $2) order by a, b limit 5":                    "(a, b) > ($1, $2)",
		"select * from t where a < $1 or (a = $1 and b < $2) order by a desc, b desc limit 5":          "(a, b) < ($1, $2)",
		"select * from t where a < $1 or (a = $2 and b > $3) order by a desc, b limit 5":               "(a, $3) < ($1, b)",
		"select * from t where t.a > :x or (t.a = :x and t.b > :y) order by t.a, t.b limit 5":          "(t.a, t.b) > ($1, $2)",
		"select * from t where case when $1 is null then true else a < $1 end order by a desc limit 5": "a < $1",
		"select * from t where a > 5 order by a limit 5":                                               "a > 5",
	} {
		q, _ := parse(t, sql)
		c := RecogniseCursor(q)
		if c == nil {
			t.Errorf("no cursor: %s", sql)
			continue
		}
		if got := c.after(c.Side); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
	var none *Cursor
	if got, want := none.after(Upper), "(a, b) < ($1, $2)"; got != want {
		t.Errorf("without a cursor: got %s, want %s", got, want)
	}
}
