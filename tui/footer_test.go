package tui

import (
	"context"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/tui/theme"
)

// did says whether a key changed anything: the screen, what is said or asked.
func (d *drawn) did(k string) bool {
	d.t.Helper()
	before, asked, paused := d.text(), d.read.asked, d.read.paused
	_, cmd := d.Update(keyPress(k))
	return d.text() != before || d.read.asked != asked || d.read.paused != paused || cmd != nil || d.over != nil || d.input != nil
}

// footerKeys are the keys of the line at the bottom.
func (d *drawn) footerKeys() []string {
	var out []string
	lines := d.lines()
	bold, _, _ := strings.Cut(d.theme.Paint(theme.Key, false, "|"), "|")
	for _, part := range strings.Split(lines[len(lines)-1], bold)[1:] {
		k, _, _ := strings.Cut(part, "\x1b")
		out = append(out, k)
	}
	return out
}

// TestFootersOfferWhatWorks presses every key that a footer offers: each does
// something, on every screen and row.
func TestFootersOfferWhatWorks(t *testing.T) {
	screens := []struct {
		name string
		open []string
	}{
		{"roles", []string{"1"}},
		{"role, pod", []string{"1", "enter"}},
		{"role, session", []string{"1", "enter", "j", "j"}},
		{"session", []string{"1", "enter", "j", "enter"}},
		{"findings", []string{"1", "f"}},
		{"locks, tree", []string{"2"}},
		{"locks, root", []string{"2", "j", "j"}},
		{"locks, session", []string{"2", "j", "j", "j"}},
		{"locks, group", []string{"2", "j", "j", "j", "j"}},
		{"locks, prepared", []string{"2", "/", "4", "7", "1", "1", "enter", "g"}},
		{"prepared", []string{"2", "/", "4", "7", "1", "1", "enter", "g", "enter"}},
		{"explain", []string{"3"}},
		{"plan", []string{"3", "enter"}},
		{"plan as JSON", []string{"3", "enter", "J"}},
		{"sessions", []string{"4"}},
	}
	for _, tt := range screens {
		x := recordedJudgements(t)
		make := func() *drawn {
			snaps := recorded(t, "incident")
			if strings.Contains(tt.name, "locks") || strings.Contains(tt.name, "prepared") {
				snaps = recorded(t, "locks")
			}
			o := Options{Explain: func(context.Context, Source) (Explainer, error) { return x, nil }}
			d, _ := enderDrawn(t, 160, 24, o, snaps)
			for _, k := range tt.open {
				d.press(k)
				d.serve(x, -1)
			}
			d.flash.text = ""
			return d
		}
		keys := make().footerKeys()
		if len(keys) < 4 {
			t.Errorf("%s: only %q", tt.name, keys)
		}
		for _, k := range keys {
			d := make()
			switch k {
			case "↓":
				k = "j"
			case "↑":
				d.press("j")
				k = "k"
			}
			if !d.did(k) {
				t.Errorf("%s: %q does nothing:\n%s", tt.name, k, d.text())
			}
		}
	}
}
