package explain

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

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
		if s.others {
			f.Action = "if it is meant as the cursor, read what is not behind it by a query of its own, UNION ALL"
		}
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
