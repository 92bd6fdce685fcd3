package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/pgsonde/pgsonde/tui/theme"
)

// View draws the window from the model alone. A window that did not change is
// not drawn again.
func (m *model) View() tea.View {
	if m.drawn == nil {
		v := m.render()
		m.drawn = &v
	}
	return *m.drawn
}

func (m *model) render() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	if m.input != nil && !m.tiny() {
		v.Cursor = tea.NewCursor(min(m.input.column(), m.w-1), m.h-1)
		v.Cursor.Blink = false
	}
	return v
}

// lines is the window, one string a line.
func (m *model) lines() []string {
	if m.w <= 0 || m.h <= 0 {
		return nil
	}
	if m.tiny() {
		return []string{m.tooSmall()}
	}
	l := layout(m.w, m.h)
	out := make([]string, 0, m.h)
	out = append(out, m.header(l.header.w), m.title(l.title.w))
	switch {
	case m.frame == nil:
		out = append(out, m.welcome(l.body.w, l.body.h)...)
	default:
		body := m.screen().draw(m.theme)
		if m.stale() {
			for i := range body {
				body[i] = m.theme.Paint(theme.Dim, false, ansi.Strip(body[i]))
			}
		}
		out = append(out, body...)
	}
	if m.input != nil {
		out = m.input.draw(m.theme, out, m.w)
	}
	out = append(out, m.footer(l.footer.w))
	if m.over != nil {
		out = m.overlaid(out, rect{w: m.w, h: m.h - 1})
	}
	return out
}

// tooSmall says in one line what is wrong and how to leave, as long as it can.
func (m *model) tooSmall() string {
	for _, say := range []string{
		fmt.Sprintf("pgsonde needs %dx%d, this is %dx%d, q quits", minWidth, minHeight, m.w, m.h),
		fmt.Sprintf("%dx%d needed, q quits", minWidth, minHeight),
		"q quits",
	} {
		if len(say) <= m.w {
			return say
		}
	}
	return "q"
}

// overlaid draws the overlay's box over the middle of all but the footer.
func (m *model) overlaid(lines []string, room rect) []string {
	box := frameBox(m.theme, m.over.title(), m.over.draw(m.theme, room.w-4, room.h-2), room.w)
	w := 0
	for _, l := range box {
		w = max(w, lipgloss.Width(l))
	}
	x, y := (room.w-w)/2, room.y+(room.h-len(box))/2
	full := make([]string, len(lines))
	for i, l := range lines {
		full[i] = theme.Pad(l, m.w)
	}
	c := lipgloss.NewCompositor(
		lipgloss.NewLayer(strings.Join(full, "\n")),
		lipgloss.NewLayer(strings.Join(box, "\n")).X(x).Y(y).Z(1),
	)
	return strings.Split(c.Render(), "\n")
}

// welcome is the body before the first answer.
func (m *model) welcome(w, h int) []string {
	where := m.opt.Target
	if where == "" {
		where = "the server"
	}
	say := []theme.Span{{Role: theme.Dim, Text: "connecting to "}, {Role: theme.Strong, Text: where}}
	var why string
	switch {
	case m.read.down != nil:
		say = []theme.Span{{Role: theme.Warn, Text: downWords(m.read.down)}, {Role: theme.Dim, Text: ": "}, {Role: theme.Strong, Text: where}, {Role: theme.Dim, Text: ", retrying" + retry(m.read.down)}}
		why = m.read.down.Err.Error()
	case m.read.err != nil:
		say = []theme.Span{{Role: theme.Warn, Text: "no reading yet"}, {Role: theme.Dim, Text: ": asking again"}}
		why = m.read.err.Error()
	case m.read.connected:
		say = []theme.Span{{Role: theme.Dim, Text: "reading "}, {Role: theme.Strong, Text: where}}
	}
	lines := make([]string, h)
	lines[h/2] = center(m.theme, w, say...)
	if why != "" && h/2+1 < h {
		lines[h/2+1] = center(m.theme, w, theme.Span{Text: why})
	}
	return lines
}

func center(t *theme.Theme, w int, s ...theme.Span) string {
	line := t.Line(w, s...)
	return theme.Pad("", (w-lipgloss.Width(line))/2) + line
}
