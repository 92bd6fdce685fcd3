package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/tree"
)

// calmer is how much more harm a tree must do than the one above it to take its
// place.
const calmer = 1.5

func harm(t *waits.Tree) float64 { return float64(t.Victims) * max(0.001, t.Waited().Seconds()) }

// stable keeps known trees where they are; new ones come after them.
func stable(all []*waits.Tree, rank map[string]int) {
	at := func(t *waits.Tree) int {
		if r := rank[nodeKey(t.Root)]; r > 0 {
			return r
		}
		return len(rank) + 1
	}
	slices.SortStableFunc(all, func(a, b *waits.Tree) int { return cmp.Compare(at(a), at(b)) })
}

// calmOrder sorts the worst first, but lets neighbours change places only when
// one does clearly more harm.
func calmOrder(all []*waits.Tree, rank map[string]int) {
	slices.SortStableFunc(all, func(a, b *waits.Tree) int { return -cmp.Compare(harm(a), harm(b)) })
	for i := 1; i < len(all); i++ {
		a, b := rank[nodeKey(all[i-1].Root)], rank[nodeKey(all[i].Root)]
		if a > 0 && b > 0 && b < a && harm(all[i-1]) < calmer*harm(all[i]) {
			all[i-1], all[i] = all[i], all[i-1]
		}
	}
}

// onlyPath leaves of a forest the lines about one tree and the way from its root
// to a row; nil when the row is not there.
func onlyPath(nodes []tree.Node, key string) []tree.Node {
	for i := range nodes {
		kept, ok := pathIn(nodes[i], key)
		if !ok {
			continue
		}
		from := i
		for from > 0 && nodes[from-1].Row.Line != nil && strings.HasSuffix(nodes[from-1].Row.Key, nodes[i].Row.Key) {
			from--
		}
		return append(slices.Clone(nodes[from:i]), kept)
	}
	return nil
}

// sessionsIn counts the rows of sessions among nodes and below them, folded or not.
func sessionsIn(nodes []tree.Node) int {
	n := 0
	for i := range nodes {
		if nodes[i].Row.Line == nil {
			n++
		}
		n += sessionsIn(nodes[i].Kids)
	}
	return n
}

func pathIn(n tree.Node, key string) (tree.Node, bool) {
	if n.Row.Key == key {
		hidden := sessionsIn(n.Kids)
		n.Kids = nil
		if hidden > 0 && n.Row.Line == nil {
			n.Row.Cells = slices.Clone(n.Row.Cells)
			n.Row.Cells[0].Rest = " +" + strconv.Itoa(hidden)
		}
		return n, true
	}
	for _, k := range n.Kids {
		if kept, ok := pathIn(k, key); ok {
			n.Kids, n.Folded = []tree.Node{kept}, false
			return n, true
		}
	}
	return n, false
}
