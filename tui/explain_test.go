package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes"
)

// drawExplain is a model that explains with recorded judgements, at most n of
// them; -1 all.
func drawExplain(t testing.TB, w, h, n int, o Options, x *judgements) *drawn {
	t.Helper()
	o.Explain = func(context.Context, Source) (Explainer, error) { return x, nil }
	d := draw(t, w, h, o, recorded(t, "incident"))
	d.press("3")
	d.serve(x, n)
	return d
}

// serve answers what the desk asks, at most n judgements; -1 all.
func (d *drawn) serve(x *judgements, n int) {
	d.t.Helper()
	for range 1000 {
		e := d.desk.now
		switch {
		case e == nil:
			return
		case e.of == nil:
			list, err := x.Statements(context.Background(), 100)
			d.send(statementsMsg{list, err})
		case n == 0:
			return
		case e.of.plan != nil:
			res, err := explain.JudgePlan(e.of.in.Source, e.of.plan, nil)
			d.send(judgedMsg{of: e.of, res: res, err: err})
			n--
		default:
			d.send(judgedMsg{of: e.of, res: x.Judge(context.Background(), e.of.in, explain.Options{Analyze: e.analyze})})
			n--
		}
	}
	d.t.Fatal("the desk asks without end")
}

func TestGoldenExplain(t *testing.T) {
	sizes := []struct{ w, h int }{{40, 10}, {80, 24}, {120, 40}, {200, 50}}
	tests := []struct {
		name string
		only int // this width, 0 all
		opt  Options
		n    int
		err  error
		keys []string
	}{
		{"list", 0, Options{}, -1, nil, nil},
		{"plan", 0, Options{}, -1, nil, []string{"enter"}},
		{"plan-end", 0, Options{}, -1, nil, []string{"enter", "G"}},
		{"measured", 0, Options{}, -1, nil, []string{"enter", "a", "y"}},
		{"progress", 80, Options{}, 3, nil, nil},
		{"missing", 0, Options{}, 0, explain.ErrNoStatements, nil},
		{"one-connection", 80, Options{}, 0, probes.ErrOneConnection, nil},
		{"ascii", 80, Options{ASCII: true}, -1, nil, []string{"enter"}},
		{"ascii-list", 80, Options{ASCII: true}, -1, nil, nil},
		{"detail", 80, Options{}, -1, nil, []string{"enter", "d", "j", "j", "j", "j", "j", "h"}},
		{"second", 0, Options{}, -1, nil, []string{"j", "enter"}},
		{"join", 120, Options{}, -1, nil, []string{"/", "c", "o", "u", "n", "t", "enter", "enter"}},
		{"join-measured", 120, Options{}, -1, nil, []string{"/", "c", "o", "u", "n", "t", "enter", "enter", "a", "y"}},
		{"json", 80, Options{}, -1, nil, []string{"enter", "J"}},
		{"confirm", 80, Options{}, -1, nil, []string{"enter", "a"}},
		{"confirm-small", 40, Options{}, -1, nil, []string{"enter", "a"}},
		{"paste", 0, Options{}, -1, nil, []string{"e", "s", "e", "l"}},
	}
	for _, tt := range tests {
		for _, size := range sizes {
			if tt.only != 0 && tt.only != size.w {
				continue
			}
			name := fmt.Sprintf("explain-%s-%dx%d", tt.name, size.w, size.h)
			t.Run(name, func(t *testing.T) {
				x := recordedJudgements(t)
				x.err = tt.err
				d := drawExplain(t, size.w, size.h, tt.n, tt.opt, x)
				d.press(tt.keys...)
				if tt.n < 0 {
					d.serve(x, -1)
				}
				d.flash.text = ""
				golden(t, name, d.text())
			})
		}
	}
}

// TestBadPageAtAGlance: verdict, evidence and fix without scrolling at 80x24.
func TestBadPageAtAGlance(t *testing.T) {
	d := drawExplain(t, 80, 24, -1, Options{}, recordedJudgements(t))
	d.has("! starts at first row")
	d.has("+ WHERE (created_at, id) > ($1, $2)")
	d.press("enter")
	for _, want := range []string{"! starts at first row", "every page starts at the oldest", "after the fix", "proved", "+ WHERE (created_at, id) > (", "- WHERE created_at >"} {
		d.has(want)
	}
}

func TestHostileStatementsAreHarmless(t *testing.T) {
	x := recordedJudgements(t)
	for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}} {
		d := drawExplain(t, size[0], size[1], -1, Options{}, x)
		d.press("G")
		for _, keys := range [][]string{{"enter"}, {"G"}, {"J"}, {"esc"}} {
			d.press(keys...)
			for _, l := range d.lines() {
				if strings.Contains(l, "\x1b]52") || strings.Contains(l, "\x1b[2J") || strings.Contains(l, "\u202e") || strings.Contains(l, "\x07") {
					t.Fatalf("server text reached the terminal: %q", l)
				}
			}
			d.text()
		}
		d.send(tea.PasteMsg{Content: "select '\x1b]52;c;cm0=\x07' \u202e, 1\r\n\tfrom event\x1b[2J"})
		for _, l := range d.lines() {
			if strings.Contains(l, "\x1b]52") || strings.Contains(l, "\x1b[2J") || strings.Contains(l, "\u202e") {
				t.Fatalf("pasted text reached the terminal: %q", l)
			}
		}
		d.has("from event")
	}
}

