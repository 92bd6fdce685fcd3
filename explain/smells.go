package explain

import (
	"fmt"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// Smell is a finding about the text of a statement. Start and End are the bytes
// of the query's text that it is about.
type Smell struct {
	Finding
	Start, End int
	// Mend are edits of the query's text after which it says what its author
	// meant, where that is plain to see; nil otherwise. The rows change.
	Mend []sqltext.Edit
}

// Rule documents one kind of finding.
type Rule struct {
	Name     string
	Severity Severity // the usual one
	Text     string   // what is wrong and why it matters, one sentence
}

// SmellRules lists the rules that Smells knows. Error is for pages that lose or
// repeat rows whatever the data, Warn for those that may, or that are slow,
// Info for what is good to know.
func SmellRules() []Rule {
	return []Rule{
		{"row-direction-mismatch", Error, "a row comparison goes one way for all keys, but the sort does not: rows are lost and others come again"},
		{"strict-bound", Error, "a bound with > or < beside the cursor cuts off the rows that tie with the last row of the page before"},
		{"independent-keys", Warn, "each key is compared by itself: as a cursor, it never shows a row behind it whose second key is smaller"},
		{"cursor-against-order", Error, "the cursor's condition is not what comes after the last row in the order of the page"},
		{"cursor-on-other-key", Warn, "the page starts after a value of another key than the first of its sort: rows are lost, or come again, where the two orders differ (an info where it may be a plain filter)"},
		{"precedence-bug", Error, "AND binds tighter than OR: a filter holds in one branch of the cursor only (a warning where parentheses say so)"},
		{"unique-key-needed", Warn, "the page continues with > or < on a key that several rows share: those left on the page boundary are lost"},
		{"missing-tiebreaker", Warn, "the sort is not unique, so rows with equal keys may come in another order on the next page"},
		{"nullable-key", Warn, "the cursor's key may be NULL: such rows are on no page behind a cursor"},
		{"offset", Warn, "OFFSET reads and throws away all rows before the page"},
		{"row-number-page", Warn, "a page by row_number() numbers all rows before it: OFFSET in disguise"},
		{"bound-on-wrong-side", Warn, "the only plain bound on the leading key is where the scan ends, not where it starts"},
		{"loose-start", Warn, "a plain bound gives the scan a start, but not that of the cursor"},
		{"null-branch", Warn, "OR … IS NULL lets no bound be derived: the scan starts at the first row"},
		{"optional-cursor", Warn, "a cursor that is switched off by a parameter cannot be an index condition of a prepared statement"},
		{"case-cursor", Warn, "CASE hides the cursor from the planner"},
		{"joined-cursor", Warn, "the cursor row is joined in: its values are not known when the scan starts"},
		{"cast-on-key", Warn, "the sort key is compared under a cast, which its index does not have"},
		{"collation-on-key", Warn, "the key is compared under another collation than it is sorted by"},
		{"expression-on-key", Warn, "the sort key is compared inside an expression, which its index does not have"},
		{"value-type", Warn, "the value's type makes PostgreSQL cast the key, and the index is lost"},
		{"materialized-cte", Warn, "a materialized WITH query is read whole before the page is cut from it"},
		{"few-values", Info, "the leading key has few values: a bound on it alone leaves all rows of one value"},
		{"filter-not-in-index", Info, "no index begins with the filter's column and goes on with the sort key"},
		{"expression-key", Info, "the page is sorted by an expression: it needs an index on that expression"},
		{"duplicate-parameters", Info, "several parameters stand for one cursor value: nothing says that they are equal"},
		{"mixed-directions", Info, "the keys go different ways: a row comparison needs the pairs of the other way swapped"},
		{"small-offset", Info, "OFFSET beside a cursor: fine as long as it only steps over ties"},
		{"no-limit", Info, "a cursor without LIMIT reads to the end"},
	}
}

// Smells looks for what is wrong or slow about the way a statement pages, as
// far as its text and the facts tell. Findings come in the order of SmellRules.
func Smells(q *sqltext.Query, f Facts) []Smell {
	s := &smeller{q: q, facts: f}
	for _, b := range q.Blocks {
		s.block(b)
	}
	rules := SmellRules()
	var out []Smell
	for _, r := range rules {
		for _, x := range s.out {
			if x.Rule == r.Name {
				out = append(out, x)
			}
		}
	}
	return out
}

type smeller struct {
	q     *sqltext.Query
	facts Facts
	out   []Smell
}

// report adds a finding about a range of the text, with the severity that the
// table gives, once a rule and place.
func (s *smeller) report(rule string, start, end int, action, format string, args ...any) {
	for _, o := range s.out {
		if o.Rule == rule && o.Start == start {
			return
		}
	}
	sev := Info
	for _, r := range SmellRules() {
		if r.Name == rule {
			sev = r.Severity
		}
	}
	part := ""
	if start >= 0 && end <= len(s.q.SQL) && start < end {
		part = oneLine(s.q.SQL[start:end])
	}
	s.out = append(s.out, Smell{
		Finding: Finding{
			Rule: rule, Severity: sev, Subject: part, Message: fmt.Sprintf(format, args...), Action: action,
			Evidence: map[string]any{"start": start, "end": end},
		},
		Start: start, End: end,
	})
}

func (s *smeller) about(rule string, e *sqltext.Expr, action, format string, args ...any) {
	s.report(rule, e.Start, e.End, action, format, args...)
}

// soften lowers the severity of the last finding.
func (s *smeller) soften(to Severity) {
	if n := len(s.out); n > 0 {
		s.out[n-1].Severity = to
	}
}

// block looks at one block.
func (s *smeller) block(b *sqltext.Block) {
	c := recogniseBlock(b)
	s.offset(b, c)
	if e := rowNumberFilter(b); e != nil {
		s.about("row-number-page", e, "keep the keys of the last row and start there: (a, b) > ($1, $2) going up, < going down", "the page starts at a row number: all rows before it are read and numbered")
	}
	if len(b.OrderBy) == 0 {
		return
	}
	keys := sortKeys(b)
	if c == nil || c.Hidden {
		if b.HasLimit && len(b.Operands) == 0 {
			s.hiddenKeys(b, keys)
			s.tiebreaker(b, keys)
			if c == nil {
				s.backwards(b, keys)
				s.otherKey(b, keys)
			} else {
				s.hiddenSort(c)
			}
		}
		return
	}
	s.order(c)
	s.spelling(c)
	s.values(c)
	if !c.Limited {
		s.report("no-limit", c.Start, c.End, "add LIMIT if this is a page", "the cursor starts a read to the end: no LIMIT")
		return
	}
	s.tiebreaker(b, keys)
	s.hiddenKeys(c.Block, c.Keys)
	s.indexes(c)
	for _, t := range c.Block.From {
		if t.CTE != nil && (t.CTE.Materialized || t.CTE.Uses > 1) && t.CTE.Block != nil && !t.CTE.Block.HasLimit && !readsItself(t.CTE) {
			action := "move the cursor and its LIMIT into the WITH query, or take MATERIALIZED away"
			if !t.CTE.Materialized {
				action = "move the cursor and its LIMIT into the WITH query, or write NOT MATERIALIZED"
			}
			s.report("materialized-cte", t.Start, t.End, action, "WITH query %s is computed whole before the page is cut from it", t.CTE.Name)
		}
	}
}

// readsItself reports a WITH query that is recursive: it has to be whole.
func readsItself(c *sqltext.CTE) bool {
	found := false
	var look func(b *sqltext.Block)
	look = func(b *sqltext.Block) {
		if b == nil {
			return
		}
		for _, t := range b.From {
			found = found || t.CTE == c
			look(t.Sub)
		}
		for _, o := range b.Operands {
			look(o)
		}
	}
	look(c.Block)
	return c.Recursive && found
}

func (s *smeller) offset(b *sqltext.Block, c *Cursor) {
	if !hasOffset(b) {
		return
	}
	start, end := b.Offset.Start, b.Offset.End
	if c != nil || len(b.Offset.Text()) == 1 {
		s.report("small-offset", start, end, "make sure it stays small", "OFFSET %s reads and throws away that many rows", b.Offset.Text())
		return
	}
	s.report("offset", start, end, "keep the keys of the last row and start there: WHERE "+afterRow(sortKeys(b)), "OFFSET %s reads and throws away all rows before the page", b.Offset.Text())
}
