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
				a.See(f, all, true, time.Duration(i+1)*time.Second)
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
		a.See(behind, []probes.Session{at(7, "active"), at(8, "active")}, true, time.Second)
		none := Build(nil, nil, nil)
		a.See(none, []probes.Session{at(7, first), at(8, "idle")}, true, 2*time.Second)
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
		a.See(Build(nil, nil, nil), all, false, time.Second)
		if got := a.Fate(k); got != Unseen {
			t.Errorf("%d sessions: got %s", len(all), got)
		}
	}
}
