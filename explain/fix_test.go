package explain

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// docFacts: created_at and id are NOT NULL, closed_at is not, log is partitioned.
func docFacts() Facts {
	cols := map[string]*Column{
		"id": {Name: "id", Type: "uuid", NotNull: true}, "created_at": {Name: "created_at", Type: "timestamptz", NotNull: true},
		"closed_at": {Name: "closed_at", Type: "timestamptz"}, "seq": {Name: "seq", Type: "bigint", NotNull: true},
		"nr": {Name: "nr", Type: "bigint", NotNull: true, Correlation: new(float64)}, "made": {Name: "made", Type: "timestamptz", NotNull: true, Correlation: new(float64)},
	}
	*cols["nr"].Correlation, *cols["made"].Correlation = 1, 0.98
	unique := []*Index{{Name: "nr", Unique: true, Valid: true, Method: "btree", Keys: []IndexKey{{Text: "nr", Column: "nr"}}}, {Name: "pk", Unique: true, Valid: true, Primary: true, Method: "btree", Keys: []IndexKey{{Text: "id", Column: "id"}}}}
	return Facts{Tables: map[string]*Table{
		"doc": {Name: "doc", Kind: "r", Columns: cols, Indexes: unique}, "log": {Name: "log", Kind: "p", Columns: cols, Indexes: unique},
		"live": {Name: "live", Kind: "v", Columns: cols},
	}}
}

