package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// lineBytes is how much of a statement a row can show.
const lineBytes = 400

// sessionsScreen is every backend of the server.
type sessionsScreen struct {
	table *table.Model
	f     *frame
	w, h  int
	byKey map[string]*probes.Session
	ghost ghost
}

func newSessions(g theme.Glyphs) *sessionsScreen {
	s := &sessionsScreen{table: table.New([]table.Column{
		{ID: "pid", Title: "pid", Right: true, Min: 5, Max: 7},
		{ID: "role", Title: "role", Min: 8, Max: 18, Prio: 2},
		{ID: "user", Title: "user", Min: 6, Max: 16, Wide: true},
		{ID: "db", Title: "database", Min: 8, Max: 16, Wide: true},
		{ID: "app", Title: "application", Min: 11, Max: 28, Wide: true},
		{ID: "from", Title: "from", Min: 5, Max: 15, Prio: 9},
		{ID: "state", Title: "state", Min: 8, Max: 8},
		{ID: "wait", Title: "waits for", Min: 9, Max: 22, Prio: 6},
		{ID: "blocks", Title: "blocks", Right: true, Min: 6, Max: 6, Prio: 7},
		{ID: "tx", Title: "tx", Right: true, Min: 5, Max: 8, Prio: 1},
		{ID: "for", Title: "for", Right: true, Min: 5, Max: 8, Prio: 3},
		{ID: "query", Title: "statement", Min: 14, Grow: true, Prio: 1, NoSort: true},
	})}
	s.table.SortBy("tx")
	s.table.SayEnded("state", "ended")
	return s
}

func (s *sessionsScreen) name() string       { return "Sessions" }
func (s *sessionsScreen) list() *table.Model { return s.table }
func (s *sessionsScreen) keys() []action {
	return []action{actEnter, actCancel, actTerminate, actExplain, actFilter, actSort, actCopyQuery, actWide}
}

func (s *sessionsScreen) want(w *probes.Want) {
	w.Sessions, w.AllKinds = true, true
	w.QueryBytes = max(w.QueryBytes, lineBytes)
}

func (s *sessionsScreen) size(w, h int) {
	s.w, s.h = w, h
	tw, _ := leftover(w, sessionsWidth, s.table.Wide())
	s.table.SetSize(tw, h-s.strip())
}

// sessionsWidth is what the list needs to show its columns and the start of a
// statement.
const sessionsWidth = 118

// strip is how many lines below the list are about the selected session.
func (s *sessionsScreen) strip() int {
	if _, pane := leftover(s.w, sessionsWidth, s.table.Wide()); pane > 0 || s.h < tallHeight {
		return 0
	}
	return stripLines
}

func (s *sessionsScreen) load(f *frame) {
	before := s.f
	s.f = f
	if f.snap.Sessions == nil && f.live {
		return // not read yet: the next answer has them
	}
	forest := f.forest()
	rows := make([]table.Row, 0, len(f.snap.Sessions))
	byKey := make(map[string]*probes.Session, len(f.snap.Sessions)+1)
	for i := range f.snap.Sessions {
		x := &f.snap.Sessions[i]
		key := sessionKey(x)
		byKey[key] = x
		st, wait := stateCell(x), waitCell(x)
		behind := lockCells(forest, x, &wait)
		role := table.Cell{Text: f.role(x)}
		if background(x) {
			role = table.Cell{Text: partOf(x), Role: theme.Dim}
		}
		rows = append(rows, table.Row{Key: key, Sign: waitSign(forest, x, wait), Low: background(x), Cells: []table.Cell{
			{Text: strconv.Itoa(x.PID), Num: float64(x.PID)},
			role,
			{Text: x.User},
			{Text: x.Database},
			{Text: x.App},
			{Text: x.Addr},
			st, wait, behind, ageCell(f.age(x.XactStart)), ageCell(f.age(x.StateChange)), statementCell(x),
		}})
	}
	keepGone(s.table, s.byKey, byKey, &s.ghost, before)
	s.byKey = byKey
	s.table.SetRows(rows)
}

// background says that a session is a process of the server itself. They stand
// below all clients.
func background(x *probes.Session) bool {
	return x.Kind != probes.KindClient && x.Kind != probes.KindMasked && x.Kind != "parallel worker"
}

// partOf is what part of the server a backend is. An autovacuum against wraparound is
// told from others: it is not for ending.
func partOf(x *probes.Session) string {
	if waits.Wraparound(x) {
		return "wraparound " + strings.TrimSuffix(x.Kind, " worker")
	}
	return x.Kind
}

// sessionKey is the identity of a backend; a masked one has only its pid.
func sessionKey(s *probes.Session) string {
	if id := s.BackendID(); id != "" {
		return id
	}
	return strconv.Itoa(s.PID)
}

func stateCell(s *probes.Session) table.Cell {
	c := table.Cell{Text: state(s)}
	switch s.State {
	case "idle", "":
		c.Role = theme.Dim
	case "idle in transaction (aborted)":
		c.Role = theme.Warn
	}
	return c
}

// lockCells is how many sessions wait for this one; a waiter's cell gets whom it
// waits for, and for what.
func lockCells(f *waits.Forest, x *probes.Session, wait *table.Cell) table.Cell {
	n := nodeOf(f, x)
	if n == nil {
		return table.Cell{}
	}
	if e := n.Edge; e != nil {
		wait.Text = blockersText(f, n) + ", " + plain(cmp.Or(e.Object, unnamed(e.LockType)))
	}
	if b := blocks(n); b > 0 {
		return table.Cell{Text: strconv.Itoa(b), Num: float64(b), Role: theme.Warn}
	}
	return table.Cell{}
}

