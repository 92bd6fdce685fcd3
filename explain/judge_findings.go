package explain

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// pageOf is the judgement of a statement from its scans and its cursor.
type pageOf struct {
	verdict Verdict
	scan    *Scan     // the scan that decides, nil for none
	order   []SortKey // of a page without a cursor, with what its condition compares them with
}

// after writes the comparison of rows that come after the cursor.
func (p pageOf) after(c *Cursor) string {
	if c == nil && len(p.order) > 0 {
		return afterRow(p.order)
	}
	return c.after(p.scan.Side)
}

// pageVerdict draws the verdict of a statement. Only scans that feed a limit
// count; c is the cursor that its text shows, nil for none.
//
// A seek makes a page "starts-at-cursor" only if something bounds it; what is
// left of the filter decides whether it reads far beyond a page.
func pageVerdict(scans []*Scan, c *Cursor, rows *PageRows) pageOf {
	var limited []*Scan
	for _, s := range scans {
		if s.Limited {
			limited = append(limited, s)
		}
	}
	if len(limited) == 0 && c != nil {
		limited = hashed(scans)
	}
	if s := unitedScan(scans); s != nil && c == nil {
		return pageOf{verdict: ReadsAllAfterCursor, scan: s}
	}
	s := worstScan(limited)
	if s == nil {
		return pageOf{verdict: NotApplicable}
	}
	p := pageOf{verdict: s.Class.verdict(), scan: s}
	switch {
	case (s.Tiny() || s.Class.early() && s.Short()) && p.verdict.rank() > StartsAtCursor.rank():
		p.verdict = NotApplicable
	case s.Class == WeakStart && s.Doubt: // likelier the cursor's own value, bound twice
		p.verdict = StartsAtCursor
	case s.Class == PartSort && c == nil:
		p.verdict = NotApplicable
	case s.Class == Seek && s.readsFar(rows):
		p.verdict = ReadsAllAfterCursor
	}
	return p
}

// unitedScan is a scan of many rows behind a bound, all of which a UNION reads before
// it gives the first row of the page; nil for none.
func unitedScan(scans []*Scan) *Scan {
	for _, s := range scans {
		if !s.united || s.root != nil || s.Tiny() || s.scanned() <= fewSorted {
			continue
		}
		for _, t := range Conjuncts(parseCond(s.Node.IndexCond)) {
			if t.Expr.Kind == sqltext.Compare && t.Expr.Cmp != "=" && t.Expr.Cmp != "<>" {
				s.Class, s.Limited = PartSort, true
				s.Why = "UNION looks for equal rows among all rows of its parts, so each page reads all rows behind the cursor"
				s.whole = true
				return s
			}
		}
	}
	return nil
}

// hashed are the scans of a page that a hash, of a join or of groups, reads whole
// before it is sorted.
func hashed(scans []*Scan) []*Scan {
	var out []*Scan
	for _, s := range scans {
		switch whole := s.Node.IndexCond == "" && s.Node.Type != "Bitmap Heap Scan"; {
		case !s.beside:
			continue
		case whole:
			s.Class, s.Why = FullSort, "its rows are all read, hashed and sorted"
		case s.scanned() > fewSorted:
			s.Class, s.Why = PartSort, "the rows that the index condition leaves are read, hashed and sorted"
		default:
			s.Class, s.Why = Seek, "few rows are left to sort"
		}
		s.Limited = true
		out = append(out, s)
	}
	return out
}

// readsFar estimates whether a scan that starts at the cursor still reads many
// rows a page, because the rest of the filter keeps few. PostgreSQL expects a
// third of the rows behind a bound whose value it does not know.
func (s *Scan) readsFar(rows *PageRows) bool {
	n := s.Node
	if !s.Ordered || len(s.Fixed) > 0 || n.Filter == "" || s.Rows() <= 0 {
		return false
	}
	kept := n.PlanRows / (s.Rows() / 3)
	page := float64(defaultPageRow)
	if rows != nil {
		page = rows.Rows
	}
	return kept < lossyShare && page/max(kept, 1e-9) > farRows
}

// guessed says that the planner knows nothing of the columns that a scan's
// equalities are about, so that what they keep is its default: half a percent.
func (s *Scan) guessed() string {
	fixed, _ := equalities(s)
	for _, name := range fixed {
		if c := s.Table.column(name); c != nil && c.NDistinct == nil {
			return " (by the planner's default of 0.5 % for an equality: there are no statistics of " + name + ")"
		}
	}
	return ""
}

// assumed says what a verdict about a page's rows rests on.
func (r *PageRows) assumed() string {
	if r == nil || !r.Assumed {
		return ""
	}
	return fmt.Sprintf(" (for a page of %.0f rows, which is assumed: its limit is not known)", r.Rows)
}

