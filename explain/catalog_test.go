package explain

import (
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// What the types and the parts of a table make of a page over it.
func TestTypesAndParts(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		setup := []string{
			"CREATE DOMAIN positive AS int CHECK (VALUE > 0)", "CREATE DOMAIN small AS positive CHECK (VALUE < 100000)", "CREATE DOMAIN name40 AS varchar(40)",
			"CREATE TABLE d (n small NOT NULL, name name40 NOT NULL, id int PRIMARY KEY)",
			"INSERT INTO d SELECT i, 'x' || i, i FROM generate_series(1, 5000) i", "CREATE INDEX ON d (n, id)", "CREATE INDEX ON d (name, id)", "ANALYZE d",
			"CREATE TABLE h (id int NOT NULL, dev int NOT NULL, at int NOT NULL) PARTITION BY HASH (id)",
		}
		for i := range "0123" {
			setup = append(setup, "CREATE TABLE h_"+string(rune('0'+i))+" PARTITION OF h FOR VALUES WITH (MODULUS 4, REMAINDER "+string(rune('0'+i))+")")
		}
		_, dsn := small(t, in, append(setup, "INSERT INTO h SELECT i, i % 10, i / 20 FROM generate_series(1, 20000) i", "CREATE INDEX ON h (dev, at, id)", "ANALYZE h", "GRANT SELECT ON d, h TO app")...)
		r := open(t, dsn("app"), RunnerOptions{})
		for _, c := range []struct {
			sql     string
			verdict Verdict
			rule    string
		}{
			{"SELECT * FROM d WHERE n > $1::numeric ORDER BY n, id LIMIT 10", StartsAtOldest, "value-type"},
			{"SELECT * FROM d WHERE n > $1::bigint OR (n = $1::bigint AND id > $2) ORDER BY n, id LIMIT 10", StartsAtOldest, "cursor-starts-at-oldest"},
			{"SELECT * FROM d WHERE name > $1 OR (name = $1 AND id > $2) ORDER BY name, id LIMIT 10", StartsAtOldest, "cursor-starts-at-oldest"},
			// 500 rows of a device in each of four parts
			{"SELECT * FROM h WHERE dev = $3 AND (at > $1 OR (at = $1 AND id > $2)) ORDER BY at, id LIMIT 10", StartsAtOldest, "cursor-starts-at-oldest"},
			{"SELECT * FROM h WHERE dev = $3 AND (at, id) > ($1, $2) ORDER BY at, id LIMIT 10", StartsAtCursor, ""},
		} {
			res := Judge(t.Context(), r, Input{Source: "t", SQL: c.sql, OwnText: true}, Options{})
			if res.Verdict != c.verdict || c.rule != "" && find(res, c.rule) == nil {
				t.Errorf("%s: got %s %v, want %s %s", c.sql, res.Verdict, res.Findings, c.verdict, c.rule)
			}
			if fix := res.Fix; c.rule == "cursor-starts-at-oldest" && (fix == nil || fix.Equivalent != Proved || fix.After.Starts != "cursor") {
				t.Errorf("%s: fix %+v, tried %v", c.sql, fix, res.Tried)
			}
		}
	})
}
