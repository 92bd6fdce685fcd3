package tui

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./tui -update makes it", err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, d)
	}
}

// drawn is a model without a program: messages go in, lines come out.
type drawn struct {
	*model
	t testing.TB
}

func draw(t testing.TB, w, h int, o Options, snaps []*probes.Snapshot) *drawn {
	t.Helper()
	if o.Budget == nil {
		o.Budget = exampleBudget(t)
	}
	o.Source = &replay{snaps: snaps}
	m := &drawn{newModel(o, environment{utf8: true}, newLink(context.Background(), o)), t}
	m.Init()
	m.send(tea.WindowSizeMsg{Width: w, Height: h})
	for _, s := range snaps {
		m.answer(s)
	}
	return m
}

func (d *drawn) send(msgs ...tea.Msg) {
	for _, m := range msgs {
		d.Update(m)
	}
}

// answer gives the model a snapshot as if it had just come.
func (d *drawn) answer(s *probes.Snapshot) {
	d.read.busy = true
	d.send(answerMsg{
		gen: d.read.asked, snap: s, use: budget.Use(d.opt.Budget, s),
		at: time.Unix(1_700_000_000, 0), next: time.Second,
	})
}

// press sends keys by name; a text of several characters is typed. Between them
// passes the time that a question needs to be read.
func (d *drawn) press(keys ...string) {
	for _, k := range keys {
		d.send(keyPress(k))
		d.reads()
	}
}

// reads lets the time pass in which a question is read.
func (d *drawn) reads() {
	d.guardNew()
	if o, ok := d.over.(guarded); ok {
		d.send(readyMsg{o.guarding().n})
	}
}

func keyPress(k string) tea.KeyPressMsg {
	switch k {
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "tab":
		return tea.KeyPressMsg{Code: tea.KeyTab}
	case "space":
		return tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}
	case "ctrl+c":
		return tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
}

// text is the window without colours, blanks at line ends removed.
func (d *drawn) text() string {
	d.t.Helper()
	lines := d.lines()
	want := d.h
	if d.tiny() {
		want = 1
	}
	if len(lines) != want {
		d.t.Errorf("got %d lines, want %d", len(lines), want)
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n > d.w {
			d.t.Errorf("line %d takes %d of %d cells: %q", i, n, d.w, ansi.Strip(l))
		}
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func TestGoldenFrames(t *testing.T) {
	incident, masked := recorded(t, "incident"), recorded(t, "masked")
	tests := []struct {
		name  string
		w, h  int
		opt   Options
		snaps []*probes.Snapshot
		keys  []string
	}{
		{"roles-40x10", 40, 10, Options{}, incident, nil},
		{"roles-80x24", 80, 24, Options{}, incident, nil},
		{"roles-120x40", 120, 40, Options{}, incident, nil},
		{"roles-200x50", 200, 50, Options{}, incident, nil},
		{"roles-ascii-80x24", 80, 24, Options{ASCII: true}, incident, nil},
		{"roles-masked-80x24", 80, 24, Options{}, masked, nil},
		{"roles-wide-80x24", 80, 24, Options{}, incident, []string{"w", "l", "l", "l"}},
		{"roles-sorted-filtered-80x24", 80, 24, Options{}, incident, []string{"s", "s", "s", "/", "e", "r", "enter"}},
		{"findings-80x24", 80, 24, Options{}, incident, []string{"f", "j"}},
		{"findings-40x10", 40, 10, Options{}, incident, []string{"f", "j", "j"}},
		{"role-80x24", 80, 24, Options{}, incident, []string{"enter"}},
		{"role-folded-80x24", 80, 24, Options{}, incident, []string{"enter", "h"}},
		{"role-120x40", 120, 40, Options{}, incident, []string{"enter", "j", "j"}},
		{"role-40x10", 40, 10, Options{}, incident, []string{"enter"}},
		{"session-80x24", 80, 24, Options{}, incident, []string{"enter", "j", "enter"}},
		{"session-40x10", 40, 10, Options{}, incident, []string{"enter", "j", "enter"}},
		{"sessions-80x24", 80, 24, Options{Screen: "sessions"}, incident, []string{}},
		{"sessions-120x40", 120, 40, Options{Screen: "sessions"}, incident, []string{}},
		{"sessions-200x50", 200, 50, Options{Screen: "sessions"}, incident, []string{"w"}},
		{"sessions-40x10", 40, 10, Options{Screen: "sessions"}, incident, []string{}},
		{"sessions-masked-80x24", 80, 24, Options{Screen: "sessions"}, masked, []string{}},
		{"help-80x24", 80, 24, Options{}, incident, []string{"?"}},
		{"help-40x10", 40, 10, Options{}, incident, []string{"?"}},
		{"help-ascii-80x24", 80, 24, Options{ASCII: true}, incident, []string{"?"}},
		{"palette-80x24", 80, 24, Options{}, incident, []string{":", "t", "h"}},
		{"palette-40x10", 40, 10, Options{}, incident, []string{":"}},
		{"paused-80x24", 80, 24, Options{}, incident, []string{"space"}},
		{"past-80x24", 80, 24, Options{}, incident, []string{"[", "["}},
		{"too-small-30x5", 30, 5, Options{}, incident, nil},
		{"too-small-1x1", 1, 1, Options{}, incident, nil},
		{"connecting-80x24", 80, 24, Options{Target: "db1.internal:5432/werft"}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := draw(t, tt.w, tt.h, tt.opt, tt.snaps)
			d.press(tt.keys...)
			golden(t, tt.name, d.text())
		})
	}
}

// TestGoldenColours holds the escape sequences of every palette.
func TestGoldenColours(t *testing.T) {
	incident := recorded(t, "incident")
	tests := []struct {
		name    string
		theme   string
		profile colorprofile.Profile
	}{
		{"dark", "dark", colorprofile.TrueColor},
		{"light", "light", colorprofile.ANSI256},
		{"sixteen", "", colorprofile.ANSI},
		{"plain", "", colorprofile.ASCII},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := draw(t, 80, 24, Options{Theme: tt.theme}, incident)
			d.send(tea.ColorProfileMsg{Profile: tt.profile})
			out := strings.Join(d.lines(), "\n") + "\n"
			golden(t, "colours-"+tt.name, strings.ReplaceAll(out, "\x1b", "␛"))
		})
	}
}

func TestGoldenTrouble(t *testing.T) {
	incident := recorded(t, "incident")
	at := time.Unix(1_700_000_012, 0)
	down := &probes.Unavailable{State: "restarting", Attempts: 3, Err: errors.New("connection refused"), RetryIn: time.Second}
	tests := []struct {
		name  string
		snaps []*probes.Snapshot
		msg   tea.Msg
	}{
		{"down", incident, answerMsg{err: down, at: at, next: time.Second}},
		{"down-at-first", nil, answerMsg{err: down, at: at, next: time.Second}},
		{"no-answer", incident, answerMsg{err: context.DeadlineExceeded, at: at, next: time.Second}},
		{"slow", incident, lateMsg{at: at}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := draw(t, 80, 24, Options{Target: "db1.internal:5432/werft"}, tt.snaps)
			d.read.busy = true
			switch msg := tt.msg.(type) {
			case answerMsg:
				msg.gen = d.read.asked
				d.send(msg)
			case lateMsg:
				msg.gen = d.read.asked
				d.send(msg)
			}
			golden(t, "trouble-"+tt.name, d.text())
		})
	}
}