// verdictFindings are the findings that the plan gives rise to; c is the cursor
// that the text shows, nil for none.
func verdictFindings(p pageOf, scans []*Scan, c *Cursor, rows *PageRows) []Finding {
	s := p.scan
	if s == nil {
		return unlimitedFindings(scans)
	}
	f := Finding{Severity: Error, Subject: subjectOf(s), Message: s.Why, Evidence: map[string]any{
		"node": s.Node.Type, "index": s.Node.Index, "key": s.Key, "class": string(s.Class), "rows": s.reach(),
	}}
	if s.reach() != s.Rows() {
		f.Evidence["table_rows"] = s.Rows()
	}
	switch {
	case s.Class.early() && s.Short() && !s.Tiny() && p.verdict == NotApplicable:
		startFinding(p, c, &f)
		f.Severity = Info
		f.Message = fmt.Sprintf("every page goes over the rows that %s leaves from the first on, but they are few, about %.0f by the planner's guess: %s", s.leaves(), s.reach(), s.Why)
	case p.verdict == StartsAtOldest, s.Class == WeakStart && s.Doubt:
		startFinding(p, c, &f)
	case p.verdict == SortsWholeTable:
		f.Rule, f.Severity = "page-sorts-whole-table", Warn
		f.Message = "every page reads and sorts the whole input: " + s.Why
		f.Action = "add an index that gives the order of the page"
		if s.with() != nil {
			f.Action = "move the cursor and its LIMIT into the WITH query, on which no index can be"
		}
		if why, action := s.noOrder(); why != "" {
			f.Message, f.Action = "every page reads and sorts the whole input: "+why, action
			break
		}
		if c.spelledOut() && !s.fewNulls(c) || s.untexted && s.sortedOr() { // with the index it would start at the first row
			f.Severity = Error
			f.Action += ", and " + p.mend(c)
		}
	case p.verdict == ReadsAllAfterCursor:
		f.Rule, f.Severity = "page-reads-all-after-cursor", Warn
		f.Message = "the scan starts at the cursor, but few of the rows behind it pass the rest of the filter" + rows.assumed()
		if s.Class == PartSort {
			f.Message = "a page reads and sorts all rows that the index condition leaves"
		}
		if s.whole {
			f.Message = s.Why
			f.Action = "compute it in a statement of its own, without the cursor's page"
			if s.united {
				f.Action = "write UNION ALL, each part with the ORDER BY and LIMIT of the page: parts that have no row in common need no UNION"
			}
			break
		}
		if why, action := s.noOrder(); why != "" {
			f.Message, f.Action = "a page reads and sorts all rows that the index condition leaves: "+why, action
			break
		}
		f.Message += s.guessed()
		f.Action = "add an index that begins with the columns that the filter fixes, then the sort keys"
		if s.Class == PartSort && s.beside && c != nil && c.Page.GroupBy {
			f.Message = "every page reads, groups and sorts all rows behind the cursor"
			f.Action = "read the keys of the page's groups first, in a sub-select with its ORDER BY and LIMIT, and group only their rows"
		}
	case s.Class == PartSort && !s.Tiny():
		f.Rule, f.Severity = "page-sorts-filtered-rows", Info
		f.Action = "where they are many, add an index that begins with the columns that the condition fixes, then the sort keys"
		if _, action := s.noOrder(); action != "" {
			f.Action = "where they are many, " + action
		}
		f.Message = fmt.Sprintf("every page reads and sorts what the condition leaves of %s, about %.0f rows by the planner's guess", subjectOf(s), s.scanned()*processes(s.Node))
	case s.Class == FromStart && s.apart != "" && !s.Tiny():
		f.Rule, f.Severity = "filter-on-sort-keys", Warn
		f.Message = fmt.Sprintf("every page starts at the list's first row, the %s %s in %s, and throws away the rows that %s does not keep: no scan can start at that", firstRow(s), s.Key, s.Node.Index, s.apart)
		f.Action = "if it is meant as the cursor, compare rows: " + p.after(c)
	default:
		if s.Class == NoIndex {
			f.Rule, f.Severity, f.Action = "index-not-known", Info, "give the catalog: judge it on the server"
			return []Finding{f}
		}
		return nil
	}
	return []Finding{f}
}

// tiesFinding says of a page that starts at its cursor by the first key alone that
// nobody knows how many rows share a value of it.
func tiesFinding(p pageOf) []Finding {
	s := p.scan
	if s == nil || !s.ties || s.Class != Seek || s.Tiny() {
		return nil
	}
	f := Finding{
		Rule: "ties-not-known", Severity: Info, Subject: subjectOf(s),
		Message: fmt.Sprintf("the scan starts at the first row with the cursor's %s: if many rows share that value it throws away those before the cursor, and how many do is not known", s.Key),
		Action:  fmt.Sprintf("run ANALYZE %s, or judge with a login that may read it and so its statistics", subjectOf(s)), Evidence: map[string]any{"key": s.Key, "index": s.Node.Index},
	}
	if s.Table == nil {
		f.Action = "judge it on its server, whose statistics tell, or take the plan with ANALYZE"
	}
	return []Finding{f}
}

