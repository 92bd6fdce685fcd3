package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/probes"
)

func locksOptions() Options { return Options{Screen: "locks"} }

func TestGoldenLocks(t *testing.T) {
	snaps := recorded(t, "locks")
	ascii := locksOptions()
	ascii.ASCII = true
	calm := *snaps[0]
	calm.Locks = nil
	late := *snaps[1]
	old := *snaps[0].Locks
	old.Late = "no answer within 500 ms"
	late.Locks = &old
	tests := []struct {
		name  string
		w, h  int
		opt   Options
		snaps []*probes.Snapshot
		keys  []string
	}{
		{"locks-40x10", 40, 10, locksOptions(), snaps, nil},
		{"locks-80x24", 80, 24, locksOptions(), snaps, nil},
		{"locks-120x40", 120, 40, locksOptions(), snaps, []string{"j", "j"}},
		{"locks-ascii-80x24", 80, 24, ascii, snaps, nil},
		{"locks-unfolded-80x24", 80, 24, locksOptions(), snaps, []string{"j", "j", "j", "j", "l", "j"}},
		{"locks-filtered-80x24", 80, 24, locksOptions(), snaps, []string{"/", "l", "e", "d", "g", "e", "r", "enter"}},
		{"locks-path-80x24", 80, 24, locksOptions(), snaps, []string{"j", "j", "j", "j", "l", "j", "j", "z"}},
		{"locks-bottom-80x24", 80, 24, locksOptions(), snaps, []string{"G"}},
		{"locks-tree-120x40", 120, 40, locksOptions(), snaps, nil},
		{"locks-200x50", 200, 50, locksOptions(), snaps, []string{"j", "j"}},
		{"locks-two-roots-80x24", 80, 24, locksOptions(), twoRoots(t), []string{"G", "k", "k", "k", "k", "k", "k", "k", "k", "k", "k"}},
		{"locks-ended-120x40", 120, 40, locksOptions(), snaps, []string{"j", "j"}},
		{"locks-calm-80x24", 80, 24, locksOptions(), []*probes.Snapshot{&calm}, nil},
		{"locks-late-80x24", 80, 24, locksOptions(), []*probes.Snapshot{snaps[0], &late}, nil},
		{"locks-session-80x24", 80, 24, locksOptions(), snaps, []string{"j", "j", "enter"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := draw(t, tt.w, tt.h, tt.opt, tt.snaps)
			d.press(tt.keys...)
			if strings.Contains(tt.name, "ended") {
				d.answer(later(snaps[1], time.Minute, 23524))
			}
			golden(t, tt.name, d.text())
		})
	}
}

// selectedLine is the line under the cursor.
func (d *drawn) selectedLine() string {
	for _, l := range strings.Split(d.text(), "\n") {
		if strings.HasPrefix(l, d.theme.Select) {
			return l
		}
	}
	return ""
}

func (d *drawn) at(text string) int {
	for i, l := range strings.Split(d.text(), "\n") {
		if strings.Contains(l, text) {
			return i
		}
	}
	return -1
}

// worse is a reading in which the second tree does the most harm: its waits
// began long ago.
func worse(s *probes.Snapshot) *probes.Snapshot {
	out, l := *s, *s.Locks
	l.Rows = append([]probes.LockRow{}, l.Rows...)
	for i := range l.Rows {
		if l.Rows[i].Tag.Type == "relation" && !l.Rows[i].WaitStart.IsZero() {
			l.Rows[i].WaitStart = l.Rows[i].WaitStart.Add(-10 * time.Minute)
		}
	}
	out.Locks, out.Seq, out.At = &l, s.Seq+1, s.At.Add(time.Second)
	return &out
}

func TestTreesStayWhileTheyAreLookedAt(t *testing.T) {
	snaps := recorded(t, "locks")
	const first, second = "wait behind 23524", "wait behind 23555"
	d := draw(t, 80, 24, locksOptions(), snaps)
	if d.at(first) > d.at(second) {
		t.Fatalf("the tree with the most harm is not first:\n%s", d.text())
	}
	d.press("j", "j", "j")
	line := d.selectedLine()
	d.answer(worse(snaps[1]))
	if d.at(first) > d.at(second) || d.selectedLine() != line {
		t.Errorf("the rows moved under the cursor:\n%s", d.text())
	}
	d.press("r")
	d.answer(worse(snaps[1]))
	if d.at(first) < d.at(second) {
		t.Errorf("r does not sort again:\n%s", d.text())
	}
	if !strings.Contains(d.selectedLine(), second) {
		t.Errorf("the cursor is not on the worst tree: %q", d.selectedLine())
	}
}

