package waits

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

// TestWhoWantsRows: of those who get a table whose rows they want one is sure to run,
// and nobody where somebody who stays may have a row of it.
func TestWhoWantsRows(t *testing.T) {
	tests := []struct {
		name, rows string
		end        int
		want       string // who runs for sure, then the others
		most       int
	}{
		{"one writer", "1 AS t1\n2 AX t1 @1\n3 RX t1 @2", 2, "3", 1},
		{"writers", "1 AS t1\n2 AX t1 @1\n3 RX t1 @2\n4 RS t1 @3", 2, "3 then 4", 2},
		{"readers and writers", "2 AX t1\n3 RX t1 @2\n4 AS t1 @3\n5 RX t1 @4\n6 AS t1 @5", 2, "4 6 3 then 5", 4},
		{"a writer stays", "1 RX t1\n2 AX t1 @1\n3 RX t1 @2\n4 AS t1 @3", 2, "4 then 3", 2},
		{"a row locker stays", "1 RS t1\n2 S t1\n3 RX t1 @1", 2, "then 3", 1},
		{"the writer ends", "1 RX t1\n2 AX t1 @1\n3 RX t1 @2", 1, "2 then 3", 1},
		{"a vacuum stays", "1 SUX t1\n2 AX t1 @1\n3 RX t1 @2", 2, "3", 1},
		{"writers of two tables", "2 AX t1\n2 AX t2\n3 RX t1 @1\n4 RX t2 @2", 2, "3 4", 2},
		{"a writer of another table stays", "1 RX t2\n2 AX t1\n3 RX t1 @1", 2, "3", 1},
		{"who has it in a row mode itself", "2 S t1\n3 RS t1\n3 RX t1 @1", 2, "3", 1},
		{"who gets a row beside", "2 AX t1\n2 X x1\n4 RX t1\n4 X row3\n4 S x1 @1\n3 RX t1 @2", 2, "4 then 3", 2},
		{"a request for the table", "1 RX t1\n2 SUX t1\n3 SUX t1 @1", 2, "3", 1},
	}
	for _, tt := range tests {
		rows := table(t, tt.rows)
		for _, answers := range []bool{false, true} {
			l := reading(rows)
			if answers { // the same of entries that are older
				f := Build(nil, l, nil)
				l.Reading = probes.ReadEdges
				for _, n := range f.All() {
					if n.Edge != nil {
						w := probes.LockWait{PID: n.Key.PID, LockType: n.Edge.LockType}
						for _, b := range f.Blockers(n.Key) {
							w.Blockers = append(w.Blockers, b.Blocker.PID)
						}
						l.Waits = append(l.Waits, w)
					}
				}
			}
			f := Build(nil, l, nil)
			if got, e := ends(f, tt.end), f.WhatIf(Key{PID: tt.end}); got != tt.want && !answers || e.Most != tt.most {
				t.Errorf("%s (answers %v): ending %d: got %q, %d at most, want %q, %d", tt.name, answers, tt.end, got, e.Most, tt.want, tt.most)
			} else if direct := len(e.Frees[:e.Direct]); answers && direct != directOf(tt.want) {
				t.Errorf("%s (answers): ending %d: got %d for sure, want %q", tt.name, tt.end, direct, tt.want)
			}
		}
	}
	l := &probes.Locks{Reading: probes.ReadEdges, Waits: []probes.LockWait{{PID: 2, LockType: "relation", Blockers: []int{1}}, {PID: 3, LockType: "advisory", Blockers: []int{1}}}}
	if e := Build(nil, l, nil).WhatIf(Key{PID: 1}); e.Direct != 1 || e.Most != 2 {
		t.Errorf("who waits for a table in a mode that is not known: got %+v", e)
	}
}

// TestLockTableComesToNoRow: who waits for a table in a LOCK TABLE is sure to run beside
// those who have rows.
func TestLockTableComesToNoRow(t *testing.T) {
	for query, direct := range map[string]int{
		"LOCK TABLE t1 IN ROW EXCLUSIVE MODE":        1,
		"lock t1 in row exclusive mode; update t1 …": 0,
		"update t1 set v = 1":                        0,
		"":                                           0,
	} {
		l := reading(table(t, "1 RX t1\n2 S t1 @1\n3 RX t1 @2"))
		for i := range l.Procs {
			l.Procs[i].Query = query
		}
		if e := Build(nil, l, nil).WhatIf(Key{PID: 2}); e.Direct != direct || e.Most != 1 {
			t.Errorf("%s: got %+v, want %d to 1", query, e, direct)
		}
	}
}

// directOf counts the names before "then".
func directOf(want string) int {
	n := 0
	for _, w := range strings.Fields(want) {
		if w == "then" {
			break
		}
		n++
	}
	return n
}

// TestShareAfterAWriter: who share-locks a row behind a writer in its queue may run
// with the queue's head, which share-locks it, too: the queue may be of a version that
// both follow to the next. Behind a head that writes it does not.
func TestShareAfterAWriter(t *testing.T) {
	for mode, most := range map[string]int{"RS": 2, "AS": 2, "X": 1} {
		f := Build(nil, reading(table(t, "1 X x1\n2 "+mode+" row3\n2 S x1 @1\n3 AX row3 @2\n4 RS row3 @3")), nil)
		if e := f.WhatIf(Key{PID: 1}); e.Direct != 1 || e.Most != most || len(e.Frees) != 3 {
			t.Errorf("behind %s: got %+v, want %d at most", mode, e, most)
		}
	}
}

// TestDifferentRows: all of those who get a table are sure to run where their texts say
// that they want different rows of it.
func TestDifferentRows(t *testing.T) {
	const row = "update a set v = 1 where id = "
	for _, tt := range []struct {
		name    string
		queries [3]string
		want    string
	}{
		{"different rows", [3]string{row + "1", row + "2", "delete from a where id = 3"}, "3-3"},
		{"two of one row", [3]string{row + "1", row + "2", row + "1"}, "1-3"},
		{"parameters", [3]string{row + "1", row + "$1", row + "3"}, "1-3"},
		{"all rows", [3]string{row + "1", row + "2", "delete from a"}, "1-3"},
		{"an insert", [3]string{row + "1", row + "2", "insert into a values (5)"}, "1-3"},
		{"another key", [3]string{row + "1", row + "2", "update a set v = 1 where no = 3"}, "1-3"},
	} {
		l := reading(table(t, "1 AX t1\n2 RX t1 @1\n3 RX t1 @2\n4 RX t1 @3"))
		l.Names = []probes.ObjectName{{Database: 5, Class: classRelation, OID: 1, Name: "public.a", Keys: "id,no", Whole: "id|no"}}
		for i := range l.Procs {
			if pid := l.Procs[i].PID; pid > 1 {
				l.Procs[i].Query = tt.queries[pid-2]
			}
		}
		e := Build(nil, l, nil).WhatIf(Key{PID: 1})
		if got := fmt.Sprintf("%d-%d", e.Direct, e.Most); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
