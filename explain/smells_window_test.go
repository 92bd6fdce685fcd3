package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// A cursor with a filter beside it, or a limit on its far side, is not against
// its order.
func TestFilterBesideCursor(t *testing.T) {
	facts := Facts{Tables: map[string]*Table{"t": {Name: "t", Kind: "r", Rows: 1e6, Columns: map[string]*Column{
		"a": {Name: "a", Type: "bigint", NotNull: true}, "id": {Name: "id", Type: "bigint", NotNull: true},
	}, Indexes: []*Index{{Name: "p", Method: "btree", Unique: true, Valid: true, Keys: []IndexKey{{Text: "id", Column: "id"}}}}}}}
	for sql, want := range map[string]bool{
		"select * from t where (a, id) < ($1, $2) and id <> $2 order by a desc, id desc limit 20":               false,
		"select * from t where (a < $1 or (a = $1 and id < $2)) and id <> $2 order by a desc, id desc limit 20": false,
		"select * from t where (a, id) < ($1, $2) and not id = $2 order by a desc, id desc limit 20":            false,
		"select * from t where (a > $1 and a <= $3) or (a = $1 and id > $2) order by a, id limit 20":            false,
		"select * from t where (a < $1 and a > $3) or (a = $1 and id < $2) order by a desc, id desc limit 20":   false,
		"select * from t where (a > $1 and a <= 77) or (a = $1 and id > $2) order by a, id limit 20":            false,
		"select * from t where a > $1 or (a = $1 and id < $2) order by a, id limit 20":                          true,
		"select * from t where a > $1 or (a >= $1 and id > $2) order by a, id limit 20":                         false,
		"select * from t where not (a < $1 or (a = $1 and id >= $2)) order by a, id limit 20":                   true,
	} {
		q, err := sqltext.ParseQuery(sql)
		if err != nil {
			t.Fatal(err)
		}
		smells := Smells(q, facts)
		has := func(rule string) bool {
			return slices.ContainsFunc(smells, func(s Smell) bool { return s.Rule == rule })
		}
		if has("cursor-against-order") != want {
			t.Errorf("%s: got %v, want cursor-against-order %v", sql, smells, want)
		}
		if has("precedence-bug") {
			t.Errorf("%s: a far limit is called a filter that was meant for all", sql)
		}
		if has("duplicate-parameters") {
			t.Errorf("%s: a far limit is called a duplicate", sql)
		}
	}
}

// What parentheses say is no slip of precedence.
func TestGroupedFilter(t *testing.T) {
	for sql, want := range map[string]Severity{
		"select * from t where kind = 1 and a > $1 or a = $1 and id > $2 order by a, id limit 20":     Error,
		"select * from t where kind = 1 and a > $1 or (a = $1 and id > $2) order by a, id limit 20":   Error,
		"select * from t where a > $1 or (a = $1 and id > $2 and kind = 1) order by a, id limit 20":   Warn,
		"select * from t where (kind = 1 and a > $1) or (a = $1 and id > $2) order by a, id limit 20": Warn,
	} {
		q, err := sqltext.ParseQuery(sql)
		if err != nil {
			t.Fatal(err)
		}
		smells := Smells(q, Facts{})
		i := slices.IndexFunc(smells, func(s Smell) bool { return s.Rule == "precedence-bug" })
		if i < 0 || smells[i].Severity != want || strings.Contains(smells[i].Message, "binds tighter") != (want == Error) {
			t.Errorf("%s: %+v", sql, smells)
		}
	}
}
