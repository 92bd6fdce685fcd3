package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// twoRoots is a reading in which the queued ALTER waits for a second session, too.
func twoRoots(t *testing.T) []*probes.Snapshot {
	t.Helper()
	all := recorded(t, "locks")
	for i, s := range all {
		out, l := *s, *s.Locks
		l.Rows, l.Waits = slices.Clone(l.Rows), slices.Clone(l.Waits)
		for _, r := range s.Locks.Rows {
			if r.PID == 23555 && r.Tag.Type == "relation" {
				r.PID, r.VXID = 23571, "21/2"
				l.Rows = append(l.Rows, r)
			}
		}
		for k := range l.Waits {
			if l.Waits[k].PID == 23556 {
				l.Waits[k].Blockers = []int{23555, 23571}
			}
		}
		out.Locks = &l
		all[i] = &out
	}
	return all
}

// TestTwoRootsNameTheSameWaiter: who waits for two is drawn once, and named under the
// other root, from where enter leads to it.
func TestTwoRootsNameTheSameWaiter(t *testing.T) {
	d := draw(t, 120, 50, locksOptions(), twoRoots(t))
	d.has("23556 migrate waits for this one too; it stands under 23555")
	d.goToRow("waits for this one too")
	d.press("enter")
	if l := d.selectedLine(); !strings.Contains(l, "alter table") {
		t.Errorf("enter leads to %q", l)
	}
	d.press("g", "/", "2", "3", "5", "5", "6", "enter")
	d.has("waits for this one too")
}

// TestForestHasTheRoomItNeeds: at 120 cells one reads what is waited for, and
// statements.
func TestForestHasTheRoomItNeeds(t *testing.T) {
	d := draw(t, 120, 40, locksOptions(), recorded(t, "locks"))
	for _, want := range []string{"AccessExclusive on ledger", "alter table ledger add column", "update acct set v = 1 where id = 1", "loses no committed work"} {
		d.has(want)
	}
	d.goToRow("▾ 23556")
	for _, want := range []string{"blocked by", "23555", "holds up 4 sessions", "cancel or terminate frees 4 sessions"} {
		d.has(want)
	}
	d = draw(t, 200, 50, locksOptions(), recorded(t, "locks"))
	d.goToRow("▾ 23556")
	d.has("│ pid 23556")
	d.has("alter table ledger add column")
}

// TestAFilterWithoutAHitIsSaid, also where heads of groups are always shown.
func TestAFilterWithoutAHitIsSaid(t *testing.T) {
	for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}} {
		for _, keys := range [][]string{{"1"}, {"1", "enter"}, {"2"}, {"4"}} {
			snaps := recorded(t, "incident")
			if keys[0] == "2" {
				snaps = recorded(t, "locks")
			}
			d := draw(t, size[0], size[1], Options{}, snaps)
			d.press(keys...)
			d.press("/", "z", "q", "x", "enter")
			d.has("no row matches zqx; esc clears")
			d.press("esc")
			d.hasNot("no row matches")
		}
	}
}

// TestWaitingAndPinnedAreAlwaysThere: at the design size with a budget and long names,
// too.
func TestWaitingAndPinnedAreAlwaysThere(t *testing.T) {
	s := *recorded(t, "incident")[5]
	s.Groups = slices.Clone(s.Groups)
	for i := range s.Groups {
		if strings.Contains(s.Groups[i].App, "exporter") {
			s.Groups[i].App = "werft:metrics-exporter-eu"
		}
	}
	for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}, {200, 50}} {
		d := draw(t, size[0], size[1], Options{}, []*probes.Snapshot{&s})
		i := d.at(" now busy")
		if i < 0 {
			t.Fatalf("no table:\n%s", d.text())
		}
		head := strings.Split(d.text(), "\n")[i]
		for _, want := range []string{"lock", "pin", "now", "cap"} {
			if !slices.Contains(strings.Fields(head), want) {
				t.Errorf("%v: %q is not among the columns %q", size, want, head)
			}
		}
	}
}

