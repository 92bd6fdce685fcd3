package explain

import (
	"strings"

	"github.com/pgsonde/pgsonde/explain/plan"
)

// processes is what the rows of a node below a Gather have to be multiplied by: they
// are those of one process. The leader reads less the more workers it has to serve:
// PostgreSQL takes 0.3 off its share for each.
func processes(n *plan.Node) float64 {
	for p := n; p != nil; p = p.Parent {
		if strings.HasPrefix(p.Type, "Gather") && p != n && p.WorkersPlanned > 0 {
			workers := float64(p.WorkersPlanned)
			return workers + max(1-0.3*workers, 0)
		}
	}
	return 1
}

// entries estimates the index entries that a bitmap goes over: those which the
// equalities on the first columns and the bounds of the next one leave. Conditions
// on later columns keep fewer rows, but each entry is looked at. 0 when unknown.
func (s *Scan) entries() float64 {
	sum := 0.0
	var visit func(*plan.Node)
	visit = func(n *plan.Node) {
		if n.Type == "Bitmap Index Scan" && n.IndexCond != "" {
			sum += s.entriesOf(n)
		}
		for _, c := range n.Children {
			visit(c)
		}
	}
	if s.Node.Type == "Bitmap Heap Scan" && s.Table != nil && s.Table.Rows > 0 {
		visit(s.Node)
	}
	return sum
}

// entriesOf is entries for one scan of an index.
func (s *Scan) entriesOf(n *plan.Node) float64 {
	index := s.Table.Index(n.Index)
	if index == nil || index.Method != "btree" {
		return 0
	}
	conds := Conjuncts(parseCond(n.IndexCond))
	share := 1.0
	for _, k := range index.Keys {
		key, ok := s.keyOf(k)
		if !ok {
			return 0
		}
		if fixedBy(conds, key) {
			if rows := s.Table.PerValue(k.Column); rows > 0 {
				share = min(share, rows/s.Table.Rows)
			} else {
				share *= 0.005
			}
			continue
		}
		low, high := len(startBounds(conds, key, Lower)) > 0, len(startBounds(conds, key, Upper)) > 0
		switch {
		case low && high:
			share *= 0.005
		case low || high:
			share /= 3
		}
		break
	}
	return share * s.Table.Rows
}
