package explain

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// cursorAt returns values for all parameters with the cursor at a spot. The
// cursor is a row of the table, so that it reads rows: only for analyze. Where no
// such row can be looked up, the values of valuesAt do.
func (j *judgement) cursorAt(ctx context.Context, catalog Catalog, at spot) ([]string, error) {
	share := at.share
	if at.behind > 0 {
		share = 0.02 // for what is not the cursor's row, any will do
	}
	if j.cursor != nil && j.cursor.Side == Upper {
		share = 1 - share
	}
	args, err := j.valuesFor(ctx, catalog, share, at.given)
	if err != nil {
		return nil, err
	}
	if args == nil {
		return nil, errors.New("no values for all parameters: give them with --param, or run ANALYZE on the tables")
	}
	if j.cursor == nil || at.given {
		return args, nil
	}
	row, err := j.rowAt(ctx, args, at, share)
	if err != nil || row == nil {
		return args, err
	}
	for i := range args {
		if j.pinned(i+1, false) {
			continue
		}
		if v := row[j.columnOf(i+1)]; v != "" && j.takesRow(i+1) {
			args[i] = v
		}
	}
	return args, nil
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

// rowAt reads the row that the cursor stands at, among those that the statement's
// equalities leave: the one behind so many rows in the page's order, or the first
// one from the leading key's value at the share on. The values are SQL literals
// by column. It returns nil where the keys are not plain columns of one table.
func (j *judgement) rowAt(ctx context.Context, args []string, at spot, share float64) (map[string]string, error) {
	t := j.page.scan.Table
	if t == nil {
		return nil, nil
	}
	from := pgx.Identifier{t.Schema, t.Name}.Sanitize()
	if t.Root != "" {
		schema, rel, _ := strings.Cut(t.Root, ".")
		from = pgx.Identifier{schema, rel}.Sanitize()
	}
	var order, where, columns []string
	for i, k := range j.cursor.Keys {
		if k.Key.Expr.Kind != sqltext.Column || t.column(k.Key.Expr.Name) == nil {
			return nil, nil
		}
		columns = append(columns, k.Key.Expr.Name)
		col := pgx.Identifier{k.Key.Expr.Name}.Sanitize()
		where = append(where, col+" IS NOT NULL")
		dir, op := " ASC", " >= "
		if k.Desc {
			dir, op = " DESC", " <= "
		}
		order = append(order, col+dir)
		if i == 0 && at.behind == 0 {
			s, err := j.spreadOf(ctx, j.statsTable(j.catalog, t), k.Key.Expr.Name)
			if err != nil {
				return nil, err
			}
			if v := s.share(share); v != "" {
				where = append(where, col+op+v)
			}
		}
	}
	used, fixed := j.rowColumns(t, args)
	columns, where = append(columns, used...), append(where, fixed...)
	items := make([]string, len(columns))
	for i, c := range columns {
		items[i] = "pg_catalog.quote_literal(" + pgx.Identifier{c}.Sanitize() + "::pg_catalog.text)"
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + from + " WHERE " + strings.Join(where, " AND ") +
		" ORDER BY " + strings.Join(order, ", ") + fmt.Sprintf(" LIMIT 1 OFFSET %d", at.behind)
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

// rowColumns lists the columns of the table that parameters are compared with,
// and the equalities of the page's own scan, with the values of args.
func (j *judgement) rowColumns(t *Table, args []string) (columns, where []string) {
	for _, u := range j.uses {
		if t.column(u.column) == nil || u.node.Relation != t.Name {
			continue
		}
		columns = append(columns, u.column)
		if u.op == "=" && u.node == j.page.scan.Node && !j.isCursorParam(u.param) && u.param <= len(args) {
			where = append(where, pgx.Identifier{u.column}.Sanitize()+" = "+args[u.param-1])
		}
	}
	return columns, where
}
