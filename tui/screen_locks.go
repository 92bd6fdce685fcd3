package tui

import (
	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
	"github.com/pgsonde/pgsonde/tui/tree"
)

// locksScreen is who waits for whom: the causes first, what they cost, and what
// ends the wait.
type locksScreen struct {
	g     theme.Glyphs
	tree  *tree.Model
	f     *frame
	w, h  int
	rows  map[string]lockRow // by the row's key
	order []string           // root rows in the order shown
	first string             // the first row of the last reading: a cursor on it is not used yet
	trees int                // causes of the last reading
	notes int                // lines above the forest; they only grow while it is in use

	follow  string // the row that the cursor goes after, "" none
	path    string // only this row's way to its root is shown, "" all
	slid    slid
	rowsFor int // the width that the rows were made for
}

// lockRow is what a row is about.
type lockRow struct {
	tree  *waits.Tree
	node  *waits.Node
	group *lockGroup
	stub  bool   // the node's own row stands under another root
	seen  *frame // it left the forest under the cursor: the last reading that had it
}

func newLocks(g theme.Glyphs) *locksScreen {
	s := &locksScreen{g: g, tree: tree.New(g, []table.Column{
		{ID: "pid", Title: "pid", Min: 9, Max: 24},
		{ID: "role", Title: "role", Min: 6, Max: 13, Prio: 5},
		{ID: "state", Title: "state", Min: 7, Max: 8, Prio: 6},
		{ID: "want", Title: "holds, waits for", Min: 10, Max: 38, Prio: 1},
		{ID: "for", Title: "for", Right: true, Min: 5, Max: 8},
		{ID: "query", Title: "statement", Min: 12, Grow: true, Prio: 7},
	})}
	s.tree.SayEnded("state", "left")
	return s
}

func (s *locksScreen) name() string       { return "Locks" }
func (s *locksScreen) list() *table.Model { return s.tree.Model }
func (s *locksScreen) Fold()              { s.tree.Fold() }
func (s *locksScreen) Unfold()            { s.tree.Unfold() }

func (s *locksScreen) size(w, h int) {
	if s.w, s.h = w, h; s.f != nil {
		s.notes = len(s.above())
	}
	if s.arrange(); s.f != nil && s.rowsFor != w {
		s.load(s.f)
	}
}

func (s *locksScreen) keys() []action {
	x, ok := s.selected()
	switch {
	case !ok:
		return []action{actFilter}
	case x.seen != nil:
		return []action{actEnter, actExplain, actCopyQuery, actFilter}
	case x.about() == nil:
		return []action{actEnter, actFilter, actPath, actWide}
	case x.about().Session == nil:
		return []action{actEnter, actCopy, actTerminate, actFilter, actPath, actFollow}
	}
	return []action{actCancel, actTerminate, actEnter, actExplain, actFilter, actPath, actFollow, actCopy}
}

// want: the sampler reads the locks by itself; only suspects, when that is late,
// need the sessions.
func (s *locksScreen) want(w *probes.Want) {
	if s.f != nil && s.f.forest().Late != "" {
		w.Sessions, w.QueryBytes = true, max(w.QueryBytes, lineBytes)
	}
}

// enter starts with the worst tree on top again.
func (s *locksScreen) enter() {
	s.order, s.notes, s.slid = nil, 0, slid{}
	s.tree.Forget()
	s.tree.Top()
}

// cursor is the row that it stands on, "" none.
func (s *locksScreen) cursor() string {
	r, _ := s.tree.Selected()
	return r.Key
}

// inUse says that the cursor was moved away from the top, so that rows should
// stay where they are.
func (s *locksScreen) inUse() bool {
	r, ok := s.tree.Selected()
	return ok && r.Key != s.first || s.follow != "" || s.path != ""
}

func (s *locksScreen) load(f *frame) {
	before := s.f
	s.f = f
	used := s.inUse() || !f.live
	s.sticking()
	was := s.cursor()
	w, _ := s.beside()
	b := &lockRows{g: s.g, f: f, w: w, forest: f.forest(), caps: f.use.Caps(), rows: map[string]lockRow{}}
	if used {
		b.selected, b.kept = was, s.rows[was]
	} else {
		s.tree.Forget() // nothing is kept on a screen that nobody uses
	}
	trees := s.sorted(b.forest, used)
	s.trees = len(trees)
	b.trees(trees)
	nodes := b.nodes
	if s.path != "" {
		if nodes = onlyPath(nodes, s.path); nodes == nil {
			s.path, nodes = "", b.nodes
		}
	}
	if b.rows[b.selected] == (lockRow{}) && (b.kept.node != nil || b.kept.tree != nil) {
		if b.kept.seen == nil {
			b.kept.seen = before
		}
		b.rows[b.selected] = b.kept // it is gone: what is said of it is of then
	}
	s.rows, s.rowsFor = b.rows, s.w
	s.tree.SetNodes(nodes)
	s.first = ""
	if len(nodes) > 0 {
		s.first = nodes[0].Row.Key
	}
	switch {
	case s.follow != "":
		s.tree.Reveal(s.follow)
	case !used:
		s.tree.Top()
	}
	s.slid.note(was, s.cursor(), f)
	n := len(s.above())
	if used {
		n = max(n, s.notes)
	}
	s.notes = n
	s.arrange()
}

