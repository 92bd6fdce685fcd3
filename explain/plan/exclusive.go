package plan

import "strings"

// exclusive fills ExclusiveMS and ExclusiveBlocks of every node.
//
// A child's time lies in its parent's, with two exceptions: a CTE's runs inside
// the CTE Scans that pull it, and an InitPlan's inside the first node that asks
// for its value, which may be below the node EXPLAIN prints it under.
func exclusive(root *Node) {
	owners := map[*Node]*Node{} // subplan → the node whose time contains it
	root.Walk(func(n *Node) bool {
		for _, c := range n.Children {
			owners[c] = n
			if c.Relationship == "InitPlan" {
				if o := asksFor(n, c); o != nil {
					owners[c] = o
				}
			}
		}
		return true
	})
	root.Walk(func(n *Node) bool {
		n.ExclusiveMS += n.wallMS()
		n.ExclusiveBlocks += n.Buffers.Shared()
		if o := owners[n]; o != nil {
			o.ExclusiveMS -= n.wallMS()
			o.ExclusiveBlocks -= n.Buffers.Shared()
		}
		return true
	})
	root.Walk(func(n *Node) bool {
		n.ExclusiveMS, n.ExclusiveBlocks = max(n.ExclusiveMS, 0), max(n.ExclusiveBlocks, 0)
		return true
	})
}

// wallMS is the node's share of the wall clock, children included.
func (n *Node) wallMS() float64 {
	if n.Actual == nil {
		return 0
	}
	processes := 1.0
	for p := n.Parent; p != nil; p = p.Parent {
		if p.Type == "Gather" || p.Type == "Gather Merge" {
			processes = float64(p.WorkersLaunched + 1)
			break
		}
	}
	return n.Actual.TotalMS * n.Actual.Loops / processes
}

// asksFor finds the lowest node in the tree under n that uses the value of sub:
// the CTE Scan of that CTE, or the node whose text names its parameter.
func asksFor(n, sub *Node) *Node {
	cte, isCTE := strings.CutPrefix(sub.SubplanName, "CTE ")
	names := InitPlanRefs(sub.SubplanName)
	var found *Node
	n.Walk(func(m *Node) bool {
		if m == sub {
			return false
		}
		uses := isCTE && m.CTE == cte || !isCTE && mentionsAny(m, names)
		if uses && (found == nil || isBelow(m, found)) && !m.NeverExecuted() {
			found = m
		}
		return true
	})
	return found
}

func isBelow(m, n *Node) bool {
	for p := m.Parent; p != nil; p = p.Parent {
		if p == n {
			return true
		}
	}
	return false
}

// InitPlanRefs returns how conditions refer to the InitPlan of that name: "$0"
// before 17 ("InitPlan 1 (returns $0)"), "(InitPlan 1)" since.
func InitPlanRefs(name string) []string {
	head, rest, old := strings.Cut(name, " (returns ")
	if !old {
		if head == "" {
			return nil
		}
		return []string{"(" + head + ")"}
	}
	return strings.Split(strings.TrimSuffix(rest, ")"), ",")
}

func mentionsAny(n *Node, names []string) bool {
	for _, text := range []string{n.IndexCond, n.Filter, n.JoinFilter, n.OneTimeFilter, n.HashCond, n.MergeCond, n.RecheckCond} {
		for _, name := range names {
			if name != "" && containsRef(text, name) {
				return true
			}
		}
	}
	return false
}

// containsRef finds name in text, not as the start of a longer number ("$1" in "$12").
func containsRef(text, name string) bool {
	for {
		i := strings.Index(text, name)
		if i < 0 {
			return false
		}
		text = text[i+len(name):]
		if text == "" || text[0] < '0' || text[0] > '9' {
			return true
		}
	}
}
