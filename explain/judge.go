package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// Input is one statement to judge.
type Input struct {
	Source string // file name, "pg_stat_statements", "pid 4711", …
	Line   int    // of the statement in its source, from 1; 0 when that means nothing
	SQL    string // any of the placeholder spellings of sqltext
	// Params are values by number ("1"), placeholder name or column name.
	Params map[string]string
	// Types are the SQL types of $1, $2, … where the caller knows them, "" or a
	// missing one leaves it to the server.
	Types      []string
	OwnText    bool   // the user's own text, not what some other session sent
	SearchPath string // of the role that runs it; "" for the login's own
}

// Options say how much to do for a judgement.
type Options struct {
	// Analyze executes the statement, and its fix, in a read-only transaction.
	Analyze bool
	// PlanOnly leaves out custom plans, fixes and proofs.
	PlanOnly bool
}

// Judge explains a statement, says where its page starts and, when that is too
// early, offers a fix that the planner agrees is better, with what proves it.
// What keeps a statement from being judged is a finding with the verdict
// Unknown; Judge itself does not fail, so a list of statements goes on.
func Judge(ctx context.Context, r *Runner, in Input, o Options) *Result {
	j := &judgement{Runner: r, in: in, opts: o, norm: sqltext.Placeholders(in.SQL, sqltext.Auto)}
	j.out = &Result{
		Source: sourceOf(in), SQL: in.SQL, Pagination: NoPaging, Verdict: Unknown,
		Sort: []SortJSON{}, Plans: []Case{}, Findings: []Finding{},
	}
	if err := j.judge(ctx); err != nil {
		j.out.Findings = append(j.out.Findings, j.failure(err))
	}
	j.spell()
	return j.out
}

// judgement is the work on one statement.
type judgement struct {
	*Runner
	in     Input
	opts   Options
	norm   *sqltext.Normal
	query  *sqltext.Query // of the whole statement, placeholders as $n
	cursor *Cursor
	ask    ask // the generic plan's, with the types that were found
	plan   Plan
	known  *Known
	facts  Facts
	uses   []use
	page   pageOf
	out    *Result

	weak         bool      // a fix was refused since many rows share a value of the first key
	lesser       *option   // a rewrite that reads less, but does not start at the cursor; nil for none
	measureUntil time.Time // no more executions after it; zero before the first

	inPart    string // what of the statement is executed, where that is not all
	unplanned string // why there are no custom plans though there are values; "" if there are
}

func (j *judgement) judge(ctx context.Context) error {
	j.readText()
	if err := cmp.Or(j.mayRun(j.in.OwnText), ctx.Err()); err != nil {
		return err
	}
	x, err := explainable(j.norm.SQL)
	if err != nil {
		return err
	}
	j.inPart = executedPart(j.norm.SQL, x)
	types := j.in.Types
	if types == nil {
		types = preparedTypes(j.norm.SQL)
	}
	j.plan, j.ask, err = j.typed(ctx, ask{sql: x.SQL, types: types, settings: settings{searchPath: j.in.SearchPath}})
	if err != nil {
		return err
	}
	catalog, err := j.loadFor(ctx, j.plan.Tree)
	if err != nil {
		return err
	}
	j.uses = usesOf(j.plan.Tree)
	j.known = j.knownValues()
	j.decide(ctx, catalog)
	if j.opts.PlanOnly {
		return nil
	}
	if err := j.customPlans(ctx, catalog); err != nil {
		return err
	}
	err = j.fix(ctx, catalog)
	j.advise()
	j.sayWhy()
	j.unsay()
	j.measureCases(ctx, catalog)
	return err
}

// readText takes from the statement's text what it says of its page.
func (j *judgement) readText() {
	q, err := sqltext.ParseQuery(j.norm.SQL)
	if err != nil {
		return
	}
	j.query = q
	j.cursor = RecogniseCursor(q)
	j.out.Pagination = PaginationOf(q, j.cursor)
	if c := j.cursor; c != nil {
		j.out.Cursor = &CursorRef{Form: c.Form, Columns: c.Columns()}
		if len(c.Bound.Values) > 0 && len(c.Keys) > 0 {
			text := boundText(c.Keys[0].Key, c.Side, c.Bound.Values)
			j.out.Cursor.Bound = &text
		}
	}
	for _, k := range pageOrder(q, j.cursor) {
		s := SortJSON{Column: k.Text, Direction: "asc", Nulls: "last"}
		if k.Desc {
			s.Direction = "desc"
		}
		if k.NullsFirst {
			s.Nulls = "first"
		}
		j.out.Sort = append(j.out.Sort, s)
	}
}