// startFinding names what makes a scan start too early.
func startFinding(p pageOf, c *Cursor, f *Finding) {
	s, row := p.scan, p.after(c)
	f.Action = "compare rows: " + row
	switch {
	case s.orNull:
		f.Action = "give the cursors with a NULL, and the rows behind them, a statement of their own: " + s.Bound + " would lose rows there"
	case c == nil && s.Bound != "":
		f.Action = "add to the condition what it implies: " + s.Bound
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
			} else if weak || j.out.Fix.Kind == string(AddBound) && j.cursor != nil && j.cursor.exact(true) == nil {
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

func subjectOf(s *Scan) string {
	name := s.Node.Relation
	if s.Table != nil && s.Table.Root != "" {
		name = s.Table.Root
	} else if s.Node.Schema != "" && name != "" {
		name = s.Node.Schema + "." + name
	}
	if name == "" {
		name = s.Node.CTE
	}
	return name
}

// unlimitedFindings: without a limit the statement reads to the end, yet a bound
// would spare it the rows before the cursor.
func unlimitedFindings(scans []*Scan) []Finding {
	for _, s := range scans {
		if s.Class == Unpaged && s.Bound != "" && !s.Tiny() {
			return []Finding{{
				Rule: "unlimited-without-bound", Severity: Info, Subject: subjectOf(s),
				Message: "not a page, but it reads the rows before the cursor too: " + s.Bound + " is implied and not in the index condition",
				Action:  "add the bound", Evidence: map[string]any{"index": s.Node.Index, "bound": s.Bound},
			}}
		}
	}
	return nil
}

// smells are the findings about the statement's text, with the line each is on.
func (j *judgement) smells() []Finding {
	var out []Finding
	for _, s := range Smells(j.query, j.facts) {
		f := s.Finding
		start, end := j.norm.Offset(s.Start), j.norm.Offset(s.End)
		f.Evidence = map[string]any{"start": start, "end": end}
		if start >= 0 && start <= len(j.norm.Source) {
			f.Evidence["line"] = max(j.in.Line, 1) + strings.Count(j.norm.Source[:start], "\n")
		}
		if s.Mend != nil {
			f.Evidence["meant"] = sqltext.Splice(j.norm.Source, j.norm.Original(s.Mend))
		}
		out = append(out, f)
	}
	return out
}

// PlanRules lists the rules that a judgement takes from plans; SmellRules lists
// those it takes from the text.
func PlanRules() []Rule {
	return []Rule{
		{"cursor-starts-at-oldest", Error, "the filter implies where the page starts, but the index condition does not say it: all rows before the cursor are read and thrown away (an info where equalities leave few rows in all)"},
		{"cursor-starts-at-looser-limit", Error, "the scan starts at another, looser limit than the cursor (an info where both may be the same value)"},
		{"cursor-bound-on-few-values", Error, "the scan starts at the cursor's first key, but many rows share that value, as where a row comparison has keys that go different ways"},
		{"cursor-null-branch", Error, "every branch of the condition but IS NULL bounds the key, so no single scan can start at the cursor"},
		{"filter-on-sort-keys", Warn, "the filter compares the page's keys, but in no way that a scan can start with: each in a branch of its own, or several as one value"},
		{"cursor-key-hidden", Error, "the key is inside CASE, a cast, a collation or an expression (a warning), so its comparison cannot be an index condition"},
		{"page-sorts-whole-table", Warn, "no index gives the page's order: every page reads everything and sorts it (an error where the cursor would not start at its row with an index either)"},
		{"page-reads-all-after-cursor", Warn, "the scan starts at the cursor, but the rest of the filter keeps few of the rows behind it"},
		{"page-sorts-filtered-rows", Info, "the rows that an index condition leaves are read and sorted for the page, which has no cursor to tell how many"},
		{"plan-flips-at-sixth-execution", Warn, "a prepared statement that plans well with its values changes to a generic plan that starts at the first row"},
		{"unlimited-without-bound", Info, "no page, but the rows before the cursor are read for nothing"},
		{"index-not-known", Info, "the plan names an index that the catalog does not have"},
		{"judged-without-catalog", Info, "a plan was judged without its server: index columns and table sizes are not known"},
		{"ties-not-known", Info, "the scan starts at the cursor's first key, and there are no statistics to tell how many rows share a value of it"},
		{"rows-thrown-away", Warn, "an executed plan read more than ten times the rows it kept, before the cursor"},
		{"statement-not-judged", Warn, "the server did not plan the statement"},
		{"statement-not-executed", Info, "analyze was asked for, but the statement, or one of its cases, was not executed"},
		{"parameter-value-refused", Warn, "the server does not take a value that was given for a parameter"},
		{"statement-refused", Warn, "the statement is not one that may be explained (an info where it is whole, but no query)"},
	}
}
