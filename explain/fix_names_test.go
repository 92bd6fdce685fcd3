package explain

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/explain/sqltext"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

var keyName = regexp.MustCompile(`\b[abc]\b`)

// renamed gives the keys of a condition other names.
func renamed(cond string, names map[string]string) string {
	return keyName.ReplaceAllStringFunc(cond, func(k string) string { return names[k] })
}

// randomStatement puts a keyset into a statement where names are the trouble:
// two tables with the same columns, output names that hide columns, sub-selects
// and WITH queries that rename or swap. The sort is total, so LIMIT is exact.
func randomStatement(r *rand.Rand) string {
	k := randomKeyset(r)
	dir := func() string { return pick(r, "", " desc", " desc nulls last", " nulls first") }
	three := func(a, b, c string) string { return a + dir() + ", " + b + dir() + ", " + c + dir() }
	if r.IntN(2) == 0 { // the order that the keyset is about
		parts := strings.Split(k.order, ", ")
		if len(parts) < 3 {
			parts = append(parts, "c")
		}
		three = func(a, b, c string) string {
			return renamed(strings.Join(parts, ", "), map[string]string{"a": a, "b": b, "c": c})
		}
	}
	x, y := pick(r, "x", "y"), pick(r, "x", "y")
	switch r.IntN(12) {
	case 0, 1:
		where := renamed(k.where, map[string]string{"a": x + ".a", "b": y + ".b", "c": x + ".c"})
		order := three(pick(r, "x", "y")+".a", "y.b", "x.c")
		return "select x.a, y.b, x.c from g x join g y on y.c = x.c where (" + where + ") order by " + order + ", x.b, y.a, x.a limit 7"
	case 2:
		return "select * from (select a k, b l, c m from f) s where " + renamed(k.where, map[string]string{"a": "k", "b": "s.l", "c": "m"}) + " order by " + three("k", "l", "s.m") + " limit 7"
	case 3:
		return "select * from (select * from f where " + k.where + ") s order by " + three("a", "s.b", "c") + " limit 7"
	case 4:
		return "with s (b, a, c) as (select a, b, c from f where " + k.where + ") select * from s order by " + three("a", "b", "c") + " limit 7"
	case 5:
		return "select b as a, a as b, c from f where " + k.where + " order by " + three("a", "b", "c") + " limit 7"
	case 6:
		return "select a + 1 as z, f.b, c from f where " + k.where + " order by " + three("f.a", "2", "3") + " limit 7"
	case 7:
		return "select x.*, y.b as d from g x " + pick(r, "full", "left", "inner", "right") + " join g y using (a, c) where " +
			renamed(k.where, map[string]string{"a": pick(r, "x.a", "a", "y.a"), "b": "x.b", "c": pick(r, "c", "y.c")}) +
			" order by " + three(pick(r, "x.a", "y.a"), "x.b", "y.c") + ", y.a, y.b, x.c, x.a limit 7"
	case 8:
		return "select g.a, f.b, g.c from f, lateral (select f.a, f.c) g where " +
			renamed(k.where, map[string]string{"a": pick(r, "f.a", "g.a"), "b": "b", "c": "g.c"}) + " order by " + three("a", "b", "c") + " limit 7"
	}
	if r.IntN(2) == 0 { // the cursor is a row of the table: at most one, for (a, b, c) is unique
		row := strings.NewReplacer("$1", "k.a", "$2", "k.b", "$3", "k.c")
		where := row.Replace(renamed(k.where, map[string]string{"a": "x.a", "b": "x.b", "c": "x.c"}))
		own := "k.a = $4 and k.b = $5 and k.c = '2024-01-02'"
		from, own := pick(r, "f x join f k on "+own, "f x, f k", "f k, f x", "f x cross join (select * from f k where "+own+") k", "f x, k"), " and "+own
		if !strings.HasSuffix(from, "f k") && !strings.HasSuffix(from, "f x") {
			own = ""
		}
		with := ""
		if strings.HasSuffix(from, ", k") {
			with = "with k as (select a, b, c from f k where k.a = $4 and k.b = $5 and k.c = '2024-01-02') "
		}
		return with + "select x.a, x.b, x.c from " + from + " where (" + where + ")" + own + " order by " + three("x.a", "x.b", "x.c") + " limit 7"
	}
	return "select (f.a)::date, b, c from f where " + k.where + " order by " + three(pick(r, "a", "f.a", "1"), "f.b", "c") + " limit 7"
}

func TestNamesAreResolved(t *testing.T) {
	j := newRowJudge(t, 17)
	dsn := j.conn.Config().ConnString()
	pgtest.Exec(t, dsn, "create table g as select * from f where abs(hashint4(coalesce(a - date '2024-01-01', 9) * 25 + coalesce(b - date '2024-01-01', 9) * 5 + coalesce(c - date '2024-01-01', 9))) % 4 = 0")
	tried, empty := map[FixKind]int{}, 0
	for range 4 * proofRounds(t) { // one in 300 has a cursor row that can be moved
		sql := randomStatement(j.r)
		q, err := sqltext.ParseQuery(sql)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range Cursors(q) {
			fixes := Fixes(q, c, Facts{})
			for round := 0; round < 4 && len(fixes) > 0; round++ {
				values := randomParams(j.r)
				want, err := j.result(sql, values)
				if err != nil {
					t.Logf("not valid: %v: %s", err, sql)
					break
				}
				if want == "" {
					empty++
				}
				for _, x := range fixes {
					text := x.SQL
					if x.Kind == TwoStatements {
						if on, err := j.result("select 1 where "+x.When, values); err != nil || on != "" {
							text = x.First
						}
					}
					tried[x.Kind]++
					if got, err := j.result(text, values); err != nil {
						t.Errorf("%s: %v\n%s\n%s", x.Kind, err, sql, text)
					} else if got != want && (len(x.Assumes) == 0 || x.Kind == RowSubselect) {
						t.Errorf("%s with %v\n%s\ngives %s\n%s\ngives %s", x.Kind, values, sql, want, text, got)
					}
				}
			}
		}
	}
	t.Logf("tried %v, %d empty", tried, empty)
	if tried[RowComparison] == 0 || tried[AddBound] == 0 || tried[RowSubselect] == 0 {
		t.Error("nothing was put to the test")
	}
}

func randomParams(r *rand.Rand) []string {
	out := make([]string, 6)
	for i := range out {
		out[i] = fmt.Sprintf("'2024-01-0%d'::date", 1+r.IntN(4))
		if r.IntN(6) == 0 {
			out[i] = "null::date"
		}
	}
	return out
}

// result runs a statement with values for its placeholders and returns its rows
// in order as text.
func (j *rowJudge) result(sql string, values []string) (string, error) {
	sql = placeholder.ReplaceAllStringFunc(sql, func(p string) string { return values[p[1]-'1'] })
	rows, err := j.conn.Query(j.t.Context(), sql)
	if err != nil {
		return "", err
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var parts []string
		for _, v := range row.RawValues() {
			parts = append(parts, fmt.Sprintf("%x", v))
		}
		return strings.Join(parts, ","), nil
	})
	return strings.Join(lines, ";"), err
}
