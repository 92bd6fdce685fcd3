// Package tree draws nodes with children as table rows. Nodes have an
// identity: what is folded, the selection and the scroll place survive a
// refresh, and only the rows on screen are drawn.
package tree

import (
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// Node is one row and what hangs below it. The first cell of the row carries
// the branches of the tree.
type Node struct {
	Row  table.Row
	Kids []Node
}

// Model is the state of a tree. It is a table that adds folding.
type Model struct {
	*table.Model
	glyphs theme.Glyphs
	nodes  []Node
	closed map[string]bool
	parent map[string]string
	kids   map[string]int
}

// New makes an empty tree; the columns are those of its table.
func New(g theme.Glyphs, cols []table.Column) *Model {
	return &Model{Model: table.NewFixed(cols), glyphs: g, closed: map[string]bool{}}
}

// SetNodes replaces the content; folds and selection stay with their keys.
func (m *Model) SetNodes(nodes []Node) {
	m.nodes = nodes
	m.flatten()
}

// Fold hides the children of the selected node; on a leaf or a folded node it
// goes to the parent.
func (m *Model) Fold() {
	r, ok := m.Selected()
	if !ok {
		return
	}
	if m.kids[r.Key] > 0 && !m.closed[r.Key] {
		m.closed[r.Key] = true
		m.flatten()
		return
	}
	if p, ok := m.parent[r.Key]; ok {
		m.Select(p)
	}
}

// Unfold shows the children of the selected node; when they are shown it goes
// to the first.
func (m *Model) Unfold() {
	r, ok := m.Selected()
	if !ok || m.kids[r.Key] == 0 {
		return
	}
	if m.closed[r.Key] {
		delete(m.closed, r.Key)
		m.flatten()
		return
	}
	m.Move(1)
}

// Toggle folds or unfolds the selected node; false on a leaf.
func (m *Model) Toggle() bool {
	r, ok := m.Selected()
	if !ok || m.kids[r.Key] == 0 {
		return false
	}
	if m.closed[r.Key] {
		delete(m.closed, r.Key)
	} else {
		m.closed[r.Key] = true
	}
	m.flatten()
	return true
}

func (m *Model) flatten() {
	m.parent, m.kids = map[string]string{}, map[string]int{}
	var rows []table.Row
	for _, n := range m.nodes {
		rows = m.add(rows, n, "", "")
	}
	m.SetRows(rows)
}

// add appends a node and its visible descendants. lead is what stands before
// the node, below what stands before its children.
func (m *Model) add(rows []table.Row, n Node, lead, below string) []table.Row {
	r := n.Row
	m.kids[r.Key] = len(n.Kids)
	sign := ""
	switch {
	case len(n.Kids) == 0 && lead == "":
		sign = "  "
	case len(n.Kids) == 0:
	case m.closed[r.Key]:
		sign = m.glyphs.Closed + " "
	default:
		sign = m.glyphs.Open + " "
	}
	cells := make([]table.Cell, len(r.Cells))
	copy(cells, r.Cells)
	if len(cells) > 0 {
		cells[0].Text = lead + sign + cells[0].Text
	}
	r.Cells = cells
	rows = append(rows, r)
	if m.closed[r.Key] {
		return rows
	}
	for i, k := range n.Kids {
		m.parent[k.Row.Key] = r.Key
		branch, deeper := m.glyphs.Tee, m.glyphs.Pipe
		if i == len(n.Kids)-1 {
			branch, deeper = m.glyphs.Elbow, "   "
		}
		rows = m.add(rows, k, below+branch, below+deeper)
	}
	return rows
}
