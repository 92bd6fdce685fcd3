package tui

import (
	"fmt"

	"github.com/pgsonde/pgsonde/tui/theme"
)

// findingLines is the lines of the findings: one for each, and one for what to
// do where it does not fit beside: of the first only, where there is little room.
func (s *poolersScreen) findingLines() int {
	lines := 0
	for _, n := range s.shown() {
		lines += n
	}
	return max(1, lines)
}

// shown is how many lines each finding that is shown takes, the worst first.
func (s *poolersScreen) shown() []int {
	if s.f == nil {
		return nil
	}
	s.f.poolers()
	room := 1
	switch {
	case s.h >= 30:
		room = 8
	case s.h >= 12:
		room = 3
	}
	var out []int
	for i, f := range s.f.poolFound {
		if room == 0 {
			break
		}
		n := 1
		if room > 1 && !besides(f, s.w) && (i == 0 || s.h >= 30) {
			n = 2
		}
		out, room = append(out, n), room-n
	}
	return out
}

// head is the findings and the sums of the poolers.
func (s *poolersScreen) head(t *theme.Theme) []string {
	views := s.f.poolers()
	all, shown := s.f.poolFound, s.shown()
	var out []string
	for i, lines := range shown {
		more := ""
		if i == len(shown)-1 && len(all) > len(shown) {
			more = fmt.Sprintf("+%d more, f ", len(all)-len(shown))
		}
		out = append(out, findingLine(t, all[i], s.w, besides(all[i], s.w), more))
		if lines > 1 {
			out = append(out, t.Line(s.w, theme.Span{Text: "   "}, theme.Span{Role: theme.Dim, Text: all[i].Action}))
		}
	}
	if len(out) == 0 {
		say := "no client waits"
		if s.f.pool == nil {
			say = s.nothing()
		}
		out = append(out, t.Line(s.w, theme.Span{Text: "   "}, theme.Span{Role: theme.Dim, Text: say}))
	}
	for _, v := range views[:s.sumLines()] {
		out = append(out, t.Line(s.w, theme.Span{Text: "   "}, theme.Span{Role: theme.Strong, Text: v.Name}, theme.Span{Role: theme.Dim, Text: "  " + poolerSum(v)}))
	}
	if s.h >= 12 {
		out = append(out, "")
	}
	return out
}