// waitSign marks who waits for a lock, and who holds up others and waits for none.
func waitSign(f *waits.Forest, x *probes.Session, wait table.Cell) theme.Role {
	n := f.Node(waits.Key{PID: x.PID})
	if wait.Role == theme.Normal && n != nil && n.Edge == nil && blocks(n) > 0 {
		return theme.Holder
	}
	return wait.Role
}

// waitCell marks waiting for a heavyweight lock.
func waitCell(s *probes.Session) table.Cell {
	c := table.Cell{Text: waitEvent(s)}
	if s.WaitEventType == "Lock" {
		c.Role = theme.Warn
	}
	return c
}

func statementCell(s *probes.Session) table.Cell {
	c := table.Cell{Text: clean.SQL(s.Query, lineBytes)}
	if s.State != "active" {
		c.Role = theme.Dim
	}
	return c
}

func (s *sessionsScreen) selected() *probes.Session {
	if r, ok := s.table.Selected(); ok {
		return s.byKey[r.Key]
	}
	return nil
}

func (s *sessionsScreen) act(a action) (result, bool) {
	return rowAct(a, s.table, s.selected(), &s.ghost)
}

// rowAct is what the keys do to the session of the row under the cursor.
func rowAct(a action, t *table.Model, x *probes.Session, g *ghost) (result, bool) {
	r, ok := t.Selected()
	if !ok || !r.Gone || x == nil {
		return sessionAct(a, x)
	}
	if a == actEnter {
		s := newSession(*x)
		s.seen = g.of(r.Key, nil)
		return result{push: s}, true
	}
	if res, ok := ended(a, x); ok {
		return res, true
	}
	return sessionAct(a, x)
}

// sessionAct is what the keys do to a session under the cursor.
func sessionAct(a action, x *probes.Session) (result, bool) {
	if x == nil {
		return result{}, false
	}
	switch a {
	case actEnter:
		return result{push: newSession(*x)}, true
	case actCopy:
		return result{copy: strconv.Itoa(x.PID), what: "pid " + strconv.Itoa(x.PID)}, true
	case actCopyQuery:
		return result{query: x}, true
	case actExplain:
		return result{do: explainSession(*x)}, true
	case actCancel, actTerminate:
		return result{end: &endWish{verb: verbOf(a), x: x}}, true
	}
	return result{}, false
}

func (s *sessionsScreen) draw(t *theme.Theme) []string {
	if s.f == nil {
		return make([]string, s.h)
	}
	lines := s.table.Draw(t)
	_, all := s.table.Count()
	if s.f.snap.Sessions == nil && all == 0 && len(lines) > 1 {
		say := "reading the sessions"
		if !s.f.live {
			say = "this reading has no sessions"
		}
		lines[1] = t.Line(s.w, theme.Span{Role: theme.Dim, Text: "  " + say})
	}
	tw, pane := leftover(s.w, sessionsWidth, s.table.Wide())
	if n := s.strip(); pane == 0 {
		return under(t, lines, s.pane(t, s.w-6, n-1), s.w, n)
	}
	return sideBySide(t, lines, s.pane(t, pane, len(lines)), tw)
}

func (s *sessionsScreen) pane(t *theme.Theme, w, h int) []string {
	r, _ := s.table.Selected()
	return sessionPane(t, s.ghost.of(r.Key, s.f), s.selected(), r.Gone, w, h)
}

// sessionPane is a session's facts with the start of its statement.
func sessionPane(t *theme.Theme, f *frame, x *probes.Session, gone bool, w, h int) []string {
	if x == nil {
		return nil
	}
	out := []string{t.Split(w, []theme.Span{{Role: theme.Strong, Text: "pid " + strconv.Itoa(x.PID)}}, dim(partOf(x)))}
	if gone {
		out = append(out, t.Line(w, theme.Span{Role: theme.Warn, Text: "~ ended; as it was at " + clock(f.snap.At)}))
	}
	if w >= twoColumns && h < stripLines {
		return sessionLines(t, f, x, out, w, h)
	}
	out = append(out, drawFacts(t, sessionFacts(f, x), w)...)
	if x.Query != "" {
		out = append(out, "")
		for _, l := range clean.Block(x.Query) {
			for _, p := range wrapText(t.Clean(l), w) {
				out = append(out, t.Line(w, theme.Span{Text: p}))
			}
		}
		if x.QueryClipped {
			out = append(out, t.Line(w, theme.Span{Role: theme.Dim, Text: t.Ellipsis + " enter shows all"}))
		}
	}
	return cutOff(t, out, w, h)
}

// sessionLines adds to few wide lines the start of a session's statement, and as
// many facts as fit.
func sessionLines(t *theme.Theme, f *frame, x *probes.Session, out []string, w, h int) []string {
	role := theme.Normal
	if x.State != "active" {
		role = theme.Dim
	}
	const most = 2 // lines of the statement
	lines := wrapText(t.Clean(clean.SQL(x.Query, 4*lineBytes)), w)
	for i, l := range lines[:min(most, len(lines))] {
		if i == most-1 && len(lines) > most {
			l = t.Cut(l, w-1-clean.Width(t.Ellipsis)) + " " + t.Ellipsis
		}
		out = append(out, t.Line(w, theme.Span{Role: role, Text: l}))
	}
	facts := slices.DeleteFunc(sessionFacts(f, x), func(a fact) bool { return a.label == "kind" })
	for n := len(facts); n > 0; n-- {
		if factRows(facts[:n], w) <= h-len(out) {
			return append(out, drawFacts(t, facts[:n], w)...)
		}
	}
	return out
}
