package tui

import (
	"strconv"

	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/theme"
)

func (s *locksScreen) draw(t *theme.Theme) []string {
	if s.f == nil {
		return make([]string, s.h)
	}
	out := make([]string, 0, s.h)
	for _, l := range s.above() {
		out = append(out, t.Line(s.w, l...))
	}
	for len(out) < s.notes {
		out = append(out, "")
	}
	w, pane := s.beside()
	body := s.tree.Draw(t)
	if _, all := s.tree.Count(); all == 0 && len(body) > 0 {
		body[0] = ""
	}
	if pane > 0 {
		out = append(out, sideBySide(t, body, s.pane(t, pane, len(body)), w)...)
	} else {
		out = append(out, body...)
		below := append(s.below(t), make([]string, s.strip())...)
		out = append(out, below[:s.strip()]...)
	}
	return append(out, make([]string, max(0, s.h-len(out)))...)[:s.h]
}

// above are the lines before the forest: how much is stuck, and what a person
// must know about the reading.
func (s *locksScreen) above() [][]theme.Span {
	f := s.f.forest()
	var out [][]theme.Span
	if what, why := f.Trouble(span); what != "" {
		out = append(out, []theme.Span{{Text: " "}, {Role: theme.Warn, Text: "~ " + what}, {Role: theme.Dim, Text: ": " + why}})
	}
	if f.Unread {
		return out
	}
	if f.Waiting() == 0 {
		if f.Late == "" {
			out = append(out, []theme.Span{{Text: "   nobody waits for a lock"}})
		}
		return out
	}
	if s.h >= 14 {
		out = append(out, s.sum(f))
	}
	if n := f.Doubtful(); n > 0 && s.h >= 14 {
		out = append(out, entriesAge(f, n))
	}
	if f.Unasked > 0 {
		out = append(out, []theme.Span{{Text: " "}, {Role: theme.Warn, Text: "~ " + strconv.Itoa(f.Unasked) + " more wait, not asked for whom"}})
	}
	if s.f.snap.Server.Masked && s.h >= 14 {
		out = append(out, []theme.Span{{Text: " "}, {Role: theme.Warn, Text: "~ times and statements of other roles are hidden from this login"}, {Role: theme.Dim, Text: ": grant pg_read_all_stats"}})
	}
	if s.h >= 18 {
		out = append(out, s.findings(f)...)
	}
	return out
}

// sum is the whole forest in one line.
func (s *locksScreen) sum(f *waits.Forest) []theme.Span {
	slots := 0
	for _, n := range pinned(f) {
		slots += n
	}
	why := " for " + plural(s.trees, "cause")
	switch {
	case s.trees == 0:
		why = ", for whom is not in this reading"
	case s.path != "":
		why += ", one path of them shown (z: all)"
	}
	return []theme.Span{
		{Text: "   "},
		{Role: theme.Strong, Text: plural(f.Waiting(), "session") + " wait" + third(f.Waiting())},
		{Role: theme.Dim, Text: why + "; with them "},
		{Text: strconv.Itoa(slots) + " of " + strconv.Itoa(s.f.use.Usable)},
		{Role: theme.Dim, Text: " slots are pinned"},
	}
}

// entriesAge is how old the lock entries are, for the rows with a ?.
func entriesAge(f *waits.Forest, n int) []theme.Span {
	say := "~ lock table not read yet"
	switch {
	case f.Lacks != "":
		return []theme.Span{{Text: " "}, {Role: theme.Warn, Text: "~ what " + strconv.Itoa(n) + " with ? wait" + third(n) + " for and how long is not known"}}
	case f.Entries >= 0:
		say = "~ lock table as of " + span(f.Entries) + " ago"
	}
	return []theme.Span{{Text: " "}, {Role: theme.Warn, Text: say}, {Role: theme.Dim, Text: ": what " + strconv.Itoa(n) + " with ? wait" + third(n) + " for may be another by now"}}
}

func third(n int) string {
	if n == 1 {
		return "s"
	}
	return ""
}

// mostNotes is how many findings stand above the forest.
const mostNotes = 2

// findings are those that the forest does not say itself.
func (s *locksScreen) findings(f *waits.Forest) [][]theme.Span {
	var out [][]theme.Span
	for _, x := range waits.Findings(f, s.f.use.Caps()) {
		if x.Rule != waits.RulePinned && x.Rule != waits.RuleDeadlock && x.Rule != waits.RuleCircle {
			continue
		}
		r := severity(x.Severity)
		if len(out) == mostNotes {
			out[mostNotes-1] = append(out[mostNotes-1], theme.Span{Role: theme.Dim, Text: "  and more"})
			break
		}
		out = append(out, []theme.Span{{Text: " "}, {Role: r, Text: theme.Sign(r) + " " + x.Message}})
	}
	return out
}
