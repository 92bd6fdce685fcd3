package explain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// cursorAt returns values for all parameters with the cursor at a share of the
// page's order. The cursor is a row of the table, so that it reads rows: only
// for analyze. Where no such row can be looked up, the values of valuesAt do.
func (j *judgement) cursorAt(ctx context.Context, catalog Catalog, at float64) ([]string, error) {
	if j.cursor != nil && j.cursor.Side == Upper {
		at = mirror(at)
	}
	args, err := j.valuesAt(ctx, catalog, at)
	if err != nil {
		return nil, err
	}
	if args == nil {
		return nil, errors.New("no values for all parameters: give them with --param, or run ANALYZE on the tables")
	}
	if j.cursor == nil {
		return args, nil
	}
	row, err := j.rowAt(ctx, args, at)
	if err != nil || row == nil {
		return args, err
	}
	for i := range args {
		if i < len(j.known.Params) && j.known.Params[i] != "" {
			continue
		}
		if v := row[j.columnOf(i+1)]; v != "" && j.takesRow(i+1) {
			args[i] = v
		}
	}
	return args, nil
}

// mirror is the share seen from the other end, of those that are read.
func mirror(at float64) float64 {
	for _, f := range shares() {
		if d := f - (1 - at); d < 1e-9 && d > -1e-9 {
			return f
		}
	}
	return at
}

// takesRow reports a parameter that stands for a part of the cursor's row: one
// of the values of its keys, or what looks the row up in the same table.
func (j *judgement) takesRow(n int) bool {
	if j.isCursorParam(n) {
		return true
	}
	for _, u := range j.uses {
		if u.param == n && u.op == "=" && u.node != j.page.scan.Node && u.node.Relation == j.page.scan.Node.Relation {
			return true
		}
	}
	return false
}

// columnOf is the column that a parameter is compared with, "" for none.
func (j *judgement) columnOf(n int) string {
	for _, u := range j.uses {
		if u.param == n {
			return u.column
		}
	}
	return ""
}

// rowAt reads the row that the cursor of args comes to stand at: the first one in
// the page's order from its leading key on, among those that the statement's
// equalities leave. The values are SQL literals by column. It returns nil where
// the keys are not plain columns of one table.
func (j *judgement) rowAt(ctx context.Context, args []string, at float64) (map[string]string, error) {
	t := j.page.scan.Table
	if t == nil {
		return nil, nil
	}
	name := pgx.Identifier{t.Schema, t.Name}.Sanitize()
	if t.Root != "" {
		schema, rel, _ := strings.Cut(t.Root, ".")
		name = pgx.Identifier{schema, rel}.Sanitize()
	}
	var order, where, columns, items []string
	start := ""
	for _, k := range j.cursor.Keys {
		if k.Key.Expr.Kind != sqltext.Column || t.column(k.Key.Expr.Name) == nil {
			return nil, nil
		}
		col := pgx.Identifier{k.Key.Expr.Name}.Sanitize()
		columns = append(columns, k.Key.Expr.Name)
		dir := " ASC"
		if k.Desc {
			dir = " DESC"
		}
		order = append(order, col+dir)
		if start == "" {
			for i := range args {
				if j.isCursorParam(i+1) && j.columnOf(i+1) == k.Key.Expr.Name {
					start = fmt.Sprintf("%s %s %s", col, map[bool]string{false: ">=", true: "<="}[k.Desc], args[i])
					break
				}
			}
			if start == "" { // the cursor's row is looked up by another column
				s, err := j.spreadOf(ctx, t, k.Key.Expr.Name)
				if err != nil {
					return nil, err
				}
				if v := s.share(at); v != "" {
					start = fmt.Sprintf("%s %s %s", col, map[bool]string{false: ">=", true: "<="}[k.Desc], v)
				}
			}
			if start != "" {
				where = append(where, start)
			}
		}
	}
	for _, u := range j.uses {
		if u.op == "=" && u.node == j.page.scan.Node && !j.isCursorParam(u.param) && u.param <= len(args) && t.column(u.column) != nil {
			where = append(where, pgx.Identifier{u.column}.Sanitize()+" = "+args[u.param-1])
		}
		if u.node.Relation == t.Name && t.column(u.column) != nil {
			columns = append(columns, u.column)
		}
	}
	for _, c := range columns {
		items = append(items, "pg_catalog.quote_literal("+pgx.Identifier{c}.Sanitize()+"::text)")
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + name
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	sql += " ORDER BY " + strings.Join(order, ", ") + " LIMIT 1"
	var rows [][][]byte
	err := j.confined(ctx, j.ask.settings, func(ctx context.Context) (err error) {
		rows, err = j.fetch(ctx, sql)
		return err
	})
	if err != nil || len(rows) == 0 {
		return nil, nil //nolint:nilerr // the statistics' values do instead
	}
	out := map[string]string{}
	for i, v := range rows[0] {
		if v != nil {
			out[columns[i]] = string(v)
		}
	}
	return out, nil
}
