// Package tree draws nodes with children as table rows. Nodes have an
// identity: what is folded, the selection and the scroll place survive a
// refresh, and only the rows on screen are drawn.
package tree

import (
	"strings"

	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// Node is one row and what hangs below it. The first cell of the row carries
// the branches of the tree.
type Node struct {
	Row    table.Row
	Kids   []Node
	Soft   bool // hangs on its parent by a dashed branch
	Folded bool // hides its children until they are asked for
	Heads  bool // the nodes after it, up to the next such, belong to it: a filter keeps them together
}

// Model is the state of a tree. It is a table that adds folding.
type Model struct {
	*table.Model
	glyphs theme.Glyphs
	nodes  []Node
	closed map[string]bool // folded by a key
	opened map[string]bool // unfolded by a key
	shut   map[string]bool // of the rows drawn: hides its children
	parent map[string]string
	kids   map[string]int
}

// New makes an empty tree; the columns are those of its table.
func New(g theme.Glyphs, cols []table.Column) *Model {
	return &Model{Model: table.NewFixed(cols), glyphs: g, closed: map[string]bool{}, opened: map[string]bool{}}
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
	if m.kids[r.Key] > 0 && !m.shut[r.Key] {
		m.fold(r.Key, true)
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
	if m.shut[r.Key] {
		m.fold(r.Key, false)
		return
	}
	m.Move(1)
}

func (m *Model) fold(key string, shut bool) {
	delete(m.closed, key)
	delete(m.opened, key)
	if shut {
		m.closed[key] = true
	} else {
		m.opened[key] = true
	}
	m.flatten()
}

// Toggle folds or unfolds the selected node; false on a leaf.
func (m *Model) Toggle() bool {
	r, ok := m.Selected()
	if !ok || m.kids[r.Key] == 0 {
		return false
	}
	m.fold(r.Key, !m.shut[r.Key])
	return true
}

// Reveal unfolds what hides a node and puts the cursor on it; false when there
// is no such node.
func (m *Model) Reveal(key string) bool {
	path := pathTo(m.nodes, key)
	if path == nil {
		return false
	}
	hidden := false
	for _, k := range path[:len(path)-1] {
		if m.shut[k] {
			hidden = true
			delete(m.closed, k)
			m.opened[k] = true
		}
	}
	if hidden {
		m.flatten()
	}
	m.Select(key)
	return true
}

// pathTo is the keys from a root to the node, the node included; nil without it.
func pathTo(nodes []Node, key string) []string {
	for i := range nodes {
		k := nodes[i].Row.Key
		if k == key {
			return []string{k}
		}
		if p := pathTo(nodes[i].Kids, key); p != nil {
			return append([]string{k}, p...)
		}
	}
	return nil
}

func (m *Model) flatten() {
	m.parent, m.kids, m.shut = map[string]string{}, map[string]int{}, map[string]bool{}
	var rows []table.Row
	depth := 0
	for _, n := range m.nodes {
		if n.Heads {
			depth = 0
		}
		rows = m.add(rows, n, place{depth: depth})
		if n.Heads {
			depth = 1
		}
	}
	m.SetRows(rows)
}

// place is where a node is drawn: lead is what stands before it, below what stands
// before its children.
type place struct {
	lead, below string
	depth       int
}

// add appends a node and its visible descendants.
func (m *Model) add(rows []table.Row, n Node, at place) []table.Row {
	r, lead, below := n.Row, at.lead, at.below
	r.Depth = at.depth
	m.kids[r.Key] = len(n.Kids)
	shut := len(n.Kids) > 0 && (m.closed[r.Key] || n.Folded && !m.opened[r.Key])
	m.shut[r.Key] = shut
	if shut { // what it hides is found by it
		r.Find = hidden(r.Find, n.Kids)
	}
	sign := ""
	switch {
	case len(n.Kids) == 0 && lead == "" && r.Line == nil:
		sign = "  "
	case len(n.Kids) == 0:
	case shut:
		sign = m.glyphs.Closed + " "
	default:
		sign = m.glyphs.Open + " "
	}
	if r.Line != nil {
		r.Line = append([]theme.Span{{Role: theme.Dim, Text: lead + sign}}, r.Line...)
	}
	cells := make([]table.Cell, len(r.Cells))
	copy(cells, r.Cells)
	if len(cells) > 0 {
		cells[0].Text = lead + sign + cells[0].Text
	}
	r.Cells = cells
	rows = append(rows, r)
	if shut {
		return rows
	}
	for i, k := range n.Kids {
		m.parent[k.Row.Key] = r.Key
		branch, deeper := m.glyphs.Tee, m.glyphs.Pipe
		if k.Soft {
			branch = m.glyphs.SoftTee
		}
		if i == len(n.Kids)-1 {
			branch, deeper = m.glyphs.Elbow, "   "
			if k.Soft {
				branch = m.glyphs.SoftElbow
			}
		}
		rows = m.add(rows, k, place{below + branch, below + deeper, at.depth + 1})
	}
	return rows
}

// hidden adds to text what a filter finds in nodes and all below them.
func hidden(text string, nodes []Node) string {
	var b strings.Builder
	b.WriteString(text)
	var add func([]Node)
	add = func(nodes []Node) {
		for _, n := range nodes {
			b.WriteString("\n" + n.Row.Find)
			for _, c := range n.Row.Cells {
				b.WriteString("\n" + c.Text)
			}
			add(n.Kids)
		}
	}
	add(nodes)
	return b.String()
}
