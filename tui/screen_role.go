package tui

import (
	"fmt"
	"strconv"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/spark"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
	"github.com/pgsonde/pgsonde/tui/tree"
)

// roleScreen is the sessions of one role, by pod.
type roleScreen struct {
	role  string
	tree  *tree.Model
	g     theme.Glyphs
	f     *frame
	w, h  int
	byKey map[string]*probes.Session
	ghost ghost
	kept  int // lines for the role's findings; they only grow
}

func newRole(g theme.Glyphs, role string) *roleScreen {
	s := &roleScreen{role: role, g: g, tree: tree.New(g, []table.Column{
		{ID: "pid", Title: "pod, pid", Min: 12, Max: 22},
		{ID: "state", Title: "state", Min: 8, Max: 8},
		{ID: "wait", Title: "waits for", Min: 12, Max: 22, Prio: 4},
		{ID: "tx", Title: "tx", Right: true, Min: 5, Max: 8, Prio: 1},
		{ID: "for", Title: "for", Right: true, Min: 5, Max: 8, Prio: 5},
		{ID: "query", Title: "statement", Min: 12, Grow: true, Prio: 1},
	})}
	s.tree.SayEnded("state", "ended")
	return s
}

func (s *roleScreen) name() string       { return s.role }
func (s *roleScreen) list() *table.Model { return s.tree.Model }
func (s *roleScreen) Fold()              { s.tree.Fold() }
func (s *roleScreen) Unfold()            { s.tree.Unfold() }
func (s *roleScreen) keys() []action {
	if s.selected() == nil { // a pod
		return []action{actEnter, actBack, actFilter, actWide}
	}
	return []action{actEnter, actBack, actCancel, actTerminate, actExplain, actFilter, actCopyQuery}
}

func (s *roleScreen) want(w *probes.Want) {
	w.Sessions = true
	w.QueryBytes = max(w.QueryBytes, lineBytes)
}

func (s *roleScreen) size(w, h int) {
	s.w, s.h = w, h
	s.arrange()
}

// arrange gives the tree what the summary and the role's findings leave.
func (s *roleScreen) arrange() {
	tw, _ := leftover(s.w, roleWidth, s.tree.Wide())
	s.kept = min(max(s.kept, len(s.notes())), s.h/3)
	s.tree.SetSize(tw, s.h-1-s.kept-s.strip())
}

// roleWidth is what the tree needs to show its columns and the start of a statement.
const roleWidth = 108

// strip is how many lines below the tree are about the selected row.
func (s *roleScreen) strip() int {
	if _, pane := leftover(s.w, roleWidth, s.tree.Wide()); pane > 0 || s.h < tallHeight {
		return 0
	}
	return stripLines
}

// notes are the role's findings, wrapped, where no pane beside has them.
func (s *roleScreen) notes() []theme.Span {
	if _, pane := leftover(s.w, roleWidth, s.tree.Wide()); pane > 0 || s.f == nil {
		return nil
	}
	var out []theme.Span
	add := func(r theme.Role, sign, text string) {
		text = clean.Line(text)
		if s.f.ascii {
			text = clean.ASCII(text)
		}
		for i, l := range wrapText(text, s.w-4) {
			if i > 0 {
				sign = " "
			}
			out = append(out, theme.Span{Role: r, Text: " " + sign + " " + l})
		}
	}
	for _, x := range s.f.findingsOf(s.role) {
		sev := severity(x.Severity)
		add(sev, theme.Sign(sev), x.Message)
		if x.Action != "" {
			add(theme.Dim, " ", x.Action)
		}
	}
	return out[:min(len(out), s.h/3)]
}

func (s *roleScreen) load(f *frame) {
	before := s.f
	s.f = f
	s.arrange()
	if f.snap.Sessions == nil && f.live {
		return
	}
	byKey := map[string]*probes.Session{}
	byPod := map[string][]tree.Node{}
	var order []string
	row, _ := f.row(s.role)
	for _, p := range row.AllPods {
		order = append(order, p.Addr)
		byPod[p.Addr] = nil
	}
	for i := range f.snap.Sessions {
		x := &f.snap.Sessions[i]
		if f.role(x) != s.role {
			continue
		}
		if _, ok := byPod[x.Addr]; !ok {
			order = append(order, x.Addr)
		}
		key := sessionKey(x)
		byKey[key] = x
		wait := waitCell(x)
		byPod[x.Addr] = append(byPod[x.Addr], tree.Node{Row: table.Row{Key: key, Sign: waitSign(f.forest(), x, wait), Cells: []table.Cell{
			{Text: strconv.Itoa(x.PID)}, stateCell(x), wait, ageCell(f.age(x.XactStart)), ageCell(f.age(x.StateChange)), statementCell(x),
		}}})
	}
	nodes := make([]tree.Node, 0, len(order))
	for _, addr := range order {
		nodes = append(nodes, tree.Node{Row: s.podRow(addr, row, len(byPod[addr])), Kids: byPod[addr]})
	}
	keepGone(s.tree.Model, s.byKey, byKey, &s.ghost, before)
	s.byKey = byKey
	s.tree.SetNodes(nodes)
}

