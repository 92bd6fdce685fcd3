package schema

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestLoad loads what pg_dump writes, and what goes wrong in it.
func TestLoad(t *testing.T) {
	text, err := os.ReadFile("testdata/dump.sql")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"dump.sql:23: extension no_such_extension is left out, and what needs it: it is not on this server",
		"dump.sql: owners and grants are left out: one role owns everything here",
		"dump.sql: the rows of COPY are not loaded: --rows and --stats give the sizes",
		`dump.sql:79: not loaded: type "public.nosuchtype" does not exist`,
		`dump.sql:82: not loaded: relation "public.broken" does not exist`,
	}
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		var told []string
		s, err := start(t, in, Options{Files: []File{{"dump.sql", string(text)}}, Rows: []Rows{{Table: "orders", N: 3e6}, {Table: "events", N: 4e6}}, Tell: func(s string) { told = append(told, s) }})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
		r := runner(t, s)
		for _, tt := range []struct {
			sql     string
			verdict explain.Verdict
		}{
			{"SELECT * FROM orders WHERE created_at > $1 OR created_at = $1 AND id > $2 ORDER BY created_at, id LIMIT 50", explain.StartsAtOldest},
			{"SELECT * FROM public.orders WHERE (created_at, id) > ($1, $2) ORDER BY created_at, id LIMIT 50", explain.StartsAtCursor},
			{"SELECT * FROM orders ORDER BY note LIMIT 50", explain.SortsWholeTable},
			{"SELECT * FROM events WHERE at > $1 OR at = $1 AND id > $2 ORDER BY at, id LIMIT 50", explain.StartsAtOldest},
			{"SELECT * FROM audit_log WHERE id > $1 OR id = $1 AND note > $2 ORDER BY id, note LIMIT 50", explain.StartsAtOldest},
		} {
			res := explain.Judge(t.Context(), r, explain.Input{SQL: tt.sql, OwnText: true}, explain.Options{PlanOnly: true})
			if res.Verdict != tt.verdict {
				t.Errorf("%s: got %s, want %s: %v", tt.sql, res.Verdict, tt.verdict, res.Findings)
			}
		}
		for table, want := range map[string]bool{"orders": true, "events": true, "events_2025": true, "audit_log": false} {
			if got := s.Known("public", table) || s.Known("audit", table); got != want {
				t.Errorf("%s: got known %v, want %v", table, got, want)
			}
		}
		if server := r.Server(); server.Superuser || len(server.Powers) > 0 {
			t.Errorf("statements are explained as %s with the powers %v, want none", server.User, server.Powers)
		}
	})
}

// TestLarge makes a table over many files, and checks that the planner sees all of it.
func TestLarge(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		s, err := start(t, in, Options{Files: []File{{"s.sql", "create table t (id bigint primary key, note text, at timestamptz); create index on t (at) where note is null;"}}, Rows: []Rows{{Table: "T", N: 2e9}}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Open(t.Context(), pgserver.ConnOptions{User: owner, Database: database})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		plan, err := c.QueryText(t.Context(), "EXPLAIN SELECT id FROM t")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan[0][0], "rows=2000000000 ") {
			t.Errorf("got %s, want 2000000000 rows", plan[0][0])
		}
		size, err := c.QueryText(t.Context(), "SELECT pg_relation_size('t') / relpages, pg_relation_size('t_pkey') > 2e10 FROM pg_class WHERE relname = 't'")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{{"8192", "t"}}, size); diff != "" {
			t.Errorf("bytes a page, large index (-want +got):\n%s", diff)
		}
	})
}

func TestStartFails(t *testing.T) {
	in := pgtest.Any(t)
	for _, tt := range []struct {
		name, sql, stats, want string
		rows                   []Rows
	}{
		{name: "no table", sql: "select 1", want: "the schema has no table"},
		{name: "no SQL", sql: "\n\nthis is no SQL;", want: `the schema has no table; the first statement that failed is s.sql:3: syntax error at or near "this"`},
		{name: "unknown table", sql: "create table t()", rows: []Rows{{Table: "u", N: 1}}, want: "--rows u: no such table in the schema"},
		{
			name: "two tables", sql: "create schema a; create table a.t(); create table t()", rows: []Rows{{Table: "t", N: 1}},
			want: "--rows t: there is one in a and in public: name it with its schema",
		},
		{name: "other text", sql: "create table t()", stats: "hello", want: "s.tsv:1: want table, rows, column, n_distinct, null_frac with tabs between"},
		{name: "no statistics", sql: "create table t()", stats: "# nothing", want: "s.tsv has no statistics: neither pg_dump --statistics-only nor lines of table, rows, column, n_distinct, null_frac with tabs between"},
		{name: "bad statistics", sql: "create table t()", stats: "# x\nt\tmany", want: `s.tsv:2: rows is "many", want a number from -1 to 1e+10`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Files: []File{{"s.sql", tt.sql}}, Rows: tt.rows}
			if tt.stats != "" {
				o.Stats = &File{"s.tsv", tt.stats}
			}
			_, err := start(t, in, o)
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// The file comes from a stranger: it must not run programs or read files.
func TestHostile(t *testing.T) {
	s, err := start(t, pgtest.Any(t), Options{Files: []File{{"s.sql", `
		create table t();
		create table out (line text);
		do $$ begin copy out from program 'id'; end $$;
		insert into out select pg_read_file('/etc/passwd');
		reset session authorization; set role postgres; set session authorization postgres;
		create table mine as select current_user as who, session_user as really;
		alter role owner superuser;
		create function lo(text) returns int language c as '/lib/x86_64-linux-gnu/libc.so.6', 'system';`}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Open(t.Context(), pgserver.ConnOptions{Database: database})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rows, err := c.QueryText(t.Context(), `SELECT (SELECT count(*) FROM out), who, really, (SELECT rolsuper FROM pg_roles WHERE rolname = 'owner'),
		(SELECT count(*) FROM pg_proc WHERE proname = 'lo') FROM mine`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"0", "owner", "owner", "f", "0"}}, rows); diff != "" {
		t.Errorf("rows read, user, session user, superuser, functions (-want +got):\n%s", diff)
	}
}

// Ending the context ends a load that would take for ever, and the server.
func TestInterrupted(t *testing.T) {
	in := pgtest.Any(t)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Start(ctx, Options{Major: in.Major, Progress: t.Output(), Files: []File{{"s.sql", "nonsense; select pg_sleep(1000)"}}, Tell: func(string) { cancel() }})
	if err == nil {
		s.Stop()
		t.Fatal("got a server, want the context's error")
	}
	if ctx.Err() == nil {
		t.Errorf("got %v, want the context to have ended it", err)
	}
}
