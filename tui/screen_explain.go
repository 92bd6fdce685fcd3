package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// explainScreen is the statements of the server with what is wrong about them,
// worst first.
type explainScreen struct {
	g     theme.Glyphs
	desk  *desk
	table *table.Model
	f     *frame
	byKey map[string]*subject
	moved bool // the cursor was: it stays on its row from then on
	w, h  int
}

func newExplain(g theme.Glyphs) *explainScreen {
	return &explainScreen{g: g, desk: &desk{}, table: table.New([]table.Column{
		{ID: "verdict", Title: "verdict", Rank: true, Min: 16, Max: 19},
		{ID: "calls", Title: "calls", Right: true, Min: 5, Max: 10, Prio: 4},
		{ID: "time", Title: "total", Right: true, Min: 6, Max: 8, Prio: 2},
		{ID: "mean", Title: "mean", Right: true, Min: 7, Max: 8, Prio: 9},
		{ID: "blocks", Title: "blocks", Right: true, Min: 6, Max: 8, Prio: 8},
		{ID: "cursor", Title: "cursor", Min: 8, Max: 22, Prio: 10},
		{ID: "role", Title: "role", Min: 6, Max: 14, Wide: true},
		{ID: "rows", Title: "rows", Right: true, Min: 6, Max: 9, Wide: true},
		{ID: "query", Title: "statement", Min: 34, Grow: true, NoSort: true},
	})}
}

// deskOf finds the desk of the Explain view.
func deskOf(all []*view) *desk {
	for _, v := range all {
		if s, ok := v.stack[0].(*explainScreen); ok {
			return s.desk
		}
	}
	return &desk{}
}

func (s *explainScreen) name() string       { return "Explain" }
func (s *explainScreen) list() *table.Model { return s.table }
func (s *explainScreen) want(*probes.Want)  {}
func (s *explainScreen) size(w, h int)      { s.w, s.h = w, h; s.arrange() }
func (s *explainScreen) keys() []action {
	return []action{actEnter, actPaste, actCopy, actRefresh, actFilter, actSort}
}

// enter asks for the statements when the screen is shown first.
func (s *explainScreen) enter() {
	if s.desk.can && !s.desk.listed {
		s.desk.list()
	}
}

func (s *explainScreen) load(f *frame) {
	s.f = f
	s.desk.login = f.snap.Server.User
	s.enter()
	all := slices.Clone(s.desk.subjects)
	slices.SortStableFunc(all, func(a, b *subject) int {
		return cmp.Or(subjectHarm(b)-subjectHarm(a), cmp.Compare(totalMS(b), totalMS(a)))
	})
	rows := make([]table.Row, 0, len(all))
	s.byKey = make(map[string]*subject, len(all))
	for _, x := range all {
		s.byKey[x.key] = x
		rows = append(rows, s.row(x))
	}
	s.table.SetRows(rows)
	if !s.moved && len(rows) > 0 {
		s.table.Top()
	}
	s.arrange()
}

func (s *explainScreen) arrange() {
	w, _ := beside(s.w, s.table.Wide())
	s.table.SetSize(w, s.h-1-s.strip())
}

// strip is how many lines below the table are about the selected statement,
// where there is no pane beside.
func (s *explainScreen) strip() int {
	if _, pane := beside(s.w, s.table.Wide()); pane > 0 || s.h < 12 || len(s.desk.subjects) == 0 {
		return 0
	}
	return min(8, s.h/3)
}

func (s *explainScreen) selected() *subject {
	if r, ok := s.table.Selected(); ok {
		return s.byKey[r.Key]
	}
	return nil
}

func (s *explainScreen) act(a action) (result, bool) {
	switch a {
	case actUp, actDown, actPageUp, actPageDown, actTop, actBottom, actSort, actReverse:
		s.moved = true
	case actPaste:
		return result{open: newPaste("")}, true
	case actRefresh:
		if !s.desk.can {
			return result{}, true
		}
		s.desk.list()
		s.load(s.f)
		return result{say: "reading pg_stat_statements again"}, true
	}
	x := s.selected()
	if x == nil {
		return result{}, false
	}
	switch a {
	case actEnter:
		return result{push: newPlan(s.g, s.desk, x)}, true
	case actCopy:
		return copyFix(x), true
	case actCopyQuery:
		return result{copy: x.in.SQL, what: "the statement: " + clean.SQL(x.in.SQL, 60)}, true
	}
	return result{}, false
}

// copyFix copies the statement that should be run instead, or the index.
func copyFix(x *subject) result {
	if x.res == nil || x.res.Fix == nil {
		return result{say: "there is no fix to copy; Y copies the statement"}
	}
	if sql := x.res.Fix.SQL; sql != "" {
		return result{copy: sql, what: "the fixed statement: " + clean.SQL(sql, 60)}
	}
	if sql := x.res.Fix.IndexSQL; sql != nil {
		return result{copy: *sql, what: clean.SQL(*sql, 60)}
	}
	return result{}
}

