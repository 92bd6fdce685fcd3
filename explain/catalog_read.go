package explain

import (
	"context"
	_ "embed" // the queries
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/resolve.sql
var resolveSQL string

//go:embed sql/tables.sql
var tablesSQL string

//go:embed sql/columns.sql
var columnsSQL string

//go:embed sql/indexes.sql
var indexesSQL string

// Load adds to the Runner's catalog the relations (schema, name; "" for a schema
// looks the name up along searchPath) that it does not know yet, with the
// partitioned tables that they are part of, and returns the catalog. A relation
// that is not found is left out, not an error. The catalog is kept for the life
// of the Runner: a long-lived caller calls Forget when tables may have changed.
func (r *Runner) Load(ctx context.Context, searchPath string, names [][2]string) (Catalog, error) {
	var ask, keys []string
	for _, n := range names {
		text := pgx.Identifier{n[1]}.Sanitize()
		if n[0] != "" {
			text = pgx.Identifier{n[0], n[1]}.Sanitize()
		}
		key := text
		if n[0] == "" {
			key = searchPath + "\x00" + text
		}
		if !r.asked[key] {
			r.asked[key] = true
			ask, keys = append(ask, text), append(keys, key)
		}
	}
	if len(ask) == 0 {
		return r.catalog, nil
	}
	err := r.load(ctx, searchPath, ask)
	if err != nil {
		for _, k := range keys {
			delete(r.asked, k)
		}
		return r.catalog, fmt.Errorf("reading the catalog: %w", err)
	}
	return r.catalog, nil
}

func (r *Runner) load(ctx context.Context, searchPath string, names []string) error {
	var found []*int64
	err := r.confined(ctx, settings{searchPath: searchPath}, func(ctx context.Context) error {
		rows, _ := r.conn.Query(ctx, resolveSQL, pgx.QueryExecModeExec, names)
		var err error
		found, err = pgx.CollectRows(rows, pgx.RowTo[*int64])
		return err
	})
	if err != nil {
		return err
	}
	var oids []int64
	for _, oid := range found {
		if oid != nil {
			oids = append(oids, *oid)
		}
	}
	return r.confined(ctx, settings{searchPath: safePath}, func(ctx context.Context) error {
		for len(oids) > 0 {
			roots, err := r.read(ctx, oids)
			if err != nil {
				return err
			}
			oids = roots
		}
		return nil
	})
}

// Forget drops what Load has read.
func (r *Runner) Forget() {
	r.catalog, r.asked, r.spreads = Catalog{}, map[string]bool{}, map[string]spread{}
}

// read reads relations and returns the roots of partitions that are not known yet.
func (r *Runner) read(ctx context.Context, oids []int64) (roots []int64, err error) {
	byOID := map[int64]*Table{}
	rows, _ := r.conn.Query(ctx, tablesSQL, pgx.QueryExecModeExec, oids)
	var rootOID int64
	t := Table{}
	_, err = pgx.ForEachRow(rows, []any{&t.Schema, &t.Name, &t.OID, &t.Kind, &t.Rows, &t.Pages, &t.Root, &rootOID, &t.Inherited}, func() error {
		table := t
		table.Columns = map[string]*Column{}
		byOID[t.OID] = &table
		r.catalog[t.Schema+"."+t.Name] = &table
		if rootOID != t.OID && r.catalog[t.Root] == nil && !slices.Contains(roots, rootOID) {
			roots = append(roots, rootOID)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := r.readColumns(ctx, oids, byOID); err != nil {
		return nil, err
	}
	return roots, r.readIndexes(ctx, oids, byOID)
}

func (r *Runner) readColumns(ctx context.Context, oids []int64, byOID map[int64]*Table) error {
	rows, _ := r.conn.Query(ctx, columnsSQL, pgx.QueryExecModeExec, oids)
	var oid int64
	var c Column
	_, err := pgx.ForEachRow(rows, []any{&oid, &c.Name, &c.Type, &c.Domain, &c.NotNull, &c.NDistinct, &c.NullFrac, &c.TopFreq, &c.Correlation, &c.Width, &c.Number, &c.Collation}, func() error {
		column := c
		byOID[oid].Columns[c.Name] = &column
		c.NDistinct, c.NullFrac, c.TopFreq, c.Correlation = nil, nil, nil, nil
		return nil
	})
	return err
}

func (r *Runner) readIndexes(ctx context.Context, oids []int64, byOID map[int64]*Table) error {
	rows, _ := r.conn.Query(ctx, indexesSQL, pgx.QueryExecModeExec, oids)
	var oid int64
	var i Index
	var texts, columns, collations, opclasses []string
	var descs, nulls []bool
	_, err := pgx.ForEachRow(rows, []any{
		&oid, &i.Name, &i.Method, &i.Unique, &i.Valid, &i.Primary, &i.Predicate, &i.Pages,
		&texts, &columns, &descs, &nulls, &collations, &opclasses,
	}, func() error {
		index := i
		for k := range texts {
			index.Keys = append(index.Keys, IndexKey{
				Text: texts[k], Column: columns[k], Desc: descs[k], NullsFirst: nulls[k],
				Collation: collations[k], OpClass: opclasses[k],
			})
		}
		byOID[oid].Indexes = append(byOID[oid].Indexes, &index)
		return nil
	})
	return err
}