func TestUntouchedScreenShowsTheWorstFirst(t *testing.T) {
	snaps := recorded(t, "locks")
	d := draw(t, 80, 24, locksOptions(), snaps)
	d.answer(worse(snaps[1]))
	if !strings.Contains(d.selectedLine(), "wait behind 23555") {
		t.Errorf("the worst tree is not on top:\n%s", d.text())
	}
}

func TestFollowFindsTheSessionAgain(t *testing.T) {
	snaps := recorded(t, "locks")
	d := draw(t, 80, 24, locksOptions(), snaps)
	for !strings.Contains(d.selectedLine(), "23564") {
		d.press("j")
	}
	d.press("o")
	d.has("the cursor follows 23564")
	gone := *snaps[1]
	gone.Locks = nil
	d.answer(&gone)
	d.has("nobody waits for a lock")
	d.answer(worse(snaps[1])) // it waits again, in another place
	if !strings.Contains(d.selectedLine(), "23564") {
		t.Errorf("the cursor is on %q", d.selectedLine())
	}
	d.press("g")
	d.answer(snaps[1])
	if strings.Contains(d.selectedLine(), "23564") {
		t.Error("the cursor does not let go")
	}
}

func TestQueueFoldsByItself(t *testing.T) {
	d := draw(t, 80, 24, locksOptions(), recorded(t, "locks"))
	d.has("8 queued behind")
	d.hasNot("23548")
	for !strings.Contains(d.selectedLine(), "queued behind") {
		d.press("j")
	}
	d.press("l")
	d.has("23548")
	d.answer(recorded(t, "locks")[0])
	d.has("23548")
	d.press("h")
	d.hasNot("23548")
	d.press("/", "2", "3", "5", "4", "8", "enter")
	d.has("/23548") // hidden rows are found by what hides them
	d.has("8 queued behind")
	d.hasNot("wait behind 23555")
}

func TestLockScreenAsksForNothingMore(t *testing.T) {
	d := draw(t, 80, 24, locksOptions(), recorded(t, "locks"))
	var w probes.Want
	d.screen().want(&w)
	if w != (probes.Want{}) {
		t.Errorf("wants %+v, want nothing", w)
	}
}

// ender is a replay that ends sessions.
type ender struct {
	replay
	got []probes.Target
	r   probes.Result
	err error
}

func (e *ender) Cancel(_ context.Context, t probes.Target) (probes.Result, error) {
	e.got = append(e.got, t)
	return e.r, e.err
}

func (e *ender) Terminate(ctx context.Context, t probes.Target) (probes.Result, error) {
	return e.Cancel(ctx, t)
}

// enderDrawn is a model whose source can end sessions.
func enderDrawn(t *testing.T, w, h int, o Options, snaps []*probes.Snapshot) (*drawn, *ender) {
	t.Helper()
	src := &ender{replay: replay{snaps: snaps}, r: probes.Result{Outcome: probes.Sent, At: snaps[1].At}}
	o.Source, o.Budget, o.Screen = src, exampleBudget(t), "locks"
	d := &drawn{newModel(o, environment{utf8: true}, newLink(context.Background(), o)), t}
	d.Init()
	d.send(tea.WindowSizeMsg{Width: w, Height: h})
	for _, s := range snaps {
		d.answer(s)
	}
	return d, src
}

func TestGoldenEnd(t *testing.T) {
	snaps := recorded(t, "locks")
	to := func(d *drawn, text string) {
		d.press("g")
		for range 40 {
			if strings.Contains(d.selectedLine(), text) {
				return
			}
			d.press("j")
		}
		t.Fatalf("%q is not in the list", text)
	}
	tests := []struct {
		name string
		w, h int
		row  string
		keys []string
	}{
		{"end-cancel-idle-80x24", 80, 24, "23524     api", []string{"C"}},
		{"end-cancel-idle-40x10", 40, 10, "wait behind 23524", []string{"C"}},
		{"end-terminate-80x24", 80, 24, "wait behind 23524", []string{"K"}},
		{"end-victim-80x24", 80, 24, "23559", []string{"C"}},
		{"end-victim-root-80x24", 80, 24, "23559", []string{"C", "tab"}},
		{"end-prepared-80x24", 80, 24, "prepared             prepared", []string{"K"}},
		{"end-sent-120x40", 120, 40, "23524     api", []string{"K", "y"}},
		{"end-header-80x24", 80, 24, "wait behind 23555", []string{"K"}},
		{"end-header-40x10", 40, 10, "wait behind 23555", []string{"K"}},
		{"end-advised-80x24", 80, 24, "wait behind 23555", []string{"K", "tab"}},
		{"end-prepared-40x10", 40, 10, "waits behind prepared", []string{"K"}},
		{"prepared-80x24", 80, 24, "waits behind prepared", []string{"enter"}},
		{"prepared-40x10", 40, 10, "waits behind prepared", []string{"enter"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, _ := enderDrawn(t, tt.w, tt.h, Options{}, snaps)
			to(d, tt.row)
			d.press(tt.keys...)
			golden(t, tt.name, d.text())
		})
	}
}

