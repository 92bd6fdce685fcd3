package explain

import "testing"

// What is measured of a statement that is not executed as it stands is said.
func TestExecutedPart(t *testing.T) {
	for sql, want := range map[string]bool{
		"select id from t order by id limit 5":                                          false,
		"explain select id from t order by id limit 5":                                  false,
		"select id from t order by id limit 5 for update skip locked":                   true,
		"delete from t where id in (select id from t where id > 1 order by id limit 5)": true,
	} {
		x, err := explainable(sql)
		if err != nil {
			t.Fatal(err)
		}
		if got := executedPart(sql, x); (got != "") != want {
			t.Errorf("%s: got %q, want something %t", sql, got, want)
		}
	}
}

// PostgreSQL refuses EXPLAIN EXPLAIN.
func TestExplainTwice(t *testing.T) {
	if x, err := explainable("explain explain select 1"); err == nil {
		t.Errorf("got %q, want a refusal", x.SQL)
	}
}