// podRow heads the sessions of one address.
func (s *roleScreen) podRow(addr string, r budget.Row, n int) table.Row {
	name := addr
	if name == "" {
		name = "(address hidden)"
	}
	out := table.Row{Key: "pod " + addr, Head: true}
	var count, bar table.Cell
	for _, p := range r.AllPods {
		if p.Addr != addr {
			continue
		}
		count.Text = fmt.Sprintf("%d busy", p.Busy)
		if p.Cap > 0 {
			bar.Text, bar.Rest = spark.Stack(s.g, float64(p.Busy), float64(p.Now-p.Busy), float64(p.Cap), 10)
			bar.Rest += " " + probes.OutOf(p.Busy, p.Cap, "busy", "cap")
			if isFull(r, addr) {
				out.Sign, bar.Role = theme.Crit, theme.Crit
			}
		}
		n = p.Now
	}
	out.Cells = []table.Cell{{Text: name}, {Text: strconv.Itoa(n) + " conns"}, {Text: ""}, {}, {}, bar}
	if bar.Text == "" && bar.Rest == "" {
		out.Cells[5] = table.Cell{Text: count.Text, Role: theme.Dim}
	}
	return out
}

func (s *roleScreen) act(a action) (result, bool) {
	r, ok := s.tree.Selected()
	if !ok {
		return result{}, false
	}
	if x := s.byKey[r.Key]; x != nil {
		return rowAct(a, s.tree.Model, x, &s.ghost)
	}
	return result{}, a == actEnter && s.tree.Toggle()
}

func (s *roleScreen) draw(t *theme.Theme) []string {
	if s.f == nil {
		return make([]string, s.h)
	}
	r, ok := s.f.row(s.role)
	head := t.Line(s.w, theme.Span{Role: theme.Dim, Text: "  not connected now"})
	if ok {
		head = t.Line(s.w, s.summary(r)...)
	}
	lines := s.tree.Draw(t)
	if s.f.snap.Sessions == nil && !s.f.live && len(lines) > 1 {
		lines[1] = t.Line(s.w, theme.Span{Role: theme.Dim, Text: "  this reading has no sessions"})
	}
	if tw, pane := leftover(s.w, roleWidth, s.tree.Wide()); pane > 0 {
		lines = sideBySide(t, lines, s.about(t, r, ok, pane, len(lines)), tw)
	} else if n := s.strip(); n > 0 {
		lines = under(t, lines, s.about(t, r, ok, s.w-6, n-1), s.w, n)
	}
	out := make([]string, 1+s.kept, s.h)
	out[0] = head
	for i, n := range s.notes() {
		out[1+i] = t.Line(s.w, n)
	}
	return append(out, lines...)
}

// about is the selected session, or the role.
func (s *roleScreen) about(t *theme.Theme, r budget.Row, there bool, w, h int) []string {
	if x := s.selected(); x != nil {
		sel, _ := s.tree.Selected()
		return sessionPane(t, s.ghost.of(sel.Key, s.f), x, sel.Gone, w, h)
	}
	if there {
		return roleFacts(t, s.f, r, w, h)
	}
	return nil
}

func (s *roleScreen) selected() *probes.Session {
	if r, ok := s.tree.Selected(); ok {
		return s.byKey[r.Key]
	}
	return nil
}

// ofCap is a role's connections, of the cap where it has one.
func ofCap(r budget.Row) string {
	if r.Cap == nil {
		return strconv.Itoa(r.Now)
	}
	return probes.OutOf(r.Now, *r.Cap, "", "cap")
}

// summary is the role in one line.
func (s *roleScreen) summary(r budget.Row) []theme.Span {
	sign := s.f.sign(r.Role)
	text := ofCap(r)
	out := []theme.Span{{Text: " "}, {Role: sign, Text: theme.Sign(sign) + " "}, {Role: strong(sign), Text: text}}
	if r.Busy != nil {
		out = append(out, dim(fmt.Sprintf("  %d busy, %d idle, %d idle in tx, %d waiting for a lock", *r.Busy, or0(r.Idle), or0(r.IdleInTx), or0(r.LockWaiting)))...)
	}
	if n := s.f.note(r); n != "" {
		out = append(out, theme.Span{Text: "  " + n})
	}
	return out
}