// pageOrder is the sort of the cursor's page, else of the first limited block.
func pageOrder(q *sqltext.Query, c *Cursor) []SortKey {
	if c != nil {
		return c.Sort
	}
	for _, b := range q.Blocks {
		if b.HasLimit && len(b.OrderBy) > 0 {
			return sortKeys(b)
		}
	}
	return nil
}

// order is the sort of a page without a cursor, as far as equalities leave it open,
// with the values that its condition compares the keys with.
func (j *judgement) order() []SortKey {
	if j.query == nil || j.cursor != nil {
		return nil
	}
	b := pageBlock(j.query, nil)
	if b == nil {
		return nil
	}
	c := &Cursor{}
	for _, k := range sortKeys(b) {
		if !fixed(innerTerms(b), k.Key) {
			c.Keys = append(c.Keys, k)
		}
	}
	if len(c.Keys) > 0 && b.Where != nil {
		c.Side = sideOf(c.Keys[0])
		c.collect(Term{Expr: b.Where, Whole: b.Where})
	}
	return c.Keys
}

// loadFor loads what the catalog knows of a plan's relations, of the partitioned
// tables that they are part of, and of the tables and views that the text names.
func (j *judgement) loadFor(ctx context.Context, t *plan.Tree) (Catalog, error) {
	names := relations(t)
	if j.query != nil {
		for _, b := range j.query.Blocks {
			for _, f := range b.From {
				switch n := len(f.Name); {
				case n == 1 && f.CTE == nil:
					names = append(names, [2]string{"", f.Name[0]})
				case n > 1:
					names = append(names, [2]string{f.Name[n-2], f.Name[n-1]})
				}
			}
		}
	}
	return j.Load(ctx, j.in.SearchPath, names)
}

// decide draws verdict and findings from the generic plan.
func (j *judgement) decide(ctx context.Context, catalog Catalog) {
	j.out.Scans = Scans(j.plan.Tree, catalog, j.known)
	j.measurePrefixes(ctx)
	j.out.PageRows = j.pageRows()
	j.page = pageVerdict(j.out.Scans, j.cursor, j.out.PageRows)
	j.page.order = j.order()
	j.out.Verdict = j.page.verdict
	if kind := pagedBy(j.page.scan); kind != "" && j.out.Pagination == FirstPage {
		j.out.Pagination = kind
	}
	j.out.Plans = append(j.out.Plans, caseOf("generic", j.plan, j.out.Scans))
	j.out.Findings = append(j.out.Findings, verdictFindings(j.page, j.out.Scans, j.cursor, j.out.PageRows)...)
	j.out.Findings = append(j.out.Findings, tiesFinding(j.page)...)
	if j.query != nil {
		j.facts = FactsFrom(j.query, catalog, schemas(j.path()))
		j.learnFunctions(ctx)
		j.facts.Params, j.facts.Untyped = j.ask.types, j.norm.Dialect != sqltext.Dollar
		j.out.Findings = append(j.out.Findings, j.smells()...)
		j.dropSortOfNumbers()
	}
}

// dropSortOfNumbers: no index gives the order of row numbers, so that it is no advice.
func (j *judgement) dropSortOfNumbers() {
	has := func(rule string) func(Finding) bool { return func(f Finding) bool { return f.Rule == rule } }
	if slices.ContainsFunc(j.out.Findings, has("row-number-page")) {
		j.out.Findings = slices.DeleteFunc(j.out.Findings, has("page-sorts-whole-table"))
	}
}

// measurePrefixes asks the planner how many rows share the constants that an index
// condition holds its first columns to, for they need not be common ones.
func (j *judgement) measurePrefixes(ctx context.Context) {
	for _, s := range j.out.Scans {
		if !s.Limited || !s.Class.early() || s.Short() || s.Tiny() {
			continue
		}
		if sql := s.constantWindow(j.known); sql != "" && s.Class == WeakStart {
			if p, err := j.explain(ctx, ask{sql: sql, settings: j.ask.settings}); err == nil {
				s.within = max(p.Root.PlanRows, 1)
			}
			continue
		}
		sql := s.constantPrefix(j.known)
		if sql == "" {
			continue
		}
		if p, err := j.explain(ctx, ask{sql: sql, settings: j.ask.settings}); err == nil && (s.Prefix == 0 || p.Root.PlanRows < s.Prefix) {
			s.Prefix = max(p.Root.PlanRows, 1)
		}
	}
}

