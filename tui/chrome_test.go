package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

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
	d.has("not answering, retrying in 2 s, data 4 s old")
	d.hasNot("restarting")
	if d.lines()[4] == plain {
		t.Error("old numbers look like new ones")
	}
	away(down("FATAL: terminating connection (SQLSTATE 57P01)"))
	d.has("restarting, retrying in 2 s, data 4 s old")
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
