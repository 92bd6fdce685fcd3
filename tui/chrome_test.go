package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/theme"
)

func TestGauge(t *testing.T) {
	g := theme.New(theme.Plain, false).Glyphs
	for _, tt := range []struct {
		used, usable, all int
		want              string
	}{
		{0, 97, 100, "···········░"},
		{1, 97, 100, "█··········░"},
		{96, 97, 100, "██████████·░"},
		{97, 97, 100, "████████████"},
		{99, 97, 100, "████████████"},
	} {
		full, rest, kept := gauge(g, tt.used, tt.usable, tt.all, 12)
		if got := full + rest + kept; got != tt.want {
			t.Errorf("%d of %d: got %s, want %s", tt.used, tt.usable, got, tt.want)
		}
	}
}

// TestHeaderKeepsCostAndVersion holds that a long socket folder goes before them.
func TestHeaderKeepsCostAndVersion(t *testing.T) {
	s := *recorded(t, "incident")[5]
	s.Server.Target = "/home/somebody/.cache/pgsonde/run/a/long/folder/socket:5432/werft"
	d := draw(t, 80, 24, Options{}, []*probes.Snapshot{&s})
	head, _, _ := strings.Cut(d.text(), "\n")
	for _, want := range []string{"…", "/werft", "own ", s.Server.Version, "primary"} {
		if !strings.Contains(head, want) {
			t.Errorf("%q is not in %q", want, head)
		}
	}
}

func TestSayingsGoAway(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "locks"))
	d.press("+")
	d.has("reads every")
	d.send(hushMsg{d.flash.n})
	d.hasNot("reads every")
	d.press("-", "2")
	d.hasNot("reads every")
	d.press("-", "?")
	d.has("esc back")
	d.hasNot("reads every")
}

func TestThePastIsMarkedOnceAndSaysHowToLeave(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	d.press("space", "[", "[")
	d.has("esc present")
	d.has("[ ] step")
	d.has("paused")
	if n := strings.Count(d.text(), clock(d.frame.snap.At)); n != 1 {
		t.Errorf("its time is shown %d times:\n%s", n, d.text())
	}
	d.press("esc")
	d.hasNot("esc present")
}

func TestAServerThatIsAway(t *testing.T) {
	down := func(text string) *probes.Unavailable {
		return &probes.Unavailable{State: "restarting", Err: errors.New(text), RetryIn: 2 * time.Second}
	}
	d := draw(t, 80, 24, Options{Target: "db1:5432/werft"}, recorded(t, "incident"))
	plain := d.lines()[4]
	away := func(e error) {
		d.read.busy = true
		d.send(answerMsg{gen: d.read.asked, err: e, at: time.Unix(1_700_000_004, 0), next: time.Second})
	}
	away(down("connection refused"))
	d.has("~ 4 s old")
	d.has("not answering, retrying in 2 s")
	d.hasNot("restarting")
	if d.lines()[4] == plain {
		t.Error("old numbers look like new ones")
	}
	away(down("FATAL: terminating connection (SQLSTATE 57P01)"))
	d.has("restarting, retrying in 2 s")
	d.answer(recorded(t, "incident")[5])
	if d.lines()[4] != plain {
		t.Error("new numbers look like old ones")
	}
}

func TestStepKeepsTheRow(t *testing.T) {
	d := draw(t, 80, 24, Options{Screen: "locks"}, recorded(t, "locks"))
	for range 3 {
		d.press("j")
	}
	row, _ := d.screen().list().Selected()
	for _, k := range []string{"[", "[", "]", "[", "z", "z"} {
		d.press(k)
		if got, _ := d.screen().list().Selected(); got.Key != row.Key {
			t.Errorf("after %s the cursor is on %s, want %s", k, got.Key, row.Key)
		}
		d.hasNot("for 0 causes")
	}
	d.press("z")
	d.has("one path of them shown")
	d.press("z", "r") // read now: in the past nothing comes
	d.hasNot("for 0 causes")
}

