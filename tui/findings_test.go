package tui

import (
	"context"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// bare is a model without a budget file.
func bare(t *testing.T, w, h int, snaps []*probes.Snapshot) *drawn {
	t.Helper()
	o := Options{Source: &replay{snaps: snaps}}
	d := &drawn{newModel(o, environment{utf8: true}, newLink(context.Background(), o)), t}
	d.Init()
	d.send(tea.WindowSizeMsg{Width: w, Height: h})
	for _, s := range snaps {
		d.answer(s)
	}
	return d
}

// flat is a text without line ends and runs of blanks.
func flat(s string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("▌", " ", "!", " ", "~", " ").Replace(s)), " ")
}

func TestEveryFindingCanBeReadWhole(t *testing.T) {
	for _, w := range []int{40, 80} {
		d := draw(t, w, 24, Options{}, recorded(t, "incident"))
		if w == 80 {
			d.has("f findings")
		}
		d.press("f")
		all := d.frame.findings()
		if len(all) < 10 {
			t.Fatalf("only %d findings", len(all))
		}
		for i, x := range all {
			screen := flat(d.text())
			for _, want := range []string{flat(x.Message), flat(x.Action)} {
				if !strings.Contains(screen, want) {
					t.Errorf("width %d, finding %d: %q is not whole on screen:\n%s", w, i, want, d.text())
				}
			}
			d.press("j")
		}
	}
}

func TestFindingsAreWorstFirst(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	if all := d.frame.findings(); !slices.IsSortedFunc(all, func(a, b probes.Finding) int { return rank(a) - rank(b) }) {
		t.Errorf("not in order: %v", all)
	}
}

func TestAFindingOpensWhatItIsAbout(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	d.press("f", "enter")
	if _, ok := d.screen().(*sessionScreen); !ok || d.screen().name() != "pid 10333" {
		t.Errorf("the first finding, a cause, opens %q, want the session 10333", d.screen().name())
	}
	d.press("esc", "j", "enter")
	if _, ok := d.screen().(*roleScreen); !ok || d.screen().name() != "api" {
		t.Errorf("the second, its effect, opens %q, want the role api", d.screen().name())
	}
}

// TestMarksAreThoseOfTheFindings holds every row's sign against the findings
// about its role.
func TestMarksAreThoseOfTheFindings(t *testing.T) {
	for _, name := range []string{"incident", "masked"} {
		d := draw(t, 80, 24, Options{}, recorded(t, name))
		marked := 0
		for _, r := range d.frame.use.Rows {
			want := theme.Normal
			for _, x := range d.frame.findings() {
				switch {
				case x.Subject != r.Role || x.Severity == probes.Info:
				case x.Severity == probes.Error:
					want = theme.Crit
				case want == theme.Normal:
					want = theme.Warn
				}
			}
			if want != theme.Normal {
				marked++
			}
			if got := d.frame.sign(r.Role); got != want {
				t.Errorf("%s: %s is marked %q, its findings say %q", name, r.Role, theme.Sign(got), theme.Sign(want))
			}
		}
		if marked == 0 {
			t.Errorf("%s: no role has a mark", name)
		}
	}
}

func TestTheRoleOnTheLineHasItsWorstFindingBelow(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	d.press("j") // scheduler
	lines := strings.Split(d.text(), "\n")
	if !strings.Contains(lines[21], "scheduler logs in as superuser") || !strings.Contains(lines[22], "give it a login role") {
		t.Errorf("got\n%s\n%s", lines[21], lines[22])
	}
	d.press("enter")
	d.has("~ scheduler logs in as superuser")
	d.has("give it a login role without SUPERUSER")
}

func TestWithoutABudgetFile(t *testing.T) {
	d := bare(t, 80, 24, recorded(t, "incident"))
	golden(t, "roles-nofile-80x24", d.text())
	for _, no := range []string{"kept", "cap", "not in the budget"} {
		d.hasNot(no)
	}
	d.has("no budget file")
	d.has("now▼")
	last := 1 << 30
	for i, r := range d.frame.use.Rows {
		d.screen().list().Top()
		d.screen().list().Move(i)
		row, _ := d.screen().list().Selected()
		x, ok := d.frame.row(row.Key)
		if !ok || x.Now > last {
			t.Errorf("row %d, %s: %d after %d", i, r.Role, x.Now, last)
		}
		last = x.Now
		if f := d.frame.findingsOf(row.Key); len(f) == 0 && row.Sign != theme.Normal {
			t.Errorf("%s has a mark and no finding", row.Key)
		}
	}
	d.press("s", "s")
	d.hasNot("now▼") // the order at the start can be left
	d.answer(recorded(t, "incident")[5])
	d.hasNot("now▼")
}

func TestClientsStandAboveBackgroundProcesses(t *testing.T) {
	d := draw(t, 80, 24, Options{Screen: "sessions"}, recorded(t, "incident"))
	for _, keys := range [][]string{nil, {"S"}, {"s"}, {"s", "s"}, {"s", "s", "s", "s", "s", "s"}} {
		d.press(keys...)
		l := d.screen().list()
		n, _ := l.Count()
		below := 0
		for i := range n {
			l.Top()
			l.Move(i)
			r, _ := l.Selected()
			x := d.screen().(*sessionsScreen).byKey[r.Key]
			switch {
			case background(x):
				below++
				if r.Cells[1].Text != x.Kind {
					t.Errorf("%d: got role %q, want its kind %q", x.PID, r.Cells[1].Text, x.Kind)
				}
			case below > 0:
				t.Errorf("%v: client %d stands below a %d background processes", keys, x.PID, below)
			}
		}
		if below == 0 {
			t.Fatal("no background process")
		}
	}
}

func TestAFilterWithoutAHitSaysSo(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	d.press("/", "x", "y", "z", "enter")
	d.has("no row matches xyz; esc clears")
	d.press("esc")
	d.hasNot("no row matches")
}
