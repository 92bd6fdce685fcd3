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

// helpWidth is the cells of one column of the help.
const helpWidth = 36

// help lists every key.
type help struct {
	keys keymap
	off  int
}

func newHelp(k keymap) *help { return &help{keys: k} }

func (h *help) title() string { return "Keys" }

func (h *help) key(_ string, a action) (result, bool) {
	switch a {
	case actUp, actPageUp:
		h.off = max(0, h.off-1)
	case actDown, actPageDown:
		h.off = min(h.off+1, len(h.keys.all))
	case actHelp, actBack, actQuit, actEnter:
		return result{}, true
	}
	return result{}, false
}

func (h *help) draw(t *theme.Theme, w, height int) []string {
	groups, order := map[string][]string{}, []string{}
	for _, b := range h.keys.all {
		if _, ok := groups[b.group]; !ok {
			order = append(order, b.group)
			groups[b.group] = []string{t.Paint(theme.Strong, false, b.group)}
		}
		k := b.Help().Key
		if t.ASCII {
			k = asciiKey(k)
		}
		groups[b.group] = append(groups[b.group], t.Paint(theme.Key, false, t.Fit(k, 12, false))+t.Line(helpWidth-12, theme.Span{Role: theme.Dim, Text: b.Help().Desc}))
	}
	var lines []string
	for _, g := range order {
		lines = append(lines, groups[g]...)
	}
	if w >= 2*helpWidth+2 {
		lines = twoSides(groups, order, len(lines))
	}
	off := max(0, min(h.off, len(lines)-height))
	return lines[off:min(len(lines), off+height)]
}

// twoSides sets whole groups left while they fill about half of n lines,
// the others right.
func twoSides(groups map[string][]string, order []string, n int) []string {
	var left, right []string
	for _, g := range order {
		if len(right) == 0 && len(left)+len(groups[g]) <= n/2+1 {
			left = append(left, groups[g]...)
		} else {
			right = append(right, groups[g]...)
		}
	}
	out := make([]string, max(len(left), len(right)))
	for i := range out {
		var l, r string
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		out[i] = theme.Pad(l, helpWidth) + "  " + r
	}
	return out
}

// confirm asks before something that cannot be undone; only y does it.
type confirm struct {
	head  string
	lines []string
	yes   result
}

func newConfirm(title string, lines []string, yes result) *confirm {
	return &confirm{title, lines, yes}
}

func (c *confirm) title() string { return c.head }

func (c *confirm) key(k string, _ action) (result, bool) {
	if k == "y" {
		return c.yes, true
	}
	return result{}, true
}

func (c *confirm) draw(t *theme.Theme, w, h int) []string {
	var out []string
	for _, l := range c.lines {
		out = append(out, t.Line(w, theme.Span{Text: l}))
	}
	out = append(out, "", t.Line(w, theme.Span{Role: theme.Key, Text: "y"}, theme.Span{Role: theme.Dim, Text: " do it   any other key: no"}))
	return out[max(0, len(out)-h):]
}
