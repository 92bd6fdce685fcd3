package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// TestDialogCountsInOneWay: what an end frees is said in the same words everywhere.
func TestDialogCountsInOneWay(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}} {
		d, _ := enderDrawn(t, size[0], size[1], Options{}, recorded(t, "locks"))
		d.goToRow("▾ 23524")
		d.press("K")
		for _, not := range []string{" now", "≤", "frees 9"} {
			if strings.Contains(d.words()[strings.Index(d.words(), "Terminate"):], not) {
				t.Errorf("%v: %q is said:\n%s", size, not, d.text())
			}
		}
		d.press("C")
		d.says("frees nobody")
		d.hasNot("frees 1 at once, up to 8 in turn │")
	}
}

// TestACancelThatMayKeepLocksPromisesAtMost, whether it waits itself or not; a
// terminate promises all.
func TestACancelThatMayKeepLocksPromisesAtMost(t *testing.T) {
	for _, e := range []waits.Effect{waits.Frees, waits.FreesQueue} {
		a := waits.Advice{Cancel: e, Terminate: e, AtMost: true, Why: "locks from before a savepoint stay"}
		end := waits.End{Frees: make([]waits.Key, 3), Direct: 1, Most: 1}
		o := outlook{advice: a, end: end, cut: end}
		if got := o.effect(waits.Cancel); got != "frees at most 1 at once, up to 2 in turn: "+a.Why {
			t.Errorf("%s: cancel %s", e, got)
		}
		if got := o.effect(waits.Terminate); strings.Contains(got, "at most") || !strings.HasPrefix(got, "frees 1 at once") {
			t.Errorf("%s: terminate %s", e, got)
		}
		if got := (outlook{advice: a}).effect(waits.Cancel); strings.Contains(got, "at most") {
			t.Errorf("%s: cancel %s", e, got)
		}
	}
}

// TestWhatIsOverIsNotRecommended: the advised root leaves while the dialog about a
// waiter is open.
func TestWhatIsOverIsNotRecommended(t *testing.T) {
	snaps := recorded(t, "locks")
	d, _ := enderDrawn(t, 80, 24, Options{}, snaps)
	d.goToRow("23525")
	d.press("C")
	d.says("recommended: terminate 23524")
	d.answer(later(snaps[1], time.Second, 23524))
	d.has("ended")
	d.hasNot("recommended")
	d.hasNot("advised: terminate")
}

// TestWhatIsLeftBehindIsSaid by the dialog, of statements that commit in between.
func TestWhatIsLeftBehindIsSaid(t *testing.T) {
	tests := []struct{ query, lock, want string }{
		{"create unique index concurrently i on t (a)", "virtualxid", "leaves behind an INVALID index"},
		{"/* app */ -- x\nCREATE INDEX CONCURRENTLY ON t (a)", "relation", "may leave behind an INVALID index"},
		{"reindex (verbose, concurrently) table t", "virtualxid", "_ccnew or _ccold"},
		{"drop index concurrently if exists i", "virtualxid", "leaves behind the index, INVALID"},
		{"alter table t\n detach partition p concurrently", "virtualxid", "FINALIZE"},
		{"alter table t detach partition p finalize", "virtualxid", ""},
		{"create index i on t (a)", "relation", ""},
		{"-- concurrently", "", ""},
		{"select 1 /* create index concurrently */", "", ""},
	}
	for _, tt := range tests {
		n := &waits.Node{Session: &probes.Session{State: "active", Query: tt.query}}
		if tt.lock != "" {
			n.Edge = &waits.Edge{LockType: tt.lock}
		}
		if got := leaves(n); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.query, got, tt.want)
		}
	}
	snaps := recorded(t, "locks")
	for _, s := range snaps {
		for i := range s.Locks.Procs {
			if p := &s.Locks.Procs[i]; p.PID == 23556 {
				p.Query = "alter table ledger detach partition ledger_2019 concurrently"
			}
		}
	}
	d, _ := enderDrawn(t, 80, 24, Options{}, snaps)
	d.goToRow("▾ 23556")
	for _, k := range []string{"C", "K"} {
		d.press(k)
		d.says("may leave behind a pending detach: ALTER TABLE … DETACH PARTITION … FINALIZE ends it")
	}
}

// TestADialogSaysWhetherTheSessionIsStillThere when it waits for nothing and blocks
// nobody any more, as far as the sessions were read, and they are asked for.
func TestADialogSaysWhetherTheSessionIsStillThere(t *testing.T) {
	snaps := recorded(t, "locks")
	var it probes.Session
	for _, x := range snaps[1].Locks.Procs {
		if x.PID == 23568 {
			it = x
		}
	}
	for _, tt := range []struct {
		sessions []probes.Session
		want     string
	}{
		{nil, "over: it waits for nothing and blocks nobody any more"},
		{[]probes.Session{it}, "over: the session is still there, but it waits for nothing"},
		{[]probes.Session{{PID: 1}}, "ended: there is no such session any more"},
		{[]probes.Session{{PID: 23568, BackendStart: it.BackendStart.Add(time.Second)}}, "ended: there is no such session any more"},
	} {
		d, _ := enderDrawn(t, 80, 24, Options{}, snaps)
		d.goToRow("23568")
		d.press("K")
		s := later(snaps[1], time.Minute, 23568)
		s.Sessions = tt.sessions
		d.answer(s)
		d.says(tt.want)
		d.hasNot("y terminate")
	}
}

// TestADialogSaysThatAWorkerWasChosen, and that its leader is meant.
func TestADialogSaysThatAWorkerWasChosen(t *testing.T) {
	d, _ := enderDrawn(t, 80, 24, Options{}, recorded(t, "locks"))
	d.over = newEndDialog(d.frame, &endWish{verb: waits.Terminate, x: &probes.Session{PID: 4711, LeaderPID: 23524, Kind: "parallel worker"}})
	d.has("Terminate 23524?")
	d.says("4711 is a parallel worker of 23524")
	d.over = newEndDialog(d.frame, &endWish{verb: waits.Terminate, x: &probes.Session{PID: 23524}})
	d.hasNot("parallel worker")
}

// TestNoTransactionIsRolledBack where there is none.
func TestNoTransactionIsRolledBack(t *testing.T) {
	o := outlook{idle: true, end: waits.End{Frees: make([]waits.Key, 1), Direct: 1, Most: 1}}
	if got := o.effect(waits.Terminate); got != "frees 1 session: its connection ends, it is in no transaction" {
		t.Errorf("terminate %s", got)
	}
}

// TestWhatIsStillThereIsNamed: a cancel is about the statement.
func TestWhatIsStillThereIsNamed(t *testing.T) {
	e := &ending{verb: waits.Cancel, target: endTarget{node: &waits.Node{Key: waits.Key{PID: 5}}}}
	if got := notYet(e, 6*time.Second, "active"); got != "not acted on yet, the signal is pending: the statement of 5 still runs after 6.0 s (active)" {
		t.Errorf("got %q", got)
	}
	e.verb = waits.Terminate
	if got := notYet(e, 6*time.Second, "active"); got != "not acted on yet, the signal is pending: 5 is still there after 6.0 s (active)" {
		t.Errorf("got %q", got)
	}
}
