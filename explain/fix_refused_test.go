package explain

import (
	"fmt"
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

func fixesOf(t *testing.T, sql string, f Facts) (offered, refused string) {
	t.Helper()
	q, _ := parse(t, sql)
	c := RecogniseCursor(q)
	for _, x := range Fixes(q, c, f) {
		offered += string(x.Kind) + map[bool]string{true: "*"}[len(x.Assumes) > 0] + " "
	}
	for _, x := range Refusals(q, c, f) {
		refused += string(x.Kind) + ": " + x.Refused
	}
	return offered, refused
}

// A joined cursor row becomes a sub-select where a unique key leaves one row at most.
func TestCursorRowIsOne(t *testing.T) {
	f := docFacts()
	old := *f.Tables["doc"]
	old.Inherited = true
	f.Tables["old"] = &old
	const page = "select d.id from doc d, %s c where %s and (d.created_at > c.created_at or (d.created_at = c.created_at and d.id > c.id)) order by d.created_at, d.id limit 5"
	for _, x := range []struct{ from, where, offered, refused string }{
		{"doc", "c.id = $1", "row-subselect ", ""},
		{"doc", "c.seq = $2 and c.nr = $1", "row-subselect ", ""},
		{"doc", "c.seq = $1", "", "no unique key of doc"},
		{"doc", "c.nr = $1::float8", "", "no unique key of doc"},
		{"doc", "c.id > $1", "", "no unique key of doc"},
		{"live", "c.id = $1", "row-subselect* ", ""},
		{"old", "c.id = $1", "row-subselect* ", ""},
	} {
		sql := fmt.Sprintf(page, x.from, x.where)
		offered, refused := fixesOf(t, sql, f)
		if offered != "row-comparison add-bound "+x.offered || !strings.Contains(refused, x.refused) || (refused == "") != (x.refused == "") {
			t.Errorf("%s: offered %s, refused %s", sql, offered, refused)
		}
	}
}

// One parameter under two types or collations is two values.
func TestOneParameterOfTwoTypes(t *testing.T) {
	cols := map[string]*Column{"day": {Name: "day", Type: "date", NotNull: true}, "at": {Name: "at", Type: "timestamp without time zone", NotNull: true}, "n": {Name: "n", Type: "numeric", NotNull: true}, "s": {Name: "s", Type: "text", NotNull: true}, "id": {Name: "id", Type: "bigint", NotNull: true}}
	f := Facts{Tables: map[string]*Table{"t": {Name: "t", Kind: "r", Columns: cols}}, Params: []string{"timestamp without time zone"}}
	for _, x := range []struct{ key, first, second, offered, refused string }{
		{"day", "$1::timestamptz", "$1::date", "add-bound ", "need not be the same value"},
		{"at", "$1::timestamp", "$1::date", "add-bound ", "need not be the same value"},
		{"at", "$1::timestamptz", "$1::date", "", "need not be the same value"},
		{"at", "$1::timestamp", "$1", "row-comparison ", ""},
		{"n", "$1", "$1::real", "cast-value* ", "need not be the same value"},
		{"s", "$1", `$1 collate "C"`, "", "need not be the same value"},
		{"day", "$1::date", "$3::date", "add-bound row-comparison* ", ""},
		{"day", "$1", "$3", "add-bound row-comparison* ", ""},
	} {
		sql := fmt.Sprintf("select id from t where %[1]s > %[2]s or (%[1]s = %[3]s and id > $2) order by %[1]s, id limit 5", x.key, x.first, x.second)
		offered, refused := fixesOf(t, sql, f)
		if offered != x.offered || !strings.Contains(refused, x.refused) || (refused == "") != (x.refused == "") {
			t.Errorf("%s: offered %s, refused %s", sql, offered, refused)
		}
	}
}
