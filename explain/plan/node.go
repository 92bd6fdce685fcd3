package plan

// Tree is one explained statement.
type Tree struct {
	Root *Node
	// QueryText and QueryParameters are set in what auto_explain logs.
	QueryText, QueryParameters string
	// PlanningMS and ExecutionMS are nil when EXPLAIN did not print them.
	PlanningMS, ExecutionMS *float64
	Triggers                []Trigger
	JIT                     bool
	// Analyzed says that the statement was executed.
	Analyzed bool
}

// Trigger is the time spent in one trigger.
type Trigger struct {
	Name, Relation string
	MS, Calls      float64
}

// Node is one plan node. Texts are as EXPLAIN prints them.
type Node struct {
	Type          string // "Index Scan", "Limit", …
	Relationship  string // to the parent: "Outer", "Inner", "Member", "Subquery", "InitPlan", "SubPlan", "" at the root
	SubplanName   string // "InitPlan 1 (returns $0)", "CTE base", "SubPlan 2"
	Operation     string // of ModifyTable: "Delete", …
	Strategy      string // of Aggregate, SetOp
	JoinType      string
	Schema        string // with VERBOSE only
	Relation      string
	Alias         string
	Index         string
	CTE           string // the CTE that a CTE Scan reads
	Function      string
	Backward      bool // scan direction
	ParallelAware bool
	Disabled      bool // 18 and later: chosen although switched off

	IndexCond, RecheckCond, Filter, JoinFilter string
	OneTimeFilter, HashCond, MergeCond         string
	SortKey, PresortedKey, GroupKey, Output    []string
	FunctionCall                               string

	StartupCost, TotalCost, PlanRows float64
	PlanWidth                        int
	WorkersPlanned, WorkersLaunched  int
	SubplansRemoved                  int // partitions pruned when the plan started

	Actual  *Actual  // nil when the statement was not executed
	Buffers *Buffers // nil without BUFFERS

	Parent   *Node
	Children []*Node

	// ExclusiveMS and ExclusiveBlocks are the node's own part, worked out by
	// Parse; zero when unknown.
	ExclusiveMS     float64
	ExclusiveBlocks float64
}

// Actual holds what execution measured, per loop unless the name says Total.
type Actual struct {
	StartupMS, TotalMS float64
	Rows, Loops        float64
	// Rows removed per loop; nil when EXPLAIN did not print the figure.
	RemovedByFilter, RemovedByJoinFilter, RemovedByRecheck *float64
	HeapFetches, IndexSearches                             *float64
	SortSpaceKB                                            float64
	SortSpaceType                                          string
}

// Buffers are counts of blocks over all loops, children included.
type Buffers struct {
	SharedHit, SharedRead, SharedDirtied, SharedWritten float64
	LocalHit, LocalRead, TempRead, TempWritten          float64
	ReadMS, WriteMS                                     float64
}

// Shared is the number of shared blocks touched.
func (b *Buffers) Shared() float64 {
	if b == nil {
		return 0
	}
	return b.SharedHit + b.SharedRead
}

// TotalRows is rows times loops; ok is false when the node was not executed.
func (n *Node) TotalRows() (rows float64, ok bool) {
	if n.Actual == nil {
		return 0, false
	}
	return n.Actual.Rows * n.Actual.Loops, true
}

// Removed is the number of rows that a filter, a join filter or a recheck threw
// away, over all loops; ok is false when EXPLAIN printed none of the three.
func (n *Node) Removed() (rows float64, ok bool) {
	if n.Actual == nil {
		return 0, false
	}
	for _, p := range []*float64{n.Actual.RemovedByFilter, n.Actual.RemovedByJoinFilter, n.Actual.RemovedByRecheck} {
		if p != nil {
			rows, ok = rows+*p*n.Actual.Loops, true
		}
	}
	return rows, ok
}

// NeverExecuted reports a node of an executed plan that was not reached.
func (n *Node) NeverExecuted() bool { return n.Actual != nil && n.Actual.Loops == 0 }

// EstimateFactor says how many times more (above 1) or fewer (below 1) rows came
// than the planner expected, both counted as at least one row. It is 0 where the
// comparison would mislead: not executed, or stopped early by a Limit above.
func (n *Node) EstimateFactor() float64 {
	if n.Actual == nil || n.Actual.Loops == 0 {
		return 0
	}
	actual, planned := max(n.Actual.Rows, 1), max(n.PlanRows, 1)
	if actual < planned && n.stoppedEarly() {
		return 0
	}
	return actual / planned
}

// stoppedEarly reports that some ancestor may have stopped reading this node.
func (n *Node) stoppedEarly() bool {
	for c, p := n, n.Parent; p != nil; c, p = p, p.Parent {
		switch p.Type {
		case "Limit":
			return c.Relationship == "Outer"
		case "Sort", "Hash", "Aggregate", "Materialize", "ModifyTable", "BitmapAnd", "BitmapOr":
			if p.Type != "Aggregate" || p.Strategy != "Sorted" {
				return false
			}
		case "Merge Join":
			return true
		case "Nested Loop":
			if c.Relationship == "Inner" && (p.JoinType == "Semi" || p.JoinType == "Anti") {
				return true
			}
		}
	}
	return false
}

// Walk calls f for n and everything below it, parents first, until f returns
// false for a node, whose children are then left out.
func (n *Node) Walk(f func(*Node) bool) {
	if n == nil || !f(n) {
		return
	}
	for _, c := range n.Children {
		c.Walk(f)
	}
}

// Find returns the first node, parents first, that f accepts, or nil.
func (n *Node) Find(f func(*Node) bool) *Node {
	var found *Node
	n.Walk(func(m *Node) bool {
		if found == nil && f(m) {
			found = m
		}
		return found == nil
	})
	return found
}

// Outer returns the child that feeds n: its Outer child, else its only Subquery
// child, else nil.
func (n *Node) Outer() *Node {
	for _, c := range n.Children {
		if c.Relationship == "Outer" || c.Relationship == "Subquery" {
			return c
		}
	}
	return nil
}