// sticking ends following when the cursor was moved away by hand.
func (s *locksScreen) sticking() {
	r, ok := s.tree.Selected()
	if _, shown := s.rows[s.follow]; s.follow != "" && ok && shown && r.Key != s.follow {
		s.follow = ""
	}
}

// sorted are the trees, the worst first. While the screen is in use those that
// were there keep their place, and new ones come last.
func (s *locksScreen) sorted(f *waits.Forest, used bool) []*waits.Tree {
	all := f.Drawn()
	rank := map[string]int{}
	for i, k := range s.order {
		rank[k] = i + 1
	}
	known := 0
	for _, t := range all {
		if rank[nodeKey(t.Root)] > 0 {
			known++
		}
	}
	if used && 2*known >= len(s.order) {
		stable(all, rank)
	} else {
		calmOrder(all, rank)
	}
	s.order = s.order[:0]
	for _, t := range all {
		s.order = append(s.order, nodeKey(t.Root))
	}
	return all
}

func (s *locksScreen) arrange() {
	w, pane := s.beside()
	below := 0
	if pane == 0 {
		below = s.strip()
	}
	s.tree.SetSize(w, max(2, s.h-s.notes-below))
}

// treeWidth is what the tree needs to show its columns and the start of a
// statement; only what is left beside it is a pane.
const treeWidth = 118

// beside divides the width between the tree and the pane about its selected row;
// where the tree needs all of it, that stands below.
func (s *locksScreen) beside() (tree, pane int) { return leftover(s.w, treeWidth, s.tree.Wide()) }

// strip is how many lines below the table tell about the selected row.
func (s *locksScreen) strip() int {
	switch {
	case s.h < 14:
		return 0
	case s.h < 18:
		return 1
	case s.h < tallHeight:
		return 3
	}
	return stripLines
}

func (s *locksScreen) selected() (lockRow, bool) {
	r, ok := s.tree.Selected()
	if !ok {
		return lockRow{}, false
	}
	x, ok := s.rows[r.Key]
	return x, ok
}

func (s *locksScreen) act(a action) (result, bool) {
	if a == actRefresh {
		s.enter()
		return result{}, false // the model reads
	}
	r, ok := s.tree.Selected()
	if !ok {
		return result{}, false
	}
	x := s.rows[r.Key]
	if x.seen != nil && (a == actCancel || a == actTerminate || a == actFollow || a == actPath) {
		return result{say: goneWord(x)}, true
	}
	if (a == actCancel || a == actTerminate) && s.slid.recent(r.Key, s.f) {
		s.slid = slid{}
		return result{say: "the list has just moved under the cursor: look, and press it again"}, true
	}
	switch a {
	case actFollow:
		return s.toggleFollow(r.Key, x), true
	case actPath:
		s.togglePath(r.Key, x)
		return result{}, true
	case actBack:
		if s.path == "" {
			return result{}, false
		}
		s.togglePath(s.path, x)
		return result{}, true
	case actCancel, actTerminate:
		return s.end(a, x), true
	case actEnter:
		return s.open(x)
	case actCopy:
		if n := x.about(); n != nil && n.Key.Prepared() {
			return copyRollback(n), true
		}
	}
	if x.about() == nil {
		return result{}, false
	}
	return sessionAct(a, x.about().Session)
}

// about is the session that keys act on: that of the row, on the lines about a tree
// its root.
func (x lockRow) about() *waits.Node {
	if x.node == nil && x.group == nil && x.tree != nil {
		return x.tree.Root
	}
	return x.node
}

// open shows all of a session or of a prepared transaction; a stub leads to the row
// it stands for, and rows without a session fold.
func (s *locksScreen) open(x lockRow) (result, bool) {
	n := x.about()
	switch {
	case x.stub:
		return result{}, s.tree.Reveal(nodeKey(n))
	case x.group != nil || n == nil:
		return result{}, s.tree.Toggle()
	case n.Key.Prepared():
		return result{push: newPrepared(n)}, true
	case n.Session == nil:
		return result{say: "activity does not show backend " + nodeName(n) + ": it is still connecting, or just ended"}, true
	}
	return sessionAct(actEnter, n.Session)
}

// end asks about the session of a row; on the lines about a tree, about its root.
func (s *locksScreen) end(a action, x lockRow) result {
	switch n := x.about(); {
	case x.group != nil:
		return result{say: "a queue: choose the session that it waits for, or one in it"}
	case n != nil:
		return result{end: &endWish{verb: verbOf(a), node: n}}
	}
	return result{say: "this row is no session: choose one"}
}

func (s *locksScreen) toggleFollow(key string, x lockRow) result {
	if s.follow != "" || x.node == nil || x.stub {
		s.follow = ""
		return result{say: "the cursor follows no session"}
	}
	s.follow = key
	return result{say: "the cursor follows " + nodeName(x.node)}
}

func (s *locksScreen) togglePath(key string, x lockRow) {
	switch {
	case s.path != "":
		s.path = ""
	case x.node != nil:
		s.path = key
	case x.tree != nil:
		s.path = nodeKey(x.tree.Root)
		key = s.path
	}
	s.load(s.f)
	s.tree.Reveal(key)
}
