package explain

import (
	"strings"
	"testing"
)

// What gives another value each time stands in a fix once at most.
func TestVolatileIsNotCopied(t *testing.T) {
	const page = "SELECT no, due FROM bill WHERE due > $1 OR (due = $1 AND no > $2) OR due IS NULL ORDER BY due, no LIMIT "
	for sql, volatile := range map[string]string{
		page + "20":                        "",
		page + "$3":                        "",
		page + "(SELECT 20)":               "",
		page + "coalesce($3, 20)":          "",
		page + "floor(random()*2+20)::int": "random",
		page + "(SELECT 20 + floor(random()*2))::int":           "random",
		page + "own_limit()":                                    "own_limit",
		strings.Replace(page, "no,", "nextval('s'),", 1) + "20": "nextval",
		"SELECT no, due FROM bill WHERE total > random() AND (due > $1 OR (due = $1 AND no > $2) OR due IS NULL) ORDER BY due, no LIMIT 20": "random",
	} {
		q, _ := parse(t, sql)
		c := RecogniseCursor(q)
		offered, why := "", ""
		for _, x := range Fixes(q, c, Facts{}) {
			if x.Kind == UnionAll {
				offered = x.SQL
			}
		}
		for _, x := range Refusals(q, c, Facts{}) {
			why = x.Refused
		}
		if (offered == "") != (volatile != "") || !strings.HasPrefix(why, volatile) || (why == "") != (volatile == "") {
			t.Errorf("%s: offered %q, refused %q, want %q", sql, offered, why, volatile)
		}
	}
}
