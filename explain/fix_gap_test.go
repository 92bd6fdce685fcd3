package explain

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/explain/sqltext"
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
		{"select * from doc where (not $3::bool or (a, id) > ($1, $2)) order by a, id limit 5", TwoStatements, []int{1, 2}, []int{}},
		{"select * from doc where ($2::date is null or (a, id) > ($2, $3)) and p = $1 order by a, id limit 5", TwoStatements, nil, []int{1}},
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

// Every fix, run as it says it is to be run, gives the rows of its statement: the
// first page where its condition holds, each half with the values it lists.
func TestFixesRunAsTheySay(t *testing.T) {
	dsn := pgtest.Start(t, pgtest.Any(t), pgserver.Options{}).DSN("postgres", "postgres")
	pgtest.Exec(t, dsn, "create table doc (a date not null, id int primary key, p int not null, z date)",
		"insert into doc select date '2024-01-01' + i / 3, i, i % 2, case when i % 4 > 0 then date '2024-01-01' + i / 5 end from generate_series(1, 60) i")
	conn := pgtest.Connect(t, dsn)
	cols := map[string]*Column{
		"a": {Name: "a", Type: "date", NotNull: true}, "id": {Name: "id", Type: "int", NotNull: true}, "p": {Name: "p", Type: "int", NotNull: true}, "z": {Name: "z", Type: "date"},
	}
	facts := Facts{Tables: map[string]*Table{"doc": {Name: "doc", Kind: "r", Columns: cols}}}
	tried := map[FixKind]int{}
	for _, sql := range []string{
		"select * from doc where a > $1 or (a = $2 and id > $3) order by a, id limit 5",
		"select * from doc where a > $1 or (a = $1 and id > $2) order by a, id limit 5",
		"select * from doc where a > ? or (a = ? and id > ?) order by a, id limit 5",
		"select * from doc where (?::date is null or (a, id) > (?, ?)) and p = ? order by a, id limit 5",
		"select * from doc where ($1::date is null or (a, id) > ($1, $2)) and p = $3 order by a, id limit 5",
		"select * from doc where ($1::date is null or (a, id) > ($1, $2)) order by a, id limit 5",
		"select * from doc where (not $3::bool or (a, id) > ($1, $2)) order by a, id limit 5",
		"select * from doc where ($2::bool is not null and not $2::bool or a > $1 or (a = $1 and id > 7)) order by a, id limit 5",
		"select * from doc where case when $1::bool then true else (a, id) > ($2, $3) end and p = $4 order by a, id limit $5",
		"select * from doc where case when $1::int = 0 then (a, id) > ($2, $3) else true end order by a, id limit 5",
		"select * from doc where coalesce(a > $1 or (a = $1 and id > $2), true) and p = $3 order by a, id limit 5",
		"select * from doc where coalesce(a > $1::date or (a = $1::date and id > $2), true) order by a, id limit 5",
		"select * from doc where (:at::date IS NULL or (a, id) > (:at, :id)) order by a, id limit 5",
		"select * from doc where (a < $2 or (a = $2 and id < $1)) is not false order by a desc, id desc limit 5",
		"select * from doc where z > $1 or (z = $1 and id > $2) or z is null order by z, id limit 5",
		"select id from doc where z is null and id > $1 or z is not null order by z nulls first, id limit 5",
		"select id, a from doc where z < $1 or (z = $1 and id > $2) or z is null order by z desc nulls last, id limit 5",
		"select id from doc where ($1::date is null and (z is null and id < $2 or z is not null)) or z < $1 or (z = $1 and id < $2) order by z desc, id desc limit 5",
		"select * from doc where a > coalesce($1, a) order by a, id limit 5",
		"select * from doc where z >= coalesce($1, z) order by z, id limit 5",
		"select * from doc where (a, id) <= (coalesce($1, a), coalesce($2, id)) order by a desc, id desc limit 5",
		"select * from doc where a > coalesce($1, a) or (a = coalesce($1, a) and id >= coalesce($2, id)) order by a, id limit 5",
		"select * from doc where case when a > $1 then 1 when a = $1 and id > $2 then 1 else 0 end = 1 and p = $3 order by a, id limit 5",
		"select * from doc where case when a < $1 then false when a > $1 then true when id > $2 then a = $1 end order by a, id limit 5",
		"select * from doc where case when a < $1 then 0 when a = $1 and id <= 7 then 0 else 1 end > 0 order by a, id limit 5",
		"select * from doc where ((a, $2) > ($1, id) and p = $3) is true order by a, id desc limit 5",
		"select * from doc where (a, $2) > ($1, id) and p = $3 order by a, id desc limit 5",
		"select * from doc where p = $3 and $1::date is null or p = $3 and a > $1 or p = $3 and a = $1 and id > $2 order by a, id limit 5",
	} {
		q, n := parse(t, sql)
		facts.Untyped = n.Dialect != sqltext.Dollar
		for _, args := range gapArgs(conn, t, n.SQL) {
			want := gapRows(t, conn, n.SQL, args)
			c := RecogniseCursor(q)
			for _, x := range append(Fixes(q, c, facts), TieFixes(q, c, facts)...) {
				if len(x.Assumes) > 0 {
					continue
				}
				tried[x.Kind]++
				r := x.Render(n)
				text, bind := r.SQL, r.Bind
				if r.First != "" && n.Dialect == sqltext.Colon && r.When != ":at::date IS NULL" {
					t.Errorf("when %s: %s", r.When, sql)
				}
				if r.First != "" && strings.HasSuffix(gapRows(t, conn, "select "+allOf(len(args))+", coalesce(("+x.When+"), false)", args), `"t"]`) {
					text, bind = r.First, r.FirstBind
				}
				given := args
				if bind != nil {
					given = nil
					for _, b := range bind {
						given = append(given, args[b-1])
					}
				}
				fixed := sqltext.Placeholders(text, sqltext.Auto)
				if n.Dialect == sqltext.Colon { // by name
					given = nil
					for _, p := range fixed.Params {
						given = append(given, args[slices.IndexFunc(n.Params, func(o sqltext.Placeholder) bool { return o.Name == p.Name })])
					}
				}
				if got := gapRows(t, conn, fixed.SQL, given); got != want {
					t.Errorf("%s with %v: %s\ngives %s\n%s with %v\ngives %s", x.Kind, args, sql, want, text, given, got)
				}
			}
		}
	}
	if tried[TwoStatements] == 0 || tried[GuardedBound] == 0 || tried[UnionAll] == 0 || tried[RowComparison] == 0 {
		t.Errorf("nothing was put to the test: %v", tried)
	}
}

