package waits

import (
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// TestOnlyWhoRanBecauseOfItIsFreed: 7 waited for 5, and 8 behind it, when 5 was ended.
func TestOnlyWhoRanBecauseOfItIsFreed(t *testing.T) {
	const before = "5 RX t1\n7 AX t1 @1\n8 AX t1 @2"
	const nobody = "9 RX t2"
	// what 7 is at a reading
	const (
		same = iota
		idle
		next // in another statement
		aborted
		gone
		anew // another session has its pid
	)
	type look struct {
		locks string
		of7   int
	}
	tests := []struct {
		name  string
		looks []look
		want  Fate
		rest  string
	}{
		{"still there", []look{{before, same}}, Waits, "2 still wait"},
		{"on its way", []look{{nobody, same}}, Unseen, "whether 2 run was not seen"},
		{"goes on", []look{{nobody, same}, {nobody, same}}, Freed, ""},
		{"ended well", []look{{nobody, idle}}, Freed, ""},
		{"goes on to another statement", []look{{nobody, next}}, Freed, ""},
		{"waits in the next statement", []look{{"6 RX t1\n7 AX t1 @9", next}}, Freed, ""},
		{"waits for another", []look{{"6 RX t1\n7 AX t1 @9", same}}, Waits, "7 still waits, now for 6; whether 8 runs was not seen"},
		{"killed", []look{{"6 RX t1\n7 AX t1 @9", same}, {nobody, gone}}, Left, "7 is gone"},
		{"killed at once", []look{{nobody, gone}}, Left, "7 is gone; whether 8 runs was not seen"},
		{"its pid is another's", []look{{nobody, anew}}, Left, "7 is gone; whether 8 runs was not seen"},
		{"canceled", []look{{"6 RX t1\n7 AX t1 @9", same}, {nobody, idle}}, Over, "the statement of 7 ended later, after 6"},
		{"canceled in a transaction", []look{{nobody, aborted}}, Failed, "the transaction of 7 was aborted; whether 8 runs was not seen"},
		{"freed by another", []look{{"6 RX t1\n7 AX t1 @9", same}, {nobody, same}, {nobody, same}}, Later, "7 ran later, after 6"},
		{"held up again after it ran", []look{{nobody, same}, {nobody, same}, {"6 RX t1\n7 AX t1 @9", same}}, Freed, ""},
		{"prepared", []look{{"p1 RX t1\n7 AX t1 @9", same}}, Waits, "7 still waits, now for prepared transaction 1/1; whether 8 runs was not seen"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := reading(table(t, before))
			a := Follow(Build(nil, l, nil), Key{PID: 5}, []Key{{PID: 7}, {PID: 8}, {PID: 7}})
			var f *Forest
			for i, x := range tt.looks {
				l := reading(table(t, x.locks))
				all := []probes.Session{
					{PID: 6, BackendStart: epoch, QueryStart: epoch, State: "active"},
					{PID: 8, BackendStart: epoch, QueryStart: epoch, State: "active"},
				}
				of7 := probes.Session{PID: 7, BackendStart: epoch, QueryStart: epoch, State: "active"}
				switch x.of7 {
				case idle:
					of7.State = "idle"
				case next:
					of7.QueryStart = epoch.Add(time.Second)
				case aborted:
					of7.State = "idle in transaction (aborted)"
				case anew:
					of7.BackendStart = epoch.Add(time.Second)
				}
				if x.of7 != gone {
					all = append(all, of7)
				}
				f = Build(nil, l, nil)
				a.See(f, Look{Sessions: all, All: true, After: time.Duration(i+1) * time.Second})
			}
			if got := a.Fate(Key{PID: 7}); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if got := a.Rest(f); tt.rest != "" && got != tt.rest {
				t.Errorf("rest: got %q, want %q", got, tt.rest)
			}
		})
	}
}

// TestThoseInTurnAreFreedByTheOneBefore, and only if that one was freed.
func TestThoseInTurnAreFreedByTheOneBefore(t *testing.T) {
	at := func(pid int, state string) probes.Session {
		return probes.Session{PID: pid, BackendStart: epoch, QueryStart: epoch, State: state}
	}
	for _, first := range []string{"idle", "idle in transaction (aborted)"} {
		a := Follow(Build(nil, reading(table(t, "5 X x1\n7 S x1 @1\n8 S x1 @1")), nil), Key{PID: 5}, []Key{{PID: 8}, {PID: 7}})
		behind := Build(nil, reading(table(t, "7 X x2\n8 S x2 @3")), nil)
		a.See(behind, Look{Sessions: []probes.Session{at(7, "active"), at(8, "active")}, All: true, After: time.Second})
		none := Build(nil, nil, nil)
		a.See(none, Look{Sessions: []probes.Session{at(7, first), at(8, "idle")}, All: true, After: 2 * time.Second})
		want := map[string]Fate{"idle": Freed}[first]
		if want == "" {
			want = Over
		}
		if got := a.Fate(Key{PID: 8}); got != want {
			t.Errorf("7 is %s: got %s, want %s", first, got, want)
		}
		if n, _, settled := a.Freed(); !settled || (n == 2) != (want == Freed) {
			t.Errorf("7 is %s: %d freed, settled %v", first, n, settled)
		}
	}
}

