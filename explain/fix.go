package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// FixKind names a kind of rewrite.
type FixKind string

// Kinds of rewrites, in the order of preference.
const (
	RowComparison FixKind = "row-comparison"   // the cursor as one row comparison
	BoundAndRow   FixKind = "bound-and-row"    // the same with the bound before it, which prunes partitions
	AddBound      FixKind = "add-bound"        // the bound before the condition, which stays
	UnionAll      FixKind = "union-all"        // the rows with a NULL key as a query of their own
	RowSubselect  FixKind = "row-subselect"    // the joined cursor row as a sub-select in a row comparison
	TwoStatements FixKind = "two-statements"   // one for the first page, one for the next
	GuardedBound  FixKind = "guarded-bound"    // a bound that is infinite on the first page
	CastValue     FixKind = "cast-value"       // the values cast to the types of the keys
	PlainCompare  FixKind = "plain-comparison" // the comparison without the CASE or COALESCE round it
	NullsOrder    FixKind = "nulls-order"      // NULLS FIRST or LAST as an index has it, for keys that are NOT NULL
)

// Candidate is a rewrite of a statement. Whether it is faster is for the planner
// to say: explain it before offering it.
type Candidate struct {
	Kind  FixKind
	SQL   string         // the whole statement, placeholders as $n
	Edits []sqltext.Edit // what changed in the query's text
	// First is the statement for the first page and When the condition that
	// chooses it; only for TwoStatements, where SQL is that for the next pages.
	First      string
	FirstEdits []sqltext.Edit
	When       string
	Bound      string   // the bound as written into the statement, "" without one
	Row        string   // the row comparison, "" without one
	Assumes    []string // what must be true besides the text; empty: same rows in any case
	Proof      []string // why the rows are the same, line by line
	Claim      *Claim   // what the server can be asked to prove; nil without a bound
	Parts      []*Claim // the same of the parts of a union
	Exact      bool     // Proof says it all: nothing is left to ask the server
	Fault      string   // rule of an error in the page that the rewrite keeps, for it keeps the rows; "" for none
	Refused    string   // why it is not to be offered, though it has the shape; "" for one that may be
}

// Fixes proposes rewrites of a statement whose cursor is c, the preferred one
// first: those that assume nothing before those that do. It returns nil for a
// cursor that needs none or that cannot be rewritten safely. A rewrite keeps the
// rows, so it keeps the fault of a page that gives wrong ones, and says so.
func Fixes(q *sqltext.Query, c *Cursor, f Facts) []Candidate {
	if c == nil {
		return nil
	}
	out := offerable(rewrites(q, c, f))
	if fault := faultOf(q, c, f); fault != "" {
		for i := range out {
			out[i].Fault = fault
		}
	}
	return out
}

// Refusals are the rewrites that a cursor has the shape for and that are not to be
// offered, each with the reason in Refused.
func Refusals(q *sqltext.Query, c *Cursor, f Facts) []Candidate {
	if c == nil {
		return nil
	}
	return refused(rewrites(q, c, f))
}

func refused(cs []Candidate) []Candidate {
	return slices.DeleteFunc(cs, func(c Candidate) bool { return c.Refused == "" })
}

func offerable(cs []Candidate) []Candidate {
	return slices.DeleteFunc(cs, func(c Candidate) bool { return c.Refused != "" })
}

// BoundFixes proposes the bound on its leading sort key that a page's condition
// implies though it is no cursor: several windows of time, say. min and max are pages
// of one row.
func BoundFixes(q *sqltext.Query, f Facts) []Candidate {
	b := pageBlock(q, nil)
	var sort []SortKey
	if b != nil {
		sort = sortKeys(b)
	} else {
		b, sort = extreme(q)
	}
	if b == nil || b.Where == nil {
		return nil
	}
	c := &Cursor{Block: b, Page: b, Sort: sort, Form: FormOr, terms: Conjuncts(b.Where)}
	for _, k := range c.Sort {
		if !fixed(c.terms, k.Key) {
			c.Keys = append(c.Keys, k)
		}
	}
	if len(c.Keys) == 0 {
		return nil
	}
	c.Side = sideOf(c.Keys[0])
	w := &rewriter{q: q, c: c, facts: f, lower: q.SQL[b.WhereWord] == 'w'}
	for _, t := range c.terms {
		var ok bool
		if c.Bound, ok = t.Implied(c.Keys[0].Key, c.Side); ok && !t.direct(c.Keys[0].Key, c.Side) && !t.Not {
			c.Term, c.part = t, t.Whole
			w.bound()
		}
	}
	return w.out
}