// allOf names so many parameters, as text, for what follows need not name them all.
func allOf(n int) string {
	parts := []string{"0"}
	for i := range n {
		parts = append(parts, fmt.Sprintf("$%d::text", i+1))
	}
	return strings.Join(parts, ", ")
}

// gapArgs are values for a statement's parameters by their types, and NULL for each.
func gapArgs(conn *pgx.Conn, t *testing.T, sql string) [][]any {
	t.Helper()
	d, err := conn.PgConn().Prepare(t.Context(), "", sql, nil)
	if err != nil {
		t.Fatalf("%v: %s", err, sql)
	}
	var out [][]any
	for _, date := range []string{"2024-01-01", "2024-01-09", "2024-02-01"} {
		var args []any
		for _, oid := range d.ParamOIDs {
			args = append(args, map[uint32]any{1082: date, 23: "1", 20: "5", 25: ""}[oid])
		}
		for i, oid := range d.ParamOIDs {
			if oid == 16 {
				args[i] = map[bool]string{true: "t", false: "f"}[date != "2024-01-09"]
			}
		}
		out = append(out, args)
		for i := range args {
			null := append([]any{}, args...)
			null[i] = nil
			if d.ParamOIDs[i] != 20 { // not the limit
				out = append(out, null)
			}
		}
		out = append(out, make([]any, len(args)))
	}
	return out
}

// gapRows runs a statement with values given as text.
func gapRows(t *testing.T, conn *pgx.Conn, sql string, args []any) string {
	t.Helper()
	values := make([][]byte, len(args))
	for i, a := range args {
		if a != nil {
			values[i] = []byte(a.(string))
		}
	}
	res := conn.PgConn().ExecParams(t.Context(), sql, values, nil, nil, nil).Read()
	if res.Err != nil {
		t.Fatalf("%v: %s with %v", res.Err, sql, args)
	}
	var b strings.Builder
	for _, row := range res.Rows {
		fmt.Fprintf(&b, "%q", row)
	}
	return b.String()
}
