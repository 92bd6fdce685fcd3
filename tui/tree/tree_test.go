package tree

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
)

func node(key string, kids ...Node) Node {
	return Node{Row: table.Row{Key: key, Cells: []table.Cell{{Text: key}}}, Kids: kids}
}

func newTree(nodes ...Node) *Model {
	m := New(theme.New(theme.Plain, true).Glyphs, []table.Column{{ID: "x", Title: "x", Min: 20}})
	m.SetSize(40, 12)
	m.SetNodes(nodes)
	return m
}

func shape(m *Model) []string {
	var out []string
	for _, l := range m.Draw(theme.New(theme.Plain, true))[1:] {
		if l = strings.TrimRight(ansi.Strip(l), " "); l != "" {
			out = append(out, l)
		}
	}
	return out
}

func check(t *testing.T, m *Model, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, shape(m)); d != "" {
		t.Errorf("tree differs (-want +got):\n%s", d)
	}
}

func TestShape(t *testing.T) {
	m := newTree(node("a", node("b", node("c"), node("d")), node("e")), node("f"))
	check(t, m,
		">  - a",
		"   |- - b",
		"   |  |- c",
		"   |  `- d",
		"   `- e",
		"     f")
}

func TestFoldSurvivesARefresh(t *testing.T) {
	nodes := []Node{node("a", node("b"), node("c")), node("d", node("e"))}
	m := newTree(nodes...)
	m.Fold()
	want := []string{">  + a", "   - d", "   `- e"}
	check(t, m, want...)
	m.SetNodes(append([]Node{node("new", node("n"))}, nodes...))
	check(t, m, append([]string{"   - new", "   `- n"}, want...)...)
	m.Unfold()
	m.Unfold() // to the first child
	if r, _ := m.Selected(); r.Key != "b" {
		t.Errorf("unfold twice: got %q, want b", r.Key)
	}
	m.Fold() // a leaf: to its parent
	if r, _ := m.Selected(); r.Key != "a" {
		t.Errorf("fold on a leaf: got %q, want a", r.Key)
	}
}

func TestSelectionFollowsTheNodeToAnotherParent(t *testing.T) {
	m := newTree(node("a", node("x")), node("b"))
	m.Move(1)
	m.SetNodes([]Node{node("b", node("x")), node("a")})
	if r, _ := m.Selected(); r.Key != "x" {
		t.Errorf("got %q, want x", r.Key)
	}
}

func TestToggle(t *testing.T) {
	m := newTree(node("a", node("b")))
	if !m.Toggle() {
		t.Error("a node with children does not toggle")
	}
	check(t, m, ">  + a")
	m.Toggle()
	m.Move(1)
	if m.Toggle() {
		t.Error("a leaf toggles")
	}
	if m := newTree(); m.Toggle() {
		t.Error("an empty tree toggles")
	}
}
