package explain

import (
	"context"
	"crypto/sha256"
	_ "embed" // the query
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

//go:embed sql/volatile.sql
var volatileSQL string

// measure executes the statement and its fix, read-only and with timeouts, if
// that was asked for. The old statement runs with a cursor behind the first 0.1 %
// and 0.2 % of the rows only: if what it throws away doubles, it grows with the
// cursor, and the middle need not be waited for. The new one runs at 0.1 % and at
// 50 %. Then the rows of both are compared at several cursors. What is not
// measured, and why, becomes a line of the proof.
//
// It returns why the fix must not be offered after all, "" if it may.
func (j *judgement) measure(ctx context.Context, catalog Catalog, o *option) string {
	if !j.opts.Analyze {
		return ""
	}
	if j.measureUntil.IsZero() {
		j.measureUntil = time.Now().Add(measureTime * j.Runner.opts.StatementTimeout)
	}
	if time.Now().After(j.measureUntil) {
		o.proof.lines = append(o.proof.lines, "not measured: the executions of other fixes took the time there is for it")
		return ""
	}
	if why := j.mayExecute(ctx, o); why != "" {
		o.proof.lines = append(o.proof.lines, "not executed: "+why)
		return ""
	}
	if j.inPart != "" {
		o.proof.lines = append(o.proof.lines, j.inPart)
	}
	if j.givenCursor() {
		if why := j.measureGiven(ctx, catalog, o); why != "" {
			return why
		}
		return j.compare(ctx, catalog, o)
	}
	near := j.near()
	var steps []Step
	for _, s := range []struct {
		at    spot
		fixed bool
	}{{near, false}, {spot{behind: 2 * near.behind}, false}, {near, true}, {spot{share: 0.5}, true}} {
		step, err := j.step(ctx, catalog, o, s.at, s.fixed)
		if err != nil {
			o.proof.lines = append(o.proof.lines, "not measured: "+err.Error())
			return ""
		}
		steps = append(steps, step)
	}
	o.steps = steps
	o.proof.lines = append(o.proof.lines, j.slope(steps, near.behind))
	// A tenth more may come from a cursor that is not quite in the middle.
	if steps[2].Blocks > 1.1*steps[0].Blocks+fewBlocks {
		middle, about := j.middle(steps, near.behind), "about "
		if old, err := j.step(ctx, catalog, o, spot{share: 0.5}, false); err == nil {
			middle, about = old.Blocks, ""
		}
		if middle > 0 && steps[3].Blocks > 1.1*middle+fewBlocks {
			return fmt.Sprintf("measured: %.0f blocks in the middle, where the statement reads %s%.0f", steps[3].Blocks, about, middle)
		}
	}
	return j.compare(ctx, catalog, o)
}

// measureGiven runs statement and fix once each with the values that were given,
// whose place among the rows is not known, so they are no steps of a slope. It
// returns why the fix must not be offered after all.
func (j *judgement) measureGiven(ctx context.Context, catalog Catalog, o *option) string {
	before, err := j.step(ctx, catalog, o, spot{given: true}, false)
	if err != nil {
		o.proof.lines = append(o.proof.lines, "not measured: "+err.Error())
		return ""
	}
	after, err := j.step(ctx, catalog, o, spot{given: true}, true)
	if err != nil {
		o.proof.lines = append(o.proof.lines, "not measured: "+err.Error())
		return ""
	}
	if after.Blocks > 1.1*before.Blocks+1 {
		return fmt.Sprintf("measured with the values given: %.0f blocks, where the statement reads %.0f", after.Blocks, before.Blocks)
	}
	o.proof.lines = append(o.proof.lines, fmt.Sprintf("with the values given: %.0f blocks before, %.0f after", before.Blocks, after.Blocks))
	return ""
}

// givenCursor reports that the caller gave a value of the cursor.
func (j *judgement) givenCursor() bool {
	for i, v := range j.known.Params {
		if v != "" && j.isCursorParam(i+1) {
			return true
		}
	}
	return false
}

// wholeTable reports that the page goes over all rows of one table: nothing but
// the cursor filters them, so that the rows behind a share of them are known.
func (j *judgement) wholeTable() bool {
	c := j.cursor
	return c != nil && len(c.terms) == 1 && len(c.Block.From) == 1 && j.rowsOf() > 0
}

// middle predicts the blocks that the statement reads with the cursor in the
// middle, from two steps near the start; 0 when they show no slope.
func (j *judgement) middle(s []Step, behind int) float64 {
	grow := (s[1].Blocks - s[0].Blocks) / float64(behind)
	if grow <= 0 || !j.wholeTable() {
		return 0
	}
	return s[0].Blocks + grow*(max(j.rowsOf(), 0)/2-float64(behind))
}

// spot is where a cursor stands: behind a number of rows from the page's first,
// or at a share of the leading key's values.
type spot struct {
	behind int
	share  float64
	// given takes the values of the caller for the cursor; without it they count
	// only for the other parameters.
	given bool
}

func (s spot) String() string {
	if s.given {
		return "at the values given"
	}
	if s.behind > 0 {
		return fmt.Sprintf("behind %d rows", s.behind)
	}
	return fmt.Sprintf("at %g %%", 100*s.share)
}

// near is the spot behind 0.1 % of the rows, but some hundreds of a small table
// and not more than can be read in no time.
func (j *judgement) near() spot {
	rows := 0.0
	if j.page.scan != nil {
		rows = max(j.rowsOf(), 0)
	}
	return spot{behind: int(max(min(rows/1000, 2000), min(rows/20, 500), 1))}
}

// rowsOf is the size of the page's table, all partitions together.
func (j *judgement) rowsOf() float64 {
	if t := j.statsTable(j.catalog, j.page.scan.Table); t != nil {
		return t.Rows
	}
	return unknownTable
}

// slope says what the steps show; of the middle only where it is known how many
// rows lie before it.
func (j *judgement) slope(s []Step, behind int) string {
	a, b, early, late := s[0], s[1], s[2], s[3]
	far := "half-way through the values of the first key"
	if j.wholeTable() {
		far = "in the middle"
	}
	after := fmt.Sprintf("after: %.0f blocks behind %d rows, %.0f %s", early.Blocks, behind, late.Blocks, far)
	if a.RowsRemoved == nil || b.RowsRemoved == nil || *a.RowsRemoved <= 50 || *b.RowsRemoved <= 1.5**a.RowsRemoved {
		return fmt.Sprintf("before: %.0f and %.0f blocks with the cursor behind %d and %d rows; %s", a.Blocks, b.Blocks, behind, 2*behind, after)
	}
	text := fmt.Sprintf("before: %.0f rows thrown away with the cursor behind %d rows, %.0f behind %d", *a.RowsRemoved, behind, *b.RowsRemoved, 2*behind)
	if j.wholeTable() {
		grow := (*b.RowsRemoved - *a.RowsRemoved) / float64(behind)
		text += fmt.Sprintf(", so about %.0f in the middle", *a.RowsRemoved+grow*(j.rowsOf()/2-float64(behind)))
	}
	return text + "; " + after
}

// step measures one execution of the generic plan.
func (j *judgement) step(ctx context.Context, catalog Catalog, o *option, at spot, fixed bool) (Step, error) {
	args, err := j.cursorAt(ctx, catalog, at)
	if err != nil {
		return Step{}, err
	}
	a := j.ask
	if fixed {
		a = o.ask
	}
	a.args, a.analyze = args, true
	p, err := j.explain(ctx, a)
	if err != nil {
		return Step{}, err
	}
	c := caseOf("", p, nil)
	s := Step{At: at.share, Fixed: fixed, RowsRemoved: c.RowsRemoved, Plan: p, Scans: Scans(p.Tree, catalog, j.known)}
	if rows := j.rowsOf(); at.behind > 0 && rows > 0 {
		s.At = float64(at.behind) / rows
	}
	if c.SharedBlocks != nil {
		s.Blocks = *c.SharedBlocks
	}
	if c.MS != nil {
		s.MS = *c.MS
	}
	return s, nil
}

// cursors at which rows are compared.
func (j *judgement) compareAt() []spot {
	first := j.near()
	if j.givenCursor() {
		first = spot{given: true}
	}
	return []spot{first, {share: 0.02}, {share: 0.5}, {share: 0.98}, {share: 1}}
}

// fewBlocks more are no reason to refuse a fix: two scans go down two trees.
const fewBlocks = 16

// measureTime is how long all executions for one statement may take, in statement
// timeouts: what is left after it is skipped.
const measureTime = 4

// compare runs the statement and its fix at several cursors and compares the
// rows, in order. A cursor at which the old statement takes too long is skipped.
// It returns a difference, "" for none.
func (j *judgement) compare(ctx context.Context, catalog Catalog, o *option) string {
	skipped, seen := 0, [][]string{}
	for _, at := range j.compareAt() {
		args, err := j.cursorAt(ctx, catalog, at)
		if err != nil {
			o.proof.lines = append(o.proof.lines, "rows not compared: "+err.Error())
			return ""
		}
		if slices.ContainsFunc(seen, func(x []string) bool { return slices.Equal(x, args) }) {
			continue // the same cursor once more tells nothing
		}
		seen = append(seen, args)
		if time.Now().After(j.measureUntil) {
			skipped++
			continue
		}
		before, n, err := j.rows(ctx, j.ask, args)
		if err != nil {
			skipped++
			continue
		}
		after, m, err := j.rows(ctx, o.ask, args)
		if err != nil {
			skipped++
			continue
		}
		if before != after {
			return fmt.Sprintf("measured: the rows differ with the cursor %s: %d before, %d after", at, n, m)
		}
		o.checked++
	}
	cursors := fmt.Sprintf("%d cursors", o.checked)
	if o.checked == 1 {
		cursors = "one cursor"
	}
	line := "the same rows in the same order at " + cursors
	if skipped > 0 {
		line += fmt.Sprintf("; %d skipped, for the statement took too long there", skipped)
	}
	o.proof.lines = append(o.proof.lines, line)
	return ""
}

// rows executes a statement and returns a hash of its rows and their number.
func (j *judgement) rows(ctx context.Context, a ask, args []string) (hash [sha256.Size]byte, n int, err error) {
	err = j.confined(ctx, a.settings, func(ctx context.Context) error {
		return j.prepared(ctx, a.sql, a.types, func(ctx context.Context, name string) error {
			call := "EXECUTE " + name
			if len(args) > 0 {
				call += "(" + strings.Join(args, ", ") + ")"
			}
			h := sha256.New()
			rr := j.conn.PgConn().ExecParams(ctx, call, nil, nil, nil, nil)
			for rr.NextRow() {
				n++
				for _, v := range rr.Values() {
					fmt.Fprintf(h, "%d:%t:", len(v), v == nil)
					_, _ = h.Write(v)
				}
			}
			_, err := rr.Close()
			h.Sum(hash[:0])
			return err
		})
	})
	return hash, n, err
}

// mayExecute says why the statement or its fix must not be executed, "" if it may.
func (j *judgement) mayExecute(ctx context.Context, o *option) string {
	names := map[string]bool{}
	for _, p := range []Plan{j.plan, o.plan} {
		why := ""
		p.Root.Walk(func(n *plan.Node) bool {
			if n.Type == "ModifyTable" || n.Type == "LockRows" {
				why = "it writes or locks rows"
			}
			for _, text := range append(slices.Clone(n.Output), n.Filter, n.IndexCond, n.JoinFilter, n.OneTimeFilter, n.FunctionCall, n.HashCond, n.MergeCond) {
				calls(text, names)
			}
			return true
		})
		if why != "" {
			return why
		}
	}
	calls(j.ask.sql, names)
	volatile, err := j.volatile(ctx, names)
	if err != nil {
		return "its functions could not be looked up: " + err.Error()
	}
	for _, n := range slices.Sorted(maps.Keys(volatile)) {
		if volatile[n] {
			return "it may call the volatile function " + n
		}
	}
	return ""
}

// volatile says of the functions that there are of these names, whatever their schema,
// whether one is volatile.
func (r *Runner) volatile(ctx context.Context, names map[string]bool) (map[string]bool, error) {
	out := map[string]bool{}
	if len(names) == 0 {
		return out, nil
	}
	err := r.confined(ctx, settings{searchPath: safePath}, func(ctx context.Context) error {
		rows, _ := r.conn.Query(ctx, volatileSQL, pgx.QueryExecModeExec, slices.Sorted(maps.Keys(names)))
		var name string
		var is bool
		_, err := pgx.ForEachRow(rows, []any{&name, &is}, func() error {
			out[name] = is
			return nil
		})
		return err
	})
	return out, err
}

// learnFunctions adds to the facts which functions that the statement calls are not
// volatile. What cannot be looked up stays unknown.
func (j *judgement) learnFunctions(ctx context.Context) {
	names := map[string]bool{}
	for _, b := range j.query.Blocks {
		exprs := []*sqltext.Expr{b.Where, b.Limit}
		for _, it := range b.Items {
			exprs = append(exprs, it.Expr)
		}
		for _, o := range b.OrderBy {
			exprs = append(exprs, o.Expr)
		}
		for _, e := range exprs {
			e.Walk(func(x *sqltext.Expr) bool {
				if x.Kind == sqltext.Func && !j.facts.stable(x) {
					names[x.Name] = true
				}
				return true
			})
		}
	}
	volatile, err := j.volatile(ctx, names)
	if err != nil {
		return
	}
	j.facts.Stable = map[string]bool{}
	for n, is := range volatile {
		j.facts.Stable[n] = !is
	}
}

// calls adds the names that stand before a parenthesis.
func calls(text string, names map[string]bool) {
	tokens := sqltext.Lex(text)
	for i := 0; i+1 < len(tokens); i++ {
		if (tokens[i].Kind == sqltext.Word || tokens[i].Kind == sqltext.Quoted) && tokens[i+1].IsPunct(text, "(") {
			name := tokens[i].Text(text)
			if tokens[i].Kind == sqltext.Word {
				name = strings.ToLower(name)
			}
			names[strings.ReplaceAll(strings.Trim(name, `"`), `""`, `"`)] = true
		}
	}
}
