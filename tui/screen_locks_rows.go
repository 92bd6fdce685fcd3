package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
	"github.com/pgsonde/pgsonde/tui/tree"
)

// lockRows makes the rows of one reading.
type lockRows struct {
	g        theme.Glyphs
	f        *frame
	w        int // cells of a row
	forest   *waits.Forest
	caps     map[string]int
	selected string
	kept     lockRow

	nodes []tree.Node
	rows  map[string]lockRow
}

func (b *lockRows) trees(all []*waits.Tree) {
	for _, t := range all {
		b.tree(t)
	}
	if n := len(b.forest.Alone); n > 0 {
		b.head("alone", "", lockRow{}, theme.Span{Role: theme.Dim, Text: plural(n, "session") + " that nothing seems to block: just granted, or it changed while it was read"})
		for _, x := range b.forest.Alone {
			b.nodes = append(b.nodes, b.branch(nil, x))
		}
	}
	for i := range b.forest.SafeSnapshots {
		if b.forest.SafeSnapshots[i].InTree() {
			continue
		}
		b.safe(&b.forest.SafeSnapshots[i])
	}
	if b.forest.Late != "" {
		b.suspects()
	}
}

// head adds a row across all columns that heads those after it.
func (b *lockRows) head(key, find string, x lockRow, spans ...theme.Span) {
	b.line(key, find, x, spans...)
	b.nodes[len(b.nodes)-1].Heads = true
}

// line adds a row across all columns about those around it.
func (b *lockRows) line(key, find string, x lockRow, spans ...theme.Span) {
	b.rows[key] = x
	b.nodes = append(b.nodes, tree.Node{Row: table.Row{Key: key, Line: spans, Find: find, Aside: true}})
}

// tree adds a tree: what it costs, what ends it, and the root with all below it.
func (b *lockRows) tree(t *waits.Tree) {
	key := nodeKey(t.Root)
	root := b.branch(t, t.Root)
	b.head("tree "+key, "", lockRow{tree: t}, b.costs(t, b.forest.Circle(t))...)
	b.nodes[len(b.nodes)-1].Row.Sign = severity(b.forest.Severity(t, b.caps))
	if text := shorter(bestText(b.forest, t), b.w-7); text != "" {
		b.line("best "+key, "", lockRow{tree: t}, theme.Span{Role: theme.OK, Text: b.g.Arrow + " "}, theme.Span{Role: theme.Strong, Text: text})
	}
	b.nodes = append(b.nodes, root)
}

// shorter is advice that fits into w cells: what is done to whom and whom it frees
// comes first, so reasons go from the end.
func shorter(text string, w int) string {
	for clean.Width(text) > w {
		i := max(strings.LastIndex(text, " ("), strings.LastIndex(text, "; "), strings.LastIndex(text, " and loses"), strings.LastIndex(text, ", for "))
		if i <= 0 {
			return text
		}
		text = text[:i]
	}
	return text
}

// bestText is what to do about a tree. The statement that ends a prepared
// transaction comes first: it is what is copied; then whom that frees, as in its dialog.
func bestText(f *waits.Forest, t *waits.Tree) string {
	if sql := rollbackOf(t.Root); sql != "" && t.Best.Verb == waits.Rollback {
		return sql + ": " + outlook{end: t.Ends[0], unless: f.Unless(t.Root)}.sum() +
			" (y copies it); in database " + t.Root.Prepared.Database + ", as " + t.Root.Prepared.Owner + " or superuser"
	}
	return t.Best.Text
}

