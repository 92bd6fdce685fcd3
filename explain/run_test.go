package explain

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/explain/sqltext"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// small starts a server with a table t of 10,000 rows and a plain login app.
func small(t *testing.T, in pgserver.Install, sql ...string) (admin *pgx.Conn, dsn func(user string) string) {
	t.Helper()
	s := pgtest.Start(t, in, pgserver.Options{})
	admin = pgtest.Connect(t, s.DSN("postgres", "postgres"))
	setup := append([]string{
		"CREATE ROLE app LOGIN",
		"CREATE TABLE t (a int NOT NULL, b int NOT NULL, c text, at timestamptz NOT NULL)",
		"INSERT INTO t SELECT i / 3, i, 'x' || i % 7, timestamptz '2024-01-01' + i * interval '1 s' FROM generate_series(1, 10000) i",
		"CREATE INDEX ON t (a, b)", "ANALYZE t", "GRANT SELECT ON t TO app",
	}, sql...)
	for _, q := range setup {
		if _, err := admin.Exec(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	return admin, func(user string) string { return s.DSN(user, "postgres") }
}

func open(t *testing.T, dsn string, o RunnerOptions) *Runner {
	t.Helper()
	r, err := Open(t.Context(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.WithoutCancel(t.Context())) })
	return r
}

func count(t *testing.T, c *pgx.Conn, sql string) (n int) {
	t.Helper()
	if err := c.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// The server itself refuses a second statement and any write, whatever the
// allow-list let through.
func TestConfinedByTheServer(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		admin, dsn := small(t, in,
			"CREATE FUNCTION writes(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM w(); RETURN 1; END $$",
			"CREATE FUNCTION w() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (0, 0, '', now()); END $$",
			"CREATE FUNCTION locks(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_lock(4711); RETURN 1; END $$")
		r := open(t, dsn("postgres"), RunnerOptions{})
		for sql, code := range map[string]string{
			"SELECT 1; DROP TABLE t":                        "42601",
			"SELECT 1; COMMIT":                              "42601",
			"SELECT * FROM t WHERE a = writes(1)":           "25006",
			"CREATE TABLE made AS SELECT 1":                 "42601",
			"SELECT nothing FROM t":                         "42703",
			"DO $$ BEGIN END $$":                            "42601",
			"SELECT * FROM t WHERE a > $1 ORDER BY LIMIT":   "42601",
			"SELECT * FROM t WHERE a > 'x'::int ORDER BY a": "22P02",
		} {
			_, err := r.explain(t.Context(), ask{sql: sql})
			var pg *pgconn.PgError
			if !errors.As(err, &pg) || pg.Code != code {
				t.Errorf("%s: got %v, want SQLSTATE %s", sql, err, code)
			}
		}
		// A lock that planning takes is let go, and nothing stays in the session.
		if _, err := r.explain(t.Context(), ask{sql: "SELECT * FROM t WHERE a = locks(1)"}); err != nil {
			t.Fatal(err)
		}
		for sql, want := range map[string]int{
			"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'": 0,
			"SELECT count(*) FROM t":                                    10000,
			"SELECT count(*) FROM pg_class WHERE relname = 'made'":      0,
		} {
			if got := count(t, admin, sql); got != want {
				t.Errorf("%s: got %d, want %d", sql, got, want)
			}
		}
		for sql, want := range map[string]string{
			"SELECT count(*)::text FROM pg_prepared_statements":              "0",
			"SELECT current_setting('statement_timeout')":                    "0",
			"SELECT current_setting('search_path')":                          `"$user", public`,
			"SELECT current_setting('plan_cache_mode')":                      "auto",
			"SELECT current_setting('default_transaction_read_only')":        "off",
			"SELECT CASE WHEN pg_backend_pid() > 0 THEN 'alive' ELSE '' END": "alive",
		} {
			rows, err := r.fetch(t.Context(), sql)
			if err != nil || string(rows[0][0]) != want {
				t.Errorf("%s: got %s %v, want %s", sql, rows, err, want)
			}
		}
	})
}

// A table that is being altered costs the lock timeout and one finding.
func TestLockedTable(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		admin, dsn := small(t, in)
		r := open(t, dsn("app"), RunnerOptions{})
		tx, err := admin.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(t.Context()) }()
		if _, err := tx.Exec(t.Context(), "LOCK TABLE t IN ACCESS EXCLUSIVE MODE"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		res := Judge(t.Context(), r, Input{Source: "q.sql", Line: 7, SQL: "SELECT * FROM t ORDER BY a LIMIT 1"}, Options{})
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %s", took)
		}
		if res.Verdict != Unknown || len(res.Findings) != 1 || res.Findings[0].Evidence["sqlstate"] != "55P03" {
			t.Errorf("got %s %+v", res.Verdict, res.Findings)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		if res := Judge(t.Context(), r, Input{SQL: "SELECT * FROM t ORDER BY a LIMIT 1"}, Options{}); res.Verdict != NotApplicable {
			t.Errorf("after the lock: got %s %+v", res.Verdict, res.Findings)
		}
	})
}

