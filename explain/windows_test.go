package explain

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// windowCalls are asked of the server: does a page of 10 rows read the 9,000 behind
// its cursor?
var windowCalls = []string{
	"count(*) over ()",
	"count(*) filter (where b > 0) over ()",
	"pg_catalog.sum(b) over ()",
	"sum(b) over (partition by k)",
	"sum(b) over (order by a, b)",
	"sum(b) over (rows unbounded preceding)",
	"sum(b) over (order by a, b rows between unbounded preceding and unbounded following)",
	"sum(b) over (order by a, b rows between current row and 5 following)",
	"count(*) over w",
	"count(*) over v",
	"count(*) over (w)",
	"count(*) over (w order by a, b)",
	"ntile(4) over (order by a, b)",
	"percent_rank() over (order by a, b)",
	"cume_dist() over v",
	"row_number() over ()",
	"row_number() over (order by a, b)",
	"rank() over v",
	"lead(b) over ()",
	"first_value(b) over ()",
	"nth_value(b, 3) over v",
	"last_value(b) over ()",
	"last_value(b) over (order by a, b)",
	"count(*) over (partition by a)",
	"count(*) over (partition by few, a order by b)",
}

func TestWindows(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		setup := []string{"ALTER TABLE t ADD k int NOT NULL DEFAULT 1, ADD few int NOT NULL DEFAULT 1", "CREATE INDEX ON t (few, a, b)", "VACUUM ANALYZE t"}
		for _, off := range []string{"enable_sort", "enable_bitmapscan", "enable_incremental_sort"} {
			setup = append(setup, "SET "+off+" = off", "ALTER ROLE app SET "+off+" = off")
		}
		admin, dsn := small(t, in, append(setup, "SET plan_cache_mode = force_generic_plan")...)
		r := open(t, dsn("app"), RunnerOptions{})
		whole := 0
		for _, call := range windowCalls {
			sql := "select a, b, " + call + " from t where k = $3 and (a, b) > ($1, $2) window u as (), w as (), v as (order by a, b) order by a, b limit 10"
			read := rowsRead(t, admin, sql, "(300, 1000, 1)")
			res := Judge(t.Context(), r, Input{Source: "t", SQL: sql, OwnText: true}, Options{PlanOnly: true})
			if got, want := res.Verdict == ReadsAllAfterCursor, read > 5000; got != want {
				t.Errorf("%s reads %.0f rows: got %s %v", call, read, res.Verdict, res.Findings)
			}
			f := find(res, "page-reads-all-after-cursor")
			if f != nil && strings.HasPrefix(f.Message, call+" needs all rows") {
				whole++
			}
		}
		if want := 11; whole != want {
			t.Errorf("%d windows are named as the reason, want %d", whole, want)
		}
	})
}

// rowsRead is how many rows an execution of the generic plan takes from its table.
func rowsRead(t *testing.T, c *pgx.Conn, sql, args string) (most float64) {
	t.Helper()
	if _, err := c.Exec(t.Context(), "PREPARE q AS "+sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var text []byte
	if err := c.QueryRow(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE q "+args).Scan(&text); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), "DEALLOCATE q"); err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p.Root.Walk(func(n *plan.Node) bool {
		if rows, ok := n.TotalRows(); ok && n.Relation != "" {
			most = max(most, rows)
		}
		return true
	})
	return most
}

// What has no end, or no beginning, is no window.
func TestWindowsOfAnything(t *testing.T) {
	for _, sql := range []string{"over", ") over", "over (", "x) over (", "f() over (partition by", "f() over w window w", "f() over w window w as (w)", "filter (x) over ()", "f() over (partition by a, over (order by)"} {
		wholeWindows(sql)
	}
	for _, f := range corpus(t) {
		for i := range f.sql {
			wholeWindows(f.sql[:i])
		}
	}
	if got := wholeWindows(`select s.f (x) filter (where y) over "W" from t window "W" as (partition by (a + (b)), c)`); len(got) != 1 || got[0].call != `s.f (x) filter (where y) over "W"` || len(got[0].by) != 2 || got[0].by[1].Kind != sqltext.Column {
		t.Errorf("got %+v", got)
	}
}
