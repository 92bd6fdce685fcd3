package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// Scan is the judgement of one scan of a plan.
type Scan struct {
	Node  *plan.Node
	Class Class
	Why   string // one sentence, without a full stop
	Index *Index // nil when unknown
	Table *Table // nil when unknown
	root  *Table // the partitioned table it is part of, nil for none

	Key   string   // first index column that no equality fixes, as the plan writes it
	Side  Side     // Lower: the scan ascends on it, Upper: it descends
	Fixed []string // index columns before it that an equality fixes
	Bound string   // the condition that would start the scan at the cursor, as the plan writes it
	// Prefix estimates the rows that Fixed leaves, 0 for unknown: a scan that starts
	// too early throws away no more than these.
	Prefix float64
	// Doubt says that the class rests on an assumption, given in Why.
	Doubt bool
	// Limited and Ordered: the scan feeds a limit, and without a full sort between.
	Limited, Ordered bool
	apart            string            // what its filter says of the page's keys though no scan can start there, "" for nothing
	others           bool              // apart is a cursor but for a branch that is about other rows
	held             string            // the column whose equality the scan starts at though a cursor begins with it, "" for none
	ranged           bool              // what its filter bounds it bounds on both sides: values and ranges are no cursor
	orNull           bool              // Bound does not hold where key and cursor are both NULL
	untexted         bool              // there is no text that would tell whether the plan has a cursor
	whole            bool              // a window over all rows reads it to its end
	beside           bool              // it is read whole for a hash that feeds a limit
	united           bool              // a UNION that feeds a limit needs all its rows
	absent           bool              // the joined row that its filter compares with may be missing, and is the same for all rows
	ties             bool              // it starts at the first row with the cursor's Key, and nobody knows how many have it
	orders           bool              // the sort above it begins with a column of its own
	within           float64           // rows between the constants that limit Key at both ends, 0 for unknown
	renamed          map[string]string // columns of the table and the names that its alias gives them
	merged           float64           // scans that are merged with it, each of which starts as early; 0 for none
	loops            float64           // times that a join runs it for the sort above, 0 for once
}

// Rows is the size of the scanned table, of all its partitions for a partition;
// -1 when it is not known.
func (s *Scan) Rows() float64 {
	switch {
	case s.Table == nil:
		return unknownTable
	case s.root != nil && s.root.Rows > s.Table.Rows:
		return s.root.Rows
	}
	return s.Table.Rows
}

// Starts is the mark of the scan in a drawn plan, as Class.Starts; a start that
// is only doubted counts as the cursor.
func (s *Scan) Starts() string {
	if s.Class == WeakStart && s.Doubt {
		return Seek.Starts()
	}
	return s.Class.Starts()
}

// Tiny reports a table too small to matter; one of which nothing is known is, if
// the whole scan is cheap.
func (s *Scan) Tiny() bool {
	if s.Table == nil && s.Node.Relation != "" {
		return s.Node.TotalCost > 0 && s.Node.TotalCost < tinyCost
	}
	if w := s.with(); w != nil {
		return w.PlanRows < tinyRows
	}
	return s.Rows() >= 0 && s.Rows() < tinyRows
}

// Scans judges every scan of a plan, plan first: below each Limit it follows the
// nodes that keep the order of their input to the scan that gives the order, and
// compares where that scan starts with where its filter says the page starts.
//
// At an ordered index scan the index columns are walked; those with an equality
// in the index condition are passed over. The first other column K, ascending or
// descending by the scan's direction and the index's, decides:
//   - the index condition bounds K on the side where the scan starts: it seeks,
//     unless the filter implies a tighter start (weak-start) or many rows share a
//     value of K and an OR goes on about them (weak-bound);
//   - otherwise, if the filter implies such a bound: prefix-scan; if all its
//     branches but K IS NULL do: null-branch; if K is inside an expression that
//     hides it: opaque-key; else the scan rightly starts at its first row.
//
// A join filter over an ordered outer scan counts as its filter.
func Scans(t *plan.Tree, c Catalog, q *Known) []*Scan {
	w := walker{catalog: c, known: q}
	w.visit(t.Root, place{})
	for _, s := range w.scans {
		if s.Table != nil {
			s.root = c[s.Table.Root]
		}
		if p := s.Node.Parent; p != nil && p.Type == "Merge Append" {
			s.merged = float64(len(p.Children))
		}
	}
	w.spoken(t)
	return w.scans
}

