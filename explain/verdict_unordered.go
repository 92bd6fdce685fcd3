package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// noOrder says why no index can give the order of a page that is sorted, and what may
// be done instead; "" where one could.
func (s *Scan) noOrder() (why, action string) {
	sort := s.sorted()
	if w := s.with(); w != nil && w.Type == "Recursive Union" {
		return "WITH query " + s.Node.CTE + " is recursive, so it is computed whole, and no index can be on it",
			"where it is read often, keep its rows in a table or materialized view of their own, with an index in the page's order"
	}
	if sort == nil || len(sort.SortKey) == 0 {
		return "", ""
	}
	key := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(sort.SortKey[0], " NULLS LAST"), " NULLS FIRST"), " DESC"), " ASC")
	if e := parseCond(key); e != nil && isPlace(e) {
		return "it is sorted by ctid, which no index can have", "sort and compare by the primary key, or read ranges of ctid whole, without ORDER BY and LIMIT"
	}
	for n := s.Node.Parent; n != nil && n != sort; n = n.Parent {
		if n.Type == "Aggregate" && !slices.ContainsFunc(n.GroupKey, func(g string) bool { return sameText(g, key) }) && !isGrouped(n, key) {
			return "it is sorted by what is computed of all rows of a group, " + key + ", and no index can give that",
				"where it is read often, keep the groups in a table or materialized view of their own, with an index in the page's order"
		}
	}
	return "", ""
}

// sorted is the sort of all rows above a scan, nil for none.
func (s *Scan) sorted() *plan.Node {
	for n := s.Node.Parent; n != nil; n = n.Parent {
		if n.Type == "Sort" {
			return n
		}
	}
	return nil
}

func sameText(a, b string) bool { return strings.Trim(a, "()") == strings.Trim(b, "()") }

// isGrouped: the sort key is made of what the rows are grouped by, or of columns that
// the groups have one value of: a call over something else, or over nothing, is an
// aggregate.
func isGrouped(n *plan.Node, key string) bool {
	e := parseCond(key)
	if e == nil {
		return true
	}
	return e.Walk(func(x *sqltext.Expr) bool {
		switch grouped := func(x *sqltext.Expr) bool {
			return slices.ContainsFunc(n.GroupKey, func(g string) bool { return sameText(g, x.Text()) })
		}; {
		case x.Kind == sqltext.Opaque:
			return grouped(x)
		case x.Kind == sqltext.Func:
			return grouped(x) || hasColumns(x) && x.Walk(func(y *sqltext.Expr) bool { return y.Kind != sqltext.Column || grouped(y) })
		}
		return true
	})
}

// with is the plan of the WITH query that a scan reads, nil where it reads none.
func (s *Scan) with() (found *plan.Node) {
	if s.Node.Type != "CTE Scan" {
		return nil
	}
	root := s.Node
	for root.Parent != nil {
		root = root.Parent
	}
	root.Walk(func(n *plan.Node) bool {
		if n.SubplanName == "CTE "+s.Node.CTE {
			found = n
		}
		return true
	})
	return found
}
