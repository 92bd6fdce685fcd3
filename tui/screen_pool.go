package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
	"github.com/pgsonde/pgsonde/tui/tree"
)

// poolScreen is one pool: who holds it up, what its servers do, whose its
// clients are.
type poolScreen struct {
	key, title string
	tree       *tree.Model
	f          *frame
	ref        poolRef
	there      bool
	w, h       int
	byKey      map[string]*probes.Session
	ghost      ghost
}

func newPool(g theme.Glyphs, key, title string) *poolScreen {
	s := &poolScreen{key: key, title: title, tree: tree.New(g, []table.Column{
		{ID: "who", Title: "pid, role", Min: 12, Max: 24},
		{ID: "state", Title: "server", Min: 6, Max: 8, Prio: 4},
		{ID: "doing", Title: "does", Min: 10, Max: 26},
		{ID: "for", Title: "for", Right: true, Min: 5, Max: 8, Prio: 1},
		{ID: "role", Title: "role", Min: 6, Max: 14, Prio: 2},
		{ID: "query", Title: "statement", Min: 12, Grow: true, Prio: 3},
	})}
	s.tree.SayEnded("doing", "ended")
	return s
}

func (s *poolScreen) name() string        { return s.title }
func (s *poolScreen) list() *table.Model  { return s.tree.Model }
func (s *poolScreen) Fold()               { s.tree.Fold() }
func (s *poolScreen) Unfold()             { s.tree.Unfold() }
func (s *poolScreen) want(w *probes.Want) { wantPoolers(w) }
func (s *poolScreen) size(w, h int)       { s.w, s.h = w, h; s.arrange() }
func (s *poolScreen) keys() []action {
	if s.selected() == nil {
		return []action{actEnter, actBack, actFilter, actWide}
	}
	return []action{actEnter, actBack, actCancel, actTerminate, actExplain, actFilter, actCopyQuery}
}

func (s *poolScreen) selected() *probes.Session {
	if r, ok := s.tree.Selected(); ok {
		return s.byKey[r.Key]
	}
	return nil
}

// top is the lines over the tree: the pool in words.
func (s *poolScreen) top() int {
	if s.h < 12 {
		return 1
	}
	return 3
}

func (s *poolScreen) arrange() {
	w, _ := beside(s.w, s.tree.Wide())
	s.tree.SetSize(w, max(2, s.h-s.top()))
}

func (s *poolScreen) load(f *frame) {
	last := s.f
	s.f, s.there = f, false
	for _, v := range f.poolers() {
		for i := range v.Pools {
			if p := &v.Pools[i]; poolKey(v, p) == s.key {
				s.ref, s.there = poolRef{v, p.Instance, p}, true
			}
		}
	}
	if !s.there {
		return
	}
	p := s.ref.pool
	byKey := map[string]*probes.Session{}
	var nodes []tree.Node
	section := func(title string, kids []tree.Node) {
		if len(kids) > 0 {
			nodes = append(nodes, tree.Node{Row: table.Row{Key: "section " + title, Head: true, Cells: []table.Cell{{Text: title}, {}, {Text: strconv.Itoa(len(kids))}}}, Kids: kids})
		}
	}
	section("holds it up", s.roots(byKey))
	section("servers", s.servers(byKey))
	var roles []tree.Node
	for _, r := range poolRoles(s.ref.view, p) {
		roles = append(roles, clientRow(r))
	}
	section("clients", roles)
	keepGone(s.tree.Model, s.byKey, byKey, &s.ghost, last)
	_, before := s.tree.Count()
	s.byKey = byKey
	s.tree.SetNodes(nodes)
	if before == 0 && len(nodes) > 0 {
		s.tree.Move(1)
	}
}

func (s *poolScreen) roots(byKey map[string]*probes.Session) []tree.Node {
	var out []tree.Node
	for _, r := range s.ref.pool.Roots {
		key := "root " + strconv.Itoa(r.PID)
		row := table.Row{Key: key, Sign: theme.Holder, Cells: []table.Cell{
			{Text: "pid " + strconv.Itoa(r.PID)}, {}, {Text: fmt.Sprintf("holds up %d", r.Victims), Role: theme.Holder}, {}, {Text: r.Role}, {},
		}}
		if r.PID == 0 {
			row.Cells[0].Text = "prepared"
		}
		if x := r.Session; x != nil {
			byKey[key] = x
			row.Cells[2].Text += ", " + state(x)
			row.Cells[3] = ageCell(s.f.age(x.XactStart))
			row.Cells[5] = statementCell(x)
		}
		out = append(out, tree.Node{Row: row})
	}
	return out
}

