package explain

import (
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

func parse(t testing.TB, sql string) (*sqltext.Query, *sqltext.Normal) {
	t.Helper()
	n := sqltext.Placeholders(sql, sqltext.Auto)
	q, err := sqltext.ParseQuery(n.SQL)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return q, n
}

// cursorCases are spellings of pages as query builders, mappers and people
// write them; want is "form bound columns", the form marked where sort
// and cursor are about two things, "-" for no cursor.
var cursorCases = []struct{ name, sql, want string }{
	{"flat, lower case", "select * from doc d where d.created_at > ? or d.created_at = ? and d.id > ? order by d.created_at, d.id fetch first ? rows only", "or $1,$2 d.created_at,d.id"},
	{"nested in parentheses, quoted", `select * from "doc" where ("created_at" > ? or ("created_at" = ? and ("id" > ?))) order by "created_at" asc, "id" asc limit 16`, `or $1,$2 "created_at","id"`},
	{"three keys nested", "select * from t where a < $1 or (a = $1 and (b > $2 or (b = $2 and c < $3))) order by a desc, b, c desc limit 10", "or $1 a,b,c"},
	{"named", "SELECT * FROM doc WHERE (doc.created_at < :at OR (doc.created_at = :at AND doc.id < :id)) ORDER BY doc.created_at DESC, doc.id DESC LIMIT 10", "or $1 doc.created_at,doc.id"},
	{"literals", `SELECT * FROM t WHERE ("t"."a" > 1 OR "t"."a" = 1 AND "t"."b" > 2) ORDER BY "t"."a" ASC, "t"."b" ASC LIMIT 1000`, `or 1 "t"."a","t"."b"`},
	{"schema-qualified with casts", `SELECT coalesce(json_agg("root"), '[]') FROM (SELECT row_to_json((SELECT "_e" FROM (SELECT "_b"."id" AS "id") AS "_e")) AS "root" FROM (SELECT * FROM "public"."doc" WHERE ((("public"."doc"."created_at") < (($1)::timestamptz)) OR (((("public"."doc"."created_at") = (($1)::timestamptz)) AND (("public"."doc"."id") < (($2)::uuid))))) ORDER BY "created_at" DESC NULLS FIRST, "id" DESC NULLS FIRST LIMIT 20) AS "_b" ORDER BY "created_at" DESC) AS "_r"`, `or (($1)::timestamptz) ("public"."doc"."created_at"),("public"."doc"."id")`},
	{"value by sub-select", "SELECT id FROM doc d WHERE ((d.a = (SELECT d.a FROM doc d WHERE (d.id) = ($1)) AND d.id >= (SELECT d.id FROM doc d WHERE (d.id) = ($1))) OR d.a > (SELECT d.a FROM doc d WHERE (d.id) = ($1))) ORDER BY d.a ASC, d.id ASC LIMIT 10 OFFSET 1", "or (SELECT d.a FROM doc d WHERE (d.id) = ($1)) d.a,d.id"},
	{"not of the tie", `SELECT * FROM "doc" WHERE ("doc"."a" <= %s AND NOT ("doc"."a" = %s AND "doc"."id" >= %s)) ORDER BY "doc"."a" DESC, "doc"."id" DESC LIMIT 21`, `not $1 "doc"."a","doc"."id"`},
	{"bounded with le and ne", "select * from t where a <= $1 and (a <> $1 or id < $2) order by a desc, id desc limit 5", "bounded-or $1 a,id"},
	{"previous page turned round", "select * from (select * from t where a < $1 or (a = $1 and id < $2) order by a desc, id desc limit 5) s order by a, id", "or $1 a,id"},
	{"filter inside, order outside", "select * from (select * from t where a > $1 or (a = $1 and id > $2)) s order by s.a, s.id limit 5", "or $1 a,id"},
	{"order inside, limit outside", "select * from (select * from t where a > $1 or (a = $1 and id > $2) order by a, id) s limit 5", "or $1 a,id"},
	{"through a WITH query with other names", "with x (k, i) as (select t.a, t.id from t where t.a > $1 or (t.a = $1 and t.id > $2)) select * from x order by k, i limit 5", "or $1 t.a,t.id"},
	{"names of a WITH query", "with x (k, i) as (select a, id from t) select * from x where k > $1 or (k = $1 and i > $2) order by k, i limit 5", "or $1 k,i"},
	{"not through a materialized WITH query", "with x as materialized (select a, id from t where a > $1 or (a = $1 and id > $2)) select * from x order by a, id limit 5", "-"},
	{"not through swapped names", "with x (id, a) as (select a, id from t where a > $1 or (a = $1 and id > $2)) select * from x order by a, id limit 5", "-"},
	{"by number", "select a, id from t where a > $1 or (a = $1 and id > $2) order by 1, 2 limit 5", "or $1 a,id"},
	{"by output name", "select t.a as k, id from t where t.a > $1 or (t.a = $1 and id > $2) order by k, id limit 5", "or $1 t.a,id"},
	{"output name hides the column", "select lower(a) as a, id from t where a > $1 or (a = $1 and id > $2) order by a, id limit 5", "or/hidden $1 a,id"},
	{"cast item has the column's name", "select a::date, id from t where a > $1 or (a = $1 and id > $2) order by a, id limit 5", "-"},
	{"table under a WITH query of its name", "with t as (select * from t where a > $1 or (a = $1 and id > $2)) select * from t order by a, id limit 5", "or $1 a,id"},
	{"fixed key in the middle", "select * from t where p = $1 and (a > $2 or (a = $2 and id > $3)) order by a, p, id limit 5", "or $2 a,id"},
	{"same name in two tables", "select * from t join u on u.t = t.id where u.a > $1 or (u.a = $1 and t.id > $2) order by t.a, t.id limit 5", "-"},
	{"output column of the other table", "select t.a, u.b from t join u on u.t = t.id where u.a > $1 or (u.a = $1 and t.id > $2) order by a, t.id limit 5", "-"},
	{"merged column of USING", "select * from t full join u using (a) where t.a > $1 or (t.a = $1 and t.id > $2) order by a, t.id limit 5", "-"},
	{"filter in the join", "select * from t join u on u.t = t.id and t.p = $3 where t.a > $1 or (t.a = $1 and t.id > $2) order by t.p, t.a, t.id limit 5", "or $1 t.a,t.id"},
	{"expression key", "select * from t where coalesce(a, '-infinity') > $1 or (coalesce(a, '-infinity') = $1 and id > $2) order by coalesce(a, '-infinity'), id limit 5", "or $1 coalesce(a, '-infinity'),id"},
	{"other collation", `select * from t where a > $1 or (a = $1 and id > $2) order by a collate "C", id limit 5`, "or/hidden $1 a,id"},
	{"cast key", "select * from t where a::date > $1 or (a::date = $1 and id > $2) order by a::date, id limit 5", "or $1 a::date,id"},
	{"arithmetic key, called", "select * from t where (a + b, id) > ($1, $2) order by a + b, id limit 5", "row $1 a + b,id"},
	{"time zone key by number", "select (t.a at time zone 'UTC')::date as d, id from t where ((t.a at time zone 'UTC')::date, id) < ($1, $2) order by 1 desc, 2 desc limit 5", "row $1 (t.a at time zone 'UTC')::date,id"},
	{"extract key", "select * from t where extract(epoch from a) > $1 or (extract(epoch from a) = $1 and id > $2) order by extract(epoch from a), id limit 5", "or $1 extract(epoch from a),id"},
	{"key under a cast", "select * from t where a::date > $1 or (a::date = $1 and id > $2) order by a, id limit 5", "or/hidden $1 a::date,id"},
	{"key under a function", "select * from t where date_trunc('day', t.a) >= $1 order by t.a, id limit 5", "single/hidden $1 date_trunc('day', t.a)"},
	{"key moved", "select * from t where a + interval '1 day' > $1 order by a limit 5", "single/hidden $1 a + interval '1 day'"},
	{"filter over the key, no cursor", "select * from t where length(a) > $1 order by a, id limit 5", "-"},
	{"filter over two columns", "select * from t where coalesce(a, b) > $1 order by a, id limit 5", "-"},
	{"part of a document", "select * from t where a -> 'x' > $1 order by a, id limit 5", "-"},
	{"not distinct from", "select * from t where a > $1 or (a is not distinct from $1 and id > $2) order by a, id limit 5", "or $1 a,id"},
	{"rows whose key is NULL", "select * from t where a is null and id > $1 order by a, id limit 5", "single $1 id"},
	{"USING an operator", "select * from t where a < $1 or (a = $1 and id < $2) order by a using >, id using > limit 5", "or $1 a,id"},
	{"row", "select * from t where (a, id) < ($1, $2) order by a desc, id desc limit 5", "row $1 a,id"},
	{"row with a cast", "select * from t where row(a, id) >= row($1::date, $2) order by a, id limit 5", "row $1::date a,id"},
	{"row swapped", "select * from t where (a, $2) > ($1, id) order by a, id desc limit 5", "row $1 a,id"},
	{"row from a sub-select", "select * from t where (a, id) > (select a, id from t where id = $1) order by a, id limit 5", "row (select a, id from t where id = $1) a,id"},
	{"row behind a bound", "select * from t where a >= $1 and (a, id) > ($1, $2) order by a, id limit 5", "bounded-row $1 a,id"},
	{"row over a prefix", "select * from t where p = $1 and (a, id) > ($2, $3) order by p, a, id limit 5", "row $2 a,id"},
	{"single", "select * from t where id < $1 order by id desc limit 5", "single $1 id"},
	{"single between", "select * from t where a between $1 and $2 order by a limit 5", "single $1 a"},
	{"key by key", "select * from t where a >= $1 and id > $2 order by a, id limit 5", "and $1 a,id"},
	{"null branch", "select * from t where a > $1 or (a = $1 and id > $2) or (a is null and id > $2) order by a, id limit 5", "or-nulls  a,id"},
	{"optional", "select * from t where ($1::date is null or a > $1 or (a = $1 and id > $2)) and p = $3 order by a, id limit 5", "optional-or $1 a,id"},
	{"optional row", "select * from t where ($1 is null or (a, id) > ($1, $2)) order by a, id limit 5", "optional-row $1 a,id"},
	{"sentinel", "select * from t where case when $1 = '' then true else (a, id) > ($2, $3) end order by a, id limit 5", "case  a,id"},
	{"joined row", "select t.* from t join t c on c.id = $1 where t.a > c.a or (t.a = c.a and t.id > c.id) order by t.a, t.id limit 5", "joined c.a t.a,t.id"},
	{"delete", "delete from t where id in (select id from t where a > $1 or (a = $1 and id > $2) order by a, id limit 5)", "or $1 a,id"},
	{"update with a cursor in a WITH query", "with p as (select id from t where a > $1 or (a = $1 and id > $2) order by a, id limit 5 for update skip locked) update t set x = 1 from p where p.id = t.id", "or $1 a,id"},
	{"grouped", "select a, id, count(*) from t where a > $1 or (a = $1 and id > $2) group by a, id order by a, id limit 5", "or $1 a,id"},
	{"the other direction", "select * from t where (a, id) > ($1, $2) order by a desc, id desc limit 5", "-"},
	{"other columns", "select * from t where s = $1 or k = $2 order by a, id limit 5", "-"},
	{"branch without the key", "select * from t where a > $1 or s = $2 order by a, id limit 5", "-"},
	{"two values", "select * from t where id = $1 or id = $2 order by id limit 2", "-"},
	{"two values, no limit", "select * from t where id = $1 or id = $2 order by id", "-"},
	{"two values of the first key", "select * from t where a = $1 or a = $2 order by a, id limit 10", "-"},
	{"a value, or one with a filter", "select * from t where id = $1 or (id = $2 and s = 3) order by id limit 2", "-"},
	{"two windows", "select * from t where (a >= $1 and a < $2) or (a >= $3 and a < $4) order by a, id limit 100", "-"},
	{"two windows downwards", "select * from t where a between $1 and $2 or a between $3 and $4 order by a desc, id desc limit 100", "-"},
	{"a value or none", "select * from t where a = $1 or a is null order by a, id limit 5", "-"},
	{"optional value", "select * from t where $1 is null or a = $1 order by a, id limit 5", "-"},
	{"optional value in a CASE", "select * from t where case when $1 is null then true else a = $1 end order by a, id limit 5", "-"},
	{"an end in each branch", "select * from t where (a > $1 and a < $3) or (a = $1 and id > $2 and a < $3) order by a, id limit 5", "or $1 a,id"},
	{"row number", "select * from (select t.*, row_number() over (order by a) n from t) s where n > $1 order by n limit 5", "-"},
	{"set operation", "select a from t where a > $1 union select a from u where a > $1 order by a limit 5", "-"},
}

func TestRecogniseCursor(t *testing.T) {
	for _, c := range cursorCases {
		q, _ := parse(t, c.sql)
		got := "-"
		if x := RecogniseCursor(q); x != nil {
			var values []string
			for _, v := range x.Bound.Values {
				values = append(values, v.Expr.Text())
			}
			got = string(x.Form) + map[bool]string{true: "/hidden"}[x.Hidden] + " " + strings.Join(values, ",") + " " + strings.Join(x.Columns(), ",")
			if part := q.SQL[x.Start:x.End]; !strings.Contains(c.sql, "?") && part != x.Term.Whole.Text() {
				t.Errorf("%s: the range %q is not the condition %q", c.name, part, x.Term.Whole.Text())
			}
		}
		if got != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.name, c.sql, got, c.want)
		}
	}
}

