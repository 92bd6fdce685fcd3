package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestJudgeOffersNothingWorse judges statements over orders that a user ran, with
// three rows to a timestamp.
func TestJudgeOffersNothingWorse(t *testing.T) {
	dsn := pgtest.Start(t, pgtest.Any(t), pgserver.Options{Settings: map[string]string{"jit": "off", "max_parallel_workers_per_gather": "0"}}).DSN("postgres", "postgres")
	pgtest.Exec(t, dsn,
		"create table customers(id bigint primary key)",
		"create table orders(id bigint primary key, tenant_id int, customer_id bigint, created_at timestamptz not null, title text, status text)",
		"insert into customers select generate_series(1, 5000)",
		`insert into orders select i, case when i % 4 = 0 then i % 50 else 1 end, 1 + i % 5000, '2024-01-01'::timestamptz + (i / 3) * interval '1 minute',
			case when i % 4 = 0 then 't' || i else 'common' end, case when i % 2 = 0 then 'paid' else 'open' end from generate_series(1, 150000) i`,
		"create index on orders(created_at, id)",
		"create index on orders(tenant_id, created_at desc, id desc)",
		"vacuum analyze orders", "vacuum analyze customers")
	r := open(t, dsn, RunnerOptions{})
	judge := func(sql string, o Options, params map[string]string) *Result {
		return Judge(t.Context(), r, Input{Source: "t", SQL: sql, OwnText: true, Params: params}, o)
	}
	t.Run("a comparison over a join", func(t *testing.T) {
		res := judge("select o.id from orders o join customers c on c.id=o.customer_id where o.created_at > $1 or (o.created_at = $1 and c.id > $2) order by o.created_at, c.id limit 10", Options{}, nil)
		if res.Fix == nil || res.Fix.Kind != string(AddBound) || res.Fix.After.Starts != "cursor" {
			t.Fatalf("fix %+v", res.Fix)
		}
		if !slices.ContainsFunc(res.Tried, func(x Rejected) bool { return x.Kind == string(RowComparison) && x.Why != "" }) {
			t.Errorf("tried %+v", res.Tried)
		}
	})
	t.Run("an index and a rewrite", func(t *testing.T) {
		res := judge("select id, title from orders where title > $1 or (title=$1 and id > $2) order by title, id limit 50", Options{}, nil)
		f := res.Fix
		if f == nil || f.IndexSQL == nil || !strings.Contains(f.SQL, "(title, id) > ($1, $2)") || !strings.Contains(f.Why, "alone is not enough") || !strings.Contains(f.Why, "not verified") || f.After.Case != withoutIndex {
			t.Fatalf("fix %+v", f)
		}
	})
	t.Run("read and sorted", func(t *testing.T) {
		for _, sql := range []string{
			"select id from orders where status='paid' and tenant_id=$3 and (title > $1 or (title=$1 and id>$2)) order by title, id limit 50",
			"select id from orders where tenant_id = $3 and (title, id) > ($1, $2) order by title, id limit 50",
		} {
			if res := judge(sql, Options{}, nil); res.Verdict != ReadsAllAfterCursor && res.Verdict != SortsWholeTable {
				t.Errorf("%s for %s", res.Verdict, sql)
			}
		}
	})
	t.Run("no middle behind an equality", func(t *testing.T) {
		sql := "select id from orders where tenant_id = $3 and (created_at < $1 or (created_at = $1 and id < $2)) order by created_at desc, id desc limit 20"
		res := judge(sql, Options{Analyze: true}, map[string]string{"3": "1"})
		if res.Fix == nil || len(res.Fix.Steps) != 4 || strings.Contains(strings.Join(res.Fix.Proof, " "), "in the middle") {
			t.Errorf("fix %+v", res.Fix)
		}
		res = judge(sql, Options{Analyze: true}, map[string]string{"1": "2024-02-01", "2": "5", "3": "1"})
		if res.Fix == nil || len(res.Fix.Steps) != 0 || !strings.Contains(strings.Join(res.Fix.Proof, " "), "with the values given:") {
			t.Errorf("fix %+v", res.Fix)
		}
	})
}

func pgserverOptions() pgserver.Options {
	return pgserver.Options{Settings: map[string]string{"jit": "off", "max_parallel_workers_per_gather": "0"}}
}
