package tui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/theme"
)

func (d *drawn) has(text string) {
	d.t.Helper()
	if s := d.text(); !strings.Contains(s, text) {
		d.t.Errorf("%q is not on screen:\n%s", text, s)
	}
}

func (d *drawn) hasNot(text string) {
	d.t.Helper()
	if s := d.text(); strings.Contains(s, text) {
		d.t.Errorf("%q is on screen:\n%s", text, s)
	}
}

func TestOldAnswersAreDropped(t *testing.T) {
	all := recorded(t, "incident")
	d := draw(t, 80, 24, Options{}, all[:1])
	d.read.busy = true
	old := answerMsg{gen: d.read.asked, snap: all[5], at: time.Unix(1, 0)}
	d.press("space") // paused while the tick is under way
	d.send(old)
	if got := d.frame.snap.Seq; got != all[0].Seq {
		t.Errorf("a late answer came on screen: got reading %d, want %d", got, all[0].Seq)
	}
	if d.read.busy {
		t.Error("the answer did not end the tick")
	}
}

func TestRefreshDuringATickWaitsForIt(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	d.read.busy = true
	asked := d.read.asked
	d.press("r", "r", "r")
	if d.read.asked != asked || !d.read.again {
		t.Errorf("got %d more ticks, want one remembered", d.read.asked-asked)
	}
	d.answer(recorded(t, "incident")[5])
	if d.read.asked != asked+1 || d.read.again {
		t.Errorf("after the answer: got %d more ticks, want 1", d.read.asked-asked)
	}
}

func TestBackNeverQuits(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	for range 3 {
		_, cmd := d.Update(keyPress("esc"))
		if cmd != nil {
			if _, quit := cmd().(tea.QuitMsg); quit {
				t.Fatal("esc at the top quits")
			}
		}
	}
	_, cmd := d.Update(keyPress("q"))
	if cmd == nil {
		t.Fatal("q at the top does nothing")
	}
	if _, quit := cmd().(tea.QuitMsg); !quit {
		t.Error("q at the top does not quit")
	}
}

func TestFilterPrompt(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	d.press("/", "a", "p", "i")
	d.has("/api 1/11")
	d.press("enter", "q") // q is no longer text
	d.press("/", "esc")
	d.has(" 11")
	d.hasNot("/api")
	d.press("/", "q", "enter", "esc")
	d.hasNot("/q")
}

func TestPaletteGoesAnywhere(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	d.press(":", "s", "e", "s", "enter")
	d.has("waits for")
	d.press(":", "n", "o", "p", "e")
	d.has("no such command")
	d.press("esc", ":")
	d.send(tea.PasteMsg{Content: "theme light"})
	d.press("enter")
	if d.theme.Mode != theme.Light {
		t.Errorf("got theme %d, want light", d.theme.Mode)
	}
}

func TestLookingBackKeepsReading(t *testing.T) {
	all := recorded(t, "incident")
	d := draw(t, 80, 24, Options{}, all[:4])
	d.press("[", "[")
	seq := d.frame.snap.Seq
	d.answer(all[4])
	if d.frame.snap.Seq != seq {
		t.Error("a new answer moved the past")
	}
	d.has("3 s back")
	d.press("]")
	d.has("2 s back")
	d.press("esc")
	d.hasNot("back  11")
	if d.frame.snap.Seq != all[4].Seq || !d.frame.live {
		t.Errorf("esc: got reading %d, want the present, %d", d.frame.snap.Seq, all[4].Seq)
	}
	for range 100 {
		d.press("[")
	}
	if got := d.frame.snap.Seq; got != all[0].Seq {
		t.Errorf("the oldest: got %d, want %d", got, all[0].Seq)
	}
}

func TestRingIsBounded(t *testing.T) {
	all := recorded(t, "incident")
	var r ring
	f := exampleBudget(t)
	u := draw(t, 80, 24, Options{Budget: f}, all).frame.use
	for i := range 4000 { // more than an hour
		s := *all[5]
		s.Seq, s.At = int64(i+1), s.At.Add(time.Duration(i)*time.Second)
		r.push(&s, u)
	}
	if r.bytes > ringMax {
		t.Errorf("got %d bytes, want at most %d", r.bytes, ringMax)
	}
	last := r.all[len(r.all)-1]
	if got := last.snap.At.Sub(r.all[0].snap.At); got > ringAge || got < ringAge/4 {
		t.Errorf("reaches back %v", got)
	}
	sum := 0
	for i, e := range r.all {
		sum += e.size
		if i > 0 && !e.snap.At.After(r.all[i-1].snap.At) {
			t.Fatal("not in order")
		}
	}
	if sum != r.bytes {
		t.Errorf("counts %d bytes, holds %d", r.bytes, sum)
	}
	if n := len(r.all); n < 120 || n > 700 {
		t.Errorf("holds %d readings", n)
	}
}

