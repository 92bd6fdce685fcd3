package explain

import (
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// What starts at the cursor, and yet reads far before or behind its page, does not
// pass for a page that starts there.
func TestReadsFarOfTheCursor(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		dsn := pgtest.Start(t, in, pgserver.Options{}).DSN("postgres", "postgres")
		pgtest.Exec(
			t, dsn, "create table reading (id bigint not null, ts timestamptz not null, val float8)",
			"insert into reading select i, timestamptz '2025-01-01' + (i / 3) * interval '1 minute', i from generate_series(1, 60000) i",
			"create index on reading (ts, id)",
			"create table ledger (account numeric(12,0) not null, booked date not null, entry_no numeric(20,0) primary key)",
			"insert into ledger select 1000 + i % 2000, date '2015-01-01' + i / 80, i from generate_series(1, 120000) i",
			"create index on ledger (booked desc, account, entry_no)", "vacuum analyze",
		)
		r, err := Open(t.Context(), dsn, RunnerOptions{AsSuperuser: true})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close(t.Context())
		const cursor = "(ts > $1 or (ts = $1 and id > $2))"
		for sql, want := range map[string]Verdict{
			"select * from reading where " + cursor + " and ts >= $1 - interval '10 year' order by ts, id limit 50":                                     StartsAtOldest,
			"select * from reading where " + cursor + " and ts >= $1 order by ts, id limit 50":                                                          StartsAtCursor,
			"select ts, id, count(*) over () from reading where (ts, id) > ($1, $2) order by ts, id limit 20":                                           ReadsAllAfterCursor,
			"select ts, id, row_number() over (order by ts, id) from reading where (ts, id) > ($1, $2) order by ts, id limit 20":                        StartsAtCursor,
			"select * from ledger where account = $1 and (booked < $2 or (booked = $2 and entry_no < $3)) order by booked desc, entry_no desc limit 40": ReadsAllAfterCursor,
			"select * from reading where ts > $1 order by ts fetch first 20 rows with ties":                                                             StartsAtCursor,
		} {
			res := Judge(t.Context(), r, Input{SQL: sql, OwnText: true}, Options{PlanOnly: true})
			if res.Verdict != want {
				t.Errorf("%s: got %s, want %s: %+v", sql, res.Verdict, want, res.Findings)
			}
			if strings.Contains(sql, "with ties") && find(res, "unique-key-needed") != nil {
				t.Errorf("%s: %+v", sql, res.Findings)
			}
		}
	})
}
