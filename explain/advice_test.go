package explain

import (
	"strings"
	"testing"
)

// TestAdviceKeepsRows: the comparison that is advised keeps the cursor's own row where
// the condition does.
func TestAdviceKeepsRows(t *testing.T) {
	for sql, want := range map[string]string{
		"select * from doc where created_at >= $1 order by created_at limit 5":                                                                             "created_at >= $1",
		"select * from doc where created_at > $1 order by created_at limit 5":                                                                              "created_at > $1",
		"select * from doc where created_at > $1 or (created_at = $1 and id >= $2) order by created_at, id limit 5":                                        "(created_at, id) >= ($1, $2)",
		"select * from doc where created_at < $1 or (created_at = $1 and id < $2) order by created_at desc, id desc limit 5":                               "(created_at, id) < ($1, $2)",
		`select d.* from doc d, (select c.created_at as "at" from doc c where c.id = $1) cmp where d.created_at >= cmp."at" order by d.created_at limit 5`: `d.created_at >= cmp."at"`,
	} {
		q, _ := parse(t, sql)
		c := RecogniseCursor(q)
		if c == nil {
			t.Fatalf("%s: no cursor", sql)
		}
		if got := c.after(c.Side); got != want {
			t.Errorf("%s\nadvises %s, want %s", sql, got, want)
		}
		for _, s := range Smells(q, docFacts()) {
			if s.Rule == "joined-cursor" && !strings.Contains(s.Action, "created_at >= (SELECT") {
				t.Errorf("%s\nadvises %s", sql, s.Action)
			}
		}
	}
}

// TestAdviceBesideNull: where a branch keeps the rows with a NULL, no comparison of rows
// that would lose them is advised.
func TestAdviceBesideNull(t *testing.T) {
	for sql, want := range map[string]bool{
		"select * from doc where seq < $1 or (seq = $1 and (closed_at > $2 or closed_at is null)) or (seq = $1 and closed_at = $2 and id > $3) order by seq desc, closed_at, id limit 5": false,
		"select * from doc where closed_at > $1 or (closed_at = $1 and id < $2) or closed_at is null order by closed_at, id desc limit 5":                                                false,
		"select * from doc where seq < $1 or (seq = $1 and created_at > $2) or (seq = $1 and created_at = $2 and id > $3) order by seq desc, created_at, id limit 5":                     true,
	} {
		q, _ := parse(t, sql)
		found := false
		for _, s := range Smells(q, docFacts()) {
			found = found || s.Rule == "mixed-directions"
			if got := strings.Contains(s.Action, ") > (") || strings.Contains(s.Action, ") < ("); got != want && s.Rule == "mixed-directions" {
				t.Errorf("%s\nadvises %s", sql, s.Action)
			}
		}
		if !found {
			t.Errorf("%s: not seen", sql)
		}
	}
}