// explainSession opens what a session runs.
func explainSession(x probes.Session) command {
	return func(m *model) tea.Cmd {
		switch server := m.frame.snap.Server; {
		case m.opt.Explain == nil:
			return m.say("a recording has no server to explain on")
		case x.Query == "":
			return m.say("pid " + strconv.Itoa(x.PID) + " shows no statement")
		case x.Database != server.Database:
			return m.say("pid " + strconv.Itoa(x.PID) + " is in database " + x.Database + ": connect there with -d to explain it")
		}
		m.push(newPlan(m.theme.Glyphs, m.desk, m.desk.session(x)))
		return nil
	}
}

func (s *explainScreen) draw(t *theme.Theme) []string {
	state := s.state()
	out := []string{t.Split(s.w, state, s.asOf(t, s.w-t.SpansWidth(state)-2))}
	w, pane := beside(s.w, s.table.Wide())
	body := s.table.Draw(t)
	if say, cure := s.desk.trouble(); say != "" && len(s.desk.subjects) == 0 {
		out, body = nil, append(s.calm(t, say, cure), make([]string, s.h)...)[:s.h]
	}
	if pane > 0 && len(s.desk.subjects) > 0 {
		body = sideBySide(t, body, s.about(t, pane, len(body)), w)
	}
	out = append(out, body...)
	if n := s.strip(); n > 0 {
		about := append(s.about(t, s.w-4, n-1), make([]string, n)...)
		out = append(out, t.Paint(theme.Dim, false, strings.Repeat(t.Rule, s.w)))
		for _, l := range about[:n-1] {
			out = append(out, "  "+l)
		}
	}
	return append(out, make([]string, max(0, s.h-len(out)))...)[:s.h]
}

// calm says what is missing, where there is nothing else to show.
func (s *explainScreen) calm(t *theme.Theme, say, cure string) []string {
	out := []string{""}
	for i, text := range []string{say, cure} {
		for _, l := range wrap(t, []theme.Role{theme.Normal, theme.Dim}[i], "", text, s.w-6) {
			out = append(out, "   "+l)
		}
	}
	return out
}

// about is the selected statement in at most h lines: what is wrong, what helps.
func (s *explainScreen) about(t *theme.Theme, w, h int) []string {
	x := s.selected()
	if x == nil {
		return nil
	}
	var out []string
	switch {
	case x.err != nil:
		out = wrap(t, theme.Warn, "~ ", x.err.Error(), w)
	case x.res == nil:
		out = []string{t.Line(w, dim("not judged yet")...)}
	default:
		out = s.aboutResult(t, x.res, w, h)
	}
	if len(out) < h-2 && (x.res == nil || x.res.Fix == nil || x.res.Fix.SQL == "") {
		out = append(out, "")
		for _, l := range clean.Block(x.in.SQL) {
			for _, p := range wrapText(t.Clean(l), w) {
				out = append(out, t.Line(w, theme.Span{Text: p}))
			}
		}
	}
	return out[:min(len(out), h)]
}

func (s *explainScreen) aboutResult(t *theme.Theme, r *explain.Result, w, h int) []string {
	var out []string
	for i, f := range r.Findings {
		role := findingRole(f)
		if i > 0 && (role == theme.Dim || h < 8) {
			break
		}
		out = append(out, wrap(t, role, theme.Sign(role)+" ", f.Message, w)...)
		if f.Action != "" && (r.Fix == nil || !strings.HasPrefix(f.Action, "use the fix")) {
			out = append(out, wrap(t, theme.Dim, "  ", f.Action, w)...)
		}
	}
	if len(out) == 0 {
		out = append(out, t.Line(w, dim(verdictSentence(r))...))
	}
	if r.Fix == nil {
		return out
	}
	if h < 8 { // the fix has room in any case
		out = out[:min(len(out), max(1, h-2))]
	}
	if h >= 8 {
		out = append(out, "")
	}
	out = append(out, t.Line(w, fixTitle(r.Fix)...))
	if h < 8 {
		_, lines := changedLines(r.SQL, r.Fix)
		if r.Fix.SQL == "" && r.Fix.IndexSQL != nil {
			lines = []string{*r.Fix.IndexSQL}
		}
		for _, l := range lines {
			out = append(out, t.Line(w, theme.Span{Role: theme.OK, Text: "+ " + strings.TrimSpace(l)}))
		}
		return out
	}
	for _, l := range fixLines(r, w, t.ASCII) {
		out = append(out, t.Line(w, l.left...))
	}
	return out
}
