package explain

import (
	"context"
	"fmt"
)

// measureCases executes the statement as it is where no fix was measured, if
// that was asked for: with the values of each custom plan, or as it stands when
// it has no parameters. A case that takes longer than the statement timeout
// stays an estimate. Why nothing was executed becomes a finding.
func (j *judgement) measureCases(ctx context.Context, catalog Catalog) {
	if !j.opts.Analyze || j.out.Fix != nil && len(j.out.Fix.Steps) > 0 {
		return
	}
	refuse := func(why, action string) {
		j.out.Findings = append(j.out.Findings, Finding{
			Rule: "statement-not-executed", Severity: Info, Subject: j.out.Source, Message: "not executed: " + why,
			Action: action, Evidence: map[string]any{},
		})
	}
	if why := j.mayExecute(ctx, &option{plan: j.plan}); why != "" {
		refuse(why, "go by the estimates")
		return
	}
	switch {
	case len(j.norm.Params) == 0 || len(j.out.Plans) > 1:
	case j.unplanned != "":
		refuse(j.unplanned, "go by the estimates")
		return
	case j.out.Verdict == NotApplicable || j.page.scan == nil:
		refuse("it is no page, so that there are no values to try", "execute it with values of your own")
		return
	default:
		refuse("the statistics have no values for all of its parameters", "give values with --param")
		return
	}
	failed := ""
	for i, c := range j.out.Plans {
		if i == 0 && len(j.out.Plans) > 1 {
			continue // the generic plan, which has no values
		}
		a := j.ask
		a.args, a.analyze, a.timing = c.Params, true, true
		if a.mode = customPlan; i == 0 {
			a.mode = genericPlan
		}
		p, err := j.explain(ctx, a)
		if err != nil {
			failed = fmt.Sprintf("the %s case: %v", c.Case, err)
			continue
		}
		j.out.Plans[i] = caseOf(c.Case, p, Scans(p.Tree, catalog, j.known))
		j.out.Plans[i].Params = c.Params
	}
	if j.inPart != "" {
		j.out.Findings = append(j.out.Findings, Finding{
			Rule: "statement-not-executed", Severity: Info, Subject: j.out.Source, Message: "executed in part: " + j.inPart,
			Action: "go by the rows and blocks as those of the search", Evidence: map[string]any{},
		})
	}
	if failed != "" {
		refuse(failed, "go by the estimates, or give it more time with --timeout")
	}
}