// Known is what is known beside the plan. Nil knows nothing.
type Known struct {
	// Params holds the values of $1, $2, … as SQL literals, "" for unknown.
	Params []string
	// Reuses says that the statement's author numbers parameters and uses one
	// twice, so that two numbers are two values.
	Reuses bool
	// Window is the call of a window function that needs all rows, or all that share
	// the values of WindowBy, for the first; "" for none.
	Window   string
	WindowBy []string
	// Query is the statement, nil for unknown: messages say its names.
	Query *sqltext.Query
}

type walker struct {
	catalog Catalog
	known   *Known
	scans   []*Scan
}

// place is where in the plan a node stands.
type place struct {
	limited bool   // a Limit is above, fed through this path
	ordered bool   // and nothing between them sorts
	join    string // join filter of a nested loop above whose outer side this is
	beside  bool   // a hash above, of a join or of groups, feeds a limit
	united  bool   // a UNION above feeds a limit
	absent  bool   // join is of an outer join, whose other side is the same for each row
	keyed   string // alias of the relation by which the nearest sort below the limit sorts first
	sorted  bool   // a join's inner side below that sort: what it adds is sorted too
	loops   float64
	whole   bool // a window over all rows is between the limit and here
}

func (w *walker) visit(n *plan.Node, at place) {
	if n.Relation != "" && at.keyed != "" {
		switch own := n.Alias == at.keyed; {
		case at.sorted && !own: // looked up for each row of the other side
			at.limited = false
		case at.beside && own: // the hashed side of a join is sorted like the other
			at.limited = true
		}
	}
	switch n.Type {
	case "Index Scan", "Index Only Scan":
		w.scans = append(w.scans, w.indexScan(n, at))
	case "Seq Scan", "Bitmap Heap Scan", "CTE Scan", "Tid Scan", "Tid Range Scan", "Sample Scan", "Foreign Scan":
		w.scans = append(w.scans, w.otherScan(n, at))
	}
	if k := len(w.scans); n.Relation != "" && k > 0 && w.scans[k-1].Node == n {
		w.scans[k-1].united = at.united
		w.scans[k-1].orders = at.keyed != "" && n.Alias == at.keyed
		if s := w.scans[k-1]; at.whole && (s.Class == Seek || s.Class == PartSort) && s.scanned() > fewSorted {
			s.window(w.known)
		}
	}
	for i, child := range n.Children {
		p := below(n, child, i, at)
		p.united = (p.limited || p.beside) && (at.united || unites(n))
		p.whole = p.limited && n.Type != "Limit" && (at.whole || n.Type == "WindowAgg" && w.known != nil && w.known.Window != "")
		w.visit(child, p)
	}
}

// inner is the place of a join's inner side: below a sort its rows are all read,
// for each of the outer side in a nested loop.
func inner(n *plan.Node, at place) place {
	if !at.limited || at.ordered {
		return place{}
	}
	p := place{limited: true, sorted: true, keyed: at.keyed, loops: max(at.loops, 1)}
	if n.Type == "Nested Loop" {
		p.loops *= max(n.Children[0].PlanRows, 1)
	}
	return p
}

// sortedBy is the alias of the relation whose column a Sort sorts by first, "" for
// something else.
func sortedBy(n *plan.Node) string {
	if len(n.SortKey) == 0 {
		return ""
	}
	key, _, _ := strings.Cut(n.SortKey[0], " ")
	if e, err := sqltext.ParseExpr(key); err == nil && e.Kind == sqltext.Column {
		return e.Qualifier()
	}
	return ""
}

// below says what the place of a child is, given that of its parent.
func below(n, child *plan.Node, i int, at place) place {
	switch child.Relationship {
	case "InitPlan", "SubPlan":
		return place{}
	}
	switch n.Type {
	case "Limit":
		return place{limited: true, ordered: true}
	case "Hash Join":
		return place{limited: at.limited && child.Relationship == "Outer", beside: (at.limited || at.beside) && child.Relationship != "Outer", keyed: at.keyed}
	case "Hash":
		return place{beside: at.beside, keyed: at.keyed}
	case "Sort":
		return place{limited: at.limited, beside: at.beside, keyed: sortedBy(n)}
	case "Gather", "BitmapAnd", "BitmapOr", "Recursive Union", "SetOp", "HashSetOp":
		return place{limited: at.limited && child.Relationship == "Outer", beside: at.beside, keyed: at.keyed}
	case "Aggregate":
		if n.Strategy != "Sorted" {
			return place{beside: at.limited || at.beside}
		}
		return at
	case "WindowAgg", "ModifyTable":
		return place{limited: at.limited, ordered: at.ordered && n.Type == "WindowAgg"}
	case "Nested Loop", "Merge Join":
		if i != 0 {
			return inner(n, at)
		}
		if n.Type != "Nested Loop" || !at.ordered {
			return at
		}
		if n.JoinType == "Left" { // its join filter drops no row of this side
			if n.Filter != "" {
				at.join, at.absent = n.Filter, standsAlone(n.Children[1:])
			}
		} else if n.JoinFilter != "" {
			at.join, at.absent = n.JoinFilter, false
		}
		return at
	case "Subquery Scan":
		at.join = ""
		return at
	}
	return at
}