// TestBothRootsAreAdvised: where one root alone frees nobody, the header says to end
// both, and the dialog leads from one to the other.
func TestBothRootsAreAdvised(t *testing.T) {
	snaps := twoRoots(t)
	for i, s := range snaps { // nobody behind the ALTER
		snaps[i] = later(s, 0, 23559, 23564, 23565, 23566)
	}
	d, _ := enderDrawn(t, 120, 50, Options{}, snaps)
	d.has("* ▾ 23571    metrics   idle tx  AccessShare on ledger")
	for !strings.Contains(d.selectedLine(), "behind 23571") {
		d.press("j")
	}
	d.has("end both (terminate 23571 and 23555)")
	d.press("K")
	d.has("Terminate 23571?")
	d.says("recommended: end both")
	d.press("tab")
	d.has("Terminate 23555?")
	d.says("recommended: end both")
}

// TestNothingIsClaimedWithoutAReading: before the locks were ever read nobody is said
// to wait, or not to.
func TestNothingIsClaimedWithoutAReading(t *testing.T) {
	s := *recorded(t, "locks")[0]
	s.Locks = &probes.Locks{Late: "no answer within 500 ms", Waiting: 3}
	d := draw(t, 80, 24, locksOptions(), []*probes.Snapshot{&s})
	d.has("who waits for whom is not known: no answer within 500 ms")
	d.hasNot("nobody waits")
	d.hasNot("0 sessions")
}

// TestTreesAreMarkedAsTheyAreFound: the mark of a tree here is that of the finding about
// it on the other screens, however short its waits are.
func TestTreesAreMarkedAsTheyAreFound(t *testing.T) {
	s := *recorded(t, "locks")[1]
	l := *s.Locks
	l.Rows = slices.Clone(l.Rows)
	for i := range l.Rows {
		if !l.Rows[i].WaitStart.IsZero() {
			l.Rows[i].WaitStart = l.At.Add(-time.Second)
		}
	}
	l.Procs = slices.Clone(l.Procs)
	for i := range l.Procs {
		l.Procs[i].QueryStart = l.At.Add(-time.Second)
	}
	s.Locks = &l
	d := bare(t, 120, 50, []*probes.Snapshot{&s})
	d.press("2")
	d.has("! 1 waits behind prepared")
	d.has("~ 5 wait behind 23555")
	d.press("1")
	d.has("! 1 session waits behind prepared transaction")
}

// TestAQueueIsToldInOneLine, cut with an ellipsis where it is too long for the window.
func TestAQueueIsToldInOneLine(t *testing.T) {
	d := draw(t, 82, 24, locksOptions(), recorded(t, "locks"))
	d.goToRow("queued behind for")
	d.has("8 sessions wait for row (0,1) of acct, one after the other: api 4, scheduler 4")
	d = draw(t, 70, 24, locksOptions(), recorded(t, "locks"))
	d.goToRow("queued behind for")
	d.has("one after the other: api 4,…")
}

// TestWhatIsCutShowsIt: lines about a row that have no room end in an ellipsis within
// the width.
func TestWhatIsCutShowsIt(t *testing.T) {
	th := theme.New(theme.Plain, false)
	for _, tt := range []struct {
		lines []string
		h     int
		want  string
	}{
		{[]string{"a", "b"}, 2, "a|b"},
		{[]string{"a", "b", "c"}, 2, "a|b …"},
		{[]string{"a", "12345678", "c"}, 2, "a|123456 …"},
		{[]string{"a", "", "c"}, 2, "a|…"},
		{[]string{"a"}, 0, ""},
	} {
		if got := ansi.Strip(strings.Join(cutOff(th, tt.lines, 8, tt.h), "|")); got != tt.want {
			t.Errorf("%q in %d lines: got %q, want %q", tt.lines, tt.h, got, tt.want)
		}
	}
}

// TestSafeSnapshotAdviceIsAimedAt: the line that says what to end is about that.
func TestSafeSnapshotAdviceIsAimedAt(t *testing.T) {
	d, _ := enderDrawn(t, 120, 50, Options{}, recorded(t, "locks"))
	d.goToRow("begin it without DEFERRABLE")
	d.press("K")
	d.has("Terminate 23571?")
	d.press("esc")
	d.goToRow("waits for a safe snapshot")
	d.press("K")
	d.has("Terminate 23572?")
}
