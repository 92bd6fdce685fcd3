package waits

import (
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

// TestWhatWaits: a queued request is named by the statement that waits, not by the
// first of its message; where the text does not tell it, by its mode.
func TestWhatWaits(t *testing.T) {
	for q, want := range map[string]string{
		"alter table t1 add c int":                                   "ALTER",
		"begin; alter table t1 add c int; commit":                    "ALTER",
		"-- step 3\nBEGIN;\nSET lock_timeout = '4s';\nDROP TABLE t1": "DROP",
		"set local statement_timeout = 0; truncate t1":               "TRUNCATE",
		"select pg_advisory_lock(1); alter table t1 add c int":       "ALTER",
		"begin; lock table t1":                                       "LOCK",
		"start transaction; refresh materialized view t1":            "REFRESH",
		"begin; alter table t1 add c int; drop table t2":             "AccessExclusiveLock request",
		"alter table t1 add c int; alter table t2 add c int":         "ALTER",
		"begin; select f()":                                          "SELECT",
		"select f()":                                                 "SELECT",
		"select f(';')":                                              "SELECT",
		"call migrate()":                                             "CALL",
		"begin":                                                      "AccessExclusiveLock request",
		"":                                                           "AccessExclusiveLock request",
		"begin; select $$;drop$$; alter table t1 add c int":          "ALTER",
		"begin; do $x$ begin; alter table t1 add c int; end $x$":     "DO",
	} {
		l := reading(table(t, "1 AS t1\n2 AX t1 @1\n3 AS t1 @2\n4 AS t1 @3"))
		for i := range l.Procs {
			if l.Procs[i].PID == 2 {
				l.Procs[i].Query = q
			}
		}
		f := Build(nil, l, nil)
		if got := what(f.Node(Key{PID: 2})); got != want {
			t.Errorf("%q: got %s, want %s", q, got, want)
		}
	}
}

// TestCodeInAMessage: a block of code may catch a cancel wherever it stands in its message.
func TestCodeInAMessage(t *testing.T) {
	for q, want := range map[string]bool{
		"do $$begin end$$":  true,
		"begin; call p($1)": true,
		"insert into t1 values (1) on conflict do nothing": false,
		"select 'x; do'; select $1":                        false,
	} {
		if got := mayCatch(&probes.Session{Query: q}); got != want {
			t.Errorf("%q: got %v, want %v", q, got, want)
		}
	}
}
