package explain

import (
	"context"
	"fmt"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// JudgePlan judges a plan that someone else took: EXPLAIN (FORMAT JSON) output or
// an auto_explain entry. Source names it. Without the server's catalog the rules
// go by what the plan prints, and a finding says what they had to assume; with a
// catalog (of Runner.Load) they are those of Judge. Nothing is fixed or proved.
// The error is that of plan.Parse.
func JudgePlan(source string, planJSON []byte, c Catalog) (*Result, error) {
	tree, err := plan.Parse(planJSON)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", source, err)
	}
	j := &judgement{in: Input{Source: source, SQL: tree.QueryText}, norm: sqltext.Placeholders(tree.QueryText, sqltext.Auto)}
	j.out = &Result{
		Source: source, SQL: tree.QueryText, Pagination: NoPaging, Verdict: Unknown,
		Sort: []SortJSON{}, Plans: []Case{}, Findings: []Finding{},
	}
	j.readText()
	j.plan = Plan{Tree: tree, Raw: planJSON}
	namePlainOutputs(tree)
	known := &Known{Query: j.query}
	known.Window, known.WindowBy = j.cursor.readsOn(j.norm.SQL)
	j.out.Scans = Scans(tree, c, known)
	for _, s := range j.out.Scans {
		s.untexted = j.query == nil
	}
	j.out.PageRows = j.pageRows()
	j.page = pageVerdict(j.out.Scans, j.cursor, j.out.PageRows)
	j.page.order = j.order()
	j.out.Verdict = j.page.verdict
	j.out.Plans = append(j.out.Plans, caseOf("given", j.plan, j.out.Scans))
	j.out.Findings = append(j.out.Findings, verdictFindings(j.page, j.out.Scans, j.cursor, j.out.PageRows)...)
	if j.query != nil {
		j.facts = FactsFrom(j.query, c, nil)
		j.out.Findings = append(j.out.Findings, j.smells()...)
		j.dropSortOfNumbers()
	}
	if c == nil && j.page.scan != nil {
		j.out.Findings = append(j.out.Findings, Finding{
			Rule: "judged-without-catalog", Severity: Info, Subject: source,
			Message:  "judged from the plan's text alone: index columns, table sizes and column statistics are not known",
			Action:   "judge the statement on its server for a verdict that rests on them",
			Evidence: map[string]any{},
		})
	}
	j.out.Findings = append(j.out.Findings, tiesFinding(j.page)...)
	j.out.Findings = append(j.out.Findings, removedFinding(j.out.Scans)...)
	j.spell()
	return j.out, nil
}

// LoadPlan loads what the catalog knows of the relations in a plan that someone
// else took; names without a schema are looked up along the login's search_path.
// The error is that of plan.Parse or of Load.
func (r *Runner) LoadPlan(ctx context.Context, planJSON []byte) (Catalog, error) {
	tree, err := plan.Parse(planJSON)
	if err != nil {
		return nil, err
	}
	return r.Load(ctx, "", relations(tree))
}

// removedFinding says what an executed plan threw away, where it was much.
func removedFinding(scans []*Scan) []Finding {
	for _, s := range scans {
		removed, ok := s.Node.Removed()
		kept, _ := s.Node.TotalRows()
		if ok && s.Class.early() && removed > 1000 && removed > 10*kept {
			return []Finding{{
				Rule: "rows-thrown-away", Severity: Warn, Subject: subjectOf(s),
				Message:  fmt.Sprintf("this execution read %.0f rows from %s to keep %.0f", removed+kept, s.Node.Index, kept),
				Action:   "start the scan at the cursor",
				Evidence: map[string]any{"rows_removed": removed, "rows": kept},
			}}
		}
	}
	return nil
}
