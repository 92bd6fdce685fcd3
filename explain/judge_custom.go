package explain

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// knownValues collects what is known of the parameters beside the plan.
func (j *judgement) knownValues() *Known {
	k := &Known{Params: make([]string, len(j.norm.Params)), Query: j.query}
	k.Window, k.WindowBy = j.cursor.readsOn(j.norm.SQL)
	for i, p := range j.norm.Params {
		k.Params[i] = j.given(p)
	}
	if !j.norm.Dialect.Positional() {
		seen := map[int]bool{}
		for _, n := range sqltext.Bindings(j.norm.SQL) {
			k.Reuses = k.Reuses || seen[n] || j.norm.Dialect != sqltext.Dollar
			seen[n] = true
		}
	}
	return k
}

// given is the value that the caller gave for a parameter, "" for none.
func (j *judgement) given(p sqltext.Placeholder) string {
	n := strconv.Itoa(p.N)
	names := []string{n, "$" + n}
	if !j.norm.Dialect.Positional() {
		names = append(names, p.Spelling)
	}
	if p.Name != "" {
		names = append(names, p.Name, ":"+p.Name, "@"+p.Name, "%("+p.Name+")s")
	}
	for _, u := range j.uses {
		if u.param == p.N {
			names = append(names, u.column)
		}
	}
	for _, name := range names {
		if v, ok := j.in.Params[name]; ok {
			j.out.Used = append(j.out.Used, name)
			return v
		}
	}
	return ""
}

// valueRefused says that the server took none of the values the caller gave.
func (j *judgement) valueRefused(err error) {
	var pg *pgconn.PgError
	if len(j.out.Used) == 0 || !errors.As(err, &pg) {
		return
	}
	j.out.Findings = append(j.out.Findings, Finding{
		Rule: "parameter-value-refused", Severity: Warn, Subject: j.out.Source,
		Message:  "the server refuses a value that was given: " + pg.Message,
		Action:   "give --param a value of the type that the statement wants",
		Evidence: map[string]any{"sqlstate": pg.Code},
	})
}

// customPlans adds the plans for an old, a middle and a new cursor, with values
// from the statistics, or for the values given. Without values for all
// parameters there are none.
func (j *judgement) customPlans(ctx context.Context, catalog Catalog) error {
	if len(j.norm.Params) == 0 || j.page.scan == nil || j.out.Verdict == NotApplicable {
		return nil
	}
	cases := []struct {
		name string
		at   float64
	}{{"old", 0.02}, {"middle", 0.5}, {"new", 0.98}}
	if j.allGiven() || j.givenCursor() {
		cases = cases[:1]
		cases[0].name = "given"
	}
	worst := j.page
	for _, c := range cases {
		args, err := j.valuesAt(ctx, catalog, c.at)
		if err != nil || args == nil {
			return err
		}
		a := j.ask
		a.args, a.mode = args, customPlan
		p, err := j.explain(ctx, a)
		if err != nil { // no reason to withhold the generic verdict
			j.valueRefused(err)
			j.unplanned = "the server does not plan it with values: " + err.Error()
			var pg *pgconn.PgError
			if errors.As(err, &pg) {
				j.unplanned = "the server does not plan it with values: " + pg.Message
			}
			return nil
		}
		scans := Scans(p.Tree, catalog, j.known)
		kase := caseOf(c.name, p, scans)
		kase.Params = args
		j.out.Plans = append(j.out.Plans, kase)
		worst = pageVerdict(scans, j.cursor, j.out.PageRows)
	}
	if last := j.out.Plans[len(j.out.Plans)-1]; j.out.Verdict == StartsAtOldest && worst.verdict.rank() < StartsAtOldest.rank() {
		return j.sixth(ctx, catalog, last)
	}
	return nil
}

