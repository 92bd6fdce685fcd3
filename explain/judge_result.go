package explain

import (
	"encoding/json"

	"github.com/pgsonde/pgsonde/explain/plan"
)

// Result is the judgement of one statement. Its JSON is one of "queries" of
// pgsonde/explain/1.
type Result struct {
	Source     string     `json:"source"` // "file:line", or what Input.Source says
	SQL        string     `json:"sql"`
	Pagination Pagination `json:"pagination"`
	Sort       []SortJSON `json:"sort"`
	Cursor     *CursorRef `json:"cursor"`
	Verdict    Verdict    `json:"verdict"`
	PageRows   *PageRows  `json:"page_rows"` // null without a limit
	Plans      []Case     `json:"plans"`
	Findings   []Finding  `json:"findings"`
	Fix        *Fix       `json:"fix"`

	// Scans are those of the plan that was judged: Plans[0].
	Scans []*Scan `json:"-"`
	// NoQuery says that the statement was not judged since it is no query: INSERT,
	// CREATE TABLE, … It is no failure.
	NoQuery bool `json:"-"`
	// Used are the names of Input.Params that were some parameter's.
	Used []string `json:"-"`
	// Tried holds the fixes that were not offered, and why.
	Tried []Rejected `json:"tried,omitempty"`
}

// SortJSON is one key of the page's order.
type SortJSON struct {
	Column    string `json:"column"`
	Direction string `json:"direction"` // asc, desc
	Nulls     string `json:"nulls"`     // first, last
}

// PageRows is how many rows a page has: what its limit says, or a usual number
// where the limit is a parameter whose value is not known. Verdicts and the costs
// that fixes are compared by rest on it.
type PageRows struct {
	Rows    float64 `json:"rows"`
	Assumed bool    `json:"assumed"`
}

// CursorRef is the recognised cursor.
type CursorRef struct {
	Form    Form     `json:"form"`
	Columns []string `json:"columns"`
	Bound   *string  `json:"bound"` // the bound it implies, as SQL; null for none
}

// Case is one plan of the statement, seen at the node that decides.
type Case struct {
	Case         string   `json:"case"` // generic, old, middle, new, given; without-index after a fix whose index nobody could verify
	Node         string   `json:"node"`
	Index        *string  `json:"index"`
	IndexCond    *string  `json:"index_cond"`
	Filter       *string  `json:"filter"`
	TotalCost    float64  `json:"total_cost"`
	RowsRemoved  *float64 `json:"rows_removed"`
	SharedBlocks *float64 `json:"shared_blocks"`
	MS           *float64 `json:"ms"`
	Starts       string   `json:"starts"` // oldest, cursor, first, all, "" for not applicable
	// Params are the values of a custom plan, as SQL literals.
	Params []string `json:"params,omitempty"`
	// Measured is set by analyze: the rest are estimates.
	Measured bool `json:"measured"`

	Plan Plan `json:"-"`
	// Scans are those of the plan.
	Scans []*Scan `json:"-"`
}

// Fix is a rewritten statement, or an index, that the planner agrees is better.
type Fix struct {
	SQL        string  `json:"sql"` // whole statement in the spelling of the source; "" for an index alone
	Kind       string  `json:"kind"`
	IndexSQL   *string `json:"index_sql"`
	Equivalent string  `json:"equivalent"` // proved, checked, not-proved
	Before     Case    `json:"before"`
	After      Case    `json:"after"`

	Why   string   `json:"why"`   // one sentence: what it changes
	Proof []string `json:"proof"` // line by line: what was shown, and how
	Steps []Step   `json:"measured,omitempty"`

	// Bind lists which of the old values to bind, in order, from 1; nil for all as
	// before, empty for none.
	Bind []int `json:"bind,omitzero"`
	// First is the statement for the first page, chosen by When; SQL is that for
	// the next ones.
	First string `json:"first,omitempty"`
	When  string `json:"when,omitempty"`
	// FirstBind is Bind for First.
	FirstBind []int    `json:"first_bind,omitzero"`
	Assumes   []string `json:"assumes,omitempty"` // what must be true besides the text
	// Changed is the byte range of SQL that is new.
	Changed [2]int `json:"-"`
	// Keeps is the rule of a fault of the page that the fix keeps, since it keeps
	// the rows; "" for none.
	Keeps string `json:"keeps_fault,omitempty"`
}

// Step is one measurement of the statement before and after a fix.
type Step struct {
	At          float64  `json:"at"` // share of the rows before the cursor
	Fixed       bool     `json:"fixed"`
	RowsRemoved *float64 `json:"rows_removed"`
	Blocks      float64  `json:"shared_blocks"`
	MS          float64  `json:"ms"`

	Plan  Plan    `json:"-"`
	Scans []*Scan `json:"-"`
}

// Rejected is a fix that is not offered.
type Rejected struct {
	Kind, SQL, Why string
}

// MarshalJSON writes a rejected fix with the names of the contract.
func (r Rejected) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"kind": r.Kind, "sql": r.SQL, "why": r.Why})
}

// caseOf describes a plan at the scan that decides its verdict.
func caseOf(name string, p Plan, scans []*Scan) Case {
	c := Case{Case: name, Plan: p, Scans: scans, TotalCost: p.Root.TotalCost, Node: p.Root.Type, Measured: p.Analyzed}
	if s := worstScan(scans); s != nil {
		n := s.Node
		c.Node, c.Starts = n.Type, s.Starts()
		c.Index, c.IndexCond, c.Filter = textOrNil(n.Index), textOrNil(n.IndexCond), textOrNil(n.Filter)
	}
	if p.Analyzed {
		removed := 0.0
		p.Root.Walk(func(n *plan.Node) bool {
			rows, _ := n.Removed()
			removed += rows
			return true
		})
		c.RowsRemoved = &removed
		if p.Root.Buffers != nil {
			blocks := p.Root.Buffers.Shared()
			c.SharedBlocks = &blocks
		}
		c.MS = p.ExecutionMS
	}
	return c
}

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// worstScan is the scan whose class makes the worst verdict; of several, the one that
// the page is sorted by, else over the largest table. Scans that feed no page decide
// only alone.
func worstScan(scans []*Scan) *Scan {
	var worst *Scan
	for _, s := range scans {
		if worst == nil || s.worseThan(worst) {
			worst = s
		}
	}
	return worst
}

func (s *Scan) worseThan(x *Scan) bool {
	switch a, b := s.harm(), x.harm(); {
	case a != b:
		return a > b
	case s.orders != x.orders:
		return s.orders
	}
	return s.Rows() > x.Rows()
}

// harm orders scans: the rank of the verdict, a tiny table's last.
func (s *Scan) harm() int {
	switch {
	case s.Tiny():
		return 0
	case s.Class.early() && s.Short():
		return NotApplicable.rank()
	}
	return s.Class.verdict().rank()
}
