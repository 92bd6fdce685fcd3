package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/pgsonde/pgsonde/tui/theme"
)

// overlay is a box over the body that takes the keys while it is there.
type overlay interface {
	title() string
	// key answers a key; done closes the overlay.
	key(k string, a action) (res result, done bool)
	// draw gives the lines inside the box, at most h of at most w cells.
	draw(t *theme.Theme, w, h int) []string
}

// typist is an overlay that takes keys with their text.
type typist interface {
	typed(msg tea.KeyPressMsg) (res result, done bool)
}

// overKey gives a key to the overlay.
func (m *model) overKey(msg tea.KeyPressMsg, a action) (result, bool) {
	if o, ok := m.over.(typist); ok {
		return o.typed(msg)
	}
	return m.over.key(msg.String(), a)
}

// frameBox draws a border round lines.
func frameBox(t *theme.Theme, title string, lines []string, maxW int) []string {
	w := 0
	for _, l := range lines {
		w = max(w, lipgloss.Width(l))
	}
	w = min(max(w, len(title)+2), maxW-4)
	edge := func(s string) string { return t.Paint(theme.Dim, false, s) }
	head := t.Line(w, theme.Span{Role: theme.Strong, Text: " " + title + " "})
	out := []string{edge(t.Corners[0]+t.Rule) + head + edge(strings.Repeat(t.Rule, w+1-lipgloss.Width(head))+t.Corners[1])}
	for _, l := range lines {
		out = append(out, edge(t.Bar)+" "+theme.Pad(l, w)+" "+edge(t.Bar))
	}
	return append(out, edge(t.Corners[2]+strings.Repeat(t.Rule, w+2)+t.Corners[3]))
}

// confirm asks before something that cannot be undone; only y does it.
type confirm struct {
	guard
	head  string
	lines []string
	yes   result
}

func newConfirm(title string, lines []string, yes result) *confirm {
	return &confirm{head: title, lines: lines, yes: yes}
}

func (c *confirm) title() string { return c.head }

func (c *confirm) key(k string, _ action) (result, bool) {
	if k == "y" {
		if !c.ready {
			return result{}, false
		}
		return c.yes, true
	}
	return result{}, true
}

func (c *confirm) footer() []string {
	if !c.ready {
		return []string{"any other key", "no"}
	}
	return []string{"y", "do it", "any other key", "no"}
}

// draw wraps the text; where it is too high its end goes, never the keys.
func (c *confirm) draw(t *theme.Theme, w, h int) []string {
	w = min(w, 76)
	var out []string
	for i, l := range c.lines {
		if l == "" && h < len(c.lines)+2 && i > 0 {
			continue
		}
		out = append(out, wrap(t, theme.Normal, "", l, w)...)
	}
	yes := []theme.Span{{Role: theme.Key, Text: "y"}, {Role: theme.Dim, Text: " do it   "}}
	if !c.ready {
		yes = []theme.Span{{Text: theme.Pad("", t.SpansWidth(yes))}}
	}
	keys := []string{"", t.Line(w, append(yes, theme.Span{Role: theme.Dim, Text: "any other key: no"})...)}
	if h < len(out)+2 {
		keys = keys[1:]
	}
	return append(out[:max(0, min(len(out), h-len(keys)))], keys...)
}
