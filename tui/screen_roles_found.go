package tui

import (
	"fmt"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// mostFindings is how many findings the height allows.
func (s *rolesScreen) mostFindings() int {
	switch {
	case s.h < 12:
		return 1
	case s.h < 30:
		return 3
	}
	return 6
}

// findingLines is how many lines the findings would like: one for each, and
// one for what to do where it does not fit beside, as far as the table leaves
// room.
func (s *rolesScreen) findingLines() int {
	if s.f == nil {
		return 1
	}
	_, rows := s.table.Count()
	spare := max(0, s.h-s.strip()-2-rows)
	n := min(len(s.f.findings()), s.mostFindings())
	lines := n
	for _, f := range s.f.findings()[:n] {
		if lines < spare && !besides(f, s.w) {
			lines++
		}
	}
	if s.f.file == nil && lines < spare && n > 0 {
		lines++
	}
	return max(1, lines)
}

// more says that findings exist which have no line of their own, or whose action
// has none.
func (s *rolesScreen) more() bool {
	return s.f != nil && len(s.f.findings()) > 0 && (len(s.f.findings()) > s.mostFindings() || s.w < sideWidth)
}

// besides says that what to do stands on the line of the message.
func besides(f probes.Finding, w int) bool {
	return f.Action == "" || clean.Width(clean.Line(f.Message))+clean.Width(clean.Line(f.Action))+14 <= w
}

const noFile = "no budget file: roles are what the sessions call themselves"

// findings are the worst lines of the budget, the space for them kept calm.
func (s *rolesScreen) findings(t *theme.Theme, w int) []string {
	all := s.f.findings()
	if len(all) == 0 {
		say := "every role is within its budget"
		if s.f.file == nil {
			say = noFile
		}
		out := make([]string, s.found)
		out[0] = t.Line(w, theme.Span{Text: "   "}, theme.Span{Role: theme.Dim, Text: say})
		return out
	}
	n := min(len(all), s.mostFindings(), s.found)
	extra := s.found - n // lines for what to do
	last := ""
	if s.f.file == nil && extra > 0 {
		extra--
		last = t.Line(w, theme.Span{Text: "   "}, theme.Span{Role: theme.Dim, Text: noFile})
	}
	var out []string
	for i, f := range all[:n] {
		beside := besides(f, w)
		more := ""
		if i == n-1 && len(all) > n {
			more = fmt.Sprintf("+%d more, f ", len(all)-n)
		}
		out = append(out, findingLine(t, f, w, beside, more))
		if !beside && extra > 0 {
			out = append(out, t.Line(w, theme.Span{Text: "   "}, theme.Span{Role: theme.Dim, Text: f.Action}))
			extra--
		}
	}
	if last != "" {
		out = append(out, last)
	}
	for len(out) < s.found {
		out = append(out, "")
	}
	return out
}

// findingLine is the message, and what to do when it stands beside.
func findingLine(t *theme.Theme, f probes.Finding, w int, beside bool, more string) string {
	r := severity(f.Severity)
	left := []theme.Span{{Text: " "}, {Role: r, Text: theme.Sign(r) + " " + f.Message}}
	if beside && f.Action != "" {
		left = append(left, theme.Span{Text: "  "}, theme.Span{Role: theme.Dim, Text: f.Action})
	}
	var right []theme.Span
	if more != "" {
		right = dim(more)
	}
	return t.Split(w, left, right)
}

// worst is the selected role's worst finding with what to do, in n lines.
func (s *rolesScreen) worst(t *theme.Theme, n int) []string {
	out := make([]string, n)
	row, ok := s.table.Selected()
	if !ok || n == 0 {
		return out
	}
	own := s.f.findingsOf(row.Key)
	if len(own) == 0 {
		return out
	}
	out[0] = findingLine(t, own[0], s.w, false, "")
	if n > 1 {
		out[1] = t.Line(s.w, theme.Span{Text: "   "}, theme.Span{Role: theme.Dim, Text: own[0].Action})
	}
	return out
}
