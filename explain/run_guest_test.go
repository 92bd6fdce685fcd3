package explain

import (
	"fmt"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// What is explained does not drive out of pg_stat_statements what others look
// for there: the texts are the same however many statements are judged.
func TestGuestOfStatStatements(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		s := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{"shared_preload_libraries": "pg_stat_statements"}})
		dsn := s.DSN("postgres", "postgres")
		c := pgtest.Connect(t, dsn)
		if _, err := c.Exec(t.Context(), "create extension pg_stat_statements"); err != nil {
			t.Skip("this server has no pg_stat_statements")
		}
		pgtest.Exec(t, dsn, "create role guest login", "create table ev (id bigint primary key, at timestamptz not null, code character(3), kind int)",
			"insert into ev select i, timestamptz '2024-01-01' + i/3 * interval '1 s', 'abc', i % 7 from generate_series(1, 5000) i",
			"create index on ev (at, id)", "analyze ev", "grant select on ev to guest")
		r := open(t, s.DSN("guest", "postgres"), RunnerOptions{})
		entries := func() int {
			return count(t, c, "select count(*) from pg_stat_statements(true) s join pg_roles r on r.oid = s.userid where r.rolname = 'guest'")
		}
		judge := func(from, to int) {
			for i := from; i < to; i++ {
				sql := fmt.Sprintf("select id, %d as n from ev where at > $1 or (at = $1 and id > $2) order by at, id limit 10", i)
				res := Judge(t.Context(), r, Input{SQL: sql, OwnText: true}, Options{})
				if res.Verdict != StartsAtOldest || res.Fix == nil || len(res.Plans) < 4 {
					t.Fatalf("got %s, fix %v, %d plans: %v", res.Verdict, res.Fix != nil, len(res.Plans), res.Findings)
				}
			}
		}
		judge(0, 3)
		few := entries()
		judge(3, 23)
		if many := entries(); many > few+5 {
			t.Errorf("20 statements more made %d entries of %d", many, few)
		}
	})
}
