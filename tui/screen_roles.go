package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/tui/spark"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
)

const (
	barWidth   = 8
	sparkWidth = 8
	// calmLoads is how many readings in a row must have fewer findings before
	// the table moves up.
	calmLoads = 5
)

// rolesScreen is the live use of every role held against the budget.
type rolesScreen struct {
	g      theme.Glyphs
	table  *table.Model
	f      *frame
	w, h   int
	found  int            // lines kept for findings
	pinned map[string]int // slots that lock waits hold, by role
	calm   int
	began  bool // the order at the start was set
}

func newRoles(g theme.Glyphs) *rolesScreen {
	return &rolesScreen{g: g, found: 1, table: table.New([]table.Column{
		{ID: "role", Title: "role", Min: 12, Max: 26},
		{ID: "pods", Title: "pods", Right: true, Min: 4, Max: 7, Prio: 5},
		{ID: "now", Title: "now", Right: true, Min: 3, Max: 6},
		{ID: "busy", Title: "busy", Right: true, Min: 4, Max: 6, Prio: 1},
		{ID: "idle", Title: "idle", Right: true, Min: 4, Max: 6, Prio: 9},
		{ID: "intx", Title: "intx", Right: true, Min: 4, Max: 6, Prio: 4},
		{ID: "lock", Title: "lock", Right: true, Min: 4, Max: 6, Prio: 2},
		{ID: "pin", Title: "pin", Right: true, Min: 3, Max: 5, Prio: 2},
		{ID: "kept", Title: "kept", Right: true, Min: 4, Max: 6, Prio: 8},
		{ID: "cap", Title: "cap", Right: true, Min: 3, Max: 6, Prio: 1},
		{ID: "use", Title: "of cap", Min: barWidth, Max: barWidth, Prio: 3, NoSort: true},
		{ID: "seen", Title: "seen", Right: true, Min: 4, Max: 6, Prio: 10},
		{ID: "trend", Title: "trend", Min: sparkWidth, Max: sparkWidth, Prio: 6, NoSort: true},
		{ID: "oldest", Title: "oldest", Right: true, Min: 6, Max: 8, Prio: 5},
		{ID: "note", Title: "note", Min: 16, Grow: true, Prio: 12},
	})}
}

func (s *rolesScreen) name() string       { return "Roles" }
func (s *rolesScreen) want(*probes.Want)  {}
func (s *rolesScreen) list() *table.Model { return s.table }
func (s *rolesScreen) keys() []action {
	acts := []action{actEnter, actWhatIf, actFilter, actSort, actWide}
	if s.f != nil && s.f.file == nil {
		acts = slices.Delete(acts, 1, 2)
	}
	if s.more() {
		acts = slices.Insert(acts, 1, actFindings)
	}
	return acts
}
func (s *rolesScreen) size(w, h int) { s.w, s.h = w, h; s.arrange() }

func (s *rolesScreen) load(f *frame) {
	s.f = f
	s.pinned = pinned(f.forest())
	for _, r := range f.use.Rows { // more than connect directly have their slots of the pooler
		if n := s.pinned[r.Role] - r.Now; r.Via != "" && n > 0 {
			s.pinned[r.Role] -= n
			s.pinned["pooler "+r.Via] += n
		}
	}
	s.table.Hide(f.file == nil, "kept", "cap", "use")
	if !s.began {
		s.began = true
		if f.file == nil {
			s.table.SortBy("now")
		}
	}
	rows := make([]table.Row, 0, len(f.use.Rows))
	for _, r := range inOrder(f.use.Rows) {
		rows = append(rows, s.row(f, r))
	}
	s.table.SetRows(rows)
	n := s.findingLines()
	switch {
	case n >= s.found:
		s.found, s.calm = n, 0
	default:
		if s.calm++; s.calm > calmLoads {
			s.found, s.calm = n, 0
		}
	}
	s.arrange()
}

func (s *rolesScreen) arrange() {
	w, _ := beside(s.w, s.table.Wide())
	s.found = min(s.found, max(s.findingLines(), s.mostFindings()))
	s.table.SetSize(w, s.h-s.found-1-s.strip())
}