func (j *judgement) path() string {
	if j.in.SearchPath != "" {
		return j.in.SearchPath
	}
	return userPath(j.server.SearchPath, j.server.User)
}

// schemas splits a search_path.
func schemas(path string) []string {
	var out []string
	for _, t := range sqltext.Lex(path) {
		switch text := t.Text(path); t.Kind {
		case sqltext.Word:
			out = append(out, strings.ToLower(text))
		case sqltext.Quoted:
			out = append(out, strings.ReplaceAll(strings.Trim(text, `"`), `""`, `"`))
		}
	}
	return out
}

// pageRows is how many rows a page has, nil for a statement without a limit. A
// limit that is a parameter counts as a tenth of all rows in a generic plan, so
// that a usual page is assumed instead, unless its value was given.
func (j *judgement) pageRows() *PageRows {
	n := j.plan.Root.Find(func(n *plan.Node) bool { return n.Type == "Limit" })
	if n == nil {
		return nil
	}
	b := limitBlock(j.query)
	if b != nil && !b.Limit.Walk(func(x *sqltext.Expr) bool { return paramNumber(x) == 0 }) {
		if p := paramNumber(b.Limit); p > 0 && j.known != nil && p <= len(j.known.Params) {
			if rows, err := strconv.ParseFloat(j.known.Params[p-1], 64); err == nil && rows >= 1 {
				return &PageRows{Rows: rows}
			}
		}
		return &PageRows{Rows: defaultPageRow, Assumed: true}
	}
	if b != nil && b.Limit.Kind == sqltext.Const {
		if rows, err := strconv.ParseFloat(strings.Trim(b.Limit.Text(), "() "), 64); err == nil && rows >= 1 {
			return &PageRows{Rows: rows}
		}
	}
	if n.PlanRows > 1000 && b == nil || n.PlanRows < 1 {
		return &PageRows{Rows: defaultPageRow, Assumed: true}
	}
	return &PageRows{Rows: n.PlanRows}
}

// limitBlock is the first block with a limit, nil for none.
func limitBlock(q *sqltext.Query) *sqltext.Block {
	if q == nil {
		return nil
	}
	for _, b := range q.Blocks {
		if b.Limit != nil {
			return b
		}
	}
	return nil
}

// failure is the finding for a statement that could not be judged.
func (j *judgement) failure(err error) Finding {
	f := Finding{Rule: "statement-not-judged", Severity: Warn, Subject: j.out.Source, Message: err.Error(), Evidence: map[string]any{}}
	var refused *RefusedError
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &refused):
		f.Rule, f.Message, f.Action = "statement-refused", refused.Reason, refused.Hint
		if j.out.NoQuery = refused.NoQuery; refused.NoQuery {
			f.Severity = Info
		}
	case errors.As(err, &pg):
		f.Message = pg.Message
		f.Action = actionFor(pg.Code)
		if pg.Code == "42601" && j.in.OwnText {
			f.Action = "check the syntax"
		}
		if action := j.foreign(pg.Code); action != "" {
			f.Action = action
		}
		f.Evidence["sqlstate"] = pg.Code
		if pg.Hint != "" {
			f.Evidence["hint"] = pg.Hint
		}
		if pg.Position > 0 {
			off := min(byteOffset(j.ask.sql, int(pg.Position)), len(j.ask.sql))
			f.Evidence["line"] = max(j.in.Line, 1) + strings.Count(j.ask.sql[:off], "\n")
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		f.Action = "the server did not answer in time; try again when it is less busy"
	}
	return f
}

// actionFor says what may be done about an SQLSTATE.
func actionFor(code string) string {
	switch code {
	case "55P03":
		return "a table is locked (being altered?); try again later"
	case "57014":
		return "planning took longer than the limit; try again when the server is less busy"
	case "42501":
		return "the login needs SELECT on the tables: GRANT pg_read_all_data, or SELECT on them"
	case "42P01", "42703", "3F000":
		return "check the name and the search_path"
	case "42P18", "42P08", "42725", "42883", "42804":
		return "give the values or types of the parameters with --param"
	case "42601":
		return "check the syntax; text of pg_stat_activity may be cut off"
	}
	return "see the message"
}

func sourceOf(in Input) string {
	if in.Line > 0 {
		return fmt.Sprintf("%s:%d", in.Source, in.Line)
	}
	return in.Source
}
