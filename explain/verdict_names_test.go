package explain

import (
	"regexp"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// Messages say the names of the statement, not those that the planner makes.
func TestNamesInMessages(t *testing.T) {
	made := regexp.MustCompile(`\$0|Plan \d|\w_\d+"?\.|\*|unnamed`)
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		_, dsn := small(
			t, in, "CREATE TABLE part (a int NOT NULL, b int NOT NULL) PARTITION BY RANGE (a)",
			"CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (2000)", "CREATE TABLE later PARTITION OF part FOR VALUES FROM (2000) TO (9000)",
			"INSERT INTO part SELECT i / 2, i FROM generate_series(1, 15000) i", "CREATE INDEX ON part (a, b)", "ANALYZE part",
			`CREATE TABLE "Base" ("A" int NOT NULL, b int NOT NULL)`, `CREATE TABLE child () INHERITS ("Base")`,
			`INSERT INTO "Base" SELECT i, i FROM generate_series(1, 5000) i`, `INSERT INTO child SELECT i, i FROM generate_series(1, 5000) i`,
			`CREATE INDEX ON "Base" ("A", b)`, `CREATE INDEX ON child ("A", b)`, `ANALYZE "Base"`, "ANALYZE child",
			"CREATE VIEW twice AS SELECT t.* FROM t JOIN (SELECT DISTINCT a FROM t) x USING (a) WHERE t.b > 0",
			"GRANT SELECT ON part, twice TO app", `GRANT SELECT ON "Base" TO app`)
		r := open(t, dsn("app"), RunnerOptions{})
		for sql, want := range map[string]string{
			`SELECT n FROM t AS s (k, "N b", n) WHERE k > $1 OR (k = $1 AND "N b" > $2) ORDER BY k, "N b" LIMIT 10`:                                    "implies s.k >= $1",
			"SELECT b FROM part p (b, a) WHERE b > $1 OR (b = $1 AND a > $2) ORDER BY b, a LIMIT 10":                                                   "implies p.b >= $1",
			"SELECT * FROM t WHERE a >= (SELECT max(a) - 9000 FROM t) AND (a > $1 OR (a = $1 AND b > $2)) ORDER BY a, b LIMIT 10":                      "the scan starts at (t.a >= a subquery's result), which is looser than t.a >= $1",
			"SELECT * FROM t WHERE a > (SELECT a FROM t WHERE b = $1) OR (a = (SELECT a FROM t WHERE b = $1) AND b > $1) ORDER BY a, b LIMIT 10":       "t.a >= LEAST(a subquery's result, a subquery's result), but",
			"SELECT * FROM part p WHERE a > $1 OR (a = $1 AND b > $2) ORDER BY a, b LIMIT 10":                                                          "implies p.a >= $1",
			"SELECT * FROM part WHERE a > $1 OR (a = $1 AND b > $2) ORDER BY a, b LIMIT 10":                                                            "implies part.a >= $1",
			`SELECT * FROM "Base" WHERE "A" > $1 OR ("A" = $1 AND b > $2) ORDER BY "A", b LIMIT 10`:                                                    `implies "Base"."A" >= $1`,
			`SELECT * FROM "Base" AS "My_1" WHERE "A" > $1 OR ("A" = $1 AND b > $2) ORDER BY "A", b LIMIT 10`:                                          `implies "My_1"."A" >= $1`,
			"WITH n AS MATERIALIZED (SELECT max(b) FROM t) SELECT * FROM t, n WHERE a > $1 OR (a = $1 AND b > $2) ORDER BY a, b LIMIT 10":              "implies t.a >= $1",
			"SELECT (SELECT b FROM t LIMIT 1), (SELECT b FROM (SELECT * FROM t WHERE a > $1 OR (a = $1 AND b > $2) ORDER BY a, b LIMIT 10) x LIMIT 1)": "implies t.a >= $1",
			"SELECT * FROM twice WHERE a > $1 OR (a = $1 AND b > $2) ORDER BY a, b LIMIT 10":                                                           "implies t.a >= $1",
		} {
			res := Judge(t.Context(), r, Input{Source: "t", SQL: sql, OwnText: true}, Options{})
			if res.Verdict != StartsAtOldest || len(res.Findings) == 0 || !strings.Contains(res.Findings[0].Message, want) {
				t.Errorf("%s\ngot %s %+v\nwant %s", sql, res.Verdict, res.Findings, want)
				continue
			}
			for _, f := range res.Findings {
				if text := strings.ReplaceAll(f.Message+f.Action, "My_1", ""); made.MatchString(text) && !strings.Contains(text, "SELECT *") {
					t.Errorf("%s\nsays %s", sql, text)
				}
			}
			for _, x := range res.Tried {
				if made.MatchString(strings.ReplaceAll(x.Why, "My_1", "")) {
					t.Errorf("%s\nsays %s", sql, x.Why)
				}
			}
		}
	})
}