// costs are what a tree costs: victims, the longest wait, the slots by role.
func (b *lockRows) costs(t *waits.Tree, cycle *waits.Cycle) []theme.Span {
	n, who := t.Victims, " behind "+nodeName(t.Root)
	if cycle != nil {
		who = " in a circle: " + keysText(cycle.Members, 4)
	}
	longest := waitAge(t.Longest)
	if t.Renewed() {
		longest += " (blocked " + b.g.AtMost + waitAge(t.Blocked) + ")"
	}
	out := []theme.Span{
		{Role: theme.Strong, Text: strconv.Itoa(n) + " wait" + third(n) + who},
		{Role: theme.Normal, Text: ", longest " + longest},
		{Role: theme.Dim, Text: ", pins "},
	}
	for i, r := range rolesByCount(t) {
		n, limit := t.ByRole[r], b.caps[r]
		role, text := theme.Normal, r+" "+strconv.Itoa(n)
		if limit > 0 {
			text += "/" + strconv.Itoa(limit)
		}
		if limit > 0 && n >= limit {
			role, text = theme.Crit, text+" full"
		}
		if i > 0 {
			out = append(out, theme.Span{Role: theme.Dim, Text: ", "})
		}
		out = append(out, theme.Span{Role: role, Text: text})
	}
	if len(t.ByRole) == 0 {
		out = append(out, theme.Span{Role: theme.Dim, Text: "no slot"})
	}
	return out
}

// branch is a node with all below it.
func (b *lockRows) branch(t *waits.Tree, n *waits.Node) tree.Node {
	if n.Session == nil && !n.Key.Prepared() {
		b.meet(n)
	}
	key := nodeKey(n)
	if _, twice := b.rows[key]; twice {
		key += " again"
	}
	b.rows[key] = lockRow{tree: t, node: n}
	out := tree.Node{Row: table.Row{Key: key, Cells: b.cells(n)}, Soft: n.Edge != nil && queued(n.Edge)}
	switch {
	case n.Edge == nil && len(n.Children)+len(n.Elsewhere) > 0 && t != nil:
		out.Row.Sign = theme.Holder
	case t != nil && t.Best.Key == n.Key && n.Edge != nil:
		out.Row.Sign = theme.Warn // what to cancel
	}
	out.Row.Find = searchText(n)
	single, groups := split(n.Children)
	for _, c := range single {
		out.Kids = append(out.Kids, b.branch(t, c))
	}
	for i := range groups {
		out.Kids = append(out.Kids, b.group(t, n, &groups[i]))
	}
	if n.Edge == nil && t != nil {
		out.Kids = append(out.Kids, b.stubs(t, n)...)
	}
	return out
}

// mostStubs is how many sessions of another tree a root names.
const mostStubs = 3

// stubs are lines for sessions that wait for a root and are drawn under another
// one: ending this root alone does not free them.
func (b *lockRows) stubs(t *waits.Tree, root *waits.Node) []tree.Node {
	var out []tree.Node
	for i, k := range root.Elsewhere {
		n := b.forest.Node(k)
		if n == nil {
			continue
		}
		key := "stub " + nodeKey(root) + " " + nodeKey(n)
		b.rows[key] = lockRow{tree: t, node: n, stub: true}
		line := []theme.Span{{Role: theme.Strong, Text: nodeName(n)}, {Text: " " + n.Role}, {Role: theme.Dim, Text: " waits for this one too; it stands under "}, {Text: nodeName(rootOf(n))}}
		if i == mostStubs-1 && len(root.Elsewhere) > mostStubs {
			line = append(line, theme.Span{Role: theme.Dim, Text: ", like " + strconv.Itoa(len(root.Elsewhere)-mostStubs) + " more"})
		}
		out = append(out, tree.Node{Soft: true, Row: table.Row{Key: key, Line: line, Find: searchText(n)}})
		if len(out) == mostStubs {
			break
		}
	}
	return out
}

// meet fills in a session that the reading of the locks does not describe, when
// the reading of the sessions does.
func (b *lockRows) meet(n *waits.Node) {
	for i := range b.f.snap.Sessions {
		if x := &b.f.snap.Sessions[i]; x.PID == n.Key.PID {
			n.Session, n.Role = x, b.f.role(x)
		}
	}
}

// queued says that a session does not wait for what its blocker holds, but for
// its turn behind others: in the queue of a lock, or of a row behind its head.
func queued(e *waits.Edge) bool { return e.Kind == waits.Soft || e.LockType == "tuple" }

// searchText is what a filter finds in a row: pid, role, relation.
func searchText(n *waits.Node) string {
	s := nodeName(n) + " " + n.Role
	if n.Edge != nil {
		s += " " + n.Edge.Object
	}
	return s
}