// TestNoSignalForPartsOfTheServer holds that a process that cannot be signalled is
// refused at once.
func TestNoSignalForPartsOfTheServer(t *testing.T) {
	d := draw(t, 80, 24, Options{Screen: "sessions"}, recorded(t, "incident"))
	for i, x := range d.frame.snap.Sessions {
		if unsignalled(x.Kind) {
			d.screen().list().Select(sessionKey(&d.frame.snap.Sessions[i]))
		}
	}
	x := d.screen().(*sessionsScreen).selected()
	if !unsignalled(x.Kind) {
		t.Fatal("no such process in the recording")
	}
	e := newEndDialog(d.frame, &endWish{verb: verbOf(actTerminate), x: x})
	if useful(effectOf(e.verb, e.now().advice)) {
		t.Errorf("%s is offered to be ended", x.Kind)
	}
	e.load(d.frame)
	if e.now().gone {
		t.Error("it waited for nothing before, either")
	}
}

func TestHelpShowsEveryKeyAndSign(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 10}, {120, 40}} {
		d := draw(t, size[0], size[1], Options{}, recorded(t, "incident"))
		d.press("?")
		seen := d.text()
		for range 30 {
			d.press("j")
			seen += d.text()
		}
		for _, b := range d.keys.all {
			if !strings.Contains(seen, b.Help().Desc) {
				t.Errorf("%v: %q is on no page", size, b.Help().Desc)
			}
		}
		for _, want := range []string{"look at it", "others wait for it", "at most", "idle, or kept back", "Lists", "Explain"} {
			if !strings.Contains(seen, want) {
				t.Errorf("%v: %q is on no page", size, want)
			}
		}
		d.press("esc")
		d.hasNot("Everywhere")
	}
}

// TestTitleAlwaysNamesTheScreen holds that no window and no state pushes the name of
// the screen out, and that at 80 cells the views are there whatever the state.
func TestTitleAlwaysNamesTheScreen(t *testing.T) {
	down := &probes.Unavailable{State: "not answering", Err: errors.New("x"), RetryIn: 12 * time.Second}
	for _, size := range [][2]int{{40, 10}, {46, 12}, {60, 20}, {80, 24}, {120, 40}} {
		for _, poolers := range []bool{false, true} {
			o := Options{}
			if poolers {
				o.Consoles = silentConsoles{}
			}
			d := draw(t, size[0], size[1], o, recorded(t, "incident"))
			check := func(state, want string) {
				t.Helper()
				line := strings.Split(d.text(), "\n")[1]
				if !strings.Contains(line, want) {
					t.Errorf("%v, %s: %q is not in %q", size, state, want, line)
				}
				for i, v := range d.views {
					if whole := fmt.Sprintf("%d %s", i+1, v.title); size[0] >= 80 && !strings.Contains(line, whole) {
						t.Errorf("%v, %s: view %q is not in %q", size, state, whole, line)
					}
				}
			}
			for i, v := range d.views {
				d.press(fmt.Sprint(i + 1))
				check("live", fmt.Sprintf(" %d %s ", i+1, v.title))
			}
			d.press("1")
			d.press("/", "a", "p", "i", "enter")
			check("filtered", "1 Roles")
			check("filtered", "/api")
			d.press("esc")
			d.read.down, d.read.late = down, 75*time.Second
			check("away", "! not answering")
			d.read.down, d.read.late = nil, 0
			d.press("space", "[")
			check("past", " back")
			check("past", "paused")
			d.press("esc", "space", "enter", "j", "enter")
			if size[0] < 80 {
				check("deep", "> pid 10334")
			}
		}
	}
}

