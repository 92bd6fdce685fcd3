package sqltext

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// outline writes the blocks of a query, one a line.
func outline(q *Query) string {
	var b strings.Builder
	for _, x := range q.Blocks {
		var from, order, items []string
		for _, t := range x.From {
			s := strings.Join(t.Name, ".")
			if t.Sub != nil {
				s = "(…)"
			}
			if t.CTE != nil {
				s = "cte:" + s
			}
			if t.Alias != s && t.CTE == nil {
				s += ":" + t.Alias
			}
			if len(t.Columns) > 0 {
				s += "(" + strings.Join(t.Columns, ",") + ")"
			}
			if t.Join != "" {
				s = t.Join + " " + s
			}
			from = append(from, s)
		}
		for _, o := range x.OrderBy {
			s := o.Expr.Text()
			if o.Desc {
				s += " desc"
			}
			order = append(order, s+map[bool]string{true: " nf"}[o.NullsFirst()])
		}
		for _, it := range x.Items {
			items = append(items, map[bool]string{true: it.Qual + "*", false: it.Alias}[it.Star])
		}
		where := ""
		if x.Where != nil {
			where = x.Where.Text()
		}
		limit := ""
		if x.HasLimit {
			limit = "limit"
			if x.Limit != nil {
				limit += " " + x.Limit.Text()
			}
		}
		if x.Offset != nil {
			limit += " offset " + x.Offset.Text()
		}
		fmt.Fprintf(&b, "%d %s[%s] from[%s] where[%s] order[%s] %s\n", x.Role, x.SetOp, strings.Join(items, ","), strings.Join(from, ", "), where, strings.Join(order, ", "), limit)
	}
	return b.String()
}

func TestParseQuery(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{
			"select d.id, d.created_at as c, count(*), * from doc d join a on a.id = d.a where x = 1 order by c desc nulls last, 2 limit $1 offset 5",
			"0 [id,c,count,*] from[doc:d, inner a] where[x = 1] order[c desc, 2] limit $1 offset 5\n",
		},
		{
			"with x (a, b) as (select 1, 2), y as not materialized (select * from x) select a from y as z (k), only s.t* where a in (select b from q limit 3) fetch first row only",
			"0 [a] from[cte:y(k), s.t:t] where[a in (select b from q limit 3)] order[] limit\n1 [,] from[] where[] order[] \n1 [*] from[cte:x] where[] order[] \n2 [b] from[q] where[] order[] limit 3\n",
		},
		{
			"(select 1 from a order by 1 limit 2) union all (select 2 from b) order by 1 desc limit 3",
			"0 union all[] from[] where[] order[1 desc nf] limit 3\n4 [] from[a] where[] order[1] limit 2\n4 [] from[b] where[] order[] \n",
		},
		{
			"select s.* from (select * from t where a > 1 for update) s(x, y), lateral f(x) g left join u using (id) natural join v where s.x > $1",
			"0 [s*] from[(…):s(x,y), :g, left u, natural v] where[s.x > $1] order[] \n3 [*] from[t] where[a > 1] order[] \n",
		},
		{
			"delete from doc where id in (select id from doc where a > $1 order by a, id limit 500)",
			"2 [id] from[doc] where[a > $1] order[a, id] limit 500\n",
		},
		{"insert into t select * from u order by 1 limit 2", "0 [*] from[u] where[] order[1] limit 2\n"},
		{"select distinct on (a, b) a, b c, case when a then 1 else 2 end d from t limit all", "0 [a,c,d] from[t] where[] order[] \n"},
		{"select 1 from ((a join b on true) cross join c) where true", "0 [] from[a, inner b, cross c] where[true] order[] \n"},
		{"select a from t group by a having count(*) > 1 window w as (order by b) order by a using >", "0 [a] from[t] where[] order[a desc nf] \n"},
	} {
		q, err := ParseQuery(c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if got := outline(q); got != c.want {
			t.Errorf("%s\ngot\n%swant\n%s", c.sql, got, c.want)
		}
	}
}

func TestReadable(t *testing.T) {
	for _, c := range []struct {
		sql, want string
		inner     bool
		err       error
	}{
		{sql: "explain (analyze, format json) select 1;", want: "select 1"},
		{sql: "EXPLAIN ANALYZE VERBOSE (select 1)", want: "(select 1)"},
		{sql: "prepare p(int, text) as select $1", want: "select $1"},
		{sql: "with x as (select 1) select * from x -- end", want: "with x as (select 1) select * from x"},
		{sql: "table t", want: "table t"},
		{sql: "values (1)", want: "values (1)"},
		{sql: "delete from t where id in (select id from t where a > $1 order by a limit 5)", want: "select id from t where a > $1 order by a limit 5", inner: true},
		{sql: "update t set a = 1 where id in (with x as (select 1) select id from t order by a limit 5)", want: "with x as (select 1) select id from t order by a limit 5", inner: true},
		{sql: "delete from t", err: ErrNotReadable},
		{sql: "drop table t", err: ErrNotReadable},
		{sql: "select 1 into t", err: ErrWrites},
		{sql: "with x as (delete from t returning *) select * from x", err: ErrWrites},
		{sql: strings.Repeat("(", 500) + "select 1 into t" + strings.Repeat(")", 500), err: ErrWrites},
		{sql: "with x as (select 1), y as (with z as (insert into t values (1) returning *) select * from z) select * from y", err: ErrWrites},
		{sql: "with y as (with z as (select 1) delete from t returning *) select * from y", err: ErrWrites},
		{sql: "select a as into, t.into from t for update", want: "select a as into, t.into from t for update"},
		{sql: "select 1; drop table t", err: ErrSeveral},
		{sql: " -- nothing\n;", err: ErrEmpty},
		{sql: "explain delete from t", err: ErrNotReadable},
		{sql: "select 1" + strings.Repeat(" ", MaxStatement), err: ErrTooLong},
	} {
		got, err := Readable(c.sql)
		if !errors.Is(err, c.err) || got.SQL != c.want || got.Inner != c.inner {
			t.Errorf("%.80s: got %q (inner %t), %v; want %q (inner %t), %v", c.sql, got.SQL, got.Inner, err, c.want, c.inner, c.err)
		}
	}
}

func TestCorrelated(t *testing.T) {
	for sql, want := range map[string]bool{
		"select (select b from u where u.id = $1) from t":                       false,
		"select (select b from u where u.id = t.id) from t":                     true,
		"select (select b from u where id = (select max(x.a) from v x)) from t": false,
		"select (select b from u where id = (select max(t.a) from v x)) from t": true,
		"select (select $1) from t":                                             false,
		"select (select a) from t":                                              true,
	} {
		q, err := ParseQuery(sql)
		if err != nil {
			t.Fatal(err)
		}
		sub := q.Blocks[0].Items[0].Expr.Sub
		if sub == nil {
			t.Errorf("%s: no sub-select found", sql)
		} else if got := sub.Correlated(); got != want {
			t.Errorf("%s: got %t, want %t", sql, got, want)
		}
	}
}
