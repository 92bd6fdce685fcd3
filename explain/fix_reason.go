package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// sayWhy gives the reason why an error has neither a fix nor a rewrite that was tried.
func (j *judgement) sayWhy() {
	if j.out.Fix != nil || len(j.out.Tried) > 0 {
		return
	}
	of := func(f Finding) bool { return f.Severity == Error && strings.HasPrefix(f.Rule, "cursor-") }
	switch {
	case slices.ContainsFunc(j.out.Findings, of):
		no, advice := noFix(j.query, j.cursor, j.facts)
		j.out.Tried = append(j.out.Tried, no)
		for i := range j.out.Findings {
			if f := &j.out.Findings[i]; advice != "" && of(*f) {
				f.Action = advice
			}
		}
	case slices.ContainsFunc(j.out.Findings, func(f Finding) bool { return f.Severity == Error }):
		j.out.Tried = append(j.out.Tried, Rejected{Kind: string(RowComparison), Why: "a rewrite keeps the rows of the page, and these are the wrong ones: write first what was meant"})
	}
}

// noFix says which rewrite a page would need and why there is none. The advice is what
// helps where what is usually advised does not, else "".
func noFix(q *sqltext.Query, c *Cursor, f Facts) (no Rejected, advice string) {
	kind, why := RowComparison, ""
	switch {
	case q == nil:
		why = "the text was not understood, so nothing in it can be replaced"
	case c == nil:
		why, advice = noCursor(q)
	case c.Hidden:
		why = "the condition compares an expression over " + oneLine(c.Keys[0].Text) + ", and without it may keep other rows"
	case f.unstable(c.Keys[0].Key.Expr) != "":
		why = f.unstable(c.Keys[0].Key.Expr) + " may give another value each time it is called, and the page is sorted by it"
	default:
		w := &rewriter{q: q, c: c, facts: f}
		switch c.Form {
		case FormNullBranch:
			kind, why = UnionAll, w.noUnion()
		case FormOptionalOr, FormOptionalRow, FormCase, FormCoalesce:
			kind, why = TwoStatements, w.noStatements()
		case FormJoined:
			kind, why = RowSubselect, w.noSubselect()
		default:
			why = w.noRow()
		}
	}
	if c != nil && c.Form == FormNot && len(c.Bound.Values) == 0 {
		why, advice = "the NOT is over more than the cursor", "write the condition without NOT, and what switches it off as a branch of an OR"
	}
	return Rejected{Kind: string(kind), Why: why}, advice
}

// noCursor says where a condition stands that is no cursor to the text, and what helps.
func noCursor(q *sqltext.Query) (why, advice string) {
	const ways, lookUp = "write a statement for each of its ways", "look the cursor's row up first, by a statement of its own, and compare with its values"
	ordered, joined, row, lookup := false, false, false, false
	for _, b := range q.Blocks {
		ordered = ordered || b.HasLimit && len(b.OrderBy) > 0
		row = row || comparesTables(b.Where)
		if len(b.From) > 1 && b.HasLimit && len(b.OrderBy) > 0 && len(sortKeys(b)) == 0 && b.OrderBy[0].Expr.Kind == sqltext.Column {
			why, advice = "the text does not say of which table "+oneLine(b.OrderBy[0].Expr.Text())+" is", "write the table's name before "+oneLine(b.OrderBy[0].Expr.Text())+", in ORDER BY and in the condition"
		}
		for _, t := range b.From {
			joined = joined || t.On != nil && t.On.Kind != sqltext.Compare && t.On.Kind != sqltext.Bool
		}
		if b.Where == nil {
			continue
		}
		b.Where.Walk(func(e *sqltext.Expr) bool {
			text := strings.ToLower(oneLine(e.Text()))
			switch {
			case simpleCase(e):
				why, advice = "a CASE that compares one value with others is not read", "write it as CASE WHEN x = v …, which is the same and is read"
			case e.Kind == sqltext.Case || e.Kind == sqltext.Opaque && strings.HasPrefix(strings.TrimLeft(text, "( "), "case"):
				why, advice = "the CASE does more than switch the cursor on and off", ways
			case e.Kind == sqltext.Func && e.Name == "coalesce":
				why, advice = "the COALESCE does more than switch the cursor on and off", ways
			case e.Kind == sqltext.Opaque && strings.Contains(text, " is not "):
				why = "IS NOT TRUE and the like keep the rows for which the comparison is NULL, as no comparison does"
			case e.Kind == sqltext.Collate:
				why = "under another collation the condition keeps other rows"
			}
			lookup = lookup || e.Kind == sqltext.Subquery || e.Kind == sqltext.Opaque && strings.Contains(text, "exists")
			return true
		})
	}
	switch {
	case !ordered:
		return "the statement itself has no ORDER BY and LIMIT: that its plan stops at the first row is the server's own doing, as for min", ""
	case why != "":
	case lookup:
		return "the condition looks rows up in a sub-select", lookUp
	case joined:
		return "the condition stands in the ON of a join", lookUp
	case row:
		return "the condition compares with a joined row, which may be missing or one of many", lookUp
	default:
		why = "the condition is no cursor that a rewrite is known for"
	}
	return why, advice
}