func TestEndIsAskedWithWhatWasSeen(t *testing.T) {
	snaps := recorded(t, "locks")
	d, src := enderDrawn(t, 80, 24, Options{}, snaps)
	d.press("j", "j", "K")
	d.has("Terminate 23524?")
	_, cmd := d.Update(keyPress("y"))
	runCmd(cmd)
	if len(src.got) != 1 {
		t.Fatalf("sent %d, want 1", len(src.got))
	}
	var root probes.Session
	for _, s := range snaps[1].Locks.Procs {
		if s.PID == 23524 {
			root = s
		}
	}
	want := probes.Target{PID: 23524, BackendStart: root.BackendStart, XactStart: root.XactStart, Victim: 23525}
	if src.got[0] != want {
		t.Errorf("got %+v, want %+v", src.got[0], want)
	}
}

// runCmd runs a command and those it is made of.
func runCmd(cmd tea.Cmd) []tea.Msg {
	if cmd == nil {
		return nil
	}
	msg := cmd()
	if b, ok := msg.(tea.BatchMsg); ok {
		var out []tea.Msg
		for _, c := range b {
			out = append(out, runCmd(c)...)
		}
		return out
	}
	return []tea.Msg{msg}
}

// TestEffectIsSaid plays what came after a signal.
func TestEffectIsSaid(t *testing.T) {
	snaps := recorded(t, "locks")
	later := func(s *probes.Snapshot, after time.Duration, locks bool) *probes.Snapshot {
		out := *s
		out.At = s.At.Add(after)
		if locks {
			l := *s.Locks
			l.At = s.Locks.At.Add(after)
			out.Locks = &l
		} else {
			out.Locks, out.Sessions = nil, slices.Clone(s.Locks.Procs)
			out.Sessions = slices.DeleteFunc(out.Sessions, func(x probes.Session) bool { return x.PID == 23524 })
			for i := range out.Sessions {
				out.Sessions[i].State = "idle"
			}
		}
		return &out
	}
	there := func(after time.Duration) *probes.Snapshot { return later(snaps[1], after, true) }
	gone := func(after time.Duration) *probes.Snapshot { return later(snaps[1], after, false) }
	unread := gone(300 * time.Millisecond) // a reading that was under way: nobody waits, and whether 23524 is there it does not say
	unread.Sessions = nil
	tests := []struct {
		name  string
		r     probes.Result
		after []*probes.Snapshot
		say   string
	}{
		{"freed", probes.Result{Outcome: probes.Sent}, []*probes.Snapshot{gone(300 * time.Millisecond), gone(400 * time.Millisecond)}, "terminated 23524: freed 9 of 9 after 0.3 s"},
		{"not yet", probes.Result{Outcome: probes.Sent}, []*probes.Snapshot{there(time.Second)}, "sent: watching what it does"},
		{"pending", probes.Result{Outcome: probes.Sent}, []*probes.Snapshot{there(time.Second), there(6 * time.Second)}, "not acted on yet, the signal is pending: 23524 is still there after 6.0 s"},
		{"pending, and then", probes.Result{Outcome: probes.Sent}, []*probes.Snapshot{there(6 * time.Second), gone(8 * time.Second), gone(9 * time.Second)}, "terminated 23524: freed 9 of 9 after 8.0 s"},
		{"did not help", probes.Result{Outcome: probes.Sent}, []*probes.Snapshot{there(6 * time.Second), there(61 * time.Second)}, "it did not help, the signal is still pending: 23524 is still there after 61.0 s"},
		{"not read", probes.Result{Outcome: probes.Sent}, []*probes.Snapshot{unread, there(6 * time.Second)}, "not acted on yet"},
		{"not known", probes.Result{}, []*probes.Snapshot{there(time.Second)}, "not known whether it was sent (the connection was lost): watching"},
		{"not known, and there", probes.Result{}, []*probes.Snapshot{there(6 * time.Second)}, "not known whether it was sent (the connection was lost): 23524 is still there after 6.0 s (idle in transaction): try again"},
		{"not known, and gone", probes.Result{}, []*probes.Snapshot{gone(time.Second), gone(2 * time.Second)}, "not known whether it was sent (the connection was lost), but 23524 is gone: freed 9 of 9 after 1.0 s"},
		{"not sent", probes.Result{Outcome: probes.NotSent, Why: "the connection to the server was lost: try again"}, nil, "nothing was sent: the connection to the server was lost: try again"},
		{"changed", probes.Result{Outcome: probes.Changed, Why: "it is another session"}, nil, "nothing was sent: it is another session"},
		{"not permitted", probes.Result{Outcome: probes.NotPermitted, Why: "permission denied", Grant: "pg_signal_backend"}, nil, "permission denied; it needs pg_signal_backend"},
		{"a superuser's", probes.Result{Outcome: probes.NotPermitted, Why: probes.WhyMissing("superuser"), Grant: "superuser"}, nil, "only a superuser may end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, src := enderDrawn(t, 80, 24, Options{}, snaps)
			tt.r.At = snaps[1].Locks.At
			src.r = tt.r
			if tt.r.Outcome == "" {
				src.err = errors.New("the connection was lost")
			}
			d.press("K")
			_, cmd := d.Update(keyPress("y"))
			for _, m := range runCmd(cmd) {
				d.Update(m)
			}
			for _, s := range tt.after {
				d.answer(s)
			}
			if s := strings.Join(strings.Fields(strings.ReplaceAll(d.text(), "│", " ")), " "); !strings.Contains(s, tt.say) {
				t.Errorf("%q is not said:\n%s", tt.say, d.text())
			} else if strings.Contains(s, "it needs superuser") {
				t.Errorf("a superuser is asked for twice:\n%s", d.text())
			}
			d.press("x")
			if d.over != nil {
				t.Error("a key does not close the dialog")
			}
		})
	}
}

