package explain

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// startFinding names what makes a scan start too early.
func startFinding(p pageOf, c *Cursor, f *Finding) {
	s, row := p.scan, p.after(c)
	f.Action = "compare rows: " + row
	switch {
	case s.orNull:
		f.Action = "give the cursors with a NULL, and the rows behind them, a statement of their own: " + s.Bound + " would lose rows there"
	case s.Bound != "" && (c == nil || c.nullTested() != ""):
		f.Action = "add to the condition what it implies: " + s.Bound
	}
	switch {
	case s.held != "" && c == nil:
		f.Action = "leave " + s.held + " out of the comparison of rows, for the equality beside it says it"
	case s.held != "":
		f.Action = twoQueries(c)
	}
	switch s.Class {
	case PrefixScan:
		f.Rule = "cursor-starts-at-oldest"
		f.Message = fmt.Sprintf("every page starts at the list's first row, the %s %s in %s, and throws away all rows before the cursor: %s", firstRow(s), s.Key, s.Node.Index, s.Why)
	case WeakStart:
		f.Rule = "cursor-starts-at-looser-limit"
		f.Message = "the scan throws away the rows between a looser limit and the cursor: " + s.Why
	case WeakBound:
		f.Rule = "cursor-bound-on-few-values"
		f.Message = "the scan throws away the rows before the cursor that share its first key: " + s.Why
		f.Action = "compare rows: " + row + " starts at the cursor itself"
		switch {
		case c != nil && c.Mixed():
			f.Action = "no single scan can start at the cursor where the keys go different ways: " + twoQueries(c)
		case c != nil && isRow(c.Term.Expr):
			f.Action = "add an index on all keys of the sort: (" + strings.Join(c.Columns(), ", ") + ")"
		}
	case NullBranch:
		f.Rule = "cursor-null-branch"
		f.Message = "every page starts at the first row: " + s.Why
		f.Action = "split the statement: the rows behind the cursor UNION ALL those with NULL, each with its own limit"
	case OpaqueKey:
		f.Rule = "cursor-key-hidden"
		f.Message = "every page starts at the first row: " + s.Why
		f.Action = hiddenAction(s, row, f)
	}
	if s.Doubt && s.Class == WeakStart {
		f.Severity = Info
		f.Action = "give the values with --param to tell"
	}
}

// mend says what to do about a cursor at which no scan can start.
func (p pageOf) mend(c *Cursor) string {
	if c != nil && c.Form == FormNullBranch {
		return "read the rows with a NULL in " + oneLine(c.Keys[0].Text) + " by a query of their own, UNION ALL"
	}
	return "compare rows: " + p.after(c)
}

// fewNulls: the cursor stands among the NULLs of its first key, and they are few.
func (s *Scan) fewNulls(c *Cursor) bool {
	if c.Form != FormNullBranch || len(c.Keys[0].Values) > 0 || c.Keys[0].Key.Expr.Kind != sqltext.Column {
		return false
	}
	n := s.nullRows(c.Keys[0].Key.Expr.Name)
	return n >= 0 && n < fewSorted
}

// twoQueries says how two scans get a page whose first key has few values.
func twoQueries(c *Cursor) string {
	return "read the rows that share the cursor's " + oneLine(c.Keys[0].Text) + " and those behind it as two queries, UNION ALL, each with its own limit"
}

// advise settles what the findings about the start advise, now that it is known
// whether there is a fix.
func (j *judgement) advise() {
	for i := range j.out.Findings {
		f := &j.out.Findings[i]
		if f.Rule == "cursor-key-hidden" && j.out.Fix != nil && j.cursor != nil && (j.cursor.Form == FormCase || j.cursor.Form == FormCoalesce) {
			f.Action = "use the fix"
		}
		if f.Rule == "cursor-null-branch" && j.out.Fix != nil {
			f.Action = "use the fix, which reads the rows with a NULL and the others by queries of their own"
		} else if f.Rule == "cursor-null-branch" && j.cursor != nil && j.cursor.Page == j.cursor.Block {
			if why := (&rewriter{q: j.query, c: j.cursor, facts: j.facts}).whole(j.cursor.Block); why != "" {
				f.Action = why + "; without that, UNION ALL of the rows behind the cursor and those with a NULL does it"
			}
		}
		if f.Rule == "cursor-key-hidden" && j.cursor != nil && notFalseOf(j.cursor.Term.Expr) != nil {
			if why := j.cursor.openReason(j.facts); j.out.Fix != nil && j.out.Fix.SQL != j.in.SQL {
				f.Action = "use the fix"
			} else if why != "" {
				f.Action = why
			}
		}
		if f.Rule != "cursor-starts-at-oldest" && f.Rule != "cursor-starts-at-looser-limit" || f.Severity == Info {
			continue
		}
		name := ""
		if j.cursor != nil {
			for _, v := range j.cursor.Bound.Values {
				if name == "" && v.Expr.Kind != sqltext.Subquery {
					name = j.facts.unstable(v.Expr)
				}
			}
		}
		weak := j.weak
		switch {
		case j.out.Fix != nil && j.out.Fix.SQL != j.in.SQL:
			f.Action = "use the fix, or " + f.Action
			if weak && j.out.Fix.Kind == string(RowComparison) {
				f.Action = "use the fix, which reads less, or " + twoQueries(j.cursor)
			} else if weak || j.out.Fix.Kind == string(RowSubselect) || j.out.Fix.Kind == string(AddBound) && j.cursor != nil && j.cursor.exact(true) == nil {
				f.Action = "use the fix"
			}
		case name != "":
			f.Action = name + " may give another value each time it is called, so no scan can start at it: compute it first, and give its value as a parameter"
		case weak && j.cursor != nil:
			f.Action = "many rows share a value of the first key, so that one comparison does not do: " + twoQueries(j.cursor)
		}
	}
}

// hiddenAction says what to do about a key that something hides from its index,
// and takes an expression, which may be meant, for a warning.
func hiddenAction(s *Scan, row string, f *Finding) string {
	switch {
	case strings.Contains(s.Why, "a test of its truth"):
		return "compare the key outside the test: IS NOT FALSE and the like keep rows for which the comparison is NULL"
	case strings.Contains(s.Why, "a CASE that is compared"):
		return "write the condition under which it gives that value, as a comparison of rows: " + row
	case strings.Contains(s.Why, "an ARRAY"):
		return "compare rows: " + row
	case strings.Contains(s.Why, "a CASE"), strings.Contains(s.Why, "a COALESCE"):
		return "make the first page and the next page two statements"
	case strings.Contains(s.Why, "a cast"):
		return "compare the key itself, and give the value the key's type"
	case strings.Contains(s.Why, "another collation"):
		return "sort and compare under one collation"
	}
	f.Severity = Warn
	return "compare the key itself, or sort by the expression and index it"
}

// firstRow says which value of its key an ordered scan begins with.
func firstRow(s *Scan) string {
	if s.Side == Upper {
		return "highest"
	}
	return "lowest"
}