func TestFindingsKeepTheTableStill(t *testing.T) {
	all := recorded(t, "incident")
	d := draw(t, 80, 24, Options{}, all)
	place := func() int { return strings.Index(d.text(), "role          pods") }
	before := place()
	calm := *all[5]
	calm.Groups = nil
	d.answer(&calm)
	if got := place(); strings.Count(d.text()[:got], "\n") < strings.Count(d.text()[:min(before, got)], "\n") {
		t.Error("the table moved at the first calm reading")
	}
}

func TestEndedSessionIsSaid(t *testing.T) {
	all := recorded(t, "incident")
	d := draw(t, 80, 24, Options{Screen: "sessions"}, all)
	d.press("j", "enter")
	d.has("pid 10334")
	gone := *all[5]
	gone.Sessions = []probes.Session{}
	d.answer(&gone)
	d.has("ended; its last statement")
	d.has("where id = 4711")
	d.press("q")
	d.has("x 10334")
}

func TestConfirmOnlyOnY(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	for _, k := range []string{"y", "n", "enter", "esc", "q"} {
		done := false
		d.apply(result{open: newConfirm("Terminate", []string{"pid 1"}, result{do: func(*model) tea.Cmd { done = true; return nil }})})
		d.reads()
		d.has("y do it")
		d.press(k)
		d.hasNot("y do it")
		if done != (k == "y") {
			t.Errorf("key %s: did it: %v", k, done)
		}
	}
}

func TestCheckTerminal(t *testing.T) {
	tests := []struct {
		name string
		env  []string
		tty  bool
		ok   bool
	}{
		{"xterm", []string{"TERM=xterm"}, true, true},
		{"dumb", []string{"TERM=dumb"}, true, false},
		{"unset", nil, true, false},
		{"the last counts", []string{"TERM=dumb", "TERM=screen"}, true, true},
		{"pipe", []string{"TERM=xterm"}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckTerminal(tt.env, tt.tty)
			if (err == nil) != tt.ok {
				t.Fatalf("got %v, want ok %v", err, tt.ok)
			}
			if err != nil && (!strings.Contains(err.Error(), "pgsonde roles") || strings.Contains(err.Error(), "\n")) {
				t.Errorf("no hint, or more than one line: %v", err)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	tests := []struct {
		env         []string
		utf8, light bool
	}{
		{[]string{"LANG=C.UTF-8"}, true, false},
		{[]string{"LANG=en_US.UTF-8", "LC_ALL=C"}, false, false},
		{[]string{"LC_CTYPE=de_DE.utf8", "LANG=C"}, true, false},
		{[]string{}, false, false},
		{[]string{"COLORFGBG=0;15"}, false, true},
		{[]string{"COLORFGBG=15;default;0"}, false, false},
	}
	for _, tt := range tests {
		if e := readEnv(tt.env); e.utf8 != tt.utf8 || e.light != tt.light {
			t.Errorf("%v: got utf8 %v light %v, want %v %v", tt.env, e.utf8, e.light, tt.utf8, tt.light)
		}
	}
}

func TestBytesOf(t *testing.T) {
	for in, want := range map[string]int{"1kB": 1024, "1MB": 1 << 20, "1500B": 1500, "100": 100, "": 0, "-1": 0, "x": 0} {
		if got := bytesOf(in); got != want {
			t.Errorf("%q: got %d, want %d", in, got, want)
		}
	}
}

func TestStatementCutByTheServerIsSaid(t *testing.T) {
	s := *recorded(t, "incident")[5]
	s.Sessions = append([]probes.Session{}, s.Sessions...)
	for i := range s.Sessions {
		s.Sessions[i].Query = strings.Repeat("x", 1023)
	}
	s.Limits.Settings = map[string]string{"track_activity_query_size": "1kB"}
	d := draw(t, 80, 24, Options{Screen: "sessions"}, []*probes.Snapshot{&s})
	d.press("j", "enter")
	d.has("the server keeps 1023 bytes of it")
}
