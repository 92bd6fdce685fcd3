package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// option is a candidate that the planner has looked at.
type option struct {
	Candidate
	rendered Rendered
	ask      ask
	plan     Plan
	scans    []*Scan
	page     pageOf
	proof    proof
	steps    []Step
	checked  int // cursors at which the rows were compared and equal
}

// fix finds a better way to get the page, if its scan starts too early or reads
// too much: a rewrite first, an index where a rewrite is not enough. Every
// rewrite is explained again; one that is not better is not offered.
func (j *judgement) fix(ctx context.Context, catalog Catalog) error {
	if j.page.scan == nil || j.out.Verdict.rank() < ReadsAllAfterCursor.rank() {
		return nil
	}
	best := j.choose(ctx, catalog, j.options(ctx, catalog))
	if best != nil {
		j.offer(best)
	}
	if best == nil || best.page.verdict == ReadsAllAfterCursor {
		return j.indexFix(ctx, catalog, best)
	}
	return nil
}

// options are the candidates that the planner finds better, the best first.
func (j *judgement) options(ctx context.Context, catalog Catalog) []*option {
	if j.query == nil {
		return nil
	}
	candidates := Fixes(j.query, j.cursor, j.facts)
	if j.cursor == nil && j.page.scan.Class == PrefixScan {
		candidates = BoundFixes(j.query, j.facts)
	}
	if j.page.scan.held != "" {
		candidates = append(candidates, HeldFixes(j.query)...)
	}
	var arrays []Candidate
	if j.cursor == nil {
		arrays = ArrayFixes(j.query, j.facts)
		candidates = append(candidates, offerable(slices.Clone(arrays))...)
	}
	candidates = append(candidates, NullFixes(j.query, j.cursor, j.facts)...)
	for _, c := range append(Refusals(j.query, j.cursor, j.facts), refused(arrays)...) {
		j.out.Tried = append(j.out.Tried, Rejected{Kind: string(c.Kind), Why: c.Refused})
	}
	out := j.tryAll(ctx, catalog, candidates)
	if len(out) == 0 && (j.weak || j.page.scan.Class == WeakBound || j.page.scan.held != "") {
		out = j.tryAll(ctx, catalog, TieFixes(j.query, j.cursor, j.facts))
		if x := j.lesser; len(out) == 0 && x != nil {
			out = []*option{x}
			j.out.Tried = slices.DeleteFunc(j.out.Tried, func(r Rejected) bool { return r.Kind == string(x.Kind) && r.SQL == x.rendered.SQL })
		}
	}
	slices.SortStableFunc(out, func(a, b *option) int {
		switch {
		case a.better(b):
			return -1
		case b.better(a):
			return 1
		}
		return 0
	})
	return out
}

// tryAll tries candidates; those that are not to be offered are noted.
func (j *judgement) tryAll(ctx context.Context, catalog Catalog, candidates []Candidate) (out []*option) {
	for _, c := range candidates {
		o, why := j.try(ctx, catalog, c)
		if why != "" {
			j.reject(c, why)
			if o != nil && o.page.scan != nil && o.page.scan.Class == WeakBound {
				j.weak = true
				if j.lesser == nil && c.Kind == RowComparison && len(c.Assumes) == 0 && j.gains(o) {
					j.lesser = o
				}
			}
			continue
		}
		out = append(out, o)
	}
	return out
}

// gains reports that a scan which starts at the first of the rows that share the
// cursor's first key spares at least half of what is read now. A partial index may
// hold other values than the table, so nothing is known of it.
func (j *judgement) gains(o *option) bool {
	s := o.page.scan
	return j.page.scan.Class == PrefixScan && s.Index != nil && s.Index.Predicate == "" && len(s.Index.Keys) > 0 &&
		2*s.sharing(s.Index.Keys[min(len(s.Fixed), len(s.Index.Keys)-1)].Column) <= s.reach() && o.plan.Root.TotalCost <= costMargin*j.costBefore()
}

func (j *judgement) reject(c Candidate, why string) {
	j.out.Tried = append(j.out.Tried, Rejected{Kind: string(c.Kind), SQL: c.Render(j.norm).SQL, Why: why})
}

// choose proves and measures the options and takes the first, unless it was
// measured and another, measured too, reads less than half as much.
func (j *judgement) choose(ctx context.Context, catalog Catalog, options []*option) *option {
	var best *option
	for _, o := range options {
		if best != nil && !j.opts.Analyze {
			break
		}
		o.proof = j.prove(ctx, o.Candidate)
		if why := j.measure(ctx, catalog, o); why != "" {
			j.reject(o.Candidate, why)
			continue
		}
		if best == nil || len(o.steps) > 0 && len(best.steps) > 0 && 2*o.steps[3].Blocks < best.steps[3].Blocks {
			best = o
		}
	}
	return best
}

