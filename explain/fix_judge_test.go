package explain

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/explain/sqltext"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// proofRounds is how many random conditions a test puts before the server:
// PGSONDE_PROOFFUZZ, else a few hundred. They are the same ones each time, others
// with PGSONDE_PROOFFUZZ_SEED.
func proofRounds(t *testing.T) int {
	if s := os.Getenv("PGSONDE_PROOFFUZZ"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("PGSONDE_PROOFFUZZ: %v", err)
		}
		return n
	}
	return 300
}

// rowJudge is a server with every row of three keys over five values, NULL among
// them, and a table of parameter values.
type rowJudge struct {
	t    *testing.T
	conn *pgx.Conn
	r    *rand.Rand
	asks []string // conditions that must hold for no row
	what []string
}

func newRowJudge(t *testing.T, seed uint64) *rowJudge {
	t.Helper()
	dsn := pgtest.Start(t, pgtest.Any(t), pgserver.Options{Settings: map[string]string{"jit": "off", "max_parallel_workers_per_gather": "0"}}).DSN("postgres", "postgres")
	pgtest.Exec(t, dsn,
		"create table v as select case when i < 4 then date '2024-01-01' + i end as x from generate_series(0, 4) i",
		"create table f as select a.x a, b.x b, c.x c from v a, v b, v c",
		"create table p as select "+strings.Join(paramColumns(func(n int) string {
			return fmt.Sprintf("case when h%d < 4 then date '2024-01-01' + h%d end as p%d", n, n, n)
		}), ", ")+
			" from (select "+strings.Join(paramColumns(func(n int) string {
			return fmt.Sprintf("abs(hashint4(i * 7 + %d)) %% 5 as h%d", n*1000, n)
		}), ", ")+" from generate_series(1, 40) i) s",
		// one row with all parameters equal, one with none NULL and all different
		"insert into p select d, d, d, d, d, d from generate_series(date '2024-01-01', date '2024-01-04', interval '1 day') g(d)",
		"vacuum analyze f", "vacuum analyze p")
	with := uint64(7)
	if s := os.Getenv("PGSONDE_PROOFFUZZ_SEED"); s != "" {
		var err error
		if with, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("PGSONDE_PROOFFUZZ_SEED: %v", err)
		}
	}
	return &rowJudge{t: t, conn: pgtest.Connect(t, dsn), r: rand.New(rand.NewPCG(seed, with))}
}

func paramColumns(f func(int) string) []string {
	var out []string
	for n := 1; n <= 6; n++ {
		out = append(out, f(n))
	}
	return out
}

var placeholder = regexp.MustCompile(`\$(\d+)`)

// never asks that a condition is true for no row under no parameters.
func (j *rowJudge) never(what, condition string) {
	j.asks = append(j.asks, placeholder.ReplaceAllString(condition, "p.p$1"))
	j.what = append(j.what, what)
}

// decide puts the questions to the server in one query.
func (j *rowJudge) decide(about string) {
	j.t.Helper()
	if len(j.asks) == 0 {
		return
	}
	var cols []string
	for _, a := range j.asks {
		cols = append(cols, "count(*) filter (where "+a+")")
	}
	rows, err := j.conn.Query(j.t.Context(), "select array["+strings.Join(cols, ", ")+"]::bigint[] from f, p")
	if err != nil {
		j.t.Fatal(err)
	}
	counts, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[[]int64])
	if err != nil {
		j.t.Fatalf("%v\n%s\n%s", err, about, strings.Join(j.asks, "\n"))
	}
	for i, n := range counts {
		if n > 0 {
			j.t.Errorf("%s: refuted by %d rows\n%s\n%s", j.what[i], n, about, j.asks[i])
		}
	}
	j.asks, j.what = nil, nil
}

// candidate asks whether a rewrite keeps the same rows.
func (j *rowJudge) candidate(q *sqltext.Query, x Candidate, given string) {
	old := "coalesce((" + q.Blocks[0].Where.Text() + "), false)"
	for _, assumed := range x.Assumes {
		if same, ok := strings.CutSuffix(assumed, " are given the same value"); ok {
			values := strings.Split(same, " and ")
			for _, v := range values[1:] {
				given += fmt.Sprintf(" and (%s) is not distinct from (%s)", values[0], v)
			}
		} else if v, other, ok := strings.Cut(assumed, " is not NULL where "); ok {
			given += fmt.Sprintf(" and ((%s) is not null or (%s) is null)", v, strings.TrimSuffix(other, " is not"))
		} else {
			j.t.Errorf("%s assumes %q", x.Kind, assumed)
		}
	}
	text := ""
	switch x.Kind {
	case TwoStatements:
		text = fmt.Sprintf("case when (%s) then %s else %s end", x.When, keeps(j.t, x.First, false), keeps(j.t, x.SQL, false))
	case UnionAll:
		text = keeps(j.t, x.SQL, true)
		old = "(" + old + ")::int"
	default:
		text = keeps(j.t, x.SQL, false)
	}
	j.never(string(x.Kind)+": "+x.SQL, fmt.Sprintf("%s and %s <> %s", given, old, text))
}