// extreme is the first block that gives the min or max of a column, and the order in
// which that is its first row; nil for none.
func extreme(q *sqltext.Query) (*sqltext.Block, []SortKey) {
	for _, b := range q.Blocks {
		if b.GroupBy || b.SetOp != "" {
			continue
		}
		for _, it := range b.Items {
			e := it.Expr
			if e == nil || e.Kind != sqltext.Func || e.Name != "min" && e.Name != "max" || len(e.Args) != 1 || e.Args[0].Kind != sqltext.Column {
				continue
			}
			return b, []SortKey{{Key: Key{Expr: e.Args[0]}, Text: e.Args[0].Text(), Desc: e.Name == "max"}}
		}
	}
	return nil, nil
}

// faultOf is the rule by which the page loses or repeats rows, "" for none.
func faultOf(q *sqltext.Query, c *Cursor, f Facts) string {
	s := &smeller{q: q, facts: f}
	s.order(c)
	if i := slices.IndexFunc(s.out, func(x Smell) bool { return x.Severity == Error || x.Rule == "cursor-on-other-key" }); i >= 0 {
		return s.out[i].Rule
	}
	return ""
}

// rewrites proposes those that keep the rows, right or wrong.
func rewrites(q *sqltext.Query, c *Cursor, f Facts) []Candidate {
	w := &rewriter{q: q, c: c, facts: f, lower: q.SQL[c.Block.WhereWord] == 'w'}
	if c.Hidden || w.facts.unstable(c.Keys[0].Key.Expr) != "" || ownOperator(c.Term.Whole) {
		return nil
	}
	switch c.Form {
	case FormOptionalOr, FormOptionalRow, FormCase:
		w.twoStatements()
		w.factored()
		w.plain()
		w.guardedBound()
	case FormCoalesce:
		w.plain()
	case FormNullBranch:
		w.unionAll(false)
		w.factored()
	case FormJoined: // the values may be known all the same: of a row of parameters, or outside a LATERAL
		w.row(false)
		w.bound()
		w.rowSubselect()
	case FormSingle, FormAnd:
	case FormRow, FormBoundedRow:
		w.boundBeforeRow()
	default:
		w.row(false)
		w.factored()
		w.bound()
		w.row(true)
	}
	w.castValues()
	out := slices.DeleteFunc(w.out, func(c Candidate) bool { return c.SQL == q.SQL && c.Refused == "" })
	slices.SortStableFunc(out, func(a, b Candidate) int { return min(len(a.Assumes), 1) - min(len(b.Assumes), 1) })
	return out
}

// ownOperator reports an OPERATOR(schema.op) that is not the system's: what it compares
// by is not known.
func ownOperator(e *sqltext.Expr) bool {
	text := e.Text()
	toks := sqltext.Lex(text)
	for i := range len(toks) - 2 {
		if toks[i].Is(text, "operator") && toks[i+1].IsPunct(text, "(") && !toks[i+2].Is(text, "pg_catalog") {
			return true
		}
	}
	return false
}

type rewriter struct {
	q     *sqltext.Query
	c     *Cursor
	facts Facts
	lower bool // the statement writes its keywords in lower case
	out   []Candidate
}

