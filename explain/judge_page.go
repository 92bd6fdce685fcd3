package explain

import (
	"fmt"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// pageOf is the judgement of a statement from its scans and its cursor.
type pageOf struct {
	verdict Verdict
	scan    *Scan     // the scan that decides, nil for none
	order   []SortKey // of a page without a cursor, with what its condition compares them with
}

// after writes the comparison of rows that come after the cursor.
func (p pageOf) after(c *Cursor) string {
	if c == nil && len(p.order) > 0 {
		return afterRow(p.order)
	}
	return c.after(p.scan.Side)
}

// pageVerdict draws the verdict of a statement. Only scans that feed a limit
// count; c is the cursor that its text shows, nil for none.
//
// A seek makes a page "starts-at-cursor" only if something bounds it; what is
// left of the filter decides whether it reads far beyond a page.
func pageVerdict(scans []*Scan, c *Cursor, rows *PageRows) pageOf {
	var limited []*Scan
	for _, s := range scans {
		if s.Limited {
			limited = append(limited, s)
		}
	}
	if len(limited) == 0 && c != nil {
		limited = hashed(scans)
	}
	if s := unitedScan(scans); s != nil && c == nil {
		return pageOf{verdict: ReadsAllAfterCursor, scan: s}
	}
	s := worstScan(limited)
	if s == nil {
		return pageOf{verdict: NotApplicable}
	}
	p := pageOf{verdict: s.Class.verdict(), scan: s}
	switch {
	case (s.Tiny() || s.Class.early() && s.Short()) && p.verdict.rank() > StartsAtCursor.rank():
		p.verdict = NotApplicable
	case s.Class == WeakStart && s.Doubt: // likelier the cursor's own value, bound twice
		p.verdict = StartsAtCursor
	case s.Class == PartSort && c == nil:
		p.verdict = NotApplicable
	case s.Class == Seek && s.readsFar(rows):
		p.verdict = ReadsAllAfterCursor
	}
	return p
}

// unitedScan is a scan of many rows behind a bound, all of which a UNION reads before
// it gives the first row of the page; nil for none.
func unitedScan(scans []*Scan) *Scan {
	for _, s := range scans {
		if !s.united || s.root != nil || s.Tiny() || s.scanned() <= fewSorted {
			continue
		}
		for _, t := range Conjuncts(parseCond(s.Node.IndexCond)) {
			if t.Expr.Kind == sqltext.Compare && t.Expr.Cmp != "=" && t.Expr.Cmp != "<>" {
				s.Class, s.Limited = PartSort, true
				s.Why = "UNION looks for equal rows among all rows of its parts, so each page reads all rows behind the cursor"
				s.whole = true
				return s
			}
		}
	}
	return nil
}

// hashed are the scans of a page that a hash, of a join or of groups, reads whole
// before it is sorted.
func hashed(scans []*Scan) []*Scan {
	var out []*Scan
	for _, s := range scans {
		switch whole := s.Node.IndexCond == "" && s.Node.Type != "Bitmap Heap Scan"; {
		case !s.beside:
			continue
		case whole:
			s.Class, s.Why = FullSort, "its rows are all read, hashed and sorted"
		case s.scanned() > fewSorted:
			s.Class, s.Why = PartSort, "the rows that the index condition leaves are read, hashed and sorted"
		default:
			s.Class, s.Why = Seek, "few rows are left to sort"
		}
		s.Limited = true
		out = append(out, s)
	}
	return out
}

// readsFar estimates whether a scan that starts at the cursor still reads many
// rows a page, because the rest of the filter keeps few. PostgreSQL expects a
// third of the rows behind a bound whose value it does not know.
func (s *Scan) readsFar(rows *PageRows) bool {
	n := s.Node
	if !s.Ordered || len(s.Fixed) > 0 || n.Filter == "" || s.Rows() <= 0 {
		return false
	}
	kept := n.PlanRows / (s.Rows() / 3)
	page := float64(defaultPageRow)
	if rows != nil {
		page = rows.Rows
	}
	return kept < lossyShare && page/max(kept, 1e-9) > farRows
}

// guessed says that the planner knows nothing of the columns that a scan's
// equalities are about, so that what they keep is its default: half a percent.
func (s *Scan) guessed() string {
	fixed, _ := equalities(s)
	for _, name := range fixed {
		if c := s.Table.column(name); c != nil && c.NDistinct == nil {
			return " (by the planner's default of 0.5 % for an equality: there are no statistics of " + name + ")"
		}
	}
	return ""
}

// assumed says what a verdict about a page's rows rests on.
func (r *PageRows) assumed() string {
	if r == nil || !r.Assumed {
		return ""
	}
	return fmt.Sprintf(" (for a page of %.0f rows, which is assumed: its limit is not known)", r.Rows)
}
