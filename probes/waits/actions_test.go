package waits

import (
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

func TestBestAction(t *testing.T) {
	tests := []struct {
		name, rows string
		root       probes.Session // what differs from an active client
		verb       Verb
		pid, frees int
	}{
		{"queued ALTER behind a reader", "1 AS t1\n2 AX t1 @1\n3 AS t1 @2\n4 AS t1 @3", probes.Session{State: "idle in transaction"}, Cancel, 2, 2},
		{"queued ALTER that frees the smaller part", "1 AS t1\n1 X x1\n2 AX t1 @1\n3 AS t1 @2\n4 S x1 @3\n5 S x1 @4", probes.Session{State: "idle in transaction"}, Terminate, 1, 4},
		{"queued ALTER that holds an advisory lock", "1 AS t1\n2 X a1\n2 AX t1 @1\n3 X a1 @2", probes.Session{State: "idle in transaction"}, Terminate, 1, 2},
		{"queued ALTER that holds an advisory lock, with readers behind", "1 AS t1\n2 X a1\n2 AX t1 @1\n3 X a1 @2\n4 AS t1 @3\n5 AS t1 @4", probes.Session{State: "idle in transaction"}, Cancel, 2, 3},
		{"queued ALTER that holds a row", "1 AS t1\n2 X x1\n2 AX t1 @1\n3 S x1 @2\n4 AS t1 @3\n5 AS t1 @4", probes.Session{State: "idle in transaction"}, Terminate, 1, 4},
		{"running", "1 X x1\n2 S x1 @1", probes.Session{State: "active"}, Cancel, 1, 1},
		{"idle", "1 X a1\n2 X a1 @1", probes.Session{State: "idle"}, Terminate, 1, 1},
		{"prepared", "p1 X x1\n2 S x1 @1", probes.Session{}, Rollback, 0, 1},
		{"wraparound", "1 SUX t1\n2 AX t1 @1", probes.Session{Kind: "autovacuum worker", Query: "autovacuum: VACUUM public.t (to prevent wraparound)"}, Cancel, 2, 0},
		{"autovacuum", "1 SUX t1\n2 AX t1 @1", probes.Session{Kind: "autovacuum worker", Query: "autovacuum: VACUUM public.t"}, Wait, 1, 1},
		{"startup", "1 AX t1\n2 AS t1 @1", probes.Session{Kind: "startup"}, Other, 1, 1},
		{"masked", "1 X x1\n2 S x1 @1", probes.Session{Kind: probes.KindMasked}, Other, 1, 1},
		{"SyncRep", "1 X x1\n2 S x1 @1", probes.Session{State: "active", WaitEventType: "IPC", WaitEvent: "SyncRep"}, Other, 1, 1},
		{"one of two roots", "1 AS t1\n2 AS t1\n3 AX t1 @1", probes.Session{State: "active"}, Cancel, 1, 1},
		{"one of two roots of a row", "1 S a1\n2 S a1\n3 X a1 @1", probes.Session{State: "idle"}, Terminate, 1, 1},
		{"two roots, and readers behind the ALTER", "1 AS t1\n2 AS t1\n3 AX t1 @1\n4 AS t1 @2", probes.Session{State: "active"}, Cancel, 3, 1},
	}
	for _, tt := range tests {
		l := reading(table(t, tt.rows))
		for i := range l.Procs {
			if p := &l.Procs[i]; p.PID == 1 {
				if tt.root.Kind != "" {
					p.Kind = tt.root.Kind
				}
				p.State, p.Query, p.WaitEventType, p.WaitEvent = tt.root.State, tt.root.Query, tt.root.WaitEventType, tt.root.WaitEvent
			}
		}
		f := Build(nil, l, nil)
		b := f.Trees[0].Best
		if b.Verb != tt.verb || b.Key.PID != tt.pid || b.Frees != tt.frees || b.Text == "" {
			t.Errorf("%s: got %+v, want %s %d freeing %d", tt.name, b, tt.verb, tt.pid, tt.frees)
		}
	}
	f := Build(nil, reading(table(t, "1 X x1\n2 X x2\n1 S x2 @1\n2 S x1 @2")), nil)
	if b := f.Cycles[0].Tree.Best; b.Verb != Cancel || b.Key.PID != 2 {
		t.Errorf("a deadlock: got %+v, want the younger one cancelled", b)
	}
}

// TestCancellingAQueuedMigration: those behind its request run for sure, those who
// want its advisory lock only if that is its transaction's.
func TestCancellingAQueuedMigration(t *testing.T) {
	f := Build(nil, reading(table(t, "1 AS t1\n2 X a1\n2 AX t1 @1\n3 X a1 @2\n4 AS t1 @3\n5 AS t1 @4")), nil)
	b := f.Trees[0].Best
	if b.Key.PID != 2 || b.Direct != 2 || b.Most != 3 || b.Frees != 3 {
		t.Errorf("got %+v, want 2 to 3 freed by ending 2", b)
	}
	if e := f.WhatIf(Key{PID: 2}); e.Direct != 3 || len(e.Frees) != 3 {
		t.Errorf("ending 2 frees %+v, want 3 at once: its session's locks go, too", e)
	}
}

// TestOrInner: where a migration that has locks already holds up more than the root does,
// its end is named, too.
func TestOrInner(t *testing.T) {
	for rows, want := range map[string]string{
		"1 AS t1\n2 X x1\n2 AX t1 @1\n3 S x1 @2\n4 AS t1 @3\n5 AS t1 @4": "cancel 1: frees 1 at once, up to 3 in turn; or cancel 2, whose work is lost: frees 3 sessions",
		"1 X x1\n2 X x2\n2 S x1 @1\n3 S x2 @2":                           "cancel 1: frees 1 at once, up to 1 in turn",
	} {
		if got := Build(nil, reading(table(t, rows)), nil).Trees[0].Best.Text; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	l := reading(table(t, "1 SUX t1\n2 AX t1 @1"))
	l.Procs[0].Kind, l.Procs[0].Query = "autovacuum worker", "autovacuum: VACUUM public.t (to prevent wraparound)"
	if got := Build(nil, l, nil).Trees[0].Best.Text; !strings.HasPrefix(got, "wait, or cancel 2") {
		t.Errorf("a vacuum that must not be ended: got %q", got)
	}
}
