package explain

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// nameOutputs writes the outputs of InitPlans in the conditions of a plan as 17 and
// later do, (InitPlan 1).col1. Before, they are printed as $0, $1, …, like the
// statement's parameters: where both have the number, the statement is planned
// once more with its own moved out of the way. Raw stays as it is.
func (r *Runner) nameOutputs(ctx context.Context, a ask, p Plan) Plan {
	outputs, most := initPlanOutputs(p.Tree)
	if len(outputs) == 0 {
		return p
	}
	clash := false
	for n := range outputs {
		clash = clash || a.args == nil && n > 0 && slices.Contains(sqltext.Bindings(a.sql), n)
	}
	if !clash {
		renumber(p.Root, p.Root, outputs, 0)
		return p
	}
	a.sql = movedParams(a.sql, most)
	a.types = append(slices.Repeat([]string{"text"}, most), p.types...)
	if moved, err := r.explainOnce(ctx, a); err == nil {
		renumber(p.Root, moved.Root, outputs, most)
	}
	return p
}

// initPlanOutputs maps the numbers of the outputs of InitPlans to how 17 writes
// them, and tells the highest. Since 17 there are none.
func initPlanOutputs(t *plan.Tree) (outputs map[int]string, most int) {
	t.Root.Walk(func(n *plan.Node) bool {
		name, _, old := strings.Cut(n.SubplanName, " (returns ")
		if !old {
			return true
		}
		for i, ref := range plan.InitPlanRefs(n.SubplanName) {
			if k, err := strconv.Atoi(strings.TrimPrefix(ref, "$")); err == nil {
				if outputs == nil {
					outputs = map[int]string{}
				}
				outputs[k], most = fmt.Sprintf("(%s).col%d", name, i+1), max(most, k)
			}
		}
		return true
	})
	return outputs, most
}

// movedParams adds by to the number of every parameter.
func movedParams(sql string, by int) string {
	return eachParam(sql, func(n int) string { return fmt.Sprintf("$%d", n+by) })
}

// eachParam writes SQL with what f makes of each $n.
func eachParam(sql string, f func(n int) string) string {
	if !strings.Contains(sql, "$") {
		return sql
	}
	var edits []sqltext.Edit
	for _, t := range sqltext.Lex(sql) {
		if t.Kind != sqltext.Param {
			continue
		}
		if n, err := strconv.Atoi(sql[t.Start+1 : t.End]); err == nil {
			edits = append(edits, sqltext.Edit{Start: t.Start, End: t.End, Text: f(n)})
		}
	}
	return sqltext.Splice(sql, edits)
}

// renumber writes the conditions of n as those of from, the same plan with its
// parameters moved by so many, with the outputs by their names.
func renumber(n, from *plan.Node, outputs map[int]string, moved int) {
	if n.Type != from.Type || len(n.Children) != len(from.Children) {
		return
	}
	name := func(text string) string {
		return eachParam(text, func(k int) string {
			if output, ok := outputs[k]; ok {
				return output
			}
			return fmt.Sprintf("$%d", k-moved)
		})
	}
	n.IndexCond, n.RecheckCond, n.Filter, n.JoinFilter = name(from.IndexCond), name(from.RecheckCond), name(from.Filter), name(from.JoinFilter)
	n.OneTimeFilter, n.HashCond, n.MergeCond, n.FunctionCall = name(from.OneTimeFilter), name(from.HashCond), name(from.MergeCond), name(from.FunctionCall)
	for i, list := range [][]string{from.SortKey, from.PresortedKey, from.GroupKey, from.Output} {
		into := []*[]string{&n.SortKey, &n.PresortedKey, &n.GroupKey, &n.Output}[i]
		*into = slices.Clone(list)
		for k, text := range list {
			(*into)[k] = name(text)
		}
	}
	for i, c := range n.Children {
		renumber(c, from.Children[i], outputs, moved)
	}
}

// namePlainOutputs is nameOutputs for a plan that someone else took: the numbers
// that its text has for parameters are left alone.
func namePlainOutputs(t *plan.Tree) {
	outputs, _ := initPlanOutputs(t)
	for _, n := range sqltext.Bindings(t.QueryText) {
		delete(outputs, n)
	}
	if len(outputs) > 0 {
		renumber(t.Root, t.Root, outputs, 0)
	}
}
