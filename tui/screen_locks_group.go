package tui

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
	"github.com/pgsonde/pgsonde/tui/tree"
)

// foldFrom: more sessions than this that wait behind one for the same thing
// are folded into one row until they are asked for.
const foldFrom = 5

// lockGroup is sessions that wait for the same thing behind the same session.
type lockGroup struct {
	nodes  []*waits.Node
	queue  bool // of a row: behind its head
	object string
}

// split parts the children that have a row of their own from those that wait
// side by side for the same thing.
func split(children []*waits.Node) (single []*waits.Node, groups []lockGroup) {
	type same struct {
		queue  *waits.Queue
		kind   waits.Kind
		object string
	}
	all := map[same][]*waits.Node{}
	var order []same
	for _, c := range children {
		k := same{kind: c.Edge.Kind, object: c.Edge.Object}
		if c.Queue != nil && c.Edge.LockType == "tuple" {
			k = same{queue: c.Queue, kind: waits.Soft}
		}
		if len(c.Children) > 0 || k.object == "" && k.queue == nil {
			single = append(single, c)
			continue
		}
		if all[k] == nil {
			order = append(order, k)
		}
		all[k] = append(all[k], c)
	}
	for _, k := range order {
		ns := all[k]
		if len(ns) <= foldFrom && (k.queue == nil || len(ns) < 2) {
			single = append(single, ns...)
			continue
		}
		g := lockGroup{nodes: ns, queue: k.queue != nil, object: cmp.Or(ns[0].Edge.Object, "one row")} // only a row's queue may be of one that is not known
		groups = append(groups, g)
	}
	slices.SortStableFunc(single, func(a, b *waits.Node) int { return -cmp.Compare(a.Edge.Wait, b.Edge.Wait) })
	return single, groups
}

// group is one row for sessions that wait side by side, folded when they are
// many and the cursor is on none of them.
func (b *lockRows) group(t *waits.Tree, n *waits.Node, g *lockGroup) tree.Node {
	key := "group " + nodeKey(n) + " " + string(g.nodes[0].Edge.Kind) + g.object
	b.rows[key] = lockRow{tree: t, group: g}
	soft := g.queue || g.nodes[0].Edge.Kind == waits.Soft
	out := tree.Node{Soft: soft, Folded: len(g.nodes) > foldFrom}
	for _, c := range g.nodes {
		kid := b.branch(t, c)
		if kid.Row.Key == b.selected {
			out.Folded = false
		}
		out.Kids = append(out.Kids, kid)
	}
	role, word := theme.Normal, " wait"
	if soft {
		word = " queued behind"
	}
	out.Row = table.Row{Key: key, Find: g.object, Line: []theme.Span{
		{Role: role, Text: strconv.Itoa(len(g.nodes)) + word},
		{Role: theme.Dim, Text: " for "},
		{Text: plain(g.object)},
		{Role: theme.Dim, Text: ", longest "},
		{Text: waitAge(g.longest())},
		{Role: theme.Dim, Text: "  " + g.byRole()},
	}}
	return out
}

// longest is the longest wait in the group, -1 when none is known.
func (g *lockGroup) longest() time.Duration {
	most := time.Duration(-1)
	for _, n := range g.nodes {
		most = max(most, n.Edge.Wait)
	}
	return most
}

func (g *lockGroup) byRole() string {
	n := map[string]int{}
	var names []string
	for _, x := range g.nodes {
		if n[x.Role] == 0 {
			names = append(names, x.Role)
		}
		n[x.Role]++
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Or(n[b]-n[a], strings.Compare(a, b)) })
	for i, r := range names {
		names[i] = strings.TrimSpace(r + " " + strconv.Itoa(n[r]))
	}
	return strings.Join(names, ", ")
}
