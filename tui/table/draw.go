package table

import (
	"strings"

	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// gutter is the cells before the first column: the cursor, the sign, a blank.
const gutter = 3

// optionalPrio is the Prio from which a column goes before others get narrower
// than their content.
const optionalPrio = 8

type slot struct{ col, w int }

// Draw gives the title line and the visible rows, exactly the height that was
// set, each at most the width that was set.
func (m *Model) Draw(t *theme.Theme) []string {
	lines := make([]string, 0, max(m.h, 0))
	if m.h <= 0 || m.w <= 0 {
		return lines
	}
	slots := m.layout()
	lines = append(lines, m.titles(t, slots))
	for i := m.top; i < len(m.view) && len(lines) < m.h; i++ {
		lines = append(lines, m.row(t, slots, i))
	}
	if m.Missed() && m.h > 1 {
		lines = append(lines[:min(len(lines), m.h-1)], t.Line(m.w, theme.Span{Text: "   no row matches "},
			theme.Span{Role: theme.Strong, Text: t.Cut(t.Clean(m.filter), max(8, m.w-36))}, theme.Span{Role: theme.Dim, Text: "; esc clears the filter"}))
	}
	for len(lines) < m.h {
		lines = append(lines, "")
	}
	return lines
}

// layout chooses the columns and their widths.
func (m *Model) layout() []slot {
	var s []slot
	for i, c := range m.cols {
		if m.hidden[i] || c.Wide && !m.wide || m.wide && i > 0 && i <= m.x {
			continue
		}
		s = append(s, slot{i, max(c.Min, min(m.fit[i], c.Max))})
	}
	room := m.w - gutter
	if !m.wide {
		s = m.drop(s, room)
	}
	left := room - total(s)
	grow := -1
	for i := range s {
		if m.cols[s[i].col].Grow {
			grow = i
		}
	}
	if left > 0 && grow >= 0 {
		s[grow].w += left
	}
	return m.clip(s, room)
}

// drop makes the columns fit: optional ones go, then columns get narrower than
// their content, then others go.
func (m *Model) drop(s []slot, room int) []slot {
	for total(s) > room {
		worst, prio := -1, 0
		for i := range s {
			if p := m.cols[s[i].col].Prio; p > 0 && p >= prio {
				worst, prio = i, p
			}
		}
		if prio < optionalPrio && m.shrink(s, total(s)-room) || worst < 0 {
			break
		}
		s = append(s[:worst], s[worst+1:]...)
	}
	return s
}

// shrink narrows columns that are wider than their minimum, the widest first,
// when that is enough to save over cells.
func (m *Model) shrink(s []slot, over int) bool {
	spare := 0
	for _, x := range s {
		spare += x.w - m.cols[x.col].Min
	}
	if spare < over {
		return false
	}
	for ; over > 0; over-- {
		most := 0
		for i := range s {
			if s[i].w-m.cols[s[i].col].Min > s[most].w-m.cols[s[most].col].Min {
				most = i
			}
		}
		s[most].w--
	}
	return true
}

// clip cuts what still does not fit.
func (m *Model) clip(s []slot, room int) []slot {
	for i := range s {
		if room <= 0 {
			return s[:i]
		}
		s[i].w = min(s[i].w, room)
		room -= s[i].w + 1
	}
	return s
}

func total(s []slot) int {
	n := len(s) - 1
	for _, x := range s {
		n += x.w
	}
	return n
}

func (m *Model) titles(t *theme.Theme, slots []slot) string {
	var b strings.Builder
	b.WriteString("   ")
	for i, s := range slots {
		if i > 0 {
			b.WriteByte(' ')
		}
		c := m.cols[s.col]
		role := theme.Head
		if s.col == m.sort {
			role = theme.Strong
		}
		b.WriteString(t.Paint(role, false, t.Fit(c.Title, s.w, c.Right)))
	}
	return b.String()
}

func (m *Model) row(t *theme.Theme, slots []slot, i int) string {
	r := m.rows[m.view[i]]
	sel := i == m.at
	mark := " "
	if sel {
		mark = t.Select
	}
	sign := theme.Sign(r.Sign)
	if r.Gone {
		sign = "x"
	}
	var b strings.Builder
	b.WriteString(t.Paint(theme.Strong, sel, mark))
	b.WriteString(t.Paint(r.Sign, sel, sign))
	b.WriteString(t.Paint(theme.Normal, sel, " "))
	used, before := gutter, theme.Normal
	if r.Line != nil {
		slots = nil
		used += drawLine(&b, t, r.Line, m.w-used, sel)
	}
	for n, s := range slots {
		c, role := m.cellRole(r, s, n == 0, sel)
		if n > 0 {
			// A gap between two cells of one role has it too: fewer bytes for the
			// terminal, and nothing to see.
			gap := theme.Normal
			if before == role {
				gap = role
			}
			b.WriteString(t.Paint(gap, sel, " "))
			used++
		}
		before = drawCell(&b, t, c, role, s.w, m.cols[s.col].Right, sel)
		used += s.w
	}
	if sel && used < m.w {
		b.WriteString(t.Paint(theme.Normal, sel, theme.Pad("", m.w-used)))
	}
	return b.String()
}

// drawLine draws spans in at most w cells and returns how many they took.
func drawLine(b *strings.Builder, t *theme.Theme, line []theme.Span, w int, sel bool) int {
	used := 0
	for _, s := range line {
		text := t.Cut(t.Clean(s.Text), w-used)
		b.WriteString(t.Paint(s.Role, sel, text))
		used += clean.Width(text)
	}
	return used
}

func (m *Model) cellRole(r Row, s slot, first, sel bool) (Cell, theme.Role) {
	var c Cell
	if s.col < len(r.Cells) {
		c = r.Cells[s.col]
	}
	switch {
	case r.Gone:
		return c, theme.Dim
	case c.Role == theme.Normal && first && (r.Head || sel):
		return c, theme.Strong
	}
	return c, c.Role
}

// drawCell draws w cells and returns the role of the last one.
func drawCell(b *strings.Builder, t *theme.Theme, c Cell, role theme.Role, w int, right, sel bool) theme.Role {
	if c.Rest == "" {
		b.WriteString(t.Paint(role, sel, t.Fit(c.Text, w, right)))
		return role
	}
	text := t.Cut(t.Clean(c.Text), w)
	b.WriteString(t.Paint(role, sel, text))
	b.WriteString(t.Paint(theme.Dim, sel, t.Fit(c.Rest, w-clean.Width(text), false)))
	return theme.Dim
}