func TestFixes(t *testing.T) {
	for _, c := range []struct {
		name, sql string
		want      []string // "kind: statement", the preferred first; * marks an assumption
	}{
		{
			"comments, case and placeholders stay",
			"SELECT Id -- the key\nFROM doc /* d */ WHERE -- cursor\n  Created_At > :at /* a */ OR (created_at = :at AND id < :id)\nORDER BY created_at ASC, id DESC LIMIT :n",
			[]string{
				"row-comparison: SELECT Id -- the key\nFROM doc /* d */ WHERE -- cursor\n  /* a */ (Created_At, :id) > (:at, id)\nORDER BY created_at ASC, id DESC LIMIT :n",
				"add-bound: SELECT Id -- the key\nFROM doc /* d */ WHERE -- cursor\n  Created_At >= :at AND (Created_At > :at /* a */ OR (created_at = :at AND id < :id))\nORDER BY created_at ASC, id DESC LIMIT :n",
			},
		},
		{
			"a line comment inside does not swallow the rest",
			"select 1 from doc where (a > $1 -- next\n or a = $1 and b > $2) order by a, b limit 1",
			[]string{
				"row-comparison: select 1 from doc where -- next\n(a, b) > ($1, $2) order by a, b limit 1",
				"add-bound: select 1 from doc where a >= $1 and (a > $1 -- next\n or a = $1 and b > $2) order by a, b limit 1",
			},
		},
		{
			"positional placeholders twice: the bound assumes nothing, and gives each its type",
			"select * from doc where created_at < ? or created_at = ? and b < ? order by created_at desc, b desc limit ?",
			[]string{
				"add-bound: select * from doc where (created_at < ? or created_at = ? and b < ?) and created_at <= greatest(?::timestamptz, ?::timestamptz) order by created_at desc, b desc limit ?",
				"row-comparison*: select * from doc where (created_at, b) < (?, ?) order by created_at desc, b desc limit ?",
			},
		},
		{
			"two numbered parameters: a client may put strings for them, which LEAST would take for text",
			"select * from doc where created_at > $1 or created_at = $2 and b > $3 order by created_at, b limit 9",
			[]string{
				"add-bound: select * from doc where (created_at > $1 or created_at = $2 and b > $3) and created_at >= least($1::timestamptz, $2::timestamptz) order by created_at, b limit 9",
				"row-comparison*: select * from doc where (created_at, b) > ($1, $2) order by created_at, b limit 9",
			},
		},
		{
			"positional placeholders twice, of a type that is not known", "select * from doc where a < ? or a = ? and b < ? order by a desc, b desc limit ?",
			[]string{"row-comparison*: select * from doc where (a, b) < (?, ?) order by a desc, b desc limit ?"},
		},
		{
			"three keys, conjunctive form",
			"select * from doc where p = %s and a >= %(x)s and (a <> %(x)s or b <= %(y)s) and (a <> %(x)s or b <> %(y)s or c > %(z)s) order by a, b desc, c limit 5",
			[]string{"row-comparison: select * from doc where p = %s and (a, %(y)s, c) > (%(x)s, b, %(z)s) order by a, b desc, c limit 5"},
		},
		{
			"not", "select * from doc where not (a < $1 or (a = $1 and b >= $2)) order by a, b desc limit 5",
			[]string{"row-comparison: select * from doc where (a, $2) > ($1, b) order by a, b desc limit 5"},
		},
		{
			"partitioned",
			"SELECT * FROM log WHERE created_at > $1 OR (created_at = $1 AND id > $2) ORDER BY created_at, id LIMIT 5",
			[]string{
				"row-comparison: SELECT * FROM log WHERE (created_at, id) > ($1, $2) ORDER BY created_at, id LIMIT 5",
				"bound-and-row: SELECT * FROM log WHERE created_at >= $1 AND (created_at, id) > ($1, $2) ORDER BY created_at, id LIMIT 5",
				"add-bound: SELECT * FROM log WHERE created_at >= $1 AND (created_at > $1 OR (created_at = $1 AND id > $2)) ORDER BY created_at, id LIMIT 5",
			},
		},
		{
			"row over a partitioned table", "select * from log where (created_at, id) > ($1, $2) order by created_at, id limit 5",
			[]string{"bound-and-row: select * from log where created_at >= $1 and (created_at, id) > ($1, $2) order by created_at, id limit 5"},
		},
		{"row: nothing to do", "select * from doc where (a, b) > ($1, $2) order by a, b limit 5", nil},
		{
			"optional",
			"select * from doc where p = $4 and ($1::timestamptz is null or created_at > $1 or (created_at = $1 and id > $2)) order by created_at, id limit $3",
			[]string{
				"two-statements: select * from doc where p = $4 and (created_at, id) > ($1, $2) order by created_at, id limit $3 | $1::timestamptz is null | /* values: 3, 4 of the old ones */ select * from doc where p = $2 order by created_at, id limit $1",
				"guarded-bound: select * from doc where p = $4 and created_at >= coalesce($1, '-infinity'::timestamptz) and ($1::timestamptz is null or created_at > $1 or (created_at = $1 and id > $2)) order by created_at, id limit $3",
			},
		},
		{
			"optional, key may be NULL", "select * from doc where ($1 is null or (closed_at, id) > ($1, $2)) and p = 1 order by closed_at, id limit 5",
			[]string{"two-statements: select * from doc where (closed_at, id) > ($1, $2) and p = 1 order by closed_at, id limit 5 | $1 is null | select * from doc where p = 1 order by closed_at, id limit 5"},
		},
		{
			"null branch",
			"SELECT d.id, d.closed_at AS done FROM doc d WHERE p = 1 AND (d.closed_at > $1 OR (d.closed_at = $1 AND d.id > $2) OR d.closed_at IS NULL) ORDER BY d.closed_at NULLS LAST, d.id LIMIT 20",
			[]string{"union-all: (SELECT d.id, d.closed_at AS done FROM doc d WHERE p = 1 AND (d.closed_at, d.id) > ($1, $2) ORDER BY d.closed_at NULLS LAST, d.id LIMIT 20)\nUNION ALL\n(SELECT d.id, d.closed_at AS done FROM doc d WHERE p = 1 AND d.closed_at IS NULL ORDER BY d.closed_at NULLS LAST, d.id LIMIT 20)\nORDER BY done NULLS LAST, id LIMIT 20"},
		},
		{
			"null branch, key not in the result", "select id from doc where closed_at > $1 or closed_at is null order by closed_at, id limit 5",
			[]string{"union-all: select id from (\n(select id, closed_at as key1 from doc where closed_at > $1 order by closed_at, id limit 5)\nunion all\n(select id, closed_at as key1 from doc where closed_at is null order by closed_at, id limit 5)\n) page\norder by key1, id limit 5"},
		},
		{"null branch, an output without a name", "select p + 1 from doc where closed_at > $1 or closed_at is null order by closed_at, id limit 5", nil},
		{
			"joined",
			"select d.* from doc d join doc c on c.id = $1 where d.created_at > c.created_at or (d.created_at = c.created_at and d.id > c.id) order by d.created_at, d.id limit 5",
			[]string{
				"row-comparison: select d.* from doc d join doc c on c.id = $1 where (d.created_at, d.id) > (c.created_at, c.id) order by d.created_at, d.id limit 5",
				"add-bound: select d.* from doc d join doc c on c.id = $1 where d.created_at >= c.created_at and (d.created_at > c.created_at or (d.created_at = c.created_at and d.id > c.id)) order by d.created_at, d.id limit 5",
				"row-subselect: select d.* from doc d where (d.created_at, d.id) > (select c.created_at, c.id from doc c where c.id = $1) order by d.created_at, d.id limit 5",
			},
		},
		{
			"joined WITH query",
			"with c as (select created_at, id from doc where id = $1) select d.id from doc d, c where d.created_at < c.created_at or (d.created_at = c.created_at and d.id < c.id) order by d.created_at desc, d.id desc limit 5",
			[]string{
				"row-comparison: with c as (select created_at, id from doc where id = $1) select d.id from doc d, c where (d.created_at, d.id) < (c.created_at, c.id) order by d.created_at desc, d.id desc limit 5",
				"bound-and-row: with c as (select created_at, id from doc where id = $1) select d.id from doc d, c where d.created_at <= c.created_at and (d.created_at, d.id) < (c.created_at, c.id) order by d.created_at desc, d.id desc limit 5",
				"add-bound: with c as (select created_at, id from doc where id = $1) select d.id from doc d, c where d.created_at <= c.created_at and (d.created_at < c.created_at or (d.created_at = c.created_at and d.id < c.id)) order by d.created_at desc, d.id desc limit 5",
				"row-subselect: with c as (select created_at, id from doc where id = $1) select d.id from doc d where (d.created_at, d.id) < (select c.created_at, c.id from c) order by d.created_at desc, d.id desc limit 5",
			},
		},
		{
			"joined by comma, its filter in WHERE",
			"select d.id from doc c, doc d where c.id = $1 and (d.created_at > c.created_at or (d.created_at = c.created_at and d.id >= c.id)) and d.p = 1 order by d.created_at, d.id limit 5",
			[]string{
				"row-comparison: select d.id from doc c, doc d where c.id = $1 and (d.created_at, d.id) >= (c.created_at, c.id) and d.p = 1 order by d.created_at, d.id limit 5",
				"add-bound: select d.id from doc c, doc d where c.id = $1 and d.created_at >= c.created_at and (d.created_at > c.created_at or (d.created_at = c.created_at and d.id >= c.id)) and d.p = 1 order by d.created_at, d.id limit 5",
				"row-subselect: select d.id from doc d where (d.created_at, d.id) >= (select c.created_at, c.id from doc c where c.id = $1) and d.p = 1 order by d.created_at, d.id limit 5",
			},
		},
		{
			"joined row is in the result", "select d.*, c.x from doc d join doc c on c.id = $1 where d.a > c.a or (d.a = c.a and d.id > c.id) order by d.a, d.id limit 5",
			[]string{
				"row-comparison: select d.*, c.x from doc d join doc c on c.id = $1 where (d.a, d.id) > (c.a, c.id) order by d.a, d.id limit 5",
				"add-bound: select d.*, c.x from doc d join doc c on c.id = $1 where d.a >= c.a and (d.a > c.a or (d.a = c.a and d.id > c.id)) order by d.a, d.id limit 5",
			},
		},
		{
			"the row outside a LATERAL", "select * from (values ($1::date, $2::uuid)) c (a, i), lateral (select * from doc d where d.a > c.a or (d.a = c.a and d.id > c.i) order by d.a, d.id limit 5) x",
			[]string{
				"row-comparison: select * from (values ($1::date, $2::uuid)) c (a, i), lateral (select * from doc d where (d.a, d.id) > (c.a, c.i) order by d.a, d.id limit 5) x",
				"add-bound: select * from (values ($1::date, $2::uuid)) c (a, i), lateral (select * from doc d where d.a >= c.a and (d.a > c.a or (d.a = c.a and d.id > c.i)) order by d.a, d.id limit 5) x",
			},
		},
		{
			"NOT before a row comparison", "select * from doc where not ((a, b) <= ($1, $2)) order by a, b limit 5",
			[]string{
				"row-comparison: select * from doc where (a, b) > ($1, $2) order by a, b limit 5",
				"add-bound: select * from doc where a >= $1 and not ((a, b) <= ($1, $2)) order by a, b limit 5",
			},
		},
		{
			"IS TRUE", "select * from doc where (a > $1 or (a = $1 and b > $2)) is true and p = 1 order by a, b limit 5",
			[]string{
				"row-comparison: select * from doc where (a, b) > ($1, $2) and p = 1 order by a, b limit 5",
				"add-bound: select * from doc where a >= $1 and (a > $1 or (a = $1 and b > $2)) is true and p = 1 order by a, b limit 5",
			},
		},
		{
			"COALESCE to false", "select * from doc where coalesce(a > $1 or (a = $1 and b > $2), false) order by a, b limit 5",
			[]string{
				"row-comparison: select * from doc where (a, b) > ($1, $2) order by a, b limit 5",
				"add-bound: select * from doc where a >= $1 and coalesce(a > $1 or (a = $1 and b > $2), false) order by a, b limit 5",
			},
		},
		{
			"COALESCE to true", "select * from doc where coalesce(created_at < $1 or (created_at = $1 and id < $2), true) and p = $3 order by created_at desc, id desc limit 5",
			[]string{
				"two-statements: select * from doc where created_at <= $1 and coalesce(created_at < $1 or (created_at = $1 and id < $2), true) and p = $3 order by created_at desc, id desc limit 5 | $1 IS NULL | /* values: 3 of the old ones */ select * from doc where p = $1 order by created_at desc, id desc limit 5",
				"guarded-bound: select * from doc where created_at <= coalesce($1, 'infinity'::timestamptz) and coalesce(created_at < $1 or (created_at = $1 and id < $2), true) and p = $3 order by created_at desc, id desc limit 5",
				"two-statements*: select * from doc where (created_at, id) < ($1, $2) and p = $3 order by created_at desc, id desc limit 5 | $1 IS NULL | /* values: 3 of the old ones */ select * from doc where p = $1 order by created_at desc, id desc limit 5",
			},
		},
		{
			"IS NOT FALSE, with constants", "select * from doc where (seq > 7 or (seq = 7 and id > 'a')) is not false order by seq, id limit 5",
			[]string{
				"row-comparison: select * from doc where (seq, id) > (7, 'a') order by seq, id limit 5",
				"add-bound: select * from doc where seq >= 7 and (seq > 7 or (seq = 7 and id > 'a')) is not false order by seq, id limit 5",
			},
		},
		{
			"IS NOT FALSE beside another condition, IS TRUE around both", "select * from doc where ((seq > $1 or (seq = $1 and id > $2)) is not false and p = $3) is true order by seq, id limit 5", nil,
		},
		{"COALESCE to true, a key that may be NULL", "select * from doc where coalesce(closed_at > $1 or (closed_at = $1 and id > $2), true) order by closed_at, id limit 5", nil},
		{"COALESCE to true, a value for each branch", "select * from doc where coalesce(seq > $1 or (seq = $2 and id > $3), true) order by seq, id limit 5", nil},
		{"COALESCE to true, more than the cursor", "select * from doc where coalesce(p = $3 and (seq > $1 or (seq = $1 and id > $2)), true) order by seq, id limit 5", nil},
		{"volatile value", "select * from doc where a > random() or (a = random() and b > 1) order by a, b limit 5", nil},
		{
			"unknown function stays where it is", "select * from doc where a > f($1) or (a = f($1) and b > 1) order by a, b limit 5", nil,
		},
		{"casts to two types", "select * from doc where a > $1::date or (a = $2::timestamptz and b > $3) order by a, b limit 5", []string{
			"row-comparison*: select * from doc where (a, b) > ($1::date, $2) order by a, b limit 5",
		}},
		{
			"a filter in one branch", "select * from doc where p = $1 and a > $2 or a = $2 and b > $3 order by a, b limit 5",
			[]string{"add-bound! precedence-bug: select * from doc where a >= $2 and (p = $1 and a > $2 or a = $2 and b > $3) order by a, b limit 5"},
		},
		{
			"tie the wrong way: the rewrite keeps the fault and says so", "select * from doc where a > $1 or (a = $1 and b < $2) order by a, b limit 5",
			[]string{"add-bound! cursor-against-order: select * from doc where a >= $1 and (a > $1 or (a = $1 and b < $2)) order by a, b limit 5"},
		},
		{
			"the same in a CASE", "select * from doc where case when $1 is null then true else a > $1 or (a = $1 and b < $2) end order by a, b limit 5",
			[]string{"two-statements! cursor-against-order: select * from doc where a >= $1 and (a > $1 or (a = $1 and b < $2)) order by a, b limit 5 | $1 is null | select * from doc order by a, b limit 5"},
		},
		{"the key under a cast", "select * from doc where created_at::date > $1 or (created_at::date = $1 and id > $2) order by created_at, id limit 5", nil},
		{
			"values that cast the key", "select * from doc where seq > $1::numeric or (seq = $1::numeric and id > $2) order by seq, id limit 5",
			[]string{
				"row-comparison: select * from doc where (seq, id) > ($1::numeric, $2) order by seq, id limit 5",
				"add-bound: select * from doc where seq >= $1::numeric and (seq > $1::numeric or (seq = $1::numeric and id > $2)) order by seq, id limit 5",
				"cast-value*: select * from doc where seq > $1::numeric::bigint or (seq = $1::numeric::bigint and id > $2) order by seq, id limit 5",
				"row-comparison*: select * from doc where (seq, id) > ($1::numeric::bigint, $2) order by seq, id limit 5",
				"add-bound*: select * from doc where seq >= $1::numeric::bigint and (seq > $1::numeric::bigint or (seq = $1::numeric::bigint and id > $2)) order by seq, id limit 5",
			},
		},
		{
			"a tie that is not distinct", "select * from doc where created_at > $1 or (created_at is not distinct from $1 and id > $2) order by created_at, id limit 5",
			[]string{"add-bound: select * from doc where created_at >= $1 and (created_at > $1 or (created_at is not distinct from $1 and id > $2)) order by created_at, id limit 5"},
		},
		{"the same over a key that may be NULL", "select * from doc where closed_at > $1 or (closed_at is not distinct from $1 and id > $2) order by closed_at, id limit 5", nil},
		{
			"an OR in every branch", "select * from doc where (a > $1 and (p < $3 or $4 is null)) or (a = $2 and b < $5 and (p < $3 or $4 is null)) order by a, b desc limit 5",
			[]string{
				"add-bound: select * from doc where (p < $3 or $4 is null) and (a > $1 or (a = $2 and b < $5)) and a >= least($1, $2) order by a, b desc limit 5",
				"add-bound: select * from doc where ((a > $1 and (p < $3 or $4 is null)) or (a = $2 and b < $5 and (p < $3 or $4 is null))) and a >= least($1, $2) order by a, b desc limit 5",
				"row-comparison*: select * from doc where (p < $2 or $3 is null) and (a, $4) > ($1, b) order by a, b desc limit 5",
			},
		},
		{
			"an end of the scan in every branch, = ANY deep in them", "select * from doc where a > $1 and a < $6 and s = any($3) or a = $2 and (b > $4 and s = any($3) and a < $6 or b = $4 and a < $6 and c > $5 and s = any($3)) order by a, b, c limit 5",
			[]string{
				"add-bound: select * from doc where a < $6 and s = any($3) and (a > $1 or (a = $2 and (b > $4 or (b = $4 and c > $5)))) and a >= least($1, $2) order by a, b, c limit 5",
				"add-bound: select * from doc where (a > $1 and a < $6 and s = any($3) or a = $2 and (b > $4 and s = any($3) and a < $6 or b = $4 and a < $6 and c > $5 and s = any($3))) and a >= least($1, $2) order by a, b, c limit 5",
				"row-comparison*: select * from doc where a < $5 and s = any($2) and (a, b, c) > ($1, $3, $4) order by a, b, c limit 5",
			},
		},
		{
			"a call in every branch stays where it is", "select * from doc where (a > $1 and f(p)) or (a = $1 and b > $2 and f(p)) order by a, b limit 5",
			[]string{"add-bound: select * from doc where a >= $1 and ((a > $1 and f(p)) or (a = $1 and b > $2 and f(p))) order by a, b limit 5"},
		},
		{
			"a switch under a filter", "select * from doc where ($1 is null and p = $3) or (p = $3 and (created_at, id) > ($1, $2)) order by created_at, id limit 5",
			[]string{
				"two-statements: select * from doc where p = $3 and (created_at, id) > ($1, $2) order by created_at, id limit 5 | $1 is null | /* values: 3 of the old ones */ select * from doc where p = $1 order by created_at, id limit 5",
				"guarded-bound: select * from doc where p = $3 and created_at >= coalesce($1, '-infinity'::timestamptz) and ($1 is null or (created_at, id) > ($1, $2)) order by created_at, id limit 5",
				"guarded-bound: select * from doc where created_at >= coalesce($1, '-infinity'::timestamptz) and (($1 is null and p = $3) or (p = $3 and (created_at, id) > ($1, $2))) order by created_at, id limit 5",
			},
		},
		{
			"inside a delete", "delete from doc where id in (select id from doc where a > $1 or (a = $1 and id > $2) order by a, id limit 5)",
			[]string{
				"row-comparison: delete from doc where id in (select id from doc where (a, id) > ($1, $2) order by a, id limit 5)",
				"add-bound: delete from doc where id in (select id from doc where a >= $1 and (a > $1 or (a = $1 and id > $2)) order by a, id limit 5)",
			},
		},
	} {
		q, n := parse(t, c.sql)
		var got []string
		facts := docFacts()
		facts.Untyped = n.Dialect != sqltext.Dollar
		for _, x := range Fixes(q, RecogniseCursor(q), facts) {
			r := x.Render(n)
			s := string(x.Kind) + map[bool]string{true: "*"}[len(x.Assumes) > 0] + map[bool]string{true: "! " + x.Fault}[x.Fault != ""] + ": " + r.SQL
			if x.First != "" {
				s += " | " + x.When + " | " + r.First
			}
			got = append(got, s)
			if r.SQL[:r.NewStart] != c.sql[:r.Start] || r.SQL[r.NewEnd:] != c.sql[r.End:] {
				t.Errorf("%s: the text outside %d-%d changed:\n%s", c.name, r.Start, r.End, r.SQL)
			}
			if len(x.Proof) == 0 {
				t.Errorf("%s: %s has no proof", c.name, x.Kind)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %s\ngot\n%s\nwant\n%s", c.name, c.sql, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// A value bound by position is bound again where the rewrite writes it again.
func TestBindOrder(t *testing.T) {
	q, n := parse(t, "select * from doc where a < ? or a = ? and b < ? order by a desc, b desc limit ?")
	want := map[FixKind][]int{AddBound: {1, 2, 3, 1, 2, 4}, RowComparison: {1, 3, 4}}
	for _, x := range Fixes(q, RecogniseCursor(q), docFacts()) {
		if got := x.Render(n).Bind; !reflect.DeepEqual(got, want[x.Kind]) {
			t.Errorf("%s: got %v, want %v", x.Kind, got, want[x.Kind])
		}
	}
}

func TestProofText(t *testing.T) {
	q, _ := parse(t, "select * from doc where a > $1 or (a = $2 and b > $3) or (a = $1 and false) order by a, b limit 5")
	fixes := Fixes(q, RecogniseCursor(q), Facts{})
	if len(fixes) == 0 || fixes[0].Kind != AddBound {
		t.Fatalf("got %v", fixes)
	}
	want := `a > $1 or (a = $2 and b > $3) or (a = $1 and false) is true only if a >= least($1, $2) is:
  branch 1: a > $1 => a >= $1, which LEAST does not exceed
  branch 2: (a = $2 and b > $3): a = $2 => a >= $2, which LEAST does not exceed
  branch 3: (a = $1 and false) is never true
a comparison with NULL is not true, so rows with a NULL key were not kept before either`
	if got := strings.Join(fixes[0].Proof, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := fixes[0].Claim.Refutations(), []string{
		"select * from doc where (a > $1 or (a = $2 and b > $3) or (a = $1 and false)) AND a < $1 AND a < $2",
		"select * from doc where (a > $1 or (a = $2 and b > $3) or (a = $1 and false)) AND a IS NULL",
		"select * from doc where (a > $1 or (a = $2 and b > $3) or (a = $1 and false)) AND ($1) IS NULL AND ($2) IS NULL",
	}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

// Every rewrite is SQL that reads as one statement, with its cursor bounded.
func TestFixesAreBounded(t *testing.T) {
	for _, c := range cursorCases {
		q, _ := parse(t, c.sql)
		for _, x := range Fixes(q, RecogniseCursor(q), Facts{}) {
			if n := len(sqltext.Split(x.SQL)); n != 1 {
				t.Errorf("%s: %s is %d statements", c.name, x.SQL, n)
			}
			again, err := sqltext.ParseQuery(x.SQL)
			if err != nil {
				t.Fatal(err)
			}
			if cur := RecogniseCursor(again); x.Kind != UnionAll && (cur == nil || !cur.Bounded) {
				t.Errorf("%s: %s: not bounded: %s", c.name, x.Kind, x.SQL)
			}
		}
	}
}

// A cast in LEAST cuts no value to a length or precision.
func TestCastType(t *testing.T) {
	for typ, want := range map[string]string{
		"numeric(10,2)": "numeric", "character varying(80)": "character varying", "character(8)": "bpchar",
		"timestamp(3) with time zone": "timestamp with time zone", "bigint": "bigint",
	} {
		if got := (&Column{Type: typ}).castType(); got != want {
			t.Errorf("%s: got %s, want %s", typ, got, want)
		}
	}
}

// A parameter that PREPARE gave another type than the key's keeps it.
func TestLeastOfTypedParameters(t *testing.T) {
	q, _ := parse(t, "select * from doc where seq > $1 or seq = $2 and id > $3 order by seq, id limit 9")
	for typ, want := range map[string]string{"bigint": "least($1::bigint, $2::bigint)", "numeric": "least($1, $2)"} {
		f := docFacts()
		f.Params = []string{typ, typ, "text"}
		found := false
		for _, x := range Fixes(q, RecogniseCursor(q), f) {
			found = found || x.Kind == AddBound && strings.Contains(x.SQL, want)
		}
		if !found {
			t.Errorf("parameters of type %s: no %s", typ, want)
		}
	}
}

// A char(n) gives its values with blanks at their end, as text it has none: the cast's
// assumption says so.
func TestCastToPaddedCharacters(t *testing.T) {
	for typ, want := range map[string]string{"character(8)": "no blanks at its end", "uuid": "can hold as it is"} {
		f := Facts{Tables: map[string]*Table{"t": {Name: "t", Kind: "r", Columns: map[string]*Column{
			"ch": {Name: "ch", Type: typ, NotNull: true}, "id": {Name: "id", Type: "bigint", NotNull: true},
		}}}}
		q, _ := parse(t, "select id from t where (ch, id) > ($1::text, $2) order by ch, id limit 5")
		found := false
		for _, x := range Fixes(q, RecogniseCursor(q), f) {
			found = found || x.Kind == CastValue && len(x.Assumes) == 1 && strings.Contains(x.Assumes[0], want)
		}
		if !found {
			t.Errorf("%s: no cast that assumes that the value %s", typ, want)
		}
	}
}

// TestHeldByAnotherValue: no pair is left out of a row that an equality holds to another
// constant.
func TestHeldByAnotherValue(t *testing.T) {
	for where, want := range map[string]int{
		"k = 3 and (k, a, id) > (3, 1, 2)":    1,
		"k = 3 and (k, a, id) > ($1, 1, 2)":   1,
		"k = 3 and (k, a, id) > (1, 1, 2)":    0,
		"k = 3 and (k, a, id) > (null, 1, 2)": 0,
	} {
		q, _ := parse(t, "select * from doc where "+where+" order by k, a, id limit 5")
		if got := len(HeldFixes(q)); got != want {
			t.Errorf("%s: got %d fixes, want %d", where, got, want)
		}
	}
}