// A session that the server ends costs one statement, not those after it.
func TestLostSession(t *testing.T) {
	admin, dsn := small(t, pgtest.Any(t))
	r := open(t, dsn("app"), RunnerOptions{})
	q := Input{SQL: "SELECT * FROM t WHERE a > $1 OR (a = $1 AND b > $2) ORDER BY a, b LIMIT 5"}
	if n := count(t, admin, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'pgsonde explain'"); n != 1 {
		t.Fatalf("%d sessions", n)
	}
	if res := Judge(t.Context(), r, q, Options{}); res.Verdict != Unknown || len(res.Findings) != 1 {
		t.Errorf("with the session gone: got %s %+v", res.Verdict, res.Findings)
	}
	if res := Judge(t.Context(), r, q, Options{}); res.Verdict != StartsAtOldest || res.Fix == nil {
		t.Errorf("after it: got %s %+v", res.Verdict, res.Findings)
	}
}

func TestForeignTextNeedsAPlainLogin(t *testing.T) {
	in := pgtest.Any(t)
	_, dsn := small(t, in, "CREATE ROLE writer LOGIN", "GRANT pg_write_all_data, pg_read_all_data TO writer")
	q := Input{SQL: "SELECT * FROM t ORDER BY a LIMIT 1"}
	own := q
	own.OwnText = true
	for _, c := range []struct {
		user    string
		opts    RunnerOptions
		in      Input
		refused bool
	}{
		{"postgres", RunnerOptions{}, q, true},
		{"postgres", RunnerOptions{}, own, false},
		{"postgres", RunnerOptions{AsSuperuser: true}, q, false},
		{"writer", RunnerOptions{}, q, true},
		{"app", RunnerOptions{}, q, false},
	} {
		r := open(t, dsn(c.user), c.opts)
		res := Judge(t.Context(), r, c.in, Options{PlanOnly: true})
		refused := slices.ContainsFunc(res.Findings, func(f Finding) bool { return f.Rule == "statement-refused" })
		if refused != c.refused {
			t.Errorf("%s, %+v, own text %t: refused %t, want %t: %+v", c.user, c.opts, c.in.OwnText, refused, c.refused, res.Findings)
		}
	}
}

// What pg_stat_statements makes of constants has to be planned all the same.
func TestTypesOfNormalisedText(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		_, dsn := small(t, in)
		r := open(t, dsn("app"), RunnerOptions{})
		for _, sql := range []string{
			"SELECT * FROM t WHERE a > $1 OR (a = $1 AND b > $2) ORDER BY a, b LIMIT $3",
			"SELECT * FROM t WHERE $1 IS NULL OR at > $1",
			"SELECT * FROM t WHERE $3 IS NULL OR a > $1 LIMIT $2",
			"SELECT * FROM t WHERE $1 IS NULL OR $2 IS NULL OR (at, a) > ($1, $2)",
			"SELECT * FROM t WHERE CASE WHEN $1 IS NULL OR $2 IS NULL THEN true ELSE (at, a) > ($1, $2) END",
			"SELECT * FROM t WHERE ($1 IS NULL AND $2 IS NULL AND ($4) IS NULL) OR at > $1 OR (at = $1 AND a > $2) LIMIT $3",
			"SELECT * FROM t WHERE ($1, $2) IS NULL OR (at, a) > ($1, $2)",
			"SELECT * FROM t WHERE coalesce($1, $2) IS NULL OR at > $1 AND at < $2",
			"SELECT * FROM t WHERE at > timestamptz $1 AND at < now() - interval $2",
			"SELECT * FROM t WHERE at > timestamp with time zone $1",
			"SELECT * FROM t WHERE a > $1 + $2",
			"SELECT * FROM t WHERE at > coalesce($1, $2)",
			"SELECT * FROM t WHERE a > $1 LIMIT nullif($2, $3)",
			"SELECT * FROM t WHERE at > $1 - $2::interval",
			"SELECT date_trunc($1, at), count(*) FROM t GROUP BY date_trunc($2, at)",
			"SELECT extract($1 FROM at) FROM t WHERE a IN ($5 /*, ... */)",
			"SELECT * FROM generate_series($1, $2)",
			"SELECT * FROM t JOIN (VALUES ($1), ($2)) v (x) ON t.a = v.x",
			"SELECT * FROM t WHERE c LIKE $1 AND a = ANY (ARRAY[$2, $3])",
		} {
			if _, worked, err := r.typed(t.Context(), ask{sql: sql}); err != nil {
				t.Errorf("%s: %v", sql, err)
			} else if !complete(worked.types, worked.sql) {
				t.Errorf("%s: types %v", sql, worked.types)
			}
		}
		locking := Input{SQL: "SELECT * FROM t WHERE a > $1 ORDER BY a, b LIMIT 5 FOR NO KEY UPDATE OF t SKIP LOCKED"}
		if res := Judge(t.Context(), r, locking, Options{PlanOnly: true}); res.Verdict != StartsAtCursor {
			t.Errorf("row locks by a login that only reads: got %s %+v", res.Verdict, res.Findings)
		}
		if _, _, err := r.typed(t.Context(), ask{sql: "SELECT * FROM nowhere WHERE a > $1 + $2"}); err == nil || !strings.Contains(err.Error(), "nowhere") {
			t.Errorf("got %v, want the error about the table", err)
		}
	})
}

