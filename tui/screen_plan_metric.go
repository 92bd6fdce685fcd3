package tui

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/tui/clean"
)

// metric is what the bars of a plan compare.
type metric uint8

const (
	byCost metric = iota
	byRows
	byTime
	byBlocks
	metrics
)

func (m metric) String() string { return [...]string{"cost", "rows read", "time", "blocks"}[m] }

// has says that a plan knows the metric.
func (m metric) has(t *plan.Tree) bool {
	switch m {
	case byTime:
		return t.Root.Find(func(n *plan.Node) bool { return n.Actual != nil && n.Actual.TotalMS > 0 }) != nil
	case byBlocks:
		return t.Root.Buffers != nil
	}
	return true
}

// own is a node's part of the metric, its children's taken off.
func (m metric) own(n *plan.Node) float64 {
	switch m {
	case byRows:
		return nodeRows(n)
	case byTime:
		return n.ExclusiveMS
	case byBlocks:
		return n.ExclusiveBlocks
	}
	c := n.TotalCost
	for _, k := range n.Children {
		c -= k.TotalCost
	}
	return max(c, 0)
}

// most is the largest own part in a plan.
func (m metric) most(root *plan.Node) (most float64) {
	root.Walk(func(n *plan.Node) bool {
		most = max(most, m.own(n))
		return true
	})
	return most
}

// text prints a node's metric.
func (m metric) text(n *plan.Node) string {
	switch m {
	case byRows:
		return short(nodeRows(n))
	case byTime:
		if n.NeverExecuted() {
			return ""
		}
		return millis(n.ExclusiveMS)
	case byBlocks:
		if n.ExclusiveBlocks == 0 {
			return ""
		}
		return short(n.ExclusiveBlocks)
	}
	return short2(n.TotalCost)
}

// nodeRows is how many rows come out of a node, and how many it threw away.
func nodeRows(n *plan.Node) float64 {
	rows, ok := n.TotalRows()
	if !ok {
		return n.PlanRows
	}
	removed, _ := n.Removed()
	return rows + removed
}

// measuredRows is rows with the loops multiplied out.
func measuredRows(n *plan.Node) string {
	total, _ := n.TotalRows()
	s := short(total)
	if n.Actual.Loops > 1 {
		s += " (" + short(n.Actual.Loops) + " l)"
	}
	return s
}

// nodeLabel names a node in at most w cells, the most telling words first.
func nodeLabel(n *plan.Node, w int) string {
	name := n.Type
	if n.JoinType != "" && n.JoinType != "Inner" {
		name += " " + n.JoinType
	}
	if n.Operation != "" {
		name = n.Operation
	}
	if n.Backward {
		name += " Backward"
	}
	if n.SubplanName != "" {
		name = n.SubplanName + ": " + name
	}
	on := n.Relation
	if n.CTE != "" {
		on = n.CTE
	}
	if n.Function != "" {
		on = n.Function
	}
	long := name
	if n.Index != "" {
		long += " " + n.Index
	}
	if on != "" {
		with := long + " on " + on
		if n.Index == "" || clean.Width(clean.Line(with)) <= w {
			return with
		}
	}
	return long
}

// misjudged is the estimate factor of a node from 10 on, or up to a tenth; 0
// where it is no fault: a generic plan does not know the limit.
func misjudged(n *plan.Node) float64 {
	f := n.EstimateFactor()
	if f >= 10 || f > 0 && f <= 0.1 && n.Type != "Limit" {
		return f
	}
	return 0
}

// estimate says how far off the planner was.
func estimate(f float64) string {
	if f >= 1 {
		return fmt.Sprintf("x%s more rows than expected", short(f))
	}
	return fmt.Sprintf("x%s fewer rows than expected", short(1/f))
}

func conditions(n *plan.Node) [][2]string {
	var out [][2]string
	for _, c := range [][2]string{
		{"Index Cond", n.IndexCond},
		{"Recheck Cond", n.RecheckCond},
		{"Hash Cond", n.HashCond},
		{"Merge Cond", n.MergeCond},
		{"Filter", n.Filter},
		{"Join Filter", n.JoinFilter},
		{"One-Time Filter", n.OneTimeFilter},
		{"Sort Key", strings.Join(n.SortKey, ", ")},
		{"Presorted Key", strings.Join(n.PresortedKey, ", ")},
		{"Group Key", strings.Join(n.GroupKey, ", ")},
	} {
		if c[1] != "" {
			out = append(out, c)
		}
	}
	return out
}
