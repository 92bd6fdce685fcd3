// Package theme holds every colour and glyph of the terminal screens by
// meaning. Normal has no colour: colour says "look here" and is always doubled
// by a sign, a word or a place. Text is cleaned where it is painted, so raw
// server text cannot reach the terminal.
package theme

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/pgsonde/pgsonde/tui/clean"
)

// Role is what a piece of text means.
type Role uint8

// Roles of text.
const (
	Normal Role = iota
	Dim         // labels, zeros, things that are as they should be
	Strong      // the name of the thing
	OK          // said to be fine
	Warn        // sign ~
	Crit        // sign !
	Holder      // root blocker, sign *
	Head        // column titles
	Key         // a key in the footer
	Tab         // the current view
	Mark        // paused, history: a state of the screen itself
	roles
)

// Mode is a palette.
type Mode uint8

// Palettes. The colours of Dark and Light stay apart for protan, deutan and
// tritan eyes and have a contrast of at least 4.8.
const (
	Dark    Mode = iota // 256 colours on a dark background
	Light               // 256 colours on a light background
	Sixteen             // the terminal's own 16 colours
	Plain               // no colour: bold, faint and reverse only
)

// Theme paints text. It is immutable and safe to share.
type Theme struct {
	Glyphs
	Mode  Mode
	ASCII bool
	open  [roles][2]string // SGR that starts a role: normal, selected
}

// New makes the theme of a palette and a glyph set.
func New(mode Mode, ascii bool) *Theme {
	t := &Theme{Glyphs: unicodeGlyphs(), Mode: mode, ASCII: ascii}
	if ascii {
		t.Glyphs = asciiGlyphs()
	}
	for r := range roles {
		st := style(mode, r)
		t.open[r][0] = sgr(st)
		t.open[r][1] = sgr(selected(mode, st))
	}
	return t
}

func sgr(st ansi.Style) string {
	if len(st) == 0 {
		return ""
	}
	return st.String()
}

type palette struct{ ok, warn, crit, dim, selBack ansi.Color }

func colours(mode Mode) palette {
	switch mode {
	case Dark:
		return palette{ansi.IndexedColor(111), ansi.IndexedColor(220), ansi.IndexedColor(203), ansi.IndexedColor(245), ansi.IndexedColor(237)}
	case Light:
		return palette{ansi.IndexedColor(26), ansi.IndexedColor(94), ansi.IndexedColor(161), ansi.IndexedColor(242), ansi.IndexedColor(253)}
	case Sixteen:
		return palette{warn: ansi.Yellow, crit: ansi.Red}
	}
	return palette{}
}

func style(mode Mode, r Role) ansi.Style {
	p := colours(mode)
	var st ansi.Style
	fore := func(c ansi.Color) ansi.Style {
		if c == nil {
			return st
		}
		return st.ForegroundColor(c)
	}
	switch r {
	case Dim:
		if p.dim == nil {
			return st.Faint()
		}
		return fore(p.dim)
	case Head:
		return style(mode, Dim)
	case Strong, Key:
		return st.Bold()
	case OK:
		return fore(p.ok)
	case Warn:
		return fore(p.warn)
	case Crit, Holder:
		return fore(p.crit).Bold()
	case Tab:
		return st.Bold().Reverse(true)
	case Mark:
		return fore(p.warn).Bold()
	}
	return st
}

func selected(mode Mode, st ansi.Style) ansi.Style {
	if b := colours(mode).selBack; b != nil {
		return st.BackgroundColor(b)
	}
	return st.Reverse(true)
}

// Clean makes text safe for this terminal.
func (t *Theme) Clean(s string) string {
	if t.ASCII {
		return clean.ASCII(s)
	}
	return clean.Line(s)
}

// Paint cleans s and puts it in a role; sel says that it stands in the
// selected row.
func (t *Theme) Paint(r Role, sel bool, s string) string {
	return t.put(r, sel, t.Clean(s))
}

func (t *Theme) put(r Role, sel bool, s string) string {
	i := 0
	if sel {
		i = 1
	}
	o := t.open[r][i]
	if o == "" || s == "" {
		return s
	}
	return o + s + ansi.ResetStyle
}

// Sign is the one-character mark of a role: ! for Crit, ~ for Warn, * for
// Holder, else a blank.
func Sign(r Role) string {
	switch r {
	case Crit:
		return "!"
	case Warn:
		return "~"
	case Holder:
		return "*"
	}
	return " "
}

// Span is a piece of a line.
type Span struct {
	Role Role
	Text string
}

// Cut shortens clean text to w cells, the last being the ellipsis.
func (t *Theme) Cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if len(s) <= w || clean.Width(s) <= w {
		return s
	}
	if w <= len(t.Ellipsis) && t.ASCII {
		return ansi.Truncate(s, w, "")
	}
	return ansi.Truncate(s, w, t.Ellipsis)
}

// Fit cleans s, cuts it to w cells and pads it to exactly w.
func (t *Theme) Fit(s string, w int, right bool) string {
	s = t.Cut(t.Clean(s), w)
	n := w - clean.Width(s)
	if n <= 0 {
		return s
	}
	if right {
		return blanks(n) + s
	}
	return s + blanks(n)
}

// Line draws spans in at most w cells.
func (t *Theme) Line(w int, spans ...Span) string {
	var b strings.Builder
	for _, s := range spans {
		text := t.Clean(s.Text)
		n := clean.Width(text)
		if n > w {
			text = t.Cut(text, w)
			n = w
		}
		b.WriteString(t.put(s.Role, false, text))
		if w -= n; w <= 0 {
			break
		}
	}
	return b.String()
}

// Split draws left at the left and right at the right end of w cells; when
// there is no room for both, left is cut.
func (t *Theme) Split(w int, left, right []Span) string {
	rw := t.SpansWidth(right)
	if rw >= w {
		return t.Line(w, right...)
	}
	lw := min(t.SpansWidth(left), w-rw-1)
	return t.Line(lw, left...) + blanks(w-rw-lw) + t.Line(rw, right...)
}

// SpansWidth is the number of cells the spans take.
func (t *Theme) SpansWidth(spans []Span) int {
	n := 0
	for _, s := range spans {
		n += clean.Width(t.Clean(s.Text))
	}
	return n
}

// Pad fills a drawn line with blanks to w cells.
func Pad(line string, w int) string {
	if n := w - ansi.StringWidth(line); n > 0 {
		return line + blanks(n)
	}
	return line
}

const spaces = "                                                                                "

func blanks(n int) string {
	if n <= 0 {
		return ""
	}
	if n <= len(spaces) {
		return spaces[:n]
	}
	return strings.Repeat(" ", n)
}