// word writes a keyword in the case of the statement.
func (w *rewriter) word(upper string) string {
	if !w.lower {
		return upper
	}
	b := []byte(upper)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func (w *rewriter) add(c Candidate) {
	c.SQL = sqltext.Splice(w.q.SQL, c.Edits)
	if c.FirstEdits != nil {
		c.First = sqltext.Splice(w.q.SQL, c.FirstEdits)
	}
	w.out = append(w.out, c)
}

// refuse notes a rewrite that is not to be offered.
func (w *rewriter) refuse(kind FixKind, why string) {
	w.add(Candidate{Kind: kind, Refused: why})
}

// bound adds the bound before the cursor's condition.
func (w *rewriter) bound() {
	if w.c.Bounded {
		return
	}
	text, claim, ok := w.boundText(w.c.Bound)
	if !ok {
		return
	}
	proof := w.boundProof(w.c.part, text)
	if notFalseOf(w.c.Term.Expr) != nil { // the server does not look into it
		claim, proof = nil, []string{w.boundedOpen(text)}
	}
	w.add(Candidate{
		Kind: AddBound, Edits: w.beside(text, len(w.c.Bound.Values), w.c.Term.Whole), Bound: text, Claim: claim, Proof: proof,
	})
}

// beside puts a bound before a condition; one with several values behind it:
// the type of a placeholder is that of its first use, and LEAST gives none.
func (w *rewriter) beside(bound string, values int, e *sqltext.Expr) []sqltext.Edit {
	and := " " + w.word("AND") + " "
	if values == 1 {
		return w.before(bound+and, e)
	}
	if e.Kind == sqltext.Or && !e.Parens {
		return []sqltext.Edit{{Start: e.Start, End: e.Start, Text: "("}, {Start: e.End, End: e.End, Text: ")" + and + bound}}
	}
	return []sqltext.Edit{{Start: e.End, End: e.End, Text: and + bound}}
}

// before inserts text before an expression that stands among ANDs, or is the
// whole condition: a bare OR gets parentheses.
func (w *rewriter) before(text string, e *sqltext.Expr) []sqltext.Edit {
	if e.Kind == sqltext.Or && !e.Parens {
		return []sqltext.Edit{{Start: e.Start, End: e.Start, Text: text + "("}, {Start: e.End, End: e.End, Text: ")"}}
	}
	return []sqltext.Edit{{Start: e.Start, End: e.Start, Text: text}}
}

// boundText writes "key >= value", with LEAST or GREATEST over several values.
// ok is false if a value cannot be written a second time.
func (w *rewriter) boundText(b Bound) (string, *Claim, bool) {
	if len(b.Values) == 0 || len(b.Guards) > 0 {
		return "", nil, false
	}
	if is, _ := w.facts.notNull(w.c.Block, w.c.Keys[0].Key.Expr); b.NotNull && !is {
		return "", nil, false
	}
	values := make([]string, 0, len(b.Values))
	for _, v := range b.Values {
		if v.Item > 0 || v.Expr.Kind == sqltext.Subquery && len(b.Values) == 1 && v.Expr.Sub != nil && len(v.Expr.Sub.Items) != 1 ||
			w.facts.unstable(v.Expr) != "" || v.Expr.HasColumn() && w.c.Form != FormJoined {
			return "", nil, false
		}
		values = append(values, operand(v.Expr))
	}
	key := w.c.Keys[0]
	if len(values) > 1 {
		if !oneType(b.Values) && !w.daysAndTimes(b.Values) || !w.typeLiterals(b.Values, values) {
			return "", nil, false
		}
	}
	op, pick := " >= ", "LEAST"
	if w.c.Side == Upper {
		op, pick = " <= ", "GREATEST"
	}
	claim := newClaim(w.q, w.c, b)
	if len(values) == 1 {
		return key.Text + op + values[0], claim, true
	}
	return key.Text + op + w.word(pick) + "(" + list(values) + ")", claim, true
}

// typeLiterals gives what stands alone in LEAST the key's type, where it would be text
// there: string constants, and placeholders, for which a client may put a string. One
// that PREPARE gave another type than the key's keeps that. It reports whether the type is
// known or not needed.
func (w *rewriter) typeLiterals(values []BoundValue, texts []string) bool {
	col := w.facts.column(w.c.Block, w.c.Keys[0].Key.Expr)
	typed := false
	for _, v := range values {
		switch n := paramNumber(v.Expr); {
		case v.Expr.Kind == sqltext.Cast, v.Expr.Kind == sqltext.Const && v.Expr.Text()[0] != '\'',
			col != nil && n > 0 && n <= len(w.facts.Params) && plainType(w.facts.Params[n-1]) != plainType(col.castType()):
			return true
		case v.Expr.Kind == sqltext.Value:
			typed = typed || !w.facts.Untyped
		}
	}
	if col == nil {
		return typed
	}
	for i := range texts {
		texts[i] += "::" + col.castType()
	}
	return true
}

// castType is the column's type without a length or precision, which a cast would cut a
// value to.
func (c *Column) castType() string {
	before, rest, ok := strings.Cut(c.Type, "(")
	if _, after, _ := strings.Cut(rest, ")"); ok {
		before = strings.TrimSpace(before) + after
	}
	if before == "character" {
		return "bpchar"
	}
	return before
}

// operand writes a value so that it can stand behind a comparison.
func operand(e *sqltext.Expr) string {
	switch e.Kind {
	case sqltext.Value, sqltext.Const, sqltext.Func, sqltext.Subquery, sqltext.Cast, sqltext.Bool, sqltext.Case, sqltext.Column:
		return e.Text()
	}
	if e.Parens {
		return e.Text()
	}
	return "(" + e.Text() + ")"
}

func list(parts []string) string {
	s := ""
	for i, p := range parts {
		if i > 0 {
			s += ", "
		}
		s += p
	}
	return s
}