// TestNobodyIsGoneWhoWasNotLookedFor: a list of sessions that is cut, or was not read.
func TestNobodyIsGoneWhoWasNotLookedFor(t *testing.T) {
	k := Key{PID: 7}
	for _, all := range [][]probes.Session{nil, {{PID: 1}}} {
		a := Follow(Build(nil, reading(table(t, "5 RX t1\n7 AX t1 @1")), nil), Key{PID: 5}, []Key{k})
		a.See(Build(nil, nil, nil), Look{Sessions: all, After: time.Second})
		if got := a.Fate(k); got != Unseen {
			t.Errorf("%d sessions: got %s", len(all), got)
		}
	}
}

// TestWhoLeftItsWaitBeforeTheEndIsNotFreed: 5 takes a while to obey, and 7 and 8 do not
// wait for that.
func TestWhoLeftItsWaitBeforeTheEndIsNotFreed(t *testing.T) {
	const (
		before = "5 RX t1\n7 AX t1 @1\n8 AX t1 @2"
		only8  = "5 RX t1\n8 AX t1 @2"
		nobody = "9 RX t2"
		anew   = "5 RX t1\n8 AX t1 @2\n7 AX t1 @3"
		queue  = "5 RX t1\n6 X a1\n6 AX t1 @1\n7 X a1 @1\n8 AX t1 @2" // 7 behind 6 behind 5
		others = "6 RX t2\n7 AX t2 @3\n5 RX t1\n8 AX t1 @2"
	)
	there := probes.Session{PID: 5, BackendStart: epoch, XactStart: epoch, QueryStart: epoch, State: "idle in transaction", XID: "700"}
	part := func(change func(s *probes.Session)) *probes.Session {
		s := there
		change(&s)
		return &s
	}
	rolledBack := part(func(s *probes.Session) { s.XID = "" }) // the locks go after the xid
	dropping := part(func(s *probes.Session) { s.XactStart = epoch.Add(time.Second) })
	type look struct {
		locks string
		five  *probes.Session // nil: gone
		of7   string          // state, "" the next statement, active
	}
	tests := []struct {
		name  string
		looks []look
		want  Fate
		rest  string
	}{
		{"timed out", []look{{only8, &there, "idle"}, {only8, &there, "idle"}, {nobody, nil, "idle"}}, Before, "7 left its wait while 5 was still there"},
		{"timed out in the reading before the end", []look{{only8, &there, "idle"}, {nobody, nil, "idle"}}, Freed, ""},
		{"goes on", []look{{only8, &there, "active"}, {only8, &there, "active"}}, Before, ""},
		{"asks once more", []look{{anew, &there, ""}, {anew, &there, ""}}, Waits, "2 still wait"},
		{"asks once more, and runs", []look{{anew, &there, ""}, {nobody, nil, "idle"}}, Freed, ""},
		{"waits for another in its next statement", []look{{others, &there, ""}, {others, &there, ""}}, Before, ""},
		{"on its way to the row's locker", []look{{nobody, &there, "active"}, {before, &there, "active"}, {nobody, nil, "idle"}}, Freed, ""},
		{"a list read before the end, locks after it", []look{{nobody, &there, "idle"}, {nobody, nil, "idle"}}, Freed, ""},
		{"behind one that gave up before", []look{{queue, &there, "active"}, {before, &there, "active"}, {nobody, nil, "idle"}}, Freed, ""},
		{"rolled back and not gone", []look{{nobody, rolledBack, "idle"}, {nobody, rolledBack, "idle"}}, Freed, ""},
		{"drops its temporary tables", []look{{nobody, dropping, "idle"}, {nobody, dropping, "idle"}}, Freed, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := reading(table(t, before))
			for i := range l.Procs {
				if l.Procs[i].PID == 5 {
					l.Procs[i] = there
				}
			}
			a := Follow(Build(nil, l, nil), Key{PID: 5}, []Key{{PID: 7}, {PID: 8}})
			var f *Forest
			for i, x := range tt.looks {
				of7 := probes.Session{PID: 7, BackendStart: epoch, QueryStart: epoch, State: x.of7}
				if x.of7 == "" {
					of7.State, of7.QueryStart = "active", epoch.Add(time.Second)
				}
				of8 := probes.Session{PID: 8, BackendStart: epoch, QueryStart: epoch, State: "active"}
				if x.five == nil {
					of8.State = "idle"
				}
				all := []probes.Session{of7, of8, {PID: 6, BackendStart: epoch, State: "active"}}
				if x.five != nil {
					all = append(all, *x.five)
				}
				l := reading(table(t, x.locks))
				for j := range l.Procs {
					if p := &l.Procs[j]; p.PID == 7 {
						*p = of7
					}
				}
				f = Build(nil, l, nil)
				a.See(f, Look{Sessions: all, All: true, After: time.Duration(i+1) * time.Second})
			}
			if got := a.Fate(Key{PID: 7}); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if got := a.Rest(f); tt.rest != "" && got != tt.rest {
				t.Errorf("rest: got %q, want %q", got, tt.rest)
			}
		})
	}
}

// TestWhoServesUsIsNotGone: a pooler hands out the backend of a transaction that is over.
func TestWhoServesUsIsNotGone(t *testing.T) {
	a := Follow(Build(nil, reading(table(t, "5 RX t1\n7 AX t1 @1\n8 AX t1 @1")), nil), Key{PID: 5}, []Key{{PID: 7}, {PID: 8}})
	a.See(Build(nil, nil, nil), Look{Sessions: []probes.Session{{PID: 6}}, All: true, Own: []int{7}, After: time.Second})
	if got := a.Fate(Key{PID: 7}); got != Freed {
		t.Errorf("it answers us: got %s", got)
	}
	if got := a.Fate(Key{PID: 8}); got != Left {
		t.Errorf("it is nowhere: got %s", got)
	}
}
