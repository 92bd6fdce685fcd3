package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestHypoPG asks the planner about each proposed index where the server has the
// extension: apt install postgresql-15-hypopg, say, and PGSONDE_PG_BIN with its
// server's folder.
func TestHypoPG(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		dsn := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{"jit": "off", "max_parallel_workers_per_gather": "0"}}).DSN("postgres", "postgres")
		conn := pgtest.Connect(t, dsn)
		if _, err := conn.Exec(t.Context(), "create schema \"Ext\"; create extension hypopg schema \"Ext\""); err != nil {
			t.Skipf("this server has no hypopg: %v", err)
		}
		pgtest.Exec(t, dsn,
			"create table visit (id bigint primary key, site int not null, at timestamptz not null, left_at timestamptz, page varchar(80) not null, filler text)",
			`insert into visit select i, case when i % 3 > 0 then 1 else i % 900 end, '2024-01-01'::timestamptz + (i * 7919::bigint % 90000) * interval '1 minute',
				case when i % 4 > 0 then '2024-01-01'::timestamptz + (i * 104729::bigint % 90000) * interval '1 minute' end, 'Page ' || i * 48271::bigint % 90001, repeat('x', 60)
				from generate_series(1, 90000) i`,
			"vacuum analyze visit")
		r := open(t, dsn, RunnerOptions{})
		if !r.Server().HypoPG {
			t.Fatal("the extension is not seen")
		}
		for _, c := range []struct{ name, sql, index, rewrite string }{
			{"row", "select id from visit where (at, id) > ($1, $2) order by at, id limit 50", `("at", "id")`, ""},
			{"descending", "select id from visit where (at, id) < ($1, $2) order by at desc, id desc limit 50", `("at", "id")`, ""},
			{"filter first", "select id from visit where site = $3 and (at, id) > ($1, $2) order by at, id limit 50", `("site", "at", "id")`, ""},
			{"filter by IS NULL", "select id from visit where left_at is null and (at, id) > ($1, $2) order by at, id limit 50", `("at", "id") WHERE "left_at" IS NULL`, ""},
			{"an OR needs the rewrite too", "select id from visit where at > $1 or (at = $1 and id > $2) order by at, id limit 50", `("at", "id")`, "(at, id) > ($1, $2)"},
			{"mixed directions", "select id from visit where (at, $2) > ($1, id) order by at, id desc limit 50", `("at", "id" DESC)`, ""},
			{"expression", "select id from visit v where (lower(v.page), v.id) > ($1, $2) order by lower(v.page), v.id limit 50", `(lower(page), "id")`, ""},
			{"operator", "select id from visit where ((at at time zone 'UTC')::date, id) > ($1, $2) order by (at at time zone 'UTC')::date, id limit 50", `(((at at time zone 'UTC')::date), "id")`, ""},
			{"NULLs last", "select id from visit where (left_at, id) < ($1, $2) order by left_at desc nulls last, id desc limit 50", `("left_at" DESC NULLS LAST, "id" DESC)`, ""},
			{"first page", "select id from visit order by at desc nulls last limit 20", `("at" DESC NULLS LAST)`, ""},
		} {
			res := Judge(t.Context(), r, Input{Source: c.name, SQL: c.sql, OwnText: true}, Options{})
			f := res.Fix
			if f == nil || f.IndexSQL == nil {
				t.Errorf("%s: no index; fix %+v, tried %v", c.name, f, res.Tried)
				continue
			}
			if want := `CREATE INDEX CONCURRENTLY ON "public"."visit" ` + c.index; *f.IndexSQL != want {
				t.Errorf("%s: got %s, want %s", c.name, *f.IndexSQL, want)
			}
			if c.rewrite != "" && !strings.Contains(f.SQL, c.rewrite) {
				t.Errorf("%s: got %s, want %s in it", c.name, f.SQL, c.rewrite)
			}
			if f.After.Index == nil || !strings.HasPrefix(*f.After.Index, "<") || f.After.Case == withoutIndex || f.After.TotalCost >= f.Before.TotalCost ||
				!slices.ContainsFunc(f.Proof, func(l string) bool { return strings.HasPrefix(l, "hypopg: the planner would use it") }) {
				t.Errorf("%s: after %+v, proof %q", c.name, f.After, f.Proof)
			}
			if _, err := conn.Exec(t.Context(), *f.IndexSQL); err != nil {
				t.Errorf("%s: the server does not take it: %v", c.name, err)
				continue
			}
			r.Forget()
			if again := Judge(t.Context(), r, Input{Source: c.name, SQL: f.SQL, OwnText: true}, Options{}); again.Verdict.rank() > StartsAtCursor.rank() {
				t.Errorf("%s: with the index in place %s: %+v", c.name, again.Verdict, again.Plans[0])
			}
			pgtest.Exec(t, dsn, "do $$ declare i text; begin for i in select indexrelid::regclass::text from pg_index where indrelid = 'visit'::regclass and not indisprimary loop execute 'drop index ' || i; end loop; end $$")
			r.Forget()
		}
		res := Judge(t.Context(), r, Input{Source: "not immutable", SQL: "select id from visit where (date_trunc('day', at), id) > ($1, $2) order by date_trunc('day', at), id limit 50", OwnText: true}, Options{})
		if res.Fix != nil || !slices.ContainsFunc(res.Tried, func(x Rejected) bool { return x.Kind == IndexKind && strings.Contains(x.Why, "not immutable") }) {
			t.Errorf("an index over what is not immutable: %+v, %v", res.Fix, res.Tried)
		}
		if n := count(t, conn, `select count(*) from "Ext".hypopg()`); n != 0 {
			t.Errorf("%d hypothetical indexes were left", n)
		}
	})
}
