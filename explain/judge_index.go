package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// IndexKind is the kind of a Fix that is an index.
const IndexKind = "index"

// withoutIndex is the case of a plan that does not know the proposed index.
const withoutIndex = "without-index"

// indexFix proposes an index where no rewrite is enough: the columns that
// equalities fix, then the sort keys with their directions. With hypopg the
// planner is asked; an index that it would not use, or that makes the page no
// better, is not offered. Without hypopg the proposal says that nobody asked.
// A rewrite that was found keeps its place and gets the index beside it.
func (j *judgement) indexFix(ctx context.Context, catalog Catalog, best *option) error {
	p, why := j.propose(ctx, catalog)
	if why != "" && j.page.scan != nil && j.page.scan.Class == FullSort {
		j.out.Tried = append(j.out.Tried, Rejected{Kind: IndexKind, Why: why})
	}
	if why != "" || p.exists() {
		return nil
	}
	create := p.sql(true)
	f := &Fix{
		SQL: j.in.SQL, Kind: IndexKind, IndexSQL: &create, Equivalent: Proved,
		Before: j.out.Plans[0], After: j.out.Plans[0],
		Why:   fmt.Sprintf("an index that begins with what is fixed and goes on in the page's order, about %s", size(p.bytes())),
		Proof: []string{"an index changes no rows"},
	}
	a, before := j.ask, j.page
	if best != nil {
		a, before = best.ask, best.page
	} else if o := j.besideIndex(ctx); o != nil {
		a = o.ask
		f.SQL, f.Equivalent, f.After = o.rendered.SQL, o.proof.level, caseOf("generic", o.plan, o.scans)
		f.Bind, f.Changed = o.rendered.Bind, [2]int{o.rendered.NewStart, o.rendered.NewEnd}
		f.First, f.FirstBind, f.When = o.rendered.First, o.rendered.FirstBind, o.rendered.When
		f.Proof = append(append([]string{}, o.proof.lines...), f.Proof...)
		f.Why = "the index alone is not enough, for the condition as it stands would scan it from its first row; " + whyOf(o.Candidate) + "; " + f.Why
		if !j.server.HypoPG {
			f.Why += "; the plan with the index is not verified, for that takes the extension hypopg"
		}
	} else if j.cursor.spelledOut() || j.cursor == nil && j.query != nil && len(ArrayFixes(j.query, j.facts)) > 0 {
		j.out.Tried = append(j.out.Tried, Rejected{Kind: IndexKind, SQL: create, Why: "the index alone is not enough, for the condition as it stands would scan it from its first row"})
		return nil
	}
	if !j.server.HypoPG {
		f.After.Case = withoutIndex
		f.Proof = append(f.Proof, "not verified: without the extension hypopg the planner cannot be asked")
	} else {
		plan, err := j.withHypothetical(ctx, a, p.sql(false))
		if err != nil {
			return fmt.Errorf("asking hypopg: %w", err)
		}
		scans := Scans(plan.Tree, catalog, j.known)
		f.After = caseOf("generic", plan, scans)
		used := f.After.Index != nil && strings.HasPrefix(*f.After.Index, "<")
		if !used || plan.Root.TotalCost >= before.cost() {
			j.out.Tried = append(j.out.Tried, Rejected{Kind: IndexKind, SQL: create, Why: "hypopg: the planner would not use it, or gain nothing"})
			return nil
		}
		f.Proof = append(f.Proof, fmt.Sprintf("hypopg: the planner would use it, at cost %.0f instead of %.0f", plan.Root.TotalCost, before.cost()))
	}
	if best != nil && j.out.Fix != nil {
		j.out.Fix.IndexSQL = &create
		j.out.Fix.Proof = append(j.out.Fix.Proof, f.Why)
		j.out.Fix.Proof = append(j.out.Fix.Proof, f.Proof[1:]...)
		return nil
	}
	j.out.Fix = f
	return nil
}

// besideIndex is the first rewrite that an index would need: one that assumes
// nothing and that the server takes, though without the index its plan is no
// better. Nil where the cursor is fine as it stands.
func (j *judgement) besideIndex(ctx context.Context) *option {
	if j.query == nil || j.cursor != nil && (j.cursor.Form == FormRow || j.cursor.Form == FormBoundedRow) {
		return nil
	}
	candidates := Fixes(j.query, j.cursor, j.facts)
	if j.cursor == nil {
		candidates = offerable(ArrayFixes(j.query, j.facts))
	}
	for _, c := range candidates {
		if len(c.Assumes) > 0 {
			continue
		}
		o := &option{Candidate: c, rendered: c.Render(j.norm), ask: j.ask}
		x, err := explainable(c.SQL)
		if err != nil {
			continue
		}
		o.ask.sql = x.SQL
		if o.plan, o.ask, err = j.typed(ctx, o.ask); err != nil || empty(o.plan) {
			continue
		}
		o.scans = Scans(o.plan.Tree, j.catalog, j.known)
		if s := worstScan(o.scans); s != nil && s.Class == WeakBound { // no index of the page's order starts it at the cursor
			continue
		}
		o.proof = j.prove(ctx, c)
		return o
	}
	return nil
}

// cost is the estimated cost of the whole plan that a page was judged by.
func (p pageOf) cost() float64 {
	if p.scan == nil {
		return 0
	}
	n := p.scan.Node
	for n.Parent != nil {
		n = n.Parent
	}
	return n.TotalCost
}

// withHypothetical explains a statement as if the index were there. A cached plan
// does not notice a hypothetical index, so the statement is prepared after it.
func (j *judgement) withHypothetical(ctx context.Context, a ask, create string) (Plan, error) {
	var out Plan
	a.generic = true
	err := j.confined(ctx, a.settings, func(ctx context.Context) error {
		defer func() { _ = j.send(context.WithoutCancel(ctx), "SELECT "+j.hypopg+".hypopg_reset()") }()
		if err := j.send(ctx, "SELECT "+j.hypopg+".hypopg_create_index($1)", create); err != nil {
			return err
		}
		return j.prepared(ctx, a.sql, a.types, func(ctx context.Context, name string) (err error) {
			out, err = j.execute(ctx, name, slices.Repeat([]string{"NULL"}, len(a.types)), nil, ask{})
			return err
		})
	})
	if err != nil {
		return out, err
	}
	return j.nameOutputs(ctx, a, out), nil
}
