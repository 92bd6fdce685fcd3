package explain

import (
	"slices"
	"strings"
)

// unsay takes back the advice to do what was tried and is not to be had. In its place
// comes what helps, where the reason tells.
func (j *judgement) unsay() {
	for i := range j.out.Findings {
		f := &j.out.Findings[i]
		for _, kind := range advised(f.Action) {
			why := j.refusal(kind, f.Rule)
			if why == "" || why == f.Action {
				continue
			}
			switch fix := j.out.Fix; {
			case fix != nil && fix.SQL != j.in.SQL:
				f.Action = "use the fix"
			case strings.Contains(why, ": ") && !strings.HasPrefix(why, "its plan "):
				f.Action = why
			case fix == nil:
				f.Action = ""
			}
			break
		}
	}
}

// advised are the rewrites that an action asks for by hand.
func advised(action string) (out []FixKind) {
	for _, x := range []struct {
		words string
		kind  FixKind
	}{
		{"an index that gives the order", IndexKind},
		{"compare rows", RowComparison},
		{"without it: (", RowComparison},
		{"one statement for the first page", TwoStatements},
		{"the next page two statements", TwoStatements},
		{"query of their own: UNION ALL", UnionAll},
		{"split the statement", UnionAll},
		{"compare with a sub-select", RowSubselect},
	} {
		if strings.Contains(action, x.words) {
			out = append(out, x.kind)
		}
	}
	return out
}

// refusal is why a rewrite of this kind is not to be had, "" where that was not found.
// That the planner finds one no better says nothing of a page that wants an index first.
func (j *judgement) refusal(kind FixKind, rule string) string {
	of := func(kind FixKind) string {
		i := slices.IndexFunc(j.out.Tried, func(r Rejected) bool { return r.Kind == string(kind) })
		if i < 0 {
			return ""
		}
		return j.out.Tried[i].Why
	}
	why := of(kind)
	switch joined := of(RowSubselect); {
	case kind == IndexKind && (!strings.HasPrefix(why, "no index can be over ") || j.out.Fix != nil):
		return ""
	case kind == IndexKind:
		return why + ": sort by the column itself, or by an expression that depends on nothing else, and index that"
	case kind == RowComparison && joined != "" && j.cursor != nil && j.cursor.Form == FormJoined:
		return joined
	case kind == RowComparison && why == "" && j.cursor != nil && j.cursor.optional():
		return of(TwoStatements)
	case strings.HasPrefix(why, "its plan ") && rule == "page-sorts-whole-table":
		return ""
	}
	return why
}

// optional: a condition may switch the cursor off.
func (c *Cursor) optional() bool {
	return c.Form == FormOptionalOr || c.Form == FormOptionalRow || c.Form == FormCase || c.Form == FormCoalesce
}
