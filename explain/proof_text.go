package explain

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// Claim is an implication a server can be asked to prove: while Condition is
// true, Key Op LEAST(Values) (GREATEST for <=) is, and neither Key nor all of
// Values are NULL.
type Claim struct {
	Key    string
	Op     string // >= or <=
	Values []string
	From   string // the query up to its condition: SELECT … WHERE
	// Condition is the whole WHERE, in parentheses. Sub-selects that are values
	// stand in it as a further parameter, for the planner does not take two of
	// them for equal.
	Condition string
	// Whole: the query could not be cut out of its statement.
	Whole bool
	rest  string
}

// newClaim builds the claim for the block of the cursor.
func newClaim(q *sqltext.Query, c *Cursor, b Bound) *Claim {
	block := c.Block
	op := ">="
	if c.Side == Upper {
		op = "<="
	}
	cl := &Claim{Key: c.Keys[0].Text, Op: op}
	next := 0
	var edits []sqltext.Edit
	where := block.Where
	for _, v := range b.Values {
		text := operand(v.Expr)
		if v.Expr.Kind == sqltext.Subquery {
			if next == 0 {
				for _, n := range sqltext.Bindings(q.SQL) {
					next = max(next, n)
				}
			}
			next++
			text = fmt.Sprintf("$%d", next)
			where.Walk(func(e *sqltext.Expr) bool {
				if e.Kind == sqltext.Subquery && sqltext.Equal(e, v.Expr) {
					edits = append(edits, sqltext.Edit{Start: e.Start - where.Start, End: e.End - where.Start, Text: text})
				}
				return true
			})
		}
		cl.Values = append(cl.Values, text)
	}
	start, end := block.BodyStart, where.End
	if block.Correlated() || usesOuterCTE(block) {
		start, end, cl.Whole = 0, len(q.SQL), true
	}
	if block.GroupBy && !cl.Whole {
		end = block.End
	}
	cl.From = q.SQL[start:where.Start]
	cl.rest = q.SQL[where.End:end]
	cl.Condition = "(" + sqltext.Splice(where.Text(), edits) + ")"
	return cl
}

func usesOuterCTE(b *sqltext.Block) bool {
	for _, t := range b.From {
		if t.CTE == nil {
			continue
		}
		own := false
		for _, c := range b.CTEs {
			own = own || c == t.CTE
		}
		if !own {
			return true
		}
	}
	return false
}

// Refutations are the statements whose plan, with constraint_exclusion = on, is
// empty (One-Time Filter: false) exactly if the planner can prove the claim: the
// condition with the bound broken, with a NULL key, with every value NULL. All
// must be empty. A plan that is not is no disproof.
func (c *Claim) Refutations() []string {
	against := "<"
	if c.Op == "<=" {
		against = ">"
	}
	beyond, null := "", ""
	for _, v := range c.Values {
		beyond += fmt.Sprintf(" AND %s %s %s", c.Key, against, v)
		null += fmt.Sprintf(" AND (%s) IS NULL", v)
	}
	base := c.From + c.Condition
	return []string{base + beyond + c.rest, base + " AND " + c.Key + " IS NULL" + c.rest, base + null + c.rest}
}

// boundProof says branch by branch why the condition implies the bound.
func (w *rewriter) boundProof(e *sqltext.Expr, bound string) []string {
	key, side := w.c.Keys[0].Key, w.c.Side
	out := []string{fmt.Sprintf("%s is true only if %s is:", oneLine(e.Text()), bound)}
	branches := []*sqltext.Expr{e}
	if e.Kind == sqltext.Or {
		branches = e.Args
	}
	for i, b := range branches {
		label := ""
		if len(branches) > 1 {
			label = fmt.Sprintf("branch %d: ", i+1)
		}
		out = append(out, "  "+label+reason(b, key, w.c.Keys[0].Text, side, len(w.c.Bound.Values) > 1))
	}
	return append(out, "a comparison with NULL is not true, so rows with a NULL key were not kept before either")
}

// reason says what bounds the key in one branch.
func reason(e *sqltext.Expr, key Key, name string, side Side, several bool) string {
	x := extractor{key: key, side: side}
	p := x.walk(e, false)
	if p.never {
		return oneLine(e.Text()) + " is never true"
	}
	op, pick := ">=", "LEAST"
	if side == Upper {
		op, pick = "<=", "GREATEST"
	}
	parts := make([]string, 0, len(p.Values))
	for _, v := range p.Values {
		parts = append(parts, v.Expr.Text())
	}
	value := strings.Join(parts, ", ")
	if len(parts) > 1 {
		value = pick + "(" + value + ")"
	}
	from := oneLine(e.Text())
	if e.Kind == sqltext.And {
		if t := decisive(x, e); t != nil {
			from = oneLine(e.Text()) + ": " + oneLine(t.Text())
		}
	}
	s := fmt.Sprintf("%s => %s %s %s", from, name, op, value)
	if several && len(parts) == 1 {
		s += fmt.Sprintf(", which %s", map[bool]string{true: "LEAST does not exceed", false: "GREATEST is not below"}[side == Lower])
	}
	return s
}

// decisive is the part of an AND that the bound comes from.
func decisive(x extractor, e *sqltext.Expr) *sqltext.Expr {
	for _, t := range Conjuncts(e) {
		if p := x.walk(t.Expr, t.Not); p.found {
			return t.Whole
		}
	}
	return nil
}

// rowProof says why the row comparison keeps the same rows.
func rowProof(x *lexicographic, row string) []string {
	out := []string{fmt.Sprintf("%s is true in the same cases as the condition, of %d: each key before, at or after its value, or unknown (NULL)", row, x.cases)}
	for i := range x.keys {
		parts := make([]string, 0, i+1)
		for _, k := range x.keys[:i] {
			parts = append(parts, k.Text+" = "+k.Values[0].Text())
		}
		op := ">"
		if x.keys[i].Desc {
			op = "<"
		}
		if x.inclusive && i == len(x.keys)-1 {
			op += "="
		}
		parts = append(parts, x.keys[i].Text+" "+op+" "+x.keys[i].Values[0].Text())
		out = append(out, fmt.Sprintf("  branch %d: %s", i+1, strings.Join(parts, " and ")))
	}
	return append(out, "  in every other case neither is true")
}

// oneLine writes SQL on one line, cut at 120 bytes.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 120 {
		cut := 117
		for cut > 0 && s[cut]&0xc0 == 0x80 {
			cut--
		}
		s = s[:cut] + "…"
	}
	return s
}