func TestPasteOpensTheBoxAndIsJudged(t *testing.T) {
	x := recordedJudgements(t)
	bad := ""
	for _, r := range x.all {
		if r.Result.Verdict == explain.StartsAtOldest {
			bad = r.Statement.SQL
		}
	}
	d := drawExplain(t, 120, 40, -1, Options{}, x)
	d.send(tea.PasteMsg{Content: bad + ";\nselect 1"})
	d.has("nothing is executed")
	d.press("enter")
	d.serve(x, -1)
	d.has("pasted 1.1")
	d.has("starts at first row")
	d.press("esc")
	d.has("pasted 1.2")

	raw := string(x.all[0].Plans[0].Raw)
	d.press("e")
	d.send(tea.PasteMsg{Content: raw})
	d.press("enter")
	d.serve(x, -1)
	d.has("pasted 2")
	d.has("judged from the plan's text alone")
	d.press("esc", "e", "enter")
	d.has("nothing to explain")
}

func TestPasteBoxEdits(t *testing.T) {
	p := newPaste("ab\ncd")
	press := func(keys ...tea.KeyPressMsg) {
		for _, k := range keys {
			p.typed(k)
		}
	}
	press(tea.KeyPressMsg{Code: tea.KeyUp}, tea.KeyPressMsg{Code: 'x', Text: "x"}) // at ab|
	press(tea.KeyPressMsg{Code: tea.KeyHome}, tea.KeyPressMsg{Code: tea.KeyDelete})
	press(tea.KeyPressMsg{Code: tea.KeyDown}, tea.KeyPressMsg{Code: tea.KeyEnd}, tea.KeyPressMsg{Code: tea.KeyBackspace})
	press(tea.KeyPressMsg{Code: 'j', Mod: tea.ModCtrl}, tea.KeyPressMsg{Code: 'e', Text: "e"})
	if got, want := string(p.text), "bx\nc\ne"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.insert(strings.Repeat("x", mostText+1))
	if p.note == "" || len(p.text) > 10 {
		t.Error("a text that is too long is taken")
	}
}

func TestReadOnlyExecutesNothing(t *testing.T) {
	x := recordedJudgements(t)
	d := drawExplain(t, 80, 24, -1, Options{ReadOnly: true}, x)
	d.press("enter", "a", "y")
	if d.desk.now != nil || len(d.desk.queue) > 0 {
		t.Error("--read-only asks for an execution")
	}
	d.hasNot("analyze")
}

func TestLeavingCancelsAndComingBackGoesOn(t *testing.T) {
	x := recordedJudgements(t)
	d := drawExplain(t, 80, 24, 2, Options{}, x)
	was := d.desk.now
	if was == nil {
		t.Fatal("nothing is under way")
	}
	d.press("1")
	if !d.desk.dropped {
		t.Fatal("leaving the screen does not cancel")
	}
	d.send(judgedMsg{of: was.of, err: context.Canceled})
	if d.desk.now != nil {
		t.Error("something is asked while the screen is not shown")
	}
	d.press("3")
	d.serve(x, -1)
	if done, all := d.desk.judged(); done != all {
		t.Errorf("judged %d of %d after coming back", done, all)
	}
	d.hasNot("judged 2 of")
}

func TestListErrors(t *testing.T) {
	x := recordedJudgements(t)
	x.err = errors.New("no route\x1b[2J")
	d := drawExplain(t, 80, 24, 0, Options{}, x)
	d.has("no route")
	d.has("r tries again")
	x.err = nil
	d.press("r")
	d.serve(x, -1)
	d.has("1 bad page")
}

func TestSelectionStaysOnTopUntilItMoves(t *testing.T) {
	x := recordedJudgements(t)
	d := drawExplain(t, 80, 24, 1, Options{}, x)
	d.serve(x, -1)
	d.press("enter")
	d.has("> statement")
	d.has("starts at first row")
}

func TestPlanResize(t *testing.T) {
	x := recordedJudgements(t)
	d := drawExplain(t, 80, 24, -1, Options{}, x)
	d.press("enter", "a", "y")
	d.serve(x, -1)
	for w := 200; w > 0; w -= 7 {
		for _, h := range []int{1, 10, 13, 24, 50} {
			d.send(tea.WindowSizeMsg{Width: w, Height: h})
			d.text()
		}
	}
}

func TestFoldedNodesStayFolded(t *testing.T) {
	x := recordedJudgements(t)
	d := drawExplain(t, 80, 24, -1, Options{}, x)
	d.press("enter", "j", "j", "j", "j", "h")
	d.hasNot("Index Scan event_created_at_id_idx  !")
	d.press("m")
	d.hasNot("Index Scan event_created_at_id_idx  !")
	d.press("l")
	d.has("! starts at first row · Filter")
}
