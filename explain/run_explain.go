package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// ask is one EXPLAIN of a prepared statement.
type ask struct {
	sql   string   // parameters as $n
	types []string // of the parameters, "" where the server shall infer
	// args are SQL literals for EXECUTE, one a parameter; nil stands for NULLs.
	args    []string
	mode    planMode
	analyze bool
	timing  bool // with analyze: clock every node, which makes the whole slower
	settings
}

// planMode says which plan of a prepared statement is meant.
type planMode int8

const (
	genericPlan planMode = iota
	customPlan           // for args
)

// Plan is one plan with the JSON it came from.
type Plan struct {
	*plan.Tree
	Raw   json.RawMessage
	types []string // of the parameters
}

// explain returns the plan of one statement, generic or custom, measured with
// analyze.
//
// The generic plan is that of PREPARE with plan_cache_mode = force_generic_plan
// and EXPLAIN EXECUTE on every major version. EXPLAIN (GENERIC_PLAN), which 16
// brought, gives the same plan but only by the simple protocol, which would take
// a second statement too: by the extended protocol, the only one used here, the
// server takes the $n for parameters of EXPLAIN itself, wants them bound, and
// plans with what is bound (with NULLs, "One-Time Filter: false").
//
// Partitions are pruned with the values of EXECUTE when the plan starts, even a
// generic one, and NULL prunes them all; such a plan is asked for again without
// pruning.
func (r *Runner) explain(ctx context.Context, a ask) (Plan, error) {
	a.generic = a.mode == genericPlan
	p, err := r.explainOnce(ctx, a)
	if isCode(err, "42P05") { // by the next name
		p, err = r.explainOnce(ctx, a)
	}
	if err == nil && a.args == nil && !a.keepParts && prunedAway(p) {
		a.keepParts = true
		p, err = r.explainOnce(ctx, a)
	}
	if err != nil {
		return p, err
	}
	return r.nameOutputs(ctx, a, p), nil
}

func (r *Runner) explainOnce(ctx context.Context, a ask) (Plan, error) {
	var out Plan
	err := r.confined(ctx, a.settings, func(ctx context.Context) error {
		return r.prepared(ctx, a.sql, a.types, func(ctx context.Context, name string) (err error) {
			args, types := a.args, a.types
			if args == nil {
				if !complete(types, a.sql) {
					if types, err = r.parameterTypes(ctx, name); err != nil {
						return err
					}
				}
				args = slices.Repeat([]string{"NULL"}, len(types))
			}
			out, err = r.execute(ctx, name, args, types, a)
			out.types = types
			return err
		})
	})
	return out, err
}

// execute explains EXECUTE of the prepared statement with args of those types, in
// the place of those of a.
func (r *Runner) execute(ctx context.Context, name string, args, types []string, a ask) (Plan, error) {
	options := "VERBOSE, FORMAT JSON"
	switch {
	case a.analyze && a.timing:
		options = "ANALYZE, BUFFERS, VERBOSE, FORMAT JSON"
	case a.analyze:
		options = "ANALYZE, BUFFERS, TIMING OFF, VERBOSE, FORMAT JSON"
	}
	call, err := r.bind(ctx, args, types)
	if err != nil {
		return Plan{}, err
	}
	rows, err := r.fetch(ctx, "EXPLAIN ("+options+") EXECUTE "+name+call)
	if err != nil {
		return Plan{}, err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return Plan{}, errors.New("EXPLAIN returned no plan")
	}
	tree, err := plan.Parse(rows[0][0])
	if err != nil {
		return Plan{}, err
	}
	return Plan{Tree: tree, Raw: rows[0][0]}, nil
}

// bind writes the arguments of EXECUTE. The values stand in settings of the
// transaction, not in the text: pg_stat_statements keeps the texts, and before 16
// it does not strip them of constants.
func (r *Runner) bind(ctx context.Context, args, types []string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	call := slices.Clone(args)
	var sets []string
	for i, arg := range args {
		if arg == "NULL" || i >= len(types) || types[i] == "" || truncates(types[i]) {
			continue
		}
		name := fmt.Sprintf("'pgsonde.v%d'", i+1)
		sets = append(sets, "pg_catalog.set_config("+name+", ("+arg+")::pg_catalog.text, true)")
		call[i] = "pg_catalog.current_setting(" + name + ")::" + types[i]
	}
	if len(sets) > 0 {
		if err := r.send(ctx, "SELECT "+strings.Join(sets, ", ")); err != nil {
			return "", err
		}
	}
	return "(" + strings.Join(call, ", ") + ")", nil
}

// truncates: a cast to a type of that name makes its values one character or bit.
func truncates(typ string) bool {
	for _, short := range []string{"character", "bit"} {
		if strings.HasPrefix(typ, short) && !strings.HasPrefix(typ, short+" varying") {
			return true
		}
	}
	return false
}

// complete reports that every parameter of the statement has a type.
func complete(types []string, sql string) bool {
	if slices.Contains(types, "") {
		return false
	}
	for _, n := range sqltext.Bindings(sql) {
		if n > len(types) {
			return false
		}
	}
	return true
}

// parameterTypes returns the SQL names of the parameter types of a prepared
// statement, as the server inferred them.
func (r *Runner) parameterTypes(ctx context.Context, name string) ([]string, error) {
	// Under the search_path of another role: no operator but PostgreSQL's own.
	rows, err := r.fetch(ctx, `SELECT pg_catalog.format_type(u.t, NULL)
		FROM pg_catalog.pg_prepared_statements p, pg_catalog.unnest(p.parameter_types::pg_catalog.oid[]) WITH ORDINALITY AS u (t, n)
		WHERE p.name OPERATOR(pg_catalog.=) $1::pg_catalog.text ORDER BY u.n`, name)
	if err != nil {
		return nil, fmt.Errorf("reading parameter types: %w", err)
	}
	types := make([]string, len(rows))
	for i, row := range rows {
		types[i] = string(row[0])
	}
	return types, nil
}

// prunedAway reports an Append that lost partitions when the plan started.
func prunedAway(p Plan) bool {
	return p.Root.Find(func(n *plan.Node) bool { return n.SubplansRemoved > 0 }) != nil
}