// cells of a session: what it holds or waits for, and how long.
func (b *lockRows) cells(n *waits.Node) []table.Cell {
	st, want := table.Cell{Text: "?", Role: theme.Dim}, table.Cell{}
	since := -1.0
	query := table.Cell{Role: theme.Dim}
	if x := n.Session; x != nil {
		st, since = stateCell(x), b.f.age(x.XactStart)
		query = statementCell(x)
	}
	if p := n.Prepared; p != nil {
		st = table.Cell{Text: "prepared"}
		since, query.Text = b.f.age(p.Prepared), "owner "+p.Owner+", database "+p.Database
	}
	switch e := n.Edge; {
	case e == nil:
		want.Text = holdText(b.forest, n)
		want.Role = theme.Strong
	default:
		want.Text = wantText(e)
		st = table.Cell{Text: "waits"}
		if queued(e) {
			st.Text = "queued"
		}
		if n.Doubt != "" {
			st.Text += "?"
		}
		since = seconds(e.Wait)
		query.Role = theme.Normal
	}
	forCell := ageCell(since)
	if n.Edge != nil && n.Edge.Wait >= 0 && n.Blocked >= n.Edge.Wait+time.Second { // it waits anew
		forCell.Text = b.g.AtMost + waitAge(n.Blocked)
	}
	if since < 0 && n.Edge != nil {
		forCell = table.Cell{Text: "?", Role: theme.Dim}
	}
	name := table.Cell{Text: nodeName(n)}
	if n.Key.Prepared() {
		name.Text = "prepared"
		if n.GID != "" {
			query.Text = strconv.Quote(n.GID) + " " + query.Text
		}
	}
	role := table.Cell{Text: n.Role}
	switch x := n.Session; {
	case waits.Wraparound(x):
		role = table.Cell{Text: "wraparound", Role: theme.Warn} // not to be ended
	case x != nil && background(x) && n.Role == "":
		role = table.Cell{Text: strings.TrimSuffix(x.Kind, " worker"), Role: theme.Dim}
	}
	return []table.Cell{name, role, st, want, forCell, query}
}

func (b *lockRows) safe(s *waits.SafeSnapshot) {
	name := nodeName(s.Waiter)
	b.head("safe "+name, searchText(s.Waiter), lockRow{node: s.Waiter}, theme.Span{Role: theme.Strong, Text: name + " waits for a safe snapshot"},
		theme.Span{Text: ", " + waitAge(s.Wait)}, theme.Span{Role: theme.Dim, Text: ", until these read-write transactions end"})
	if s.Best.Text != "" {
		b.line("best safe "+name, "", lockRow{node: advisedOf(s)}, theme.Span{Role: theme.OK, Text: b.g.Arrow + " "}, theme.Span{Role: theme.Strong, Text: shorter(s.Best.Text, b.w-7)})
	}
	for _, x := range s.Blockers {
		b.nodes = append(b.nodes, b.branch(nil, x))
	}
}

// advisedOf is the session that the line below a wait for a safe snapshot is about.
func advisedOf(s *waits.SafeSnapshot) *waits.Node {
	for _, n := range s.Blockers {
		if n.Key == s.Best.Key {
			return n
		}
	}
	return s.Waiter
}

// suspects are the sessions that activity alone points at.
func (b *lockRows) suspects() {
	all := slices.DeleteFunc(waits.Suspects(b.f.snap), func(x probes.Session) bool {
		return b.forest.Node(waits.Key{PID: x.PID}) != nil
	})
	if len(all) == 0 {
		return
	}
	b.head("suspects", "", lockRow{}, theme.Span{Role: theme.Warn, Text: "suspects"},
		theme.Span{Role: theme.Dim, Text: ": in a transaction now and waiting for no lock, the oldest first"})
	for i := range all[:min(len(all), 8)] {
		x := &all[i]
		n := &waits.Node{Key: waits.Key{PID: x.PID}, Session: x, Role: b.f.role(x), Blocked: -1}
		b.nodes = append(b.nodes, b.branch(nil, n))
	}
}
