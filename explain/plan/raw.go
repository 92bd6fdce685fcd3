package plan

import "encoding/json"

// rawTree and rawNode name the JSON keys of PostgreSQL 14 to 18.
type rawTree struct {
	Plan            *rawNode        `json:"Plan"`
	QueryText       string          `json:"Query Text"`
	QueryParameters string          `json:"Query Parameters"`
	PlanningTime    *float64        `json:"Planning Time"`
	ExecutionTime   *float64        `json:"Execution Time"`
	JIT             json.RawMessage `json:"JIT"`
	Triggers        []rawTrigger    `json:"Triggers"`
}

type rawTrigger struct {
	Name     string  `json:"Trigger Name"`
	Relation string  `json:"Relation"`
	Time     float64 `json:"Time"`
	Calls    float64 `json:"Calls"`
}

type rawNode struct {
	NodeType        string   `json:"Node Type"`
	Relationship    string   `json:"Parent Relationship"`
	SubplanName     string   `json:"Subplan Name"`
	Operation       string   `json:"Operation"`
	Strategy        string   `json:"Strategy"`
	JoinType        string   `json:"Join Type"`
	Schema          string   `json:"Schema"`
	Relation        string   `json:"Relation Name"`
	Alias           string   `json:"Alias"`
	Index           string   `json:"Index Name"`
	CTE             string   `json:"CTE Name"`
	Function        string   `json:"Function Name"`
	FunctionCall    string   `json:"Function Call"`
	ScanDirection   string   `json:"Scan Direction"`
	ParallelAware   bool     `json:"Parallel Aware"`
	Disabled        bool     `json:"Disabled"`
	IndexCond       string   `json:"Index Cond"`
	RecheckCond     string   `json:"Recheck Cond"`
	Filter          string   `json:"Filter"`
	JoinFilter      string   `json:"Join Filter"`
	OneTimeFilter   string   `json:"One-Time Filter"`
	HashCond        string   `json:"Hash Cond"`
	MergeCond       string   `json:"Merge Cond"`
	SortKey         []string `json:"Sort Key"`
	PresortedKey    []string `json:"Presorted Key"`
	GroupKey        []string `json:"Group Key"`
	Output          []string `json:"Output"`
	StartupCost     float64  `json:"Startup Cost"`
	TotalCost       float64  `json:"Total Cost"`
	PlanRows        float64  `json:"Plan Rows"`
	PlanWidth       float64  `json:"Plan Width"`
	SubplansRemoved float64  `json:"Subplans Removed"`
	WorkersPlanned  float64  `json:"Workers Planned"`
	WorkersLaunched float64  `json:"Workers Launched"`

	StartupTime   *float64 `json:"Actual Startup Time"`
	TotalTime     *float64 `json:"Actual Total Time"`
	ActualRows    *float64 `json:"Actual Rows"`
	Loops         *float64 `json:"Actual Loops"`
	RemovedFilter *float64 `json:"Rows Removed by Filter"`
	RemovedJoin   *float64 `json:"Rows Removed by Join Filter"`
	RemovedCheck  *float64 `json:"Rows Removed by Index Recheck"`
	HeapFetches   *float64 `json:"Heap Fetches"`
	IndexSearches *float64 `json:"Index Searches"`
	SortSpaceKB   float64  `json:"Sort Space Used"`
	SortSpaceType string   `json:"Sort Space Type"`

	SharedHit     *float64 `json:"Shared Hit Blocks"`
	SharedRead    float64  `json:"Shared Read Blocks"`
	SharedDirtied float64  `json:"Shared Dirtied Blocks"`
	SharedWritten float64  `json:"Shared Written Blocks"`
	LocalHit      float64  `json:"Local Hit Blocks"`
	LocalRead     float64  `json:"Local Read Blocks"`
	TempRead      float64  `json:"Temp Read Blocks"`
	TempWritten   float64  `json:"Temp Written Blocks"`
	// The name of the I/O times changed with 17.
	IORead      float64    `json:"I/O Read Time"`
	IOWrite     float64    `json:"I/O Write Time"`
	SharedIORd  float64    `json:"Shared I/O Read Time"`
	SharedIOWr  float64    `json:"Shared I/O Write Time"`
	SubordPlans []*rawNode `json:"Plans"`
}

func (r *rawNode) node(parent *Node) *Node {
	n := &Node{
		Type: r.NodeType, Relationship: r.Relationship, SubplanName: r.SubplanName, Operation: r.Operation,
		Strategy: r.Strategy, JoinType: r.JoinType, Schema: r.Schema, Relation: r.Relation, Alias: r.Alias,
		Index: r.Index, CTE: r.CTE, Function: r.Function, FunctionCall: r.FunctionCall,
		Backward: r.ScanDirection == "Backward", ParallelAware: r.ParallelAware, Disabled: r.Disabled,
		IndexCond: r.IndexCond, RecheckCond: r.RecheckCond, Filter: r.Filter, JoinFilter: r.JoinFilter,
		OneTimeFilter: r.OneTimeFilter, HashCond: r.HashCond, MergeCond: r.MergeCond,
		SortKey: r.SortKey, PresortedKey: r.PresortedKey, GroupKey: r.GroupKey, Output: r.Output,
		StartupCost: r.StartupCost, TotalCost: r.TotalCost, PlanRows: r.PlanRows, PlanWidth: int(r.PlanWidth),
		WorkersPlanned: int(r.WorkersPlanned), WorkersLaunched: int(r.WorkersLaunched), SubplansRemoved: int(r.SubplansRemoved), Parent: parent,
	}
	if r.Loops != nil {
		n.Actual = &Actual{
			StartupMS: value(r.StartupTime), TotalMS: value(r.TotalTime), Rows: value(r.ActualRows), Loops: *r.Loops,
			RemovedByFilter: r.RemovedFilter, RemovedByJoinFilter: r.RemovedJoin, RemovedByRecheck: r.RemovedCheck,
			HeapFetches: r.HeapFetches, IndexSearches: r.IndexSearches,
			SortSpaceKB: r.SortSpaceKB, SortSpaceType: r.SortSpaceType,
		}
	}
	if r.SharedHit != nil {
		n.Buffers = &Buffers{
			SharedHit: *r.SharedHit, SharedRead: r.SharedRead, SharedDirtied: r.SharedDirtied, SharedWritten: r.SharedWritten,
			LocalHit: r.LocalHit, LocalRead: r.LocalRead, TempRead: r.TempRead, TempWritten: r.TempWritten,
			ReadMS: r.IORead + r.SharedIORd, WriteMS: r.IOWrite + r.SharedIOWr,
		}
	}
	for _, c := range r.SubordPlans {
		if c != nil {
			n.Children = append(n.Children, c.node(n))
		}
	}
	return n
}

func value(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}