// comparesTables: an inequality has columns of two tables, one on each side.
func comparesTables(where *sqltext.Expr) bool {
	return where != nil && !where.Walk(func(e *sqltext.Expr) bool {
		if e.Kind != sqltext.Compare || e.Cmp == "=" || e.Cmp == "<>" {
			return true
		}
		from := func(e *sqltext.Expr) (q string) {
			e.Walk(func(x *sqltext.Expr) bool {
				if x.Kind == sqltext.Column {
					q = x.Qualifier()
				}
				return true
			})
			return q
		}
		return !e.Args[0].HasColumn() || !e.Args[1].HasColumn() || from(e.Args[0]) == from(e.Args[1])
	})
}

// simpleCase reports CASE x WHEN v, which is CASE WHEN x = v: a NULL equals nothing in either.
func simpleCase(e *sqltext.Expr) bool {
	text := e.Text()
	toks := slices.DeleteFunc(sqltext.Lex(text), func(t sqltext.Token) bool { return t.IsPunct(text, "(") })
	return e.Kind == sqltext.Opaque && toks[0].Is(text, "case") && len(toks) > 1 && !toks[1].Is(text, "when")
}

// noUnion says why a page cannot be read as parts.
func (w *rewriter) noUnion() string {
	c, b := w.c, w.c.Block
	if c.Page != b {
		return "the condition stands in a sub-select of the page, whose rows are not those of the page"
	}
	if why := w.whole(b); why != "" {
		return why
	}
	if name := w.facts.unstable(c.Term.Whole); name != "" {
		return name + " may give another value each time it is called, and each part would call it: compute it first, and give its value as a parameter"
	}
	if nulls, others := c.nullPieces(c.Term.Whole, c.reducer(w.facts, w.lower)); len(nulls) == 0 || len(others) == 0 {
		return "the condition cannot be taken apart by whether " + oneLine(c.Keys[0].Text) + " is NULL"
	}
	for _, k := range b.OrderBy {
		if _, ok := w.outputName(b, k.Expr); !ok {
			if _, ok := w.addKey(b, k.Expr, &outer{}); !ok {
				return "the parts are sorted once more by their output, where " + oneLine(k.Expr.Text()) + " is not to be had under a name of its own: list the columns, each with another name"
			}
		}
	}
	return "the parts would not be read better"
}

