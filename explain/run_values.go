package explain

import (
	"context"
	_ "embed" // the query
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

//go:embed sql/stats.sql
var statsSQL string

// use is where a plan compares a parameter with a column.
type use struct {
	param  int
	node   *plan.Node
	column string
	op     string // = < <= > >= <>, "any" for = ANY
}

// usesOf lists the comparisons of parameters with columns in all conditions of a
// plan.
func usesOf(t *plan.Tree) []use {
	byAlias := map[string]*plan.Node{}
	t.Root.Walk(func(n *plan.Node) bool {
		if n.Relation != "" {
			byAlias[n.Alias] = n
		}
		return true
	})
	var out []use
	t.Root.Walk(func(n *plan.Node) bool {
		for _, text := range []string{n.IndexCond, n.RecheckCond, n.Filter, n.JoinFilter} {
			e := parseCond(text)
			if e == nil {
				continue
			}
			e.Walk(func(x *sqltext.Expr) bool {
				for _, u := range comparisons(x) {
					u.node = n
					if q := byAlias[u.qualifier]; q != nil {
						u.node = q
					}
					if u.node.Relation != "" && !slices.Contains(out, u.use) {
						out = append(out, u.use)
					}
				}
				return true
			})
		}
		return true
	})
	return out
}

type qualifiedUse struct {
	use
	qualifier string
}

// comparisons lists the parameter-column pairs of one comparison.
func comparisons(e *sqltext.Expr) []qualifiedUse {
	var out []qualifiedUse
	pair := func(l, r *sqltext.Expr, op string) {
		if column(l) == nil {
			l, r, op = r, l, mirrored(op)
		}
		c := column(l)
		if c == nil {
			return
		}
		r.Walk(func(v *sqltext.Expr) bool {
			if n := paramNumber(v); n > 0 {
				out = append(out, qualifiedUse{use{param: n, column: c.Name, op: op}, c.Qualifier()})
			}
			return true
		})
	}
	switch {
	case e.Kind == sqltext.Compare && e.Args[0].Kind == sqltext.Row && e.Args[1].Kind == sqltext.Row && len(e.Args[0].Args) == len(e.Args[1].Args):
		for i, l := range e.Args[0].Args {
			pair(l, e.Args[1].Args[i], e.Cmp)
		}
	case e.Kind == sqltext.Compare:
		pair(e.Args[0], e.Args[1], e.Cmp)
	case e.Kind == sqltext.Between && len(e.Args) == 3:
		pair(e.Args[0], e.Args[1], ">=")
		pair(e.Args[0], e.Args[2], "<=")
	case e.Kind == sqltext.Opaque && e.Name == "any" && len(e.Args) == 2:
		pair(e.Args[0], e.Args[1], "any")
	}
	return out
}

// column sees through casts and collations to a plain column.
func column(e *sqltext.Expr) *sqltext.Expr {
	for e.Kind == sqltext.Cast || e.Kind == sqltext.Collate {
		e = e.Args[0]
	}
	if e.Kind == sqltext.Column {
		return e
	}
	return nil
}

// spread are values of one column, as SQL literals, "" where there are none.
type spread struct {
	common, rare string
	at           []string // at the shares that were asked for
}

// shares of the ordered values that are read for every column: the ends, and an
// old, a middle and a new cursor.
func shares() []float64 { return []float64{0, 0.02, 0.5, 0.98, 1} }

// spreadOf reads the values of a column from the statistics. Without statistics,
// or without SELECT on the table, all are "".
func (r *Runner) spreadOf(ctx context.Context, t *Table, column string) (spread, error) {
	key := t.Schema + "." + t.Name + "." + column
	if s, ok := r.spreads[key]; ok {
		return s, nil
	}
	s := spread{}
	var common, rare *string
	var at []*string
	err := r.confined(ctx, settings{searchPath: safePath}, func(ctx context.Context) error {
		rows, _ := r.conn.Query(ctx, statsSQL, pgx.QueryExecModeExec, t.Schema, t.Name, column, shares())
		_, err := pgx.ForEachRow(rows, []any{&common, &rare, &at}, func() error { return nil })
		return err
	})
	if err != nil {
		return s, fmt.Errorf("reading the statistics of %s: %w", key, err)
	}
	s.at = make([]string, len(shares()))
	for i := range at {
		s.at[i] = orEmpty(at[i])
	}
	s.common, s.rare = orEmpty(common), orEmpty(rare)
	if s.common == "" && len(s.at) > 0 {
		s.common = s.at[len(s.at)/2]
	}
	if s.rare == "" {
		s.rare = s.common
	}
	r.spreads[key] = s
	return s, nil
}

// share returns the value at one of shares().
func (s spread) share(f float64) string {
	for i, g := range shares() {
		if i < len(s.at) && math.Abs(f-g) < 1e-9 {
			return s.at[i]
		}
	}
	return ""
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// literal writes a value as an SQL string constant.
func literal(s string) string {
	if strings.Contains(s, `\`) {
		return " E'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(s) + "'"
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// arrayLiteral makes a one-element array constant of a quoted literal.
func arrayLiteral(quoted string) string { return "ARRAY[" + quoted + "]" }