// sixth finds out whether a prepared statement that plans well with the values
// of the last case changes to the generic plan at its sixth execution, by
// explaining EXECUTE six times, as the server itself counts them.
func (j *judgement) sixth(ctx context.Context, catalog Catalog, last Case) error {
	s := j.ask.settings
	s.auto = true
	var p Plan
	err := j.confined(ctx, s, func(ctx context.Context) error {
		return j.prepared(ctx, j.ask.sql, j.ask.types, func(ctx context.Context, name string) (err error) {
			for range 6 {
				if p, err = j.execute(ctx, name, last.Params, j.ask.types, ask{}); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil
	}
	if pageVerdict(Scans(p.Tree, catalog, j.known), j.cursor, j.out.PageRows).verdict == StartsAtOldest {
		j.out.Findings = append(j.out.Findings, Finding{
			Rule: "plan-flips-at-sixth-execution", Severity: Warn, Subject: subjectOf(j.page.scan),
			Message:  "prepared, it plans well five times for a cursor near the end, then keeps the generic plan, which starts at the first row",
			Action:   "rewrite the cursor; until then plan_cache_mode = force_custom_plan for this statement",
			Evidence: map[string]any{"custom_cost": last.TotalCost, "generic_cost": j.plan.Root.TotalCost},
		})
	}
	return nil
}

func (j *judgement) allGiven() bool {
	return len(j.known.Params) > 0 && !slices.Contains(j.known.Params, "")
}

// valuesAt returns an SQL literal for every parameter, with the cursor at a share
// of the leading key's values, or nil when some parameter has none. Values given
// by the caller win.
func (j *judgement) valuesAt(ctx context.Context, catalog Catalog, at float64) ([]string, error) {
	return j.valuesFor(ctx, catalog, at, true)
}

// pinned: the caller gave a value for the parameter, which counts; one of the
// cursor's only with the whole cursor.
func (j *judgement) pinned(n int, cursor bool) bool {
	return n <= len(j.known.Params) && j.known.Params[n-1] != "" && (cursor || !j.isCursorParam(n))
}

// valuesFor is valuesAt; without cursor the values given for it do not count.
func (j *judgement) valuesFor(ctx context.Context, catalog Catalog, at float64, cursor bool) ([]string, error) {
	args := make([]string, j.params())
	for i := range args {
		if j.pinned(i+1, cursor) {
			args[i] = literal(j.known.Params[i])
			continue
		}
		v, err := j.valueOf(ctx, catalog, i+1, at)
		if err != nil {
			return nil, err
		}
		if v == "" {
			if j.used(i + 1) {
				return nil, nil
			}
			v = "NULL" // a number that the text skips
		}
		args[i] = v
	}
	return args, nil
}

// used reports whether the text holds $n.
func (j *judgement) used(n int) bool {
	return slices.ContainsFunc(j.norm.Params, func(p sqltext.Placeholder) bool { return p.N == n })
}

// params is the number of parameters: the highest in the text.
func (j *judgement) params() int {
	n := 0
	for _, p := range j.norm.Params {
		n = max(n, p.N)
	}
	return max(n, len(j.ask.types))
}

// valueOf picks a value for one parameter from where it is used: a cursor's from
// the ordered values, a limit on the other side from their ends, an equality's
// from the common ones.
func (j *judgement) valueOf(ctx context.Context, catalog Catalog, n int, at float64) (string, error) {
	if v := j.limitValue(n); v != "" {
		return v, nil
	}
	isCursor := j.isCursorParam(n)
	for _, u := range j.uses {
		if u.param != n {
			continue
		}
		t := j.statsTable(catalog, catalog.Of(u.node))
		if t == nil {
			continue
		}
		s, err := j.spreadOf(ctx, t, u.column)
		if err != nil {
			return "", err
		}
		switch {
		case isCursor, u.op == "=" && u.node != j.page.scan.Node && u.node.Relation == j.page.scan.Node.Relation: // or it looks the cursor's row up
			return s.share(at), nil
		case u.op == "any" && s.common != "":
			return arrayLiteral(s.common), nil
		case u.op == "<", u.op == "<=":
			return s.share(1), nil
		case u.op == ">", u.op == ">=":
			return s.share(0), nil
		default:
			return s.common, nil
		}
	}
	return "", nil
}

// statsTable is the table whose statistics cover all rows: for a partition the
// partitioned table, when it has been analyzed.
func (j *judgement) statsTable(catalog Catalog, t *Table) *Table {
	if t != nil && t.Root != "" {
		if root := catalog[t.Root]; root != nil && root.Rows > 0 {
			return root
		}
	}
	return t
}

// isCursorParam reports a parameter among the values of the cursor's keys.
func (j *judgement) isCursorParam(n int) bool {
	if j.cursor == nil {
		return false
	}
	for _, k := range j.cursor.Keys {
		for _, v := range k.Values {
			if !v.Walk(func(x *sqltext.Expr) bool { return paramNumber(x) != n }) {
				return true
			}
		}
	}
	return false
}

// limitValue is the value of a parameter in LIMIT (a page) or OFFSET (none), ""
// for any other. Of several parameters in a LIMIT the first is the limit.
func (j *judgement) limitValue(n int) string {
	if j.query == nil {
		return ""
	}
	for _, b := range j.query.Blocks {
		first := true
		if b.Limit != nil {
			value := ""
			b.Limit.Walk(func(x *sqltext.Expr) bool {
				if m := paramNumber(x); m > 0 {
					if m == n {
						value = map[bool]string{true: "50", false: "0"}[first]
					}
					first = false
				}
				return true
			})
			if value != "" {
				return value
			}
		}
		if b.Offset != nil && !b.Offset.Walk(func(x *sqltext.Expr) bool { return paramNumber(x) != n }) {
			return "0"
		}
	}
	return ""
}
