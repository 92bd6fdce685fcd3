package explain

import (
	"errors"
	"strings"
	"testing"
)

func TestNoQuery(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want bool
	}{
		{"INSERT INTO t VALUES (1);", true},
		{"insert into s.t (a, b) select 1, 2", true},
		{"INSERT INTO t DEFAULT VALUES", true},
		{"INSERT INTO t VALUES " + strings.Repeat("(1),", 10000) + "(1)", true},
		{"UPDATE t SET a = a + 1 WHERE id = $1", true},
		{"DELETE FROM t WHERE id = $1 RETURNING *", true},
		{"MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", true},
		{"WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT a FROM x", true},
		{"SET search_path = a, b", true},
		{"SET LOCAL statement_timeout TO '1s'", true},
		{"BEGIN ISOLATION LEVEL SERIALIZABLE", true},
		{"COMMIT", true},
		{"ROLLBACK TO SAVEPOINT a", true},
		{"CREATE TABLE t (a int PRIMARY KEY, b text DEFAULT 'x')", true},
		{"CREATE UNIQUE INDEX CONCURRENTLY i ON t (a)", true},
		{"CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 ORDER BY 1 LIMIT 1 $$", true},
		{"ALTER TABLE t ADD COLUMN b int", true},
		{"DROP MATERIALIZED VIEW IF EXISTS v CASCADE", true},
		{"DO $$ BEGIN NULL; END $$", true},
		{"GRANT SELECT ON t TO reader", true},
		{"COMMENT ON TABLE t IS 'x'", true},
		{"VACUUM (ANALYZE) t", true},
		{"TRUNCATE t", true},

		{"hello there", false},
		{"INSERT INTO t", false},
		{"INSERT INTO t VALUES (1", false},
		{"INSERT INTO t (a) SELECT", false},
		{"UPDATE t SET", false},
		{"UPDATE t SET a = ", false},
		{"UPDATE t SET a = 1 WHERE", false},
		{"DELETE FROM", false},
		{"DELETE FROM t WHERE a =", false},
		{"DROP me a line", false},
		{"begin the begin", false},
		{"CREATE TABLE", false},
		{"CREATE TABLE t (a int", false},
		{"SELECT 1; DROP TABLE t", false},
		// It may be a page, and is not looked into.
		{"CREATE MATERIALIZED VIEW v AS SELECT * FROM t ORDER BY a LIMIT 3", false},
	} {
		_, err := explainable(c.sql)
		var refused *RefusedError
		if got := errors.As(err, &refused) && refused.NoQuery; got != c.want {
			t.Errorf("%s: no query %v, want %v (%v)", clip(c.sql, 80), got, c.want, err)
		}
	}
}