func (s *poolScreen) servers(byKey map[string]*probes.Session) []tree.Node {
	backends := slices.Clone(s.ref.pool.Backends)
	slices.SortStableFunc(backends, func(a, b bouncer.Backend) int {
		return cmp.Or(cmp.Compare(doingRank(a.Doing), doingRank(b.Doing)), cmp.Compare(b.ForS, a.ForS), cmp.Compare(a.PID, b.PID))
	})
	var out []tree.Node
	for i := range backends {
		b := &backends[i]
		key := "pid " + strconv.Itoa(b.PID)
		if b.PID == 0 {
			key = "server " + strconv.Itoa(i)
		}
		doing := table.Cell{Text: string(b.Doing)}
		row := table.Row{Key: key}
		switch b.Doing {
		case bouncer.DoingLock:
			row.Sign, doing.Role = theme.Warn, theme.Warn
			doing.Text = "waits for " + pidList(b.Roots)
		case bouncer.DoingIdle:
			doing.Role = theme.Dim
		case bouncer.DoingUnknown:
			doing = table.Cell{Text: "not seen on the server", Role: theme.Dim}
		}
		longest := -1.0
		if b.Session != nil {
			byKey[key], longest = b.Session, b.ForS
		}
		row.Cells = []table.Cell{
			{Text: strconv.Itoa(b.PID)}, {Text: b.State, Role: theme.Dim}, doing, ageCell(longest), {Text: b.Role}, {},
		}
		if b.Session != nil {
			row.Cells[5] = statementCell(b.Session)
		}
		out = append(out, tree.Node{Row: row})
	}
	return out
}

// doingRank sets those that hold a server without working first.
func doingRank(d bouncer.Doing) int {
	return slices.Index([]bouncer.Doing{
		bouncer.DoingLock, bouncer.DoingIdleInTx, bouncer.DoingClient, bouncer.DoingQuery, bouncer.DoingUnknown, bouncer.DoingIdle,
	}, d)
}

func pidList(pids []int) string {
	if len(pids) == 0 {
		return "a lock"
	}
	var out []string
	for i, p := range pids {
		if i == 2 {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", len(pids)-i)
		}
		if p == 0 {
			out = append(out, "a prepared transaction")
		} else {
			out = append(out, strconv.Itoa(p))
		}
	}
	return strings.Join(out, ", ")
}

func clientRow(r bouncer.RoleView) tree.Node {
	row := table.Row{Key: "role " + r.Role, Cells: []table.Cell{
		{Text: cmp.Or(r.Role, "(unknown)")},
		{Text: strconv.Itoa(r.Clients), Role: theme.Dim},
		{Text: fmt.Sprintf("%d linked, %d idle", r.Linked, r.Idle), Role: theme.Dim},
		{},
		{},
		{},
	}}
	if r.Waiting > 0 {
		row.Sign = theme.Warn
		row.Cells[2] = table.Cell{Text: fmt.Sprintf("%d wait, %d linked", r.Waiting, r.Linked), Role: theme.Warn}
		row.Cells[3] = ageCell(r.MaxWaitS)
	}
	return tree.Node{Row: row}
}

func (s *poolScreen) act(a action) (result, bool) {
	if x := s.selected(); x != nil {
		return rowAct(a, s.tree.Model, x, &s.ghost)
	}
	return result{}, a == actEnter && s.tree.Toggle()
}

func (s *poolScreen) draw(t *theme.Theme) []string {
	if s.f == nil {
		return make([]string, s.h)
	}
	out := make([]string, s.top())
	if s.there {
		head := poolFacts(t, s.f, s.ref, s.w-3, s.top())
		for i := range head {
			out[i] = "   " + head[i]
		}
	} else {
		out[0] = t.Line(s.w, theme.Span{Role: theme.Dim, Text: "   this pool is not there any more"})
	}
	lines := s.tree.Draw(t)
	if tw, pane := beside(s.w, s.tree.Wide()); pane > 0 {
		r, _ := s.tree.Selected()
		lines = sideBySide(t, lines, sessionPane(t, s.ghost.of(r.Key, s.f), s.selected(), r.Gone, pane, len(lines)), tw)
	}
	return append(out, lines...)[:s.h]
}
