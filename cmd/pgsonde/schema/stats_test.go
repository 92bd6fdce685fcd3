package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// What is said of a partitioned table holds for the partitions of which nothing
// is said, in whatever order it comes.
func TestColumnStatistics(t *testing.T) {
	const ddl = `create table e (at date, kind int, note text) partition by range (at);
		create table e1 partition of e for values from ('2025-01-01') to ('2026-01-01');
		create table e2 partition of e for values from ('2026-01-01') to ('2027-01-01');
		create table e3 partition of e for values from ('2027-01-01') to ('2028-01-01');
		insert into e select '2027-01-01', i, 'x' from generate_series(1, 100) i; analyze e3;`
	const stats = "e1\t1000\tkind\t10\t0\n" +
		"e\t90000\tkind\t70\t0.5\n" +
		"e\t\\N\tnote\t-0.5\t\n" +
		"e2\t\tkind\t20\t0.25\r\n" +
		"gone\t5\tx\t1\t0\n" +
		"e\t90000\tnope\t1\t0\n"
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		var told []string
		s, err := start(t, in, Options{Files: []File{{"s.sql", ddl}}, Stats: &File{"s.tsv", stats}, Tell: func(s string) { told = append(told, s) }})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"s.tsv:6: no column nope in e", "the statistics of gone are left out: no such table in the schema"}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("hints (-want +got):\n%s", diff)
		}
		c, err := s.Open(t.Context(), pgserver.ConnOptions{User: owner, Database: database})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		rows, err := c.QueryText(t.Context(), `SELECT tablename, attname, inherited, n_distinct, null_frac FROM pg_stats WHERE tablename ~ '^e[12]?$' ORDER BY 1, 2`)
		if err != nil {
			t.Fatal(err)
		}
		wantRows := [][]string{
			{"e", "kind", "t", "70", "0.5"},
			{"e", "note", "t", "-0.5", "0"},
			{"e1", "kind", "f", "10", "0"},
			{"e1", "note", "f", "-0.5", "0"},
			{"e2", "kind", "f", "20", "0.25"},
			{"e2", "note", "f", "-0.5", "0"},
		}
		if diff := cmp.Diff(wantRows, rows); diff != "" {
			t.Errorf("statistics (-want +got):\n%s", diff)
		}
		rows, err = c.QueryText(t.Context(), `SELECT relname, reltuples FROM pg_class WHERE relname ~ '^e[123]?$' ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{{"e", "90000"}, {"e1", "1000"}, {"e2", "30000"}, {"e3", "30000"}}, rows); diff != "" {
			t.Errorf("sizes (-want +got):\n%s", diff)
		}
	})
}

// TestDumpedStatistics takes those that pg_dump --statistics-only writes, with
// which the old, middle and new cursors are known too.
func TestDumpedStatistics(t *testing.T) {
	const ddl = "create table orders (id bigint primary key, created_at timestamptz not null); create index orders_created on orders (created_at, id);"
	const stats = `SET client_encoding = 'UTF8';
SELECT * FROM pg_catalog.pg_restore_relation_stats(
	'version', '180000'::integer, 'schemaname', 'public', 'relname', 'orders',
	'relpages', '27028'::integer, 'reltuples', '5000000'::real, 'relallvisible', '27028'::integer, 'relallfrozen', '0'::integer
);
SELECT * FROM pg_catalog.pg_restore_attribute_stats(
	'version', '180000'::integer, 'schemaname', 'public', 'relname', 'orders', 'attname', 'created_at', 'inherited', 'f'::boolean,
	'null_frac', '0'::real, 'avg_width', '8'::integer, 'n_distinct', '-0.3'::real,
	'histogram_bounds', '{"2024-01-01 00:00:00+00","2024-06-01 00:00:00+00","2025-01-01 00:00:00+00","2025-06-01 00:00:00+00","2026-01-01 00:00:00+00"}'::text, 'correlation', '1'::real
);
SELECT * FROM pg_catalog.pg_restore_attribute_stats(
	'version', '180000'::integer, 'schemaname', 'public', 'relname', 'orders', 'attname', 'id', 'inherited', 'f'::boolean,
	'null_frac', '0'::real, 'avg_width', '8'::integer, 'n_distinct', '-1'::real, 'histogram_bounds', '{1,1250000,2500000,3750000,5000000}'::text, 'correlation', '1'::real
);
SELECT * FROM pg_catalog.pg_restore_relation_stats(
	'version', '180000'::integer, 'schemaname', 'public', 'relname', 'orders_created',
	'relpages', '19000'::integer, 'reltuples', '5000000'::real, 'relallvisible', '0'::integer
);`
	o := Options{Files: []File{{"s.sql", ddl}}, Stats: &File{"stats.sql", stats}, Tell: func(s string) { t.Errorf("told: %s", s) }}
	t.Run("18", func(t *testing.T) {
		s, err := start(t, pgtest.Major(t, restoreMajor), o)
		if err != nil {
			t.Fatal(err)
		}
		if !s.Known("public", "orders") {
			t.Error("the size of orders is not known")
		}
		const sql = "SELECT * FROM orders WHERE created_at > $1 OR created_at = $1 AND id > $2 ORDER BY created_at, id LIMIT 50"
		res := explain.Judge(t.Context(), runner(t, s), explain.Input{SQL: sql, OwnText: true}, explain.Options{})
		var cases []string
		for _, c := range res.Plans {
			cases = append(cases, c.Case+" "+c.Starts)
		}
		if diff := cmp.Diff([]string{"generic oldest", "old oldest", "middle oldest", "new oldest"}, cases); diff != "" {
			t.Errorf("plans (-want +got):\n%s", diff)
		}
	})
	t.Run("older", func(t *testing.T) {
		if _, err := start(t, pgtest.Major(t, 16), o); err == nil || err.Error() != "stats.sql is for PostgreSQL 18 and later, and this server is 16: ask for --pg 18" {
			t.Errorf("got %v, want it refused", err)
		}
	})
}
