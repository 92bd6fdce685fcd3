package waits

import (
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

// touchedLocks makes relation locks from lines "PID MODE OBJECT".
func touchedLocks(t *testing.T, l *probes.Locks, text string) {
	t.Helper()
	l.Touched = table(t, text)
	for oid, o := range map[uint32]probes.ObjectName{
		1: {Name: "public.acct", Keys: "id,mail", Whole: "id|mail"}, 11: {Name: "public.acct_pkey", Parent: 1, Unique: true}, 12: {Name: "public.acct_mail", Parent: 1, Unique: true},
		13: {Name: "public.acct_v", Parent: 1}, 2: {Name: "public.log", Triggers: true}, 21: {Name: "public.log_pkey", Parent: 2, Unique: true},
		3: {Name: "pg_toast.pg_toast_1"}, 31: {Name: "pg_toast.pg_toast_1_index", Parent: 3, Unique: true},
	} {
		o.Database, o.Class, o.OID = 5, classRelation, oid
		l.Names = append(l.Names, o)
	}
}

// TestUniqueKey: a wait for a transaction without a row is for a key of an index
// that the waiter writes to, of a table that the other side has written to.
func TestUniqueKey(t *testing.T) {
	tests := []struct{ name, touched, want, note string }{
		{"one index", "1 RX t1\n2 RX t1\n2 RX t11\n2 RX t13", "key of public.acct, acct_pkey", ""},
		{"two indexes of one table", "1 RX t1\n2 RX t1\n2 RX t11\n2 RX t12", "key of public.acct", ""},
		{"another table that the statement writes to", "1 RX t1\n1 RX t13\n2 RX t11\n2 RX t21", "key of public.acct, acct_pkey", ""},
		{"two tables", "1 RX t1\n1 RX t2\n2 RX t11\n2 RX t21", "row or unique key of public.acct or public.log", "which of the two"},
		{"TOAST is none", "1 RX t1\n1 RX t3\n2 RX t11\n2 RX t31", "key of public.acct, acct_pkey", ""},
		{"nothing in common", "1 RX t2\n2 RX t11", "transaction 1", "for which row or unique key is not known"},
		{"of another database", "1 RX t77\n2 RX t77\n2 RX t78", "key of relation 77", ""},
		{"not read", "", "transaction 1", "for which row or unique key is not known"},
	}
	for _, tt := range tests {
		l := reading(table(t, "1 X x1\n2 S x1 @1"))
		if tt.touched != "" {
			touchedLocks(t, l, tt.touched)
		}
		inserts(l)
		f := Build(nil, l, nil)
		n := f.Node(Key{PID: 2})
		if n.Edge.Object != tt.want || !strings.Contains(strings.Join(f.Notes(n), "; "), tt.note) {
			t.Errorf("%s: got %q, notes %q; want %q, %q", tt.name, n.Edge.Object, f.Notes(n), tt.want, tt.note)
		}
	}
	l := reading(table(t, "p8 X x8\n2 S x8 @1"))
	touchedLocks(t, l, "p8 RX t1\n2 RX t11")
	inserts(l)
	if n := Build(nil, l, nil).Node(Key{PID: 2}); n.Edge.Object != "key of public.acct, acct_pkey" {
		t.Errorf("behind a prepared transaction: got %q", n.Edge.Object)
	}
}

func inserts(l *probes.Locks) {
	for i := range l.Procs {
		l.Procs[i].Query = "insert into acct values (1)"
	}
}

// TestRowOrKey: who has waited for a row while that changed hands waits as an insert
// does, so that only a statement that does nothing but insert waits for a key.
func TestRowOrKey(t *testing.T) {
	const update = "row or unique key of public.acct"
	for query, want := range map[string]string{
		"insert into acct values (1)":                                      "key of public.acct, acct_pkey",
		"/* update */ INSERT INTO acct select 'update' -- merge":           "key of public.acct, acct_pkey",
		"begin; insert into acct values ('it''s')":                         "key of public.acct, acct_pkey",
		"insert into acct values (1) on conflict do nothing":               "key of public.acct, acct_pkey",
		"copy acct from stdin":                                             "key of public.acct, acct_pkey",
		"insert into acct values (1) on conflict (id) do update set v = 1": update,
		"update acct set bal = 1":                                          update,
		"with x as (update acct set v = 1 returning *) insert into log":    update,
		"select book(1)":                  update,
		"execute p(1)":                    update,
		"<insufficient privilege>":        update,
		"":                                update,
		"delete from acct where id = 1":   "row of public.acct",
		"/* cut":                          update,
		`insert into "update" values (1)`: "key of public.acct, acct_pkey",
	} {
		l := reading(table(t, "1 X x1\n2 S x1 @1"))
		touchedLocks(t, l, "1 RX t1\n2 RX t1\n2 RX t11")
		for i := range l.Procs {
			l.Procs[i].Query = query
		}
		if got := Build(nil, l, nil).Node(Key{PID: 2}).Edge.Object; got != want {
			t.Errorf("%s: got %q, want %q", query, got, want)
		}
	}
}

// TestSharers: of several that share-lock a row the lock table shows one; who may
// be the others is said, and that ending one may free nobody.
func TestSharers(t *testing.T) {
	tests := []struct{ name, mode, touched, want string }{
		{"three share it", "X", "1 RS t3\n4 RS t3\n5 RS t3\n2 RX t3", "4 5"},
		{"who waits for the row itself does not", "X", "1 RS t3\n3 RS t3\n4 RS t3", "4"},
		{"who has no transaction id does not", "X", "1 RS t3\n4 RS t3\n6 RS t3", "4"},
		{"whose transaction id is hidden may", "X", "1 RS t3\n7 RS t3", "7"},
		{"nobody else", "X", "1 RS t3\n2 RX t3", ""},
		{"the blocker locked rows and wrote, nobody else locks: an update of no key", "X", "1 RS t3\n1 RX t3\n4 RX t3", ""},
		{"the blocker locked rows and wrote, so did another: an update of no key", "X", "1 RS t3\n1 RX t3\n4 RS t3\n4 RX t3", "4"},
		{"the blocker wrote: an update of no key waits for nobody else", "X", "1 RX t3\n4 RS t3", ""},
		{"the blocker wrote: a delete waits for key-sharers too", "AX", "1 RX t3\n4 RS t3\n5 RX t3", "4"},
		{"the blocker locked rows: a delete waits for writers too", "AX", "1 RS t3\n4 RX t3", "4"},
		{"the blocker locked rows and wrote: a delete waits for writers too", "AX", "1 RS t3\n1 RX t3\n4 RX t3\n5 RS t3", "4 5"},
		{"the blocker locked rows: an update of no key beside writers", "X", "1 RS t3\n4 RX t3", ""},
		{"who wants to share it", "AS", "1 RS t3\n1 RX t3\n4 RS t3", ""},
		{"the blocker has not touched the table", "AX", "1 RX t4\n4 RS t3", ""},
		{"of another table", "X", "1 RS t4\n4 RS t4", ""},
	}
	for _, tt := range tests {
		l := reading(table(t, "1 X x1\n2 "+tt.mode+" row3\n2 S x1 @1\n3 X row3 @2\n4 AS t9\n5 AS t9\n6 AS t9\n7 AS t9"))
		for i := range l.Procs {
			switch p := &l.Procs[i]; p.PID {
			case 6:
			case 7:
				p.Kind = probes.KindMasked
			default:
				p.XID = "700"
			}
		}
		l.Touched = table(t, tt.touched)
		f := Build(nil, l, nil)
		n := f.Node(Key{PID: 2})
		if got := shortKeys(f.sharers(n)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		text, notes := f.Trees[0].Best.Text, strings.Join(f.Notes(n), "; ")
		if strings.Contains(text, "frees up to 1 at once, up to 1 in turn: ") != (tt.want != "") || strings.Contains(notes, "may be locked by more") != (tt.want != "") {
			t.Errorf("%s: got %q, %q", tt.name, text, notes)
		}
	}
}

// TestUntouched: where it was not read who else may have a row, nobody who waits for it
// is sure to run, but who shares it with others; of a catalog it is not asked.
func TestUntouched(t *testing.T) {
	for _, tt := range []struct {
		rows, touched string
		lacks         bool
		direct        int
	}{
		{"1 X x1\n2 X row77\n2 S x1 @1", "", false, 1},
		{"1 X x1\n2 X row77\n2 S x1 @1", "", true, 0},
		{"1 X x1\n2 AX row77\n2 S x1 @1", "1 RX t77", false, 1},
		{"1 X x1\n2 AX row77\n2 S x1 @1", "1 RX t78", false, 0}, // read before the blocker had it
		{"1 X x1\n2 RS row77\n2 S x1 @1", "", true, 1},
		{"1 X x1\n2 X row3\n2 S x1 @1", "", true, 1},
		{"1 X x1\n2 S x1 @1", "", true, 0},
		{"1 X a1\n2 S a1 @1", "", true, 1},
	} {
		const base = 20000
		user := func(rows []probes.LockRow) []probes.LockRow {
			for i := range rows {
				if x := &rows[i].Tag; x.Relation > 70 {
					x.Relation += base
				}
			}
			return rows
		}
		l := reading(user(table(t, tt.rows)))
		if l.Untouched = tt.lacks; tt.touched != "" {
			l.Touched = user(table(t, tt.touched))
		}
		f := Build(nil, l, nil)
		if e := f.WhatIf(Key{PID: 1}); e.Direct != tt.direct || e.Most != 1 {
			t.Errorf("%s, %q: got %+v, want %d for sure", tt.rows, tt.touched, e, tt.direct)
		}
		if text := f.Trees[0].Best.Text; strings.Contains(text, "is not known") != (tt.direct == 0 && strings.Contains(tt.rows, "row")) {
			t.Errorf("%s, %q: got %q", tt.rows, tt.touched, text)
		}
	}
}

// TestKeyUpdate: who has followed a row to its new version waits without the row's lock,
// and next for who share-locks that: sure to run is one whose statement updates no key.
func TestKeyUpdate(t *testing.T) {
	tests := []struct {
		query, touched string
		direct         int
	}{
		{"update acct set v = v + 1 where id = 1", "1 RX t1\n2 RX t1", 1},
		{"update acct set v = v + 1 where id = 1", "1 RX t1\n1 RS t1\n2 RX t1", 0}, // the blocker may share the row
		{"update acct set v = v + 1 where id = 1", "1 RX t1\n1 RX t2\n2 RX t1\n2 RX t2", 0},
		{"update acct set v = v + 1 where id = 1", "1 RX t1\n2 RX t77", 0}, // no name, no columns
		{"update acct set v = substring(w from 2), id = 5 where v = 1", "1 RX t1\n2 RX t1", 0},
		{"update acct set (v, mail) = (1, 2)", "1 RX t1\n2 RX t1", 0},
		{`update acct set "id" = 5`, "1 RX t1\n2 RX t1", 0},
		{"update acct set v = (select 1 where true), id = 5", "1 RX t1\n2 RX t1", 0},
		{"update acct set v = 1 returning id", "1 RX t1\n2 RX t1", 1},
		{"insert into acct values (1) on conflict (id) do update set v = 2", "1 RX t1\n2 RX t1", 1},
		{"insert into acct values (1) on conflict (id) do update set mail = 2", "1 RX t1\n2 RX t1", 0},
		{"insert into acct values (1)", "1 RX t1\n2 RX t1", 1},
		{"insert into log values (1)", "1 RX t1\n2 RX t2", 0}, // its trigger may do more
		{"update acct set v = 1; update acct set id = 5", "1 RX t1\n2 RX t1", 0},
		{"delete from acct", "1 RX t1\n2 RX t1", 0},
	}
	for _, tt := range tests {
		l := reading(table(t, "1 X x1\n2 S x1 @1"))
		touchedLocks(t, l, tt.touched)
		for i := range l.Procs {
			l.Procs[i].Query = tt.query
		}
		if e := Build(nil, l, nil).WhatIf(Key{PID: 1}); e.Direct != tt.direct || e.Most != 1 {
			t.Errorf("%s, %q: got %+v, want %d for sure", tt.query, tt.touched, e, tt.direct)
		}
	}
}

// TestSafeSnapshots: the wait is counted, its blockers are named with how to end
// them, and it is no edge of the lock table.
func TestSafeSnapshots(t *testing.T) {
	l := &probes.Locks{
		At: epoch, Reading: probes.ReadDetail, SafeSnapshots: []probes.SafeSnapshotWait{{PID: 3, Blockers: []int{1, 2}}},
		Procs: []probes.Session{
			{PID: 1, Kind: probes.KindClient, User: "app", State: "idle in transaction"},
			{PID: 2, Kind: probes.KindClient, User: "app", State: "active"},
			{PID: 3, Kind: probes.KindClient, User: "dump", State: "active", WaitEvent: "SafeSnapshot", QueryStart: epoch.Add(-7e9)},
		},
	}
	f := Build(nil, l, nil)
	if f.Waiting() != 1 || f.Waiters != 0 || len(f.Edges()) != 0 || len(f.SafeSnapshots) != 1 {
		t.Fatalf("got %d waiting, %d waiters, edges %v", f.Waiting(), f.Waiters, f.Edges())
	}
	s := f.SafeSnapshots[0]
	if s.Wait != 7e9 || s.Waiter.Role != "dump" || s.Blockers[0].Session == nil {
		t.Errorf("got %+v", s)
	}
	if want := "end both (terminate 1 and cancel 2), or begin it without DEFERRABLE"; s.Best.Text != want || s.Best.Verb != Terminate || len(s.Best.With) != 1 {
		t.Errorf("got %+v, want %q", s.Best, want)
	}
}

// TestOneAfterTheOther: a CREATE INDEX CONCURRENTLY waits for transactions of
// which the lock table shows one; the others are in its progress.
func TestOneAfterTheOther(t *testing.T) {
	for _, tt := range []struct {
		total, done int
		want        string
	}{{4, 1, "cancel 1: frees up to 1 at once: up to 2 more transactions hold 2 up"}, {2, 1, "cancel 1: frees 1 session"}, {0, 0, "cancel 1: frees 1 session"}} {
		l := reading(table(t, "1 X x1\n2 S x1 @1"))
		for i := range l.Rows {
			l.Rows[i].Tag = probes.LockTag{Type: "virtualxid", VXID: "3/1"}
		}
		l.Progress = []probes.Progress{{PID: 2, Command: "CREATE INDEX CONCURRENTLY", Phase: "waiting for old snapshots", LockersTotal: tt.total, LockersDone: tt.done}}
		f := Build(nil, l, nil)
		if got, want := f.Trees[0].Best.Text, tt.want; got != want {
			t.Errorf("%d of %d: got %q, want %q", tt.done, tt.total, got, want)
		}
	}
}
