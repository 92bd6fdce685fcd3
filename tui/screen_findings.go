package tui

import (
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// findingsScreen is every finding whole, the worst first.
type findingsScreen struct {
	g    theme.Glyphs
	f    *frame
	at   int
	key  string // rule and subject of the one under the cursor
	w, h int
}

func newFindings(g theme.Glyphs) *findingsScreen { return &findingsScreen{g: g} }

// allFindings opens the screen of them.
func allFindings(g theme.Glyphs, f *frame) result {
	if len(f.findings()) == 0 {
		return result{say: "there are no findings"}
	}
	return result{push: newFindings(g)}
}

func (s *findingsScreen) name() string       { return "Findings" }
func (s *findingsScreen) want(*probes.Want)  {}
func (s *findingsScreen) list() *table.Model { return nil }
func (s *findingsScreen) size(w, h int)      { s.w, s.h = w, h }
func (s *findingsScreen) keys() []action {
	return []action{actEnter, actBack, actUp, actDown}
}

// load keeps the cursor on its finding while that exists.
func (s *findingsScreen) load(f *frame) {
	s.f = f
	all := f.findings()
	for i, x := range all {
		if findingKey(x) == s.key {
			s.at = i
		}
	}
	s.to(s.at)
}

// findingKey tells findings apart: two instances of a pooler may have one each of
// the same rule and subject. Of one about several pools the target is of whichever
// waits longest.
func findingKey(x probes.Finding) string {
	target, _ := x.Evidence["target"].(string)
	if pools, _ := x.Evidence["pools"].([]string); len(pools) > 1 {
		target = ""
	}
	return x.Rule + " " + x.Subject + " " + target
}

func (s *findingsScreen) to(i int) {
	all := s.f.findings()
	s.at, s.key = max(0, min(i, len(all)-1)), ""
	if len(all) > 0 {
		s.key = findingKey(all[s.at])
	}
}

func (s *findingsScreen) act(a action) (result, bool) {
	if s.f == nil {
		return result{}, false
	}
	switch a {
	case actUp:
		s.to(s.at - 1)
	case actDown:
		s.to(s.at + 1)
	case actPageUp:
		s.to(s.at - max(1, s.h/6))
	case actPageDown:
		s.to(s.at + max(1, s.h/6))
	case actTop:
		s.to(0)
	case actBottom:
		s.to(len(s.f.findings()) - 1)
	case actEnter:
		return s.open(), true
	case actCopy:
		if all := s.f.findings(); len(all) > 0 {
			return result{copy: all[s.at].Message + "; " + all[s.at].Action, what: "the finding"}, true
		}
	default:
		return result{}, false
	}
	return result{}, true
}

// open goes to what the finding is about.
func (s *findingsScreen) open() result {
	all := s.f.findings()
	if len(all) == 0 {
		return result{}
	}
	subject := all[s.at].Subject
	if _, ok := s.f.row(subject); ok {
		return result{push: newRole(s.g, subject)}
	}
	if x := s.f.session(subject); x != nil {
		return result{push: newSession(*x)}
	}
	for _, v := range s.f.poolers() {
		for k := range v.Pools {
			if p := &v.Pools[k]; isAbout(all[s.at], p) && v.Instances[p.Instance].Target == all[s.at].Evidence["target"] {
				return result{push: newPool(s.g, poolKey(v, p), p.Database+"@"+p.User)}
			}
		}
	}
	return result{say: "this finding is about no single role, pool or session"}
}

// isAbout says that a finding is about a pool, of several the one that waits
// longest.
func isAbout(x probes.Finding, p *bouncer.PoolView) bool {
	return x.Subject == p.Database+"@"+p.User || x.Evidence["database"] == p.Database && x.Evidence["user"] == p.User
}

// session finds a backend by the subject of a finding, its pid; nil when it names
// none, or one that is gone.
func (f *frame) session(subject string) *probes.Session {
	pid, err := strconv.Atoi(strings.TrimPrefix(subject, "pid "))
	if err != nil {
		return nil
	}
	for i := range f.snap.Sessions {
		if f.snap.Sessions[i].PID == pid {
			return &f.snap.Sessions[i]
		}
	}
	if n := f.forest().Node(waits.Key{PID: pid}); n != nil {
		return n.Session
	}
	return nil
}

// draw wraps every finding, and scrolls so that the one under the cursor is seen.
func (s *findingsScreen) draw(t *theme.Theme) []string {
	out := make([]string, s.h)
	if s.f == nil {
		return out
	}
	all := s.f.findings()
	head := plural(len(all), "finding")
	if len(all) > 1 {
		head += ", worst first"
	}
	out[0] = t.Line(s.w, theme.Span{Role: theme.Dim, Text: "   " + head})
	var lines []string
	first := 0
	for i, x := range all {
		if i == s.at {
			first = len(lines)
		}
		lines = append(lines, s.block(t, x, i == s.at)...)
		lines = append(lines, "")
	}
	room := s.h - 1
	off := max(0, min(first-room/3, len(lines)-1-room))
	copy(out[1:], lines[min(off, len(lines)):])
	return out
}

// block is one finding: its message, and what to do.
func (s *findingsScreen) block(t *theme.Theme, x probes.Finding, sel bool) []string {
	mark := " "
	if sel {
		mark = t.Select
	}
	sev := severity(x.Severity)
	role := sev
	if sev == theme.Dim {
		role = theme.Normal
	}
	var out []string
	put := func(sign string, r theme.Role, text string) {
		for i, l := range wrapText(t.Clean(clean.Line(text)), s.w-5) {
			if i > 0 {
				sign = " "
			}
			out = append(out, t.Line(s.w, theme.Span{Role: theme.Strong, Text: mark}, theme.Span{Role: r, Text: sign + " " + l}))
		}
	}
	put(theme.Sign(sev), role, x.Message)
	if x.Action != "" {
		put(" ", theme.Dim, x.Action)
	}
	return out
}

// findingsOf are the findings about one role, worst first.
func (f *frame) findingsOf(role string) []probes.Finding {
	var out []probes.Finding
	for _, x := range f.findings() {
		if x.Subject == role {
			out = append(out, x)
		}
	}
	return out
}

// sign is the mark of a role's row: that of its worst finding, none for a mere
// remark.
func (f *frame) sign(role string) theme.Role {
	for _, x := range f.findingsOf(role) { // the worst is the first
		if r := severity(x.Severity); r != theme.Dim {
			return r
		}
	}
	return theme.Normal
}
