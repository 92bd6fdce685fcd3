package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// goToRow puts the cursor on the first row that contains text.
func (d *drawn) goToRow(text string) {
	d.t.Helper()
	d.press("g")
	for range 60 {
		if strings.Contains(d.selectedLine(), text) {
			return
		}
		d.press("j")
	}
	d.t.Fatalf("%q is not in the list:\n%s", text, d.text())
}

// words is the window without boxes and line ends.
func (d *drawn) words() string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "▌", " ", "─", " ").Replace(d.text())), " ")
}

func (d *drawn) says(text string) {
	d.t.Helper()
	if s := d.words(); !strings.Contains(s, text) {
		d.t.Errorf("%q is not said:\n%s", text, d.text())
	}
}

// TestEndOnAHeaderAimsAtTheRoot: what the header advises about another session is
// one key away, with its verb.
func TestEndOnAHeaderAimsAtTheRoot(t *testing.T) {
	snaps := recorded(t, "locks")
	for _, row := range []string{"wait behind 23555", "cancel 23556", "▾ 23555"} {
		d, _ := enderDrawn(t, 80, 24, Options{}, snaps)
		d.goToRow(row)
		d.press("K")
		d.has("Terminate 23555?")
		d.says("recommended: cancel 23556, the queued ALTER")
		d.has("tab advised: cancel 23556")
		d.has("y terminate 23555")
		d.press("tab")
		d.has("Cancel 23556?")
		d.has("y cancel 23556")
		d.hasNot("recommended")
		d.press("tab")
		d.has("Terminate 23555?")
	}
}

// TestDialogAgreesWithTheHeader is about a verb that does nothing to a root which
// the header advises to terminate.
func TestDialogAgreesWithTheHeader(t *testing.T) {
	d, _ := enderDrawn(t, 80, 24, Options{}, recorded(t, "locks"))
	d.goToRow("wait behind 23524")
	d.press("C")
	d.has("Cancel 23524?")
	d.says("cancel does nothing")
	d.says("K, recommended: terminate 23524")
	d.hasNot("y cancel")
	d.press("K")
	d.has("y terminate 23524")
	d.hasNot("recommended")
}

// TestEndSaysWhoRunsAtOnce holds that those who run in turn are not counted with
// those who run at once.
func TestEndSaysWhoRunsAtOnce(t *testing.T) {
	d, _ := enderDrawn(t, 80, 24, Options{}, recorded(t, "locks"))
	d.hasNot("frees 9")
	d.press("K")
	d.hasNot("≤8")
	d.says("terminate frees 1 at once, up to 8 in turn")
	d.hasNot("frees 9")
	d.press("esc", "j", "j")
	d.hasNot("frees 9")
}

// later is a reading after d, without the locks and sessions of some pids.
func later(s *probes.Snapshot, d time.Duration, gone ...int) *probes.Snapshot {
	out := *s
	out.Seq, out.At = s.Seq+1, s.At.Add(d)
	is := func(pid int) bool {
		for _, g := range gone {
			if g == pid {
				return true
			}
		}
		return false
	}
	out.Sessions = nil
	for _, x := range s.Sessions {
		if !is(x.PID) {
			out.Sessions = append(out.Sessions, x)
		}
	}
	if s.Locks != nil {
		l := *s.Locks
		l.At, l.Rows, l.Waits, l.Procs = l.At.Add(d), nil, nil, nil
		for _, r := range s.Locks.Rows {
			if !is(r.PID) {
				l.Rows = append(l.Rows, r)
			}
		}
		for _, w := range s.Locks.Waits {
			if !is(w.PID) {
				l.Waits = append(l.Waits, w)
			}
		}
		for _, p := range s.Locks.Procs {
			if !is(p.PID) {
				l.Procs = append(l.Procs, p)
			}
		}
		out.Locks = &l
	}
	return &out
}

// TestAnEndedRowStandsStill: what ended under the cursor is said to have ended, keeps
// its last figures, and is not for ending.
func TestAnEndedRowStandsStill(t *testing.T) {
	snaps := recorded(t, "locks")
	d, _ := enderDrawn(t, 120, 40, Options{}, snaps)
	d.goToRow("23568")
	d.answer(later(snaps[1], 5*time.Minute, 23568))
	first := d.text()
	for _, want := range []string{"x", "23568", "left", "0:13"} {
		if !strings.Contains(d.selectedLine(), want) {
			t.Errorf("%q is not in the row %q", want, d.selectedLine())
		}
	}
	d.says("left: 23568 waits for nothing and blocks nobody any more; as it was at 11:37:53Z")
	d.answer(later(snaps[1], 15*time.Minute, 23568))
	pick := func(s string) []string {
		var out []string
		for _, l := range strings.Split(s, "\n") {
			if strings.Contains(l, "23568") || strings.Contains(l, "transaction 0:") {
				out = append(out, l)
			}
		}
		return out
	}
	if a, b := strings.Join(pick(first), "\n"), strings.Join(pick(d.text()), "\n"); a != b {
		t.Errorf("its figures go on:\n%s\nthen\n%s", a, b)
	}
	for _, k := range []string{"K", "C"} {
		d.press(k)
		if d.over != nil {
			t.Fatalf("%s opens a dialog about a row that ended", k)
		}
		d.has("waits for nothing and blocks nobody any more")
	}
}

