package explain

import (
	"reflect"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// A rewrite that drops a parameter can still be prepared, and says which values
// it takes.
func TestFixGaps(t *testing.T) {
	dsn := pgtest.Start(t, pgtest.Any(t), pgserver.Options{}).DSN("postgres", "postgres")
	pgtest.Exec(t, dsn, "create table doc (a date not null, id bigint primary key, p int)")
	conn := pgtest.Connect(t, dsn)
	for _, c := range []struct {
		sql         string
		kind        FixKind
		bind, first []int
	}{
		{"select * from doc where case when $1 = '' then true else (a, id) > ($2, $3) end and p = $4 order by a, id limit $5", TwoStatements, []int{2, 3, 4, 5}, []int{4, 5}},
		{"select * from doc where ($1::date is null or (a, id) > ($1, $2)) and p = $3 order by a, id limit 5", TwoStatements, nil, []int{3}},
		{"select * from doc where a > $1 or (a = $2 and id > $3) order by a, id limit $4", RowComparison, []int{1, 3, 4}, nil},
		{"select * from doc where a > $1 or (a = $1 and id > $2) order by a, id limit $3", RowComparison, nil, nil},
	} {
		q, n := parse(t, c.sql)
		found := false
		for _, x := range Fixes(q, RecogniseCursor(q), Facts{}) {
			r := x.Render(n)
			for _, sql := range []string{r.SQL, r.First} {
				if sql == "" {
					continue
				}
				if _, err := conn.Exec(t.Context(), "prepare s as "+sql); err != nil {
					t.Errorf("%s: %v\n%s", x.Kind, err, sql)
					continue
				}
				if _, err := conn.Exec(t.Context(), "deallocate s"); err != nil {
					t.Fatal(err)
				}
			}
			if r.SQL[:r.NewStart] != c.sql[:r.Start] || r.SQL[r.NewEnd:] != c.sql[r.End:] {
				t.Errorf("the text outside %d-%d changed:\n%s", r.Start, r.End, r.SQL)
			}
			if x.Kind != c.kind {
				continue
			}
			found = true
			if !reflect.DeepEqual(r.Bind, c.bind) || !reflect.DeepEqual(r.FirstBind, c.first) {
				t.Errorf("%s: bind %v and %v, want %v and %v\n%s\n%s", c.kind, r.Bind, r.FirstBind, c.bind, c.first, r.SQL, r.First)
			}
		}
		if !found {
			t.Errorf("no %s: %s", c.kind, c.sql)
		}
	}
}