// keeps writes how often a row is kept by the statement: as boolean, or as the
// number of the parts of a union that keep it.
func keeps(t *testing.T, sql string, count bool) string {
	t.Helper()
	q, err := sqltext.ParseQuery(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var parts []string
	for _, b := range q.Blocks {
		if b.SetOp != "" {
			continue
		}
		where := "true"
		if b.Where != nil {
			where = b.Where.Text()
		}
		parts = append(parts, "coalesce(("+where+"), false)")
		if !count {
			return parts[0]
		}
	}
	return "((" + strings.Join(parts, ")::int + (") + ")::int)"
}

func TestBoundsAreSound(t *testing.T) {
	j := newRowJudge(t, 11)
	bounds, guarded, fixes := 0, 0, map[FixKind]int{}
	for range proofRounds(t) {
		cond := randomTerm(j.r, 3)
		e, err := sqltext.ParseExpr(cond)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"a", "b", "c"} {
			for _, side := range []Side{Lower, Upper} {
				b, ok := Implied(e, ColumnKey("", key), side)
				if !ok {
					continue
				}
				bounds++
				guards := ""
				if b.NotNull {
					guards = " and " + key + " is not null"
				}
				for _, g := range b.Guards {
					guarded++
					guards += " and not coalesce((" + g.Text() + "), false)"
				}
				j.never(fmt.Sprintf("bound on %s, side %d", key, side), fmt.Sprintf("coalesce((%s), false) and not coalesce((%s), false)%s", cond, sideText(key, b, side), guards))
			}
		}
		q, err := sqltext.ParseQuery("select a, b, c from f where " + cond + " order by " + randomOrder(j.r) + " limit 3")
		if err != nil {
			t.Fatal(err)
		}
		if c := RecogniseCursor(q); c != nil {
			for given, facts := range map[string]Facts{"true": dateFacts(false), notNull: dateFacts(true)} {
				for _, x := range append(rewrites(q, c, facts), TieFixes(q, c, facts)...) {
					fixes[x.Kind]++
					j.candidate(q, x, given)
				}
			}
		}
		j.decide(cond)
	}
	t.Logf("%d bounds, %d guards, fixes %v", bounds, guarded, fixes)
	if bounds == 0 || fixes[AddBound] == 0 {
		t.Error("nothing was put to the test")
	}
}

const notNull = "a is not null and b is not null and c is not null"

// dateFacts says that the keys are dates of a partitioned table, NOT NULL or not.
func dateFacts(notNull bool) Facts {
	return Facts{Tables: map[string]*Table{"f": {Kind: "p", Columns: map[string]*Column{
		"a": {Name: "a", Type: "date", NotNull: notNull}, "b": {Name: "b", Type: "date", NotNull: notNull}, "c": {Name: "c", Type: "date", NotNull: notNull},
	}}}}
}

func sideText(key string, b Bound, side Side) string {
	var vs []string
	for _, v := range b.Values {
		vs = append(vs, "("+v.Expr.Text()+")::date")
	}
	if side == Lower {
		return key + " >= least(" + strings.Join(vs, ", ") + ")"
	}
	return key + " <= greatest(" + strings.Join(vs, ", ") + ")"
}

func TestKeysetsAreRewritten(t *testing.T) {
	j := newRowJudge(t, 13)
	kinds := map[FixKind]int{}
	for range proofRounds(t) {
		k := randomKeyset(j.r)
		sql := "select a, b, c from f where " + k.where + " order by " + k.order + " limit 3"
		q, err := sqltext.ParseQuery(sql)
		if err != nil {
			t.Fatal(err)
		}
		c := RecogniseCursor(q)
		if c == nil {
			if !k.plain || k.apart {
				t.Errorf("no cursor: %s", sql)
			}
			continue
		}
		rows, unions := 0, kinds[UnionAll]
		facts := Facts{}
		given := "true"
		if j.r.IntN(2) == 0 { // the keys are known to be NOT NULL
			facts, given = dateFacts(true), notNull
		}
		for _, x := range append(rewrites(q, c, facts), TieFixes(q, c, facts)...) {
			kinds[x.Kind]++
			if x.Row != "" {
				rows++
			}
			j.candidate(q, x, given)
		}
		if k.apart && kinds[UnionAll] == unions {
			t.Errorf("no union for %s (%s)", sql, c.Form)
		}
		if rows == 0 && !k.plain && c.Form != FormRow && c.Form != FormBoundedRow {
			t.Errorf("no row comparison for %s (%s)", sql, c.Form)
		}
		for _, s := range Smells(q, Facts{}) {
			if s.Severity == Error && !k.plain {
				t.Errorf("%s: %s: %s", s.Rule, s.Message, sql)
			}
		}
		j.decide(sql)
	}
	t.Logf("fixes %v", kinds)
	if kinds[RowComparison] == 0 || kinds[AddBound] == 0 || kinds[UnionAll] == 0 || kinds[PlainCompare] == 0 || kinds[TwoStatements] == 0 {
		t.Error("nothing was put to the test")
	}
}