// TestHarmfulNeedsTwoKeys is about a session that should not be ended.
func TestHarmfulNeedsTwoKeys(t *testing.T) {
	snaps := recorded(t, "locks")
	for _, s := range snaps {
		for i := range s.Locks.Procs {
			if s.Locks.Procs[i].PID == 23524 {
				s.Locks.Procs[i].Kind = "walsender"
			}
		}
	}
	d, src := enderDrawn(t, 80, 24, Options{}, snaps)
	d.press("j", "j", "K")
	d.has("would do harm: a replication connection")
	d.press("y", "y", "n", "K", "tab", "y")
	d.has("sure? Y does it all the same")
	if d.ending.n != 0 {
		t.Fatal("y alone sent it")
	}
	_, cmd := d.Update(keyPress("Y"))
	runCmd(cmd)
	if len(src.got) != 1 || !src.got[0].Force {
		t.Errorf("sent %+v, want one with force", src.got)
	}
}

// TestEndDoesNotWaitForALateReading ends a session while a tick hangs.
func TestEndDoesNotWaitForALateReading(t *testing.T) {
	snaps := recorded(t, "locks")
	src := &ender{replay: replay{snaps: snaps}, r: probes.Result{Outcome: probes.Gone, Why: "no backend 23524 any more"}}
	r := start(t, t.Context(), 80, 24, Options{
		Screen: "locks", Interval: 20 * time.Millisecond,
		Open: func(context.Context) (Source, error) { return src, nil },
	}, &src.replay)
	r.until("wait behind 23524")
	src.set(func(s *replay) { s.slow = time.Hour })
	time.Sleep(100 * time.Millisecond)
	r.typeKeys("K")
	r.until("y terminate 23524")
	r.typeKeys("y")
	r.until("nothing was sent: no backend 23524 any more")
	r.quit()
}

// TestPastIsNotEnded looks back: what is seen there may be long over.
func TestPastIsNotEnded(t *testing.T) {
	d, _ := enderDrawn(t, 80, 24, Options{}, recorded(t, "locks"))
	d.press("[", "K")
	d.has("this is the past")
	if d.over != nil {
		t.Error("the dialog is open")
	}
}
