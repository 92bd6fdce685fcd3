package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/clean"
)

// rank puts the statements of pg_stat_statements worst first: those with an
// error, then a warning, and among them the dearest.
func (d *explainDoc) rank() {
	dear := map[*explain.Result]float64{}
	for _, s := range d.stats {
		dear[s.result] = s.from.TotalMS
	}
	slices.SortStableFunc(d.Queries, func(a, b *explain.Result) int {
		return cmp.Or(worst(b)-worst(a), cmp.Compare(dear[b], dear[a]))
	})
}

// worst is 3 for an error, 2 for a warning, 1 for information, 0 for nothing.
func worst(r *explain.Result) int {
	rank := map[explain.Severity]int{explain.Error: 3, explain.Warn: 2, explain.Info: 1}
	n := 0
	for _, f := range r.Findings {
		n = max(n, rank[f.Severity])
	}
	return n
}

func (a *app) printExplain(d *explainDoc) error {
	switch a.cli.Format {
	case "json":
		return a.printJSON(d)
	case "sarif":
		return a.printJSON(sarifLog(d))
	}
	return a.print(func(w io.Writer) {
		for i, r := range d.Queries {
			if i > 0 {
				fmt.Fprintln(w)
			}
			writeJudgement(w, r, d.stats, treeGlyphs(a.cli.ASCII))
		}
	})
}

// writeJudgement prints one statement: verdict, findings, plan, fix.
func writeJudgement(w io.Writer, r *explain.Result, stats []stat, g branch) {
	head := []string{r.Source, string(r.Verdict), string(r.Pagination)}
	if r.Cursor != nil {
		head = append(head, "cursor on "+strings.Join(r.Cursor.Columns, ", ")+" ("+string(r.Cursor.Form)+")")
	}
	for _, s := range stats {
		if s.result == r {
			head = append(head, fmt.Sprintf("%s, %.0f ms in all, %d blocks", plural(int(s.from.Calls), "call"), s.from.TotalMS, s.from.SharedBlocks))
		}
	}
	fmt.Fprintln(w, clean.Line(strings.Join(head, " · ")))
	fmt.Fprintf(w, "  %s\n", clip(clean.Line(oneLine(r.SQL)), 160))
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s %s  [%s]\n", signs[probes.Severity(f.Severity)], clean.Line(f.Message), f.Rule)
		if f.Action != "" {
			fmt.Fprintf(w, "    %s\n", clean.Line(f.Action))
		}
	}
	if len(r.Plans) > 0 && worst(r) > 1 {
		fmt.Fprintf(w, "  %s plan:\n", r.Plans[0].Case)
		if t := r.Plans[0].Plan.Tree; t != nil {
			writePlanTree(w, t.Root, r.Scans, "    ", g)
		}
		for _, c := range r.Plans[1:] {
			fmt.Fprintf(w, "  %s\n", clean.Line(caseLine(c)))
		}
	}
	if r.Fix != nil {
		writeFix(w, r.Fix)
	}
	for _, t := range r.Tried {
		fmt.Fprintf(w, "  not offered: %s: %s\n", t.Kind, clean.Line(t.Why))
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

// writePlanTree prints the plan, a line a node, each scan marked with where it starts.
func writePlanTree(w io.Writer, n *plan.Node, scans []*explain.Scan, indent string, g branch) {
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
		if s.Node == n && s.Class.Starts() != "" {
			mark = "   " + g.row + "starts at " + s.Class.Starts()
		}
	}
	fmt.Fprintf(w, "%s%s  (cost %.0f, rows %.0f)%s\n", indent, clean.Line(name), n.TotalCost, n.PlanRows, mark)
	for _, l := range [][2]string{
		{"Index Cond", n.IndexCond}, {"Filter", n.Filter}, {"Join Filter", n.JoinFilter}, {"Sort Key", strings.Join(n.SortKey, ", ")},
	} {
		if l[1] != "" {
			fmt.Fprintf(w, "%s    %s: %s\n", indent, l[0], clip(clean.Line(l[1]), 200))
		}
	}
	if removed, ok := n.Removed(); ok && removed > 0 {
		fmt.Fprintf(w, "%s    Rows Removed: %.0f\n", indent, removed)
	}
	for _, c := range n.Children {
		writePlanTree(w, c, scans, indent+"  ", g)
	}
}

func writeFix(w io.Writer, f *explain.Fix) {
	fmt.Fprintf(w, "  fix: %s, %s: %s\n", f.Kind, f.Equivalent, clean.Line(f.Why))
	for _, s := range []struct{ title, sql string }{{"first page, " + f.When, f.First}, {"", f.SQL}, {"index", text(f.IndexSQL)}} {
		if s.sql == "" {
			continue
		}
		if s.title != "" {
			fmt.Fprintf(w, "    -- %s\n", clean.Line(s.title))
		}
		for _, l := range clean.Block(s.sql) {
			fmt.Fprintf(w, "    %s\n", l)
		}
	}
	for _, s := range f.Assumes {
		fmt.Fprintf(w, "    assumes: %s\n", clean.Line(s))
	}
	for _, s := range f.Proof {
		fmt.Fprintf(w, "    proof: %s\n", clean.Line(s))
	}
	fmt.Fprintf(w, "    before: %s\n    after:  %s\n", clean.Line(caseLine(f.Before)), clean.Line(caseLine(f.After)))
	for _, s := range f.Steps {
		which := "before"
		if s.Fixed {
			which = "after"
		}
		line := fmt.Sprintf("%s, cursor at %.1f %%: %.0f blocks, %.1f ms", which, 100*s.At, s.Blocks, s.MS)
		if s.RowsRemoved != nil {
			line += fmt.Sprintf(", %.0f rows removed", *s.RowsRemoved)
		}
		fmt.Fprintf(w, "    measured %s\n", line)
	}
}