// standsAlone: nothing below the nodes looks at a row of another side.
func standsAlone(ns []*plan.Node) bool {
	own, seen := map[string]bool{"": true}, []string{}
	for _, n := range ns {
		n.Walk(func(n *plan.Node) bool {
			own[n.Alias] = true
			for _, text := range []string{n.IndexCond, n.RecheckCond, n.Filter, n.JoinFilter} {
				if e := parseCond(text); e != nil {
					e.Walk(func(x *sqltext.Expr) bool {
						if x.Kind == sqltext.Column {
							seen = append(seen, x.Qualifier())
						}
						return true
					})
				}
			}
			return true
		})
	}
	return !slices.ContainsFunc(seen, func(alias string) bool { return !own[alias] })
}

// unites: a UNION, which takes equal rows of its parts for one.
func unites(n *plan.Node) bool {
	if n.Type != "Unique" && n.Type != "Aggregate" {
		return false
	}
	for len(n.Children) == 1 {
		n = n.Children[0]
		switch n.Type {
		case "Append", "Merge Append":
			return true
		case "Sort", "Incremental Sort", "Gather", "Gather Merge", "Aggregate":
		default:
			return false
		}
	}
	return false
}

// otherScan judges a scan that gives no order.
func (w *walker) otherScan(n *plan.Node, at place) *Scan {
	s := &Scan{Node: n, Table: w.catalog.Of(n), Limited: at.limited, Ordered: at.ordered, beside: at.beside, loops: at.loops, renamed: w.renamed(n)}
	switch {
	case !at.limited:
		s.Class, s.Why = Unpaged, "it does not feed a limit"
	case at.ordered:
		s.Class, s.Why = FromStart, "the page asks for no order"
	case n.Type == "Bitmap Heap Scan" || n.Type == "Tid Scan" || n.Type == "Tid Range Scan":
		s.Class, s.Why = PartSort, "the rows that the index condition leaves are read unordered and sorted"
		if s.scanned() <= fewSorted && s.entries() <= fewSorted {
			s.Class, s.Why = Seek, "few rows are left to sort"
		}
	default:
		s.Class, s.Why = FullSort, "rows are read unordered and sorted: no index gives the order"
	}
	return s
}

// sortedScan judges an index scan whose rows are sorted again above it.
func (s *Scan) sortedScan() {
	n := s.Node
	switch {
	case n.IndexCond == "":
		s.Class, s.Why = FullSort, "the whole index is read and sorted: no index gives the order"
	case s.scanned() > fewSorted:
		s.Class, s.Why = PartSort, "the rows that the index condition leaves are read and sorted"
	default:
		s.Class, s.Why = Seek, "few rows are left to sort"
	}
}

// scanned estimates the rows that a scan reads before its filter: of a bitmap
// scan what the bitmap has, of an index scan the table's rows times what its
// index condition leaves, an equality by the column's distinct values, anything
// else the third that PostgreSQL takes for an unknown bound.
func (s *Scan) scanned() float64 {
	return s.scannedOnce() * max(s.loops, 1)
}

func (s *Scan) scannedOnce() float64 {
	n := s.Node
	if n.Type == "Bitmap Heap Scan" && len(n.Children) > 0 {
		return max(n.PlanRows, n.Children[0].PlanRows)
	}
	if n.Filter == "" || s.Table == nil || s.Table.Rows <= 0 {
		return n.PlanRows
	}
	rows := s.Table.Rows
	for _, t := range Conjuncts(parseCond(n.IndexCond)) {
		share := 1.0 / 3
		if n := valuesHeld(t.Expr); n > 0 {
			share = 0.005 * n // PostgreSQL's share of an equality with unknown statistics
			if c := column(t.Expr.Args[0]); c != nil {
				if per := s.Table.PerValue(c.Name); per > 0 {
					share = n * per / s.Table.Rows
				}
			}
		}
		rows *= min(share, 1)
	}
	return max(n.PlanRows, rows)
}

// quote writes an identifier as EXPLAIN does where a plain one will not do.
func quote(name string) string {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
	}
	return name
}