// whole says why the rows of a page depend on each other, "" if they do not.
func (w *rewriter) whole(b *sqltext.Block) string {
	switch {
	case b.Distinct:
		return "DISTINCT is over the rows of both parts: give each part its own DISTINCT and LIMIT, and UNION in place of UNION ALL"
	case b.GroupBy, b.Having:
		return "GROUP BY is over the rows of both parts, and may have a group in both"
	case b.Window, slices.ContainsFunc(b.Items, isWindow):
		return "a window function is over all rows of the condition, and would give other numbers in parts"
	case b.Locking:
		return "PostgreSQL locks no rows of a UNION: read the keys of the page that way, and lock their rows by a statement of its own"
	case b.WithTies:
		return "WITH TIES is over the rows of both parts"
	case hasOffset(b):
		return "OFFSET counts the rows of both parts: let each have LIMIT plus OFFSET rows, and the whole the OFFSET"
	case !b.HasLimit, b.Limit == nil:
		return "without a limit both parts are read to their end"
	}
	for _, it := range b.Items {
		if it.Expr == nil && !it.Star {
			return "an output column was not understood"
		}
	}
	return ""
}

// isWindow: the output column is a call that sees other rows than its own.
func isWindow(it sqltext.Item) bool {
	return it.Expr != nil && it.Expr.Kind == sqltext.Opaque && it.Expr.Name != ""
}

// noStatements says why a condition that is off on the first page is not made two
// statements.
func (w *rewriter) noStatements() string {
	c := w.c
	if why := c.openReason(w.facts); why != "" {
		return why
	}
	if name := w.facts.unstable(c.Term.Whole); name != "" || w.unstableGuard() {
		return "what switches the cursor off" + map[bool]string{true: "", false: " (" + name + ")"}[name == ""] + " may differ from row to row: write a statement for each case"
	}
	if c.Form == FormCoalesce {
		return "with a value that is NULL the condition keeps neither all rows nor none, and so is no cursor then: write that case as a statement of its own"
	}
	if _, next := w.optional(); next == "" {
		return "what switches the cursor off does not stand by itself, as one branch of an OR or CASE: write a statement for each case"
	}
	return "what is left without the switch could not be read again"
}

// noSubselect says why the joined row of a cursor is not looked up first.
func (w *rewriter) noSubselect() string {
	c := w.c
	x := c.exactOver(1, false)
	switch {
	case x == nil || len(x.units) != 1:
		return "the condition is not the same as one comparison of rows"
	case c.Mixed():
		return "the keys go different ways, so that the row of a sub-select cannot be compared as one"
	}
	alias := x.keys[0].Values[0].Qualifier()
	for _, t := range c.Block.From {
		switch {
		case t.Alias != alias:
		case t.Lateral:
			return alias + " is looked up once for each row: LATERAL"
		case t.Join != "" && t.Join != "inner" && t.Join != "cross":
			return alias + " is joined by an outer join: look its row up first, and compare with its values"
		}
	}
	return "the row of " + alias + " cannot be taken out of FROM, for it is used elsewhere too"
}

// noRow says why a cursor is neither a comparison of rows nor gets a bound.
func (w *rewriter) noRow() string {
	c := w.c
	key := oneLine(c.Keys[0].Text)
	for _, k := range c.compared() {
		for _, v := range k.Values {
			if name := w.facts.unstable(v); name != "" {
				return oneLine(name) + " may give another value each time it is called: compute it first, and give its value as a parameter"
			}
		}
	}
	switch values := c.Bound.Values; {
	case c.Form == FormSingle, c.Form == FormAnd, c.Form == FormRow, c.Form == FormBoundedRow, c.Form == FormBoundedOr:
		return "the comparison stands as an index can use it, but no plan starts at it: the index, or a type or collation, is in its way"
	case len(c.Bound.Guards) > 0:
		return "the condition is switched off where " + oneLine(c.Bound.Guards[0].Text()) + ": make the first page and the next page two statements"
	case len(values) == 0:
		return "the condition implies no bound on " + key
	case len(values) > 1 && !oneType(values):
		return key + " is compared with values of several types, of which none is known to be the least: give them one type"
	}
	return "the condition is not the same as one comparison of rows, and the value of its bound cannot be written a second time"
}
