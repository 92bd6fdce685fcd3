package waits

import (
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// TestCancelOfOldEntries: answers whose lock entries are of an earlier reading, or
// lack, promise no more of a cancel than those of one reading do.
func TestCancelOfOldEntries(t *testing.T) {
	const rows = "1 AS t1\n2 X a9\n2 AX t1 @1\n3 X a9 @2\n4 AS t1 @3"
	for _, tt := range []struct {
		name, rows string // as read; who is not in it came later
		reading    probes.Reading
		best       string // of the tree
		frees      string // by a cancel of 2
	}{
		{"of one reading", rows, probes.ReadDetail, "cancel 2, the queued ALTER: frees 1 to 2 at once", "1 to 2 at once"},
		{"of the last", rows, probes.ReadEdges, "cancel 2, the queued ALTER: frees 1 to 2 at once", "1 to 2 at once"},
		{"of the last, without the key's waiter", "1 AS t1\n2 AX t1 @1\n4 AS t1 @3", probes.ReadEdges, "cancel 2, the queued ALTER: frees 1 to 2 at once", "1 to 2 at once"},
		{"of the last, without the reader", "1 AS t1\n2 X a9\n2 AX t1 @1\n3 X a9 @2", probes.ReadEdges, "", "up to 2 at once"},
		{"of none", "", probes.ReadEdges, "", "1 to 2 at once"}, // 4 may want rows
		{"of a request for two tables", "1 AS t1\n2 AX t1 @1\n4 AS t2 @3", probes.ReadEdges, "", "up to 2 at once"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := reading(table(t, rows))
			if l.Rows = nil; tt.rows != "" {
				l.Rows = table(t, tt.rows)
			}
			l.Reading = tt.reading
			l.Waits = []probes.LockWait{
				{PID: 2, LockType: "relation", Blockers: []int{1}},
				{PID: 3, LockType: "advisory", Blockers: []int{2}},
				{PID: 4, LockType: "relation", Blockers: []int{2}},
			}
			for i := range l.Procs {
				if p := &l.Procs[i]; p.PID == 2 {
					p.Query = "alter table t1 add column c int"
				}
			}
			f := Build(nil, l, nil)
			n := f.Node(Key{PID: 2})
			if got := f.EndBy(Cancel, n).Freed(); got != tt.frees {
				t.Errorf("cancel: got %s, want %s", got, tt.frees)
			}
			if got := f.EndBy(Terminate, n).Most; got != 2 {
				t.Errorf("terminate: got %d at once at most, want 2", got)
			}
			if got := f.Drawn()[0].Best.Text; !strings.HasPrefix(got, tt.best) || tt.best == "" && strings.HasPrefix(got, "cancel 2") {
				t.Errorf("got %s, want %q", got, tt.best)
			}
			if a := f.Advise(n); !a.AtMost {
				t.Errorf("got %+v, want it to be at most", a)
			}
		})
	}
}

// TestOldEntryOfATransaction: who waits for a transaction since the last one ended has
// not waited for it since then.
func TestOldEntryOfATransaction(t *testing.T) {
	l := reading(table(t, "1 X x1\n2 S x1 @1\n3 X x3"))
	l.Reading, l.DetailAt = probes.ReadEdges, l.At.Add(-3*time.Second)
	l.Waits = []probes.LockWait{{PID: 2, LockType: "transactionid", Blockers: []int{3}}}
	f := Build(nil, l, nil)
	if e := f.Node(Key{PID: 2}).Edge; e.Wait != -1 || f.Trees[0].Longest != -1 || f.Trees[0].Blocked != time.Minute {
		t.Errorf("behind another: got wait %v, longest %v, blocked %v at most", e.Wait, f.Trees[0].Longest, f.Trees[0].Blocked)
	}
	l.Waits[0].Blockers = []int{1}
	f = Build(nil, l, nil)
	if e := f.Node(Key{PID: 2}).Edge; e.Wait != 59*time.Second {
		t.Errorf("behind the same: got wait %v", e.Wait)
	}
	if got := strings.Join(f.Notes(f.Node(Key{PID: 2})), "; "); !strings.Contains(got, "lock table of 3s earlier") || f.Doubtful() != 1 {
		t.Errorf("got %q, %d doubtful", got, f.Doubtful())
	}
	l.DetailAt, l.Rows = time.Time{}, nil
	if got := strings.Join(Build(nil, l, nil).Notes(f.Node(Key{PID: 2})), "; "); !strings.Contains(got, "not read yet") {
		t.Errorf("got %q", got)
	}
}