// strip is how many lines below the table tell about the selected role, where
// there is no pane beside: what it is, and its worst finding with what to do.
func (s *rolesScreen) strip() int {
	switch _, pane := beside(s.w, s.table.Wide()); {
	case pane > 0 || s.h < 14:
		return 0
	case s.h < 18:
		return 1
	}
	return 3
}

// inOrder are the declared roles and poolers as the file has them, then the
// others, the largest first.
func inOrder(rows []budget.Row) []budget.Row {
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b budget.Row) int {
		switch x, y := undeclared(a), undeclared(b); {
		case x && y:
			return b.Now - a.Now
		case x:
			return 1
		case y:
			return -1
		}
		return 0
	})
	return out
}

func undeclared(r budget.Row) bool { return r.Origin != budget.Declared && r.Origin != budget.Pooler }

func (s *rolesScreen) row(f *frame, r budget.Row) table.Row {
	now := number(r.Now)
	if f.use.Bound && r.Now > 0 {
		now.Text = s.g.AtMost + now.Text
	}
	if r.Over {
		now.Role = theme.Crit
	}
	lock := optional(r.LockWaiting)
	if r.LockWaiting != nil && *r.LockWaiting > 0 {
		lock.Role = theme.Warn
	}
	pin := number(s.pinned[r.Role])
	if r.Cap != nil && s.pinned[r.Role] > 0 && s.pinned[r.Role] >= *r.Cap {
		pin.Role = theme.Crit
	}
	name := table.Cell{Text: r.Role}
	if f.file != nil && undeclared(r) {
		name.Role = theme.Dim
	}
	oldest := -1.0
	if r.OldestTxS != nil && *r.OldestTxS >= 1 { // shorter ones only flicker
		oldest = *r.OldestTxS
	}
	known := optional
	if r.Via != "" && r.Now == 0 { // it is in the pooler's row: there is nothing to be known
		known = func(*int) table.Cell { return limit(s.g, nil) }
		lock = known(nil)
	}
	return table.Row{Key: r.Role, Sign: f.sign(r.Role), Cells: []table.Cell{
		name, pods(r, s.g), now, known(r.Busy), known(r.Idle), known(r.IdleInTx), lock, pin,
		limit(s.g, r.Kept), limit(s.g, r.Cap), useBar(s.g, r, barWidth), number(f.peaks[r.Role]),
		{Text: trend(f, r, s.g, sparkWidth), Role: theme.Dim},
		ageCell(oldest),
		{Text: f.note(r)},
	}}
}

// note is what else to know of a role, in a few words.
func (f *frame) note(r budget.Row) string {
	if r.Note != "" {
		return r.Note
	}
	switch {
	case r.Origin == budget.Captured && f.file != nil:
		return "not in the budget"
	case r.Runs == "off" && r.Now > 0:
		return "declared off, seen"
	case r.Via != "":
		return "through " + r.Via
	}
	return ""
}

// pods is the number of client addresses now and declared.
func pods(r budget.Row, g theme.Glyphs) table.Cell {
	now := "?"
	c := table.Cell{Num: -1}
	if r.Via != "" && r.Now == 0 {
		return limit(g, nil)
	}
	if r.Pods != nil {
		now, c.Num = strconv.Itoa(*r.Pods), float64(*r.Pods)
	}
	c.Text = now
	if r.Replicas != nil {
		c.Text += "/" + strconv.Itoa(*r.Replicas)
	}
	if r.Pods != nil && *r.Pods == 0 {
		c.Role = theme.Dim
	}
	return c
}

// useBar draws a role's busy and idle connections against its cap.
func useBar(g theme.Glyphs, r budget.Row, w int) table.Cell {
	if r.Cap == nil {
		return table.Cell{}
	}
	c := table.Cell{}
	busy := r.Now
	if r.Busy != nil {
		busy = *r.Busy
	}
	c.Text, c.Rest = spark.Stack(g, float64(busy), float64(r.Now-busy), float64(*r.Cap), w)
	switch {
	case r.Over:
		c.Role = theme.Crit
	case r.Kept != nil && *r.Kept > 0 && *r.Kept < *r.Cap && r.Now > *r.Kept:
		c.Role = theme.Warn // the overflow is in use
	}
	return c
}