func TestPagination(t *testing.T) {
	for sql, want := range map[string]Pagination{
		"select * from t where a > $1 or (a = $1 and id > $2) order by a, id limit 5":                                              KeysetOr,
		"select * from t where (a, id) > ($1, $2) order by a, id limit 5":                                                          KeysetRow,
		"select * from t where id > $1 order by id limit 5 offset $2":                                                              KeysetRow,
		"select * from t order by a limit 5 offset $1":                                                                             Offset,
		"select * from t order by a offset 10 rows fetch next 5 rows only":                                                         Offset,
		"select * from t order by a limit 5 offset 0":                                                                              FirstPage,
		"select * from t where p = $1 order by a limit 5":                                                                          FirstPage,
		"select * from t where a = $1 or a = $2 order by a limit 5":                                                                FirstPage,
		"select * from t where (a >= $1 and a < $2) or (a >= $3 and a < $4) order by a limit 5":                                    FirstPage,
		"select * from t where a > coalesce($1, a) order by a limit 5":                                                             KeysetOr,
		"select * from t where a >= coalesce($1, a) and p = $2 order by a desc limit 5":                                            FirstPage,
		"select * from t where case when a > $1 then 1 when a = $1 and id > $2 then 1 else 0 end = 1 order by a, id limit 5":       KeysetOr,
		"select * from t where a is null and id > $2 or a is not null order by a nulls first, id limit 5":                          KeysetOr,
		"select * from t where a is null and id > $2 or a is not null order by a, id limit 5":                                      FirstPage,
		"select * from t where a > $1 or id > $2 order by a, id limit 5":                                                           KeysetOr,
		"select * from t where a || id > $1 order by a, id limit 5":                                                                KeysetOr,
		"select * from t where a > any (array[$1]) order by a, id limit 5":                                                         KeysetOr,
		"select * from t where a < some ($1) order by a desc, id limit 5":                                                          KeysetOr,
		"select * from t where a > all ($1) order by a, id limit 5":                                                                KeysetOr,
		"select * from t where a <> all ($1) order by a, id limit 5":                                                               FirstPage,
		"select * from t where a = any ($1) order by a, id limit 5":                                                                FirstPage,
		"select * from t where ((a, id) > ($1, $2)) = true order by a, id limit 5":                                                 KeysetRow,
		"select * from t where ok = true order by a, id limit 5":                                                                   FirstPage,
		"select * from t where (a > $1) = true or (a = $1 and id > $2) order by a, id limit 5":                                     KeysetOr,
		"select t.* from t join c on t.a > c.a or (t.a = c.a and t.id > c.id) order by t.a, t.id limit 5":                          KeysetOr,
		"select t.* from t join c on c.id = t.c and t.a > $1 order by t.a, t.id limit 5":                                           KeysetOr,
		"select t.* from t left join c on c.id = t.c and t.a > $1 order by t.a, t.id limit 5":                                      FirstPage,
		"select t.* from t join c on c.id = t.c order by t.a, t.id limit 5":                                                        FirstPage,
		"select * from (select * from t where a > coalesce($1, a)) s order by a limit 5":                                           KeysetOr,
		"select * from (select *, row_number() over (order by a) as n from t) s where n between $1 and $2 order by n":              Offset,
		"select * from t where a > $1 order by a":                                                                                  NoPaging,
		"select * from t where a > $1":                                                                                             NoPaging,
		"with r as (select *, dense_rank() over (order by a) as n from t) select * from r where n > $1 and n <= $2 order by n, id": Offset,
	} {
		q, _ := parse(t, sql)
		if got := PaginationOf(q, RecogniseCursor(q)); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
}

// Filters as EXPLAIN prints them.
func TestImpliedByPlanText(t *testing.T) {
	for _, c := range []struct {
		filter string
		key    Key
		side   Side
		want   string // values, "-" for no bound
	}{
		{"((created_at > $1) OR ((created_at = $1) AND (id < $2)))", ColumnKey("", "created_at"), Lower, "$1"},
		{"((created_at >= (InitPlan 1).col1) AND ((created_at > (InitPlan 1).col1) OR (id > $2)))", ColumnKey("", "created_at"), Lower, "(InitPlan 1).col1"},
		{"((a > $0) OR ((a = $0) AND (id > $1)))", ColumnKey("d", "a"), Lower, "$0"},
		{"(ROW(a, b) > ROW($1, $2))", ColumnKey("", "a"), Lower, "$1"},
		{"((status = 'x'::text) AND (NOT (hashed SubPlan 1)) AND ((a < $1) OR ((a = $2) AND (id < $3))))", ColumnKey("", "a"), Upper, "$1,$2"},
		{"((a > $1) OR (SubPlan 1))", ColumnKey("", "a"), Lower, "-"},
		{"((a > $1) OR (a IS NULL))", ColumnKey("", "a"), Lower, "-"},
		{"((name)::text > ($1)::text)", Key{Expr: ColumnKey("", "name").Expr, Type: "character varying(20)"}, Lower, "($1)::text"},
		{"((n)::text > ($1)::text)", Key{Expr: ColumnKey("", "n").Expr, Type: "integer"}, Lower, "-"},
		{"(((d.a = c.a) AND (d.id >= c.id)) OR (d.a > c.a))", Key{Expr: ColumnKey("d", "a").Expr, Outer: true}, Lower, "c.a"},
		{"(((d.a = c.a) AND (d.id >= c.id)) OR (d.a > c.a))", ColumnKey("d", "a"), Lower, "-"},
		{"(a > (b + 1))", ColumnKey("", "a"), Lower, "-"},
		{"((a = ANY ('{1,2}'::integer[])) AND (a <> 3))", ColumnKey("", "a"), Lower, "-"},
	} {
		e, err := sqltext.ParseExpr(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		got := "-"
		if b, ok := Implied(e, c.key, c.side); ok {
			var vs []string
			for _, v := range b.Values {
				vs = append(vs, v.Expr.Text())
			}
			got = strings.Join(vs, ",")
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.filter, got, c.want)
		}
	}
}

const benchmarkSQL = "select d.id, d.created_at, d.title from doc d where d.project_id = ? and (d.created_at > ? or (d.created_at = ? and d.id > ?)) order by d.created_at, d.id limit 50"

// Reading a statement and finding its cursor.
func BenchmarkRecognise(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		q, err := sqltext.ParseQuery(sqltext.Placeholders(benchmarkSQL, sqltext.Auto).SQL)
		if err != nil || RecogniseCursor(q) == nil {
			b.Fatal("no cursor", err)
		}
	}
}

// The same with every rewrite, its proof and its text in the source's spelling.
func BenchmarkRecogniseAndFix(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		n := sqltext.Placeholders(benchmarkSQL, sqltext.Auto)
		q, err := sqltext.ParseQuery(n.SQL)
		if err != nil {
			b.Fatal(err)
		}
		for _, x := range Fixes(q, RecogniseCursor(q), Facts{}) {
			_ = x.Render(n)
		}
	}
}
