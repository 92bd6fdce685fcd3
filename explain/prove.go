package explain

import (
	"context"
	"fmt"

	"github.com/pgsonde/pgsonde/explain/plan"
)

// Proofs of equivalence, as Fix.Equivalent says them.
const (
	Proved    = "proved"     // by the server, or by comparing every case; nothing is assumed
	Checked   = "checked"    // the same rows at every cursor that was tried
	NotProved = "not-proved" // the proof's lines say what is missing
)

// proof says how far a candidate is known to keep the rows of its statement.
type proof struct {
	level string
	lines []string
}

// prove asks PostgreSQL to prove what a candidate claims. With constraint
// exclusion on, the planner refutes a condition that contradicts itself, with
// the real operators, operator families and collations: the old condition with
// the bound broken, with a NULL key, with all values NULL. All three plans must
// be empty ("One-Time Filter: false"); nothing is executed. A plan that is not
// empty is no disproof, for the planner does not open row comparisons.
func (j *judgement) prove(ctx context.Context, c Candidate) proof {
	p := proof{level: NotProved, lines: append([]string(nil), c.Proof...)}
	for _, a := range c.Assumes {
		p.lines = append(p.lines, "assumed: "+a)
	}
	if len(c.Assumes) > 0 {
		return p
	}
	claims := c.Parts
	if c.Claim != nil {
		claims = append([]*Claim{c.Claim}, claims...)
	}
	if len(claims) == 0 {
		if c.Exact || (c.Kind == RowComparison || c.Kind == RowSubselect || c.Kind == NullsOrder || c.Kind == TwoStatements) && len(c.Proof) > 0 {
			p.level = Proved
		}
		return p
	}
	if j.emptyByItself() {
		p.lines = append(p.lines, "not asked of the server: its plan is empty anyway")
		return p
	}
	names := []string{"with the bound broken", "with a NULL key", "with NULL values"}
	for _, claim := range claims {
		for i, sql := range claim.Refutations() {
			refuted, why := j.refuted(ctx, sql)
			if !refuted {
				p.lines = append(p.lines, fmt.Sprintf("PostgreSQL did not prove it: the condition %s %s", names[i], why))
				return p
			}
			p.lines = append(p.lines, fmt.Sprintf("PostgreSQL: the condition %s is never true", names[i]))
		}
	}
	p.level = Proved
	return p
}

// refuted reports that the statement's generic plan returns no row whatever the
// parameters are, else why not.
func (j *judgement) refuted(ctx context.Context, sql string) (bool, string) {
	x, err := explainable(sql)
	if err != nil {
		return false, "could not be asked: " + err.Error()
	}
	a := j.ask
	a.sql, a.prove = x.SQL, true
	p, _, err := j.typed(ctx, a)
	if err != nil {
		return false, "could not be asked: " + err.Error()
	}
	if !empty(p) {
		return false, "was not refuted"
	}
	return true, ""
}

// empty reports a plan in which some node can return nothing.
func empty(p Plan) bool {
	return p.Root.Find(func(n *plan.Node) bool { return n.OneTimeFilter == "false" }) != nil
}

// emptyByItself reports that the statement's own plan is empty, which would make
// every refutation succeed.
func (j *judgement) emptyByItself() bool {
	return empty(j.plan)
}