// try explains a candidate and says why it is not to be offered, "" if it is.
func (j *judgement) try(ctx context.Context, catalog Catalog, c Candidate) (*option, string) {
	o := &option{Candidate: c, rendered: c.Render(j.norm)}
	x, err := explainable(c.SQL)
	if err != nil {
		return nil, err.Error()
	}
	o.ask = j.ask
	o.ask.sql = x.SQL
	o.plan, o.ask, err = j.typed(ctx, o.ask)
	if err != nil {
		var pg *pgconn.PgError
		if errors.As(err, &pg) {
			return nil, "the server does not take it: " + pg.Message
		}
		return nil, err.Error()
	}
	if empty(o.plan) {
		return nil, "its plan returns nothing"
	}
	if _, err := j.loadFor(ctx, o.plan.Tree); err != nil {
		return nil, err.Error()
	}
	o.scans = Scans(o.plan.Tree, catalog, j.known)
	o.page = pageVerdict(o.scans, j.cursor, j.out.PageRows)
	if o.page.verdict.rank() >= j.page.verdict.rank() {
		why := "its plan is no better"
		if o.page.scan != nil {
			why += ": " + o.page.scan.Why
		}
		return o, why
	}
	return o, j.worse(o)
}

// worse says why a plan of a better verdict is still no fix: it lost the start
// altogether, as a condition does that became a join filter, or it costs more
// without starting an ordered scan at the cursor. The planner's cost does not
// count against one that does start there, for it takes the rows before the cursor
// for few.
func (j *judgement) worse(o *option) string {
	s := o.page.scan
	switch before := j.costBefore(); {
	case o.page.verdict == StartsAtCursor && (s == nil || s.Ordered || len(s.Fixed) > 0):
		return ""
	case j.cursor == nil && s != nil && s.Class == FromStart: // a first page, in order
		return ""
	case s != nil && !s.Tiny() && (s.Class == FromStart || s.Class == NoIndex):
		return "its plan starts at the first row: " + s.Why
	case o.plan.Root.TotalCost > costMargin*before:
		return fmt.Sprintf("its plan costs more: %.0f instead of %.0f", o.plan.Root.TotalCost, before)
	}
	return ""
}

// costBefore is what a page costs as it is: by the planner, but for one that
// starts too early at least half of the scan, as for a cursor in the middle.
func (j *judgement) costBefore() float64 {
	cost := j.plan.Root.TotalCost
	if s := j.page.scan; s != nil && s.Class.early() {
		cost = max(cost, s.Node.TotalCost/2)
	}
	return cost
}

// better prefers the better verdict, then what assumes less, then what prunes
// partitions, then what keeps the order of an index.
func (o *option) better(than *option) bool {
	if a, b := o.page.verdict.rank(), than.page.verdict.rank(); a != b {
		return a < b
	}
	if a, b := len(o.Assumes) > 0, len(than.Assumes) > 0; a != b {
		return !a
	}
	a, b := o.page.scan, than.page.scan
	if a == nil || b == nil {
		return false
	}
	if a.root != nil && b.root != nil && o.Kind != than.Kind { // a row comparison alone prunes no partition
		return o.Kind == BoundAndRow
	}
	return a.Ordered && !b.Ordered
}

// offer puts the chosen rewrite into the result.
func (j *judgement) offer(o *option) {
	f := &Fix{
		SQL: o.rendered.SQL, Kind: string(o.Kind), Equivalent: o.proof.level,
		Before: j.out.Plans[0], After: caseOf("generic", o.plan, o.scans),
		Why: whyOf(o.Candidate), Proof: o.proof.lines, Steps: o.steps,
		Bind: o.rendered.Bind, First: o.rendered.First, FirstBind: o.rendered.FirstBind, When: o.rendered.When, Assumes: o.Assumes, Keeps: o.Fault,
		Changed: [2]int{o.rendered.NewStart, o.rendered.NewEnd},
	}
	if o == j.lesser {
		f.Why = "one row comparison says the same; " + o.page.scan.Why + ", so it does not start at the cursor itself, but reads less: " + o.Row
	}
	if o.Fault != "" {
		f.Why += "; it keeps the rows, so it keeps " + o.Fault + " too: mend that first"
	}
	if o.checked > 0 && f.Equivalent == NotProved {
		f.Equivalent = Checked
	}
	j.out.Fix = f
}

// whyOf says in one sentence what a rewrite does.
func whyOf(c Candidate) string {
	switch c.Kind {
	case RowComparison:
		return "one row comparison says the same, and the planner can start the scan at it: " + c.Row
	case AddBound:
		return "the condition implies " + c.Bound + "; said so, the planner can start the scan there"
	case BoundAndRow:
		return "the bound prunes partitions, the row comparison starts the scan: " + strings.TrimSpace(c.Bound+" AND "+c.Row)
	case UnionAll:
		return "each part of the rows gets a query of its own, which can start at the right row"
	case RowSubselect:
		return "the cursor's row is looked up first, so that the scan can start at it"
	case TwoStatements:
		return "the first page and the next pages are two statements, each with a plan of its own"
	case PlainCompare:
		return "without what hides it the comparison says the same, and the planner can start the scan at it: " + c.Row
	case CastValue:
		return "a value of the key's type leaves the key as it is, so that its index can be used"
	case NullsOrder:
		return "without NULLs their place in the order is no matter, and so the page has the order of an index"
	case GuardedBound:
		return "the bound is infinite where there is no cursor: " + c.Bound
	}
	return ""
}