func trend(f *frame, r budget.Row, g theme.Glyphs, w int) string {
	top := 0.0
	if r.Cap != nil {
		top = float64(*r.Cap)
	} else if p := f.peaks[r.Role]; p > 0 {
		top = float64(p)
	}
	return spark.Line(g, f.hist[r.Role], top, w)
}

func (s *rolesScreen) act(a action) (result, bool) {
	r, ok := s.table.Selected()
	if a == actFindings && s.f != nil {
		return allFindings(s.g, s.f), true
	}
	if a == actWhatIf && s.f != nil {
		return openWhatIf(s.f, r.Key), true
	}
	if !ok {
		return result{}, false
	}
	switch a {
	case actEnter:
		return result{push: newRole(s.g, r.Key)}, true
	case actCopy:
		return result{copy: r.Key, what: r.Key}, true
	}
	return result{}, false
}

func (s *rolesScreen) draw(t *theme.Theme) []string {
	if s.f == nil {
		return make([]string, s.h)
	}
	w, pane := beside(s.w, s.table.Wide())
	left := s.findings(t, s.w)
	body := s.table.Draw(t)
	if pane > 0 {
		body = sideBySide(t, body, s.facts(t, pane, len(body)), w)
	}
	out := append(left, t.Line(s.w))
	out = append(out, body...)
	if n := s.strip(); n > 0 {
		out = append(out, s.about(t))
		out = append(out, s.worst(t, n-1)...)
	}
	return out
}

// about is one line on the selected role.
func (s *rolesScreen) about(t *theme.Theme) string {
	row, ok := s.table.Selected()
	if !ok {
		return ""
	}
	r, ok := s.f.row(row.Key)
	if !ok {
		return t.Line(s.w, theme.Span{Text: "  "}, theme.Span{Role: theme.Strong, Text: row.Key}, theme.Span{Role: theme.Dim, Text: "  no longer there"})
	}
	parts := []string{}
	if r.Runs != "" && r.Runs != "always" {
		parts = append(parts, r.Runs)
	}
	if n := s.f.note(r); n != "" {
		parts = append(parts, n)
	}
	if r.Idle != nil {
		parts = append(parts, fmt.Sprintf("idle %d", *r.Idle))
	}
	if room, ok := s.f.use.RoomFor(r.Role); ok {
		parts = append(parts, "room for one more: "+roomText(room))
	}
	parts = append(parts, fmt.Sprintf("most seen %d", s.f.peaks[r.Role]))
	if r.Peak != nil {
		parts = append(parts, fmt.Sprintf("peak %d with surge", *r.Peak))
	}
	return t.Line(s.w, theme.Span{Text: "   "}, theme.Span{Role: theme.Strong, Text: r.Role}, theme.Span{Role: theme.Dim, Text: "  " + strings.Join(parts, ", ")})
}

// facts is the pane about the selected role.
func (s *rolesScreen) facts(t *theme.Theme, w, h int) []string {
	row, ok := s.table.Selected()
	if !ok {
		return nil
	}
	r, ok := s.f.row(row.Key)
	if !ok {
		return []string{t.Line(w, theme.Span{Role: theme.Strong, Text: row.Key}), t.Line(w, theme.Span{Role: theme.Dim, Text: "no longer there"})}
	}
	return roleFacts(t, s.f, r, w, h)
}

// sideBySide joins a table of w cells and a pane by a thin line.
func sideBySide(t *theme.Theme, left, right []string, w int) []string {
	bar := t.Paint(theme.Dim, false, t.Bar)
	for i := range left {
		line := theme.Pad(left[i], w) + " " + bar
		if i < len(right) && right[i] != "" {
			line += " " + right[i]
		}
		left[i] = line
	}
	return left
}
