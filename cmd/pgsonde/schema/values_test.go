package schema

import (
	"slices"
	"testing"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestFewValues: an enum has no more values than labels and a boolean two, whatever
// statistics there are.
func TestFewValues(t *testing.T) {
	const ddl = `create type state as enum ('open', 'paid', 'sent', 'done');
		create domain yes as boolean;
		create table orders (id bigint primary key, state state not null, step state not null, mood state, flag yes not null, tenant int not null, at timestamptz not null);
		create index on orders (at, id);
		create index on orders (state, at, id);
		create index on orders (step, id);
		create index on orders (flag, id);
		create index on orders (tenant, id);
		create index on orders (tenant, at, id);`
	s, err := start(t, pgtest.Any(t), Options{Files: []File{{"ddl.sql", ddl}}, Rows: []Rows{{N: 1e5}}, Tell: func(s string) { t.Errorf("told: %s", s) }})
	if err != nil {
		t.Fatal(err)
	}
	r := runner(t, s)
	const after = "(at > $1 or (at = $1 and id > $2)) order by at, id limit 20"
	for _, c := range []struct {
		sql, rule string
		severity  explain.Severity // "": not found
	}{
		{"select id from orders where state = 'open' and " + after, "cursor-starts-at-oldest", explain.Error},
		{"select id from orders where tenant = 7 and " + after, "cursor-starts-at-oldest", explain.Info}, // 0.5 % of the rows by the planner's guess
		{"select id from orders where step >= $1 and (step > $1 or (step = $1 and id > $2)) order by step, id limit 20", "cursor-bound-on-few-values", explain.Error},
		{"select id from orders where step > $1 or (step = $1 and id > $2) order by step, id limit 20", "few-values", explain.Info},
		{"select id from orders where flag >= $1 and (flag > $1 or (flag = $1 and id > $2)) order by flag, id limit 20", "cursor-bound-on-few-values", explain.Error},
		{"select id from orders where tenant >= $1 and (tenant > $1 or (tenant = $1 and id > $2)) order by tenant, id limit 20", "ties-not-known", explain.Info},
		{"select id from orders where tenant >= $1 and (tenant > $1 or (tenant = $1 and id > $2)) order by tenant, id limit 20", "cursor-bound-on-few-values", ""},
		{"select id from orders where mood = 'open' and (at, id) > ($1, $2) order by at, id limit 200", "page-reads-all-after-cursor", ""},
		{"select id from orders where mood = any ('{open,paid}') and (at, id) > ($1, $2) order by at, id limit 200", "page-reads-all-after-cursor", ""},
	} {
		res := explain.Judge(t.Context(), r, explain.Input{Source: "t", SQL: c.sql, OwnText: true}, explain.Options{})
		i := slices.IndexFunc(res.Findings, func(f explain.Finding) bool { return f.Rule == c.rule })
		if (i >= 0) != (c.severity != "") || i >= 0 && res.Findings[i].Severity != c.severity || res.Verdict == explain.Unknown {
			t.Errorf("%s: %s, want %s of severity %q: %+v", c.sql, res.Verdict, c.rule, c.severity, res.Findings)
		}
	}
}
