package tui

import (
	"strings"

	"github.com/pgsonde/pgsonde/tui/theme"
)

// footer is the keys that apply now, what was just done, or the prompt.
func (m *model) footer(w int) string {
	t := m.theme
	switch {
	case m.input != nil:
		return t.Line(w, m.input.spans()...)
	case m.flash.text != "" && m.over == nil:
		return t.Line(w, theme.Span{Text: " "}, theme.Span{Role: theme.OK, Text: m.flash.text})
	case m.over != nil:
		return m.overFooter(w)
	}
	acts := append(append([]action{}, m.screen().keys()...), actPause, actPalette)
	back := "quit"
	if len(m.view().stack) > 1 {
		back = "back"
	}
	right := append(m.keySpans(actHelp), keyText("q", back)...)
	var left []theme.Span
	if m.at != 0 {
		left = keyText("esc", "present", "[ ]", "step")
	}
	room := w - t.SpansWidth(right) - 1 - t.SpansWidth(left)
	for _, a := range acts {
		if !m.can(a) {
			continue
		}
		s := m.keySpans(a)
		n := t.SpansWidth(s)
		if n > room {
			if w >= 60 {
				break
			}
			continue // where few fit, those that do
		}
		room -= n
		left = append(left, s...)
	}
	return t.Split(w, left, right)
}

// overFooter is the footer while something lies over the screen.
func (m *model) overFooter(w int) string {
	switch o := m.over.(type) {
	case *endDialog:
		return m.theme.Line(w, theme.Span{Role: theme.Dim, Text: " " + o.promise()})
	case interface{ footer() []string }:
		return m.theme.Line(w, fitting(m.theme, w, o.footer()...)...)
	}
	return m.theme.Line(w, append(keyText("esc", "back"), append(m.keySpans(actUp), m.keySpans(actDown)...)...)...)
}

// fitting are the keys that fit into w cells.
func fitting(t *theme.Theme, w int, pairs ...string) []theme.Span {
	var out []theme.Span
	for i := 0; i+1 < len(pairs); i += 2 {
		s := keyText(pairs[i], pairs[i+1])
		if n := t.SpansWidth(s); n <= w {
			out, w = append(out, s...), w-n
		}
	}
	return out
}

// can says that an action has something to work on here at all.
func (m *model) can(a action) bool {
	switch a {
	case actExplain:
		return m.desk.can
	case actCancel, actTerminate:
		return m.at == 0
	}
	return true
}

// keyText is the words of a footer that no action stands for.
func keyText(pairs ...string) []theme.Span {
	var out []theme.Span
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, theme.Span{Text: " "}, theme.Span{Role: theme.Key, Text: pairs[i]}, theme.Span{Role: theme.Dim, Text: " " + pairs[i+1]}, theme.Span{Text: " "})
	}
	return out
}

// keySpans is the key and the word of an action, nothing when this program has no
// such key: read-only.
func (m *model) keySpans(a action) []theme.Span {
	k, word := m.keys.short(a)
	if k == "" {
		return nil
	}
	if first, _, ok := strings.Cut(k, " "); ok {
		k = first
	}
	if m.theme.ASCII {
		k = asciiKey(k)
	}
	return keyText(k, word)
}

// asciiKey names the arrow keys for a terminal that has no arrows.
func asciiKey(k string) string {
	return strings.NewReplacer("↑", "up", "↓", "down", "←", "left", "→", "right").Replace(k)
}