// TestHeaderCutsTheHostInItsMiddle holds that a long host leaves room for the gauge,
// the age and the own cost.
func TestHeaderCutsTheHostInItsMiddle(t *testing.T) {
	s := *recorded(t, "incident")[5]
	s.Server.Target = "orders-primary-0.a-very-long-cluster-name.eu-central-1.rds.example.com:5432/werft"
	for _, w := range []int{80, 120, 200} {
		d := draw(t, w, 24, Options{}, []*probes.Snapshot{&s})
		head := func() string { return strings.Split(d.text(), "\n")[0] }
		for _, want := range []string{" orders", "com:5432/werft", "38/57", "█", "own 2", "primary", "free 19"} {
			if !strings.Contains(head(), want) {
				t.Errorf("%d: %q is not in %q", w, want, head())
			}
		}
		d.read.late = 7 * time.Second
		for _, want := range []string{" ord", "com:5432/werft", "38/57", "█", "own 2", "7 s old"} {
			if !strings.Contains(head(), want) {
				t.Errorf("%d, late: %q is not in %q", w, want, head())
			}
		}
	}
}

func TestShortTarget(t *testing.T) {
	for _, tt := range []struct {
		target string
		w      int
		want   string
	}{
		{"db1.internal:5432/werft", 40, "db1.internal:5432/werft"},
		{"db1.internal:5432/werft", 20, "db1.…rnal:5432/werft"},
		{"[2001:db8:85a3::8a2e:370:7334]:5432/werft", 24, "[2001:…:7334]:5432/werft"},
		{"db1:5432/a-database-with-a-long-name", 20, "db1:5432/a…long-name"},
		{"/var/run/postgresql:5432/werft", 20, "…stgresql:5432/werft"},
		{"db1", 2, "d…"},
	} {
		if got := shortTarget(theme.New(theme.Plain, false), tt.target, tt.w); got != tt.want {
			t.Errorf("%s in %d: got %q, want %q", tt.target, tt.w, got, tt.want)
		}
	}
}

// TestExplainIsOfferedWhereItWorks holds that x is in the footers of sessions, but
// not where there is no server to explain on.
func TestExplainIsOfferedWhereItWorks(t *testing.T) {
	x := recordedJudgements(t)
	open := map[string][]string{"sessions": {"4"}, "role": {"1", "enter", "j"}, "session": {"4", "enter"}, "locks": {"2"}}
	for name, keys := range open {
		d := drawExplain(t, 120, 24, 0, Options{}, x)
		d.press(keys...)
		d.has("x explain")
		d = draw(t, 120, 24, Options{}, recorded(t, "incident"))
		d.press(keys...)
		if strings.Contains(d.text(), "x explain") {
			t.Errorf("%s: offers to explain a recording", name)
		}
	}
}

// TestDialogsSurviveResizing draws everything that lies over a screen at every size.
func TestDialogsSurviveResizing(t *testing.T) {
	incident := recorded(t, "incident")
	open := map[string]func(d *drawn){
		"help":    func(d *drawn) { d.press("?") },
		"palette": func(d *drawn) { d.press(":") },
		"filter":  func(d *drawn) { d.press("/", "a") },
		"what if": func(d *drawn) { d.press("p") },
		"paste":   func(d *drawn) { d.press("3", "e", "s") },
		"confirm": func(d *drawn) { d.apply(result{open: newConfirm("Sure", []string{"a", "b", "c"}, result{})}) },
	}
	check := func(name string, d *drawn) {
		t.Helper()
		for w := 200; w > 0; w -= 9 {
			for _, h := range []int{1, 9, 10, 11, 14, 24, 50} {
				d.send(tea.WindowSizeMsg{Width: w, Height: h})
				d.text() // checks the number and the width of lines
			}
		}
		d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
		if d.over == nil && d.input == nil {
			t.Errorf("%s is gone", name)
		}
		d.press("esc")
		if d.over != nil || d.input != nil {
			t.Errorf("esc does not leave %s", name)
		}
		d.text()
	}
	for name, f := range open {
		d := draw(t, 80, 24, Options{}, incident)
		f(d)
		check(name, d)
	}
	for _, keys := range [][]string{{"K"}, {"C", "tab"}, {"j", "j", "j", "j", "j", "j", "j", "j", "K"}} {
		d, _ := enderDrawn(t, 80, 24, Options{}, recorded(t, "locks"))
		d.press(keys...)
		check("end", d)
	}
}