func TestAnEndedSessionStandsStill(t *testing.T) {
	all := recorded(t, "incident")
	o := Options{Screen: "sessions", Source: &ender{replay: replay{snaps: all}}, Budget: exampleBudget(t)}
	d, _ := enderDrawn(t, 120, 40, o, all)
	d.press("4", "j")
	d.has("pid 10334")
	gone := later(all[5], 10*time.Minute, 10334)
	d.answer(gone)
	for _, want := range []string{"x 10334", "ended", "0:53"} {
		if !strings.Contains(d.selectedLine(), want) {
			t.Errorf("%q is not in the row %q", want, d.selectedLine())
		}
	}
	d.has("~ ended; as it was at")
	d.has("transaction 0:53")
	d.hasNot("10:53  10:53 select * from orders where id = 4711")
	d.press("K")
	if d.over != nil {
		t.Error("a session that ended can be ended")
	}
	d.has("pid 10334 has ended")
	d.press("enter")
	d.has("ended; was active for 0:53")
	d.has("transaction 0:53")
	d.hasNot("K terminate")
	d.press("C")
	d.has("pid 10334 has ended")
}

// TestDialogAboutAnEndedSession: while the dialog is open the session ends.
func TestDialogAboutAnEndedSession(t *testing.T) {
	snaps := recorded(t, "locks")
	d, src := enderDrawn(t, 80, 24, Options{}, snaps)
	d.goToRow("23568")
	d.press("K")
	d.has("y terminate 23568")
	d.answer(later(snaps[1], 5*time.Minute, 23568))
	d.says("ended: there is no such session any more")
	d.hasNot("y terminate")
	d.says("active for 0:13, transaction 0:13")
	_, cmd := d.Update(keyPress("y"))
	runCmd(cmd)
	if len(src.got) != 0 || d.ending.n != 0 {
		t.Error("y ended a session that is gone")
	}
	d.press("esc")

	all := recorded(t, "incident")
	d, _ = enderDrawn(t, 80, 24, Options{}, all)
	d.press("4", "G")
	for !strings.Contains(d.selectedLine(), "10345") {
		d.press("k")
	}
	d.press("K")
	d.has("y terminate 10345")
	d.answer(later(all[5], 5*time.Minute, 10345))
	d.says("ended: there is no such session any more")
	d.hasNot("y terminate")
}

// TestPreparedTransactionIsOpened: enter shows what it is and what ends it, which y
// copies here, in the list and in the dialog, as a whole.
func TestPreparedTransactionIsOpened(t *testing.T) {
	const sql = "ROLLBACK PREPARED 'move 4711'"
	copied := func(d *drawn, k string) {
		t.Helper()
		var res result
		if d.over != nil {
			res, _ = d.over.key(k, none)
		} else {
			res, _ = d.screen().act(d.keys.byKey[k])
		}
		if res.copy != sql {
			t.Errorf("%s copies %q", k, res.copy)
		}
	}
	for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}} {
		d, _ := enderDrawn(t, size[0], size[1], Options{}, recorded(t, "locks"))
		d.goToRow("▾ prepared")
		copied(d, "y")
		d.press("K")
		if size[1] > 10 {
			d.says(sql)
		}
		copied(d, "c")
		d.press("esc")
		d.press("enter")
		d.has("> prepared \"move 4711\"")
		seen := d.words()
		for range 20 {
			d.press("j")
			seen += d.words()
		}
		for _, want := range []string{"gid", "owner", "postgres", "0:13 ago", "row (0,1) of job", "1 session", sql + ";", "cannot reach it"} {
			if !strings.Contains(seen, want) {
				t.Errorf("%v: %q is not on its screen:\n%s", size, want, seen)
			}
		}
		copied(d, "y")
		d.press("K")
		d.has("End prepared")
		d.press("esc", "esc")
		d.has("> Locks"[2:])
		d.goToRow("wait")
	}
	d, _ := enderDrawn(t, 80, 24, Options{}, recorded(t, "locks"))
	d.goToRow("1 waits behind prepared")
	d.press("j")
	d.has("→ " + sql)
	d.press("enter")
	d.has("0:13 ago")
	d.answer(later(recorded(t, "locks")[1], time.Minute, 0, 23568))
	d.says("nobody waits for it any more")
	d.has("0:13 ago")
}

// TestTheRecommendationKeepsUp: its figures are of the same reading as the others.
func TestTheRecommendationKeepsUp(t *testing.T) {
	snaps := recorded(t, "locks")
	d, _ := enderDrawn(t, 80, 24, Options{}, snaps)
	d.goToRow("wait behind 23555")
	d.press("K")
	d.says("the queued ALTER: frees 4 and loses")
	d.answer(later(snaps[1], time.Second, 23566))
	d.says("the queued ALTER: frees 3 and loses")
	d.has("frees 1 at once, up to 3 in turn")
}

// TestNothingIsSentIsSaid: a process that takes no signal, or not from this login.
func TestNothingIsSentIsSaid(t *testing.T) {
	all := recorded(t, "incident")
	for _, s := range all {
		for i := range s.Sessions {
			if s.Sessions[i].PID == 10345 {
				s.Sessions[i].Kind, s.Sessions[i].Query = "slotsync worker", ""
			}
		}
	}
	d, _ := enderDrawn(t, 80, 24, Options{}, all)
	d.press("4", "G")
	for !strings.Contains(d.selectedLine(), "10345") {
		d.press("k")
	}
	d.press("K")
	d.says("would do harm")
	d.press("C")
	d.has("pgsonde checks once more")
	d.press("esc", "2")
	d, _ = enderDrawn(t, 80, 24, Options{}, recorded(t, "locks"))
	d.press("C") // the root is idle in a transaction
	d.has("nothing is sent to the server")
	d.press("K")
	d.has("pgsonde checks first that it is the same session; who is freed may wait anew")
}
