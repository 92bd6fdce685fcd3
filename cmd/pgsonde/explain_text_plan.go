package main

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/tui/clean"
)

// plans prints the plan that was judged as a tree, and the others in a line each.
func (p *explainText) plans(r *explain.Result) {
	if len(r.Plans) == 0 {
		return
	}
	fmt.Fprintf(p.w, "  %s plan:\n", r.Plans[0].Case)
	if t := r.Plans[0].Plan.Tree; t != nil {
		p.tree(t.Root, r.Scans, "    ")
	}
	for _, c := range r.Plans[1:] {
		p.line("  ", "%s", caseLine(c))
	}
}

// tree prints a plan, a line a node, each scan marked with where it starts.
func (p *explainText) tree(n *plan.Node, scans []*explain.Scan, indent string) {
	name := n.Type
	if n.Index != "" {
		name += " using " + n.Index
	}
	if n.Backward {
		name += " backward"
	}
	if n.Relation != "" {
		name += " on " + n.Relation
	}
	mark := ""
	for _, s := range scans {
		if s.Node == n && s.Starts() != "" {
			mark = "   " + p.glyphs.row + "starts at " + s.Starts()
		}
	}
	fmt.Fprintf(p.w, "%s%s  (cost %.0f, rows %s)%s\n", indent, clean.Line(name), n.TotalCost, amount(n.PlanRows), mark)
	for _, l := range [][2]string{
		{"Index Cond", n.IndexCond}, {"Filter", n.Filter}, {"Join Filter", n.JoinFilter}, {"Sort Key", strings.Join(n.SortKey, ", ")},
	} {
		if l[1] != "" {
			p.wrap(indent+"    "+l[0]+": ", indent+"      ", clip(l[1], 4*textWidth))
		}
	}
	if removed, ok := n.Removed(); ok && removed > 0 {
		fmt.Fprintf(p.w, "%s    Rows Removed: %.0f\n", indent, removed)
	}
	for _, c := range n.Children {
		p.tree(c, scans, indent+"  ")
	}
}

// caseLine is a plan in one line: which, what scan, where it starts, what it costs.
func caseLine(c explain.Case) string {
	s := fmt.Sprintf("%s plan: %s", c.Case, c.Node)
	if c.Index != nil {
		s += " on " + *c.Index
	}
	if c.Starts != "" {
		s += ", starts at " + c.Starts
	}
	s += fmt.Sprintf(", cost %.0f", c.TotalCost)
	if c.RowsRemoved != nil {
		s += fmt.Sprintf(", %.0f rows removed", *c.RowsRemoved)
	}
	if c.SharedBlocks != nil {
		s += fmt.Sprintf(", %.0f blocks", *c.SharedBlocks)
	}
	if c.MS != nil {
		s += fmt.Sprintf(", %.1f ms", *c.MS)
	}
	return s
}

// fix prints what to write instead, what shows that it is the same, and what it
// is worth.
func (p *explainText) fix(f *explain.Fix) {
	p.wrap("  fix: ", "    ", fmt.Sprintf("%s, %s: %s", f.Kind, strings.ReplaceAll(f.Equivalent, "-", " "), f.Why))
	if f.First != "" {
		p.line("    ", "-- the first page, when %s", f.When)
		p.sql(f.First, 0, 0)
		p.bind(f.FirstBind)
		p.line("    ", "-- the next pages")
	}
	p.sql(f.SQL, f.Changed[0], f.Changed[1])
	p.bind(f.Bind)
	if f.IndexSQL != nil {
		p.line("    ", "-- index")
		p.sql(*f.IndexSQL, 0, 0)
	}
	for _, s := range f.Assumes {
		p.wrap("    assumes: ", "      ", s)
	}
	for _, s := range f.Proof {
		p.wrap("    proof: ", "      ", s)
	}
	p.line("    before: ", "%s", caseLine(f.Before))
	if after := caseLine(f.After); f.After.TotalCost != f.Before.TotalCost || f.After.Case == f.Before.Case {
		p.line("    after:  ", "%s", after)
	} else { // nobody could ask the planner about the index
		p.line("    after:  ", "not known: the index is not there to be asked about")
	}
	p.steps(f.Steps)
}

// bind says which of the old values a statement takes, in order; nothing when they
// are bound as before.
func (p *explainText) bind(values []int) {
	switch {
	case values == nil:
	case len(values) == 0:
		p.line("    ", "it takes none of the old values")
	default:
		p.line("    ", "bind the old values in this order: %s", listed(values))
	}
}

// steps prints the measurements of --analyze.
func (p *explainText) steps(steps []explain.Step) {
	for _, s := range steps {
		which := "before"
		if s.Fixed {
			which = "after"
		}
		line := fmt.Sprintf("%s, cursor at %.1f %%: %.0f blocks, %.1f ms", which, 100*s.At, s.Blocks, s.MS)
		if s.RowsRemoved != nil {
			line += fmt.Sprintf(", %.0f rows removed", *s.RowsRemoved)
		}
		p.line("    measured ", "%s", line)
	}
}

// sql prints a statement as it is to be copied; lines with a byte of the range
// from start to end are marked as new.
func (p *explainText) sql(text string, start, end int) {
	at := 0
	for line := range strings.SplitSeq(text, "\n") {
		mark := "    "
		if start < at+len(line)+1 && end > at {
			mark = "  + "
		}
		at += len(line) + 1
		fmt.Fprintf(p.w, "%s%s\n", mark, clean.Block(line)[0])
	}
}