// One statement that cannot be judged is one finding, with its line.
func TestBadInput(t *testing.T) {
	_, dsn := small(t, pgtest.Any(t), "CREATE TABLE secret (a int)")
	r := open(t, dsn("app"), RunnerOptions{})
	for name, c := range map[string]struct{ sql, rule, text string }{
		"not SQL":       {"hello there", "statement-refused", "SELECT"},
		"nothing":       {" -- only a comment", "statement-refused", "no SQL"},
		"half":          {"SELECT * FROM t WHERE (a > 1", "statement-not-judged", "syntax error"},
		"DDL":           {"CREATE TABLE x (a int)", "statement-refused", "SELECT"},
		"injection":     {"SELECT 1; DROP TABLE t", "statement-refused", "more than one"},
		"into":          {"SELECT 1 INTO x", "statement-refused", "INTO"},
		"unknown table": {"SELECT 1\nFROM nowhere", "statement-not-judged", "nowhere"},
		"no column":     {"SELECT\n\nnothing FROM t", "statement-not-judged", "nothing"},
		"no permission": {"SELECT * FROM secret", "statement-not-judged", "permission denied"},
		"ten megabytes": {"SELECT " + strings.Repeat("1 + ", 10<<18) + "1", "statement-refused", "longer than 1024 KiB"},
		"one byte more": {padded(sqltext.MaxStatement + 1), "statement-refused", "longer than 1024 KiB"},
		"more as $n":    {"SELECT 1 WHERE 1 IN (" + strings.Repeat("?,", sqltext.MaxStatement/3) + "1)", "statement-refused", "longer than 1024 KiB, with its placeholders as $1"},
		"deep":          {"SELECT " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000), "statement-not-judged", ""},
		"null byte":     {"SELECT '\x00'", "statement-not-judged", ""},
		"bad UTF-8":     {"SELECT '\xff\xfe'", "statement-not-judged", ""},
	} {
		res := Judge(t.Context(), r, Input{Source: "q.sql", Line: 10, SQL: c.sql}, Options{})
		if res.Verdict != Unknown || len(res.Findings) == 0 {
			t.Errorf("%s: got %s %+v", name, res.Verdict, res.Findings)
			continue
		}
		f := res.Findings[len(res.Findings)-1]
		if f.Rule != c.rule || !strings.Contains(f.Message, c.text) {
			t.Errorf("%s: got %s: %s", name, f.Rule, clip(f.Message, 200))
		}
		if name == "no column" && f.Evidence["line"] != 12 {
			t.Errorf("%s: line %v, want 12", name, f.Evidence["line"])
		}
	}
	if res := Judge(t.Context(), r, Input{SQL: padded(sqltext.MaxStatement)}, Options{}); res.Verdict != NotApplicable {
		t.Errorf("the longest statement: got %s %+v", res.Verdict, res.Findings)
	}
	if res := Judge(t.Context(), r, Input{SQL: "EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM t ORDER BY a LIMIT 1;"}, Options{}); res.Verdict != NotApplicable {
		t.Errorf("EXPLAIN in front: got %s %+v", res.Verdict, res.Findings)
	}
}

// padded is a statement of n bytes.
func padded(n int) string { return "SELECT" + strings.Repeat(" ", n-len("SELECT1")) + "1" }
