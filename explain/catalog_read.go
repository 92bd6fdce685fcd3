package explain

import (
	"context"
	_ "embed" // the queries
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/tables.sql
var tablesSQL string

//go:embed sql/columns.sql
var columnsSQL string

//go:embed sql/indexes.sql
var indexesSQL string

// Load adds to the Runner's catalog the relations that it does not know yet and
// returns the catalog. A relation that is not found is left out, not an error.
// The catalog is kept for the life of the Runner: a long-lived caller calls
// Forget when tables may have changed.
func (r *Runner) Load(ctx context.Context, searchPath string, names [][2]string) (Catalog, error) {
	var schemas, rels []string
	for _, n := range names {
		key := n[0] + "." + n[1]
		if n[0] == "" {
			key = searchPath + "\x00" + key
		}
		if !r.asked[key] {
			r.asked[key] = true
			schemas, rels = append(schemas, n[0]), append(rels, n[1])
		}
	}
	if len(rels) == 0 {
		return r.catalog, nil
	}
	err := r.confined(ctx, settings{searchPath: searchPath}, func(ctx context.Context) error {
		return r.read(ctx, schemas, rels)
	})
	if err != nil {
		for k := range r.asked {
			delete(r.asked, k)
		}
		return r.catalog, fmt.Errorf("reading the catalog: %w", err)
	}
	return r.catalog, nil
}

// Forget drops what Load has read.
func (r *Runner) Forget() {
	r.catalog, r.asked, r.spreads = Catalog{}, map[string]bool{}, map[string]spread{}
}

func (r *Runner) read(ctx context.Context, schemas, rels []string) error {
	byOID := map[int64]*Table{}
	roots := map[int64]bool{}
	rows, _ := r.conn.Query(ctx, tablesSQL, pgx.QueryExecModeExec, schemas, rels)
	var askedSchema, askedName string
	var rootOID int64
	t := Table{}
	_, err := pgx.ForEachRow(rows, []any{&askedSchema, &askedName, &t.Schema, &t.Name, &t.OID, &t.Kind, &t.Rows, &t.Pages, &rootOID, &t.Root}, func() error {
		table := t
		table.Columns = map[string]*Column{}
		byOID[t.OID] = &table
		r.catalog[t.Schema+"."+t.Name] = &table
		if rootOID != t.OID {
			roots[rootOID] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	oids := make([]int64, 0, len(byOID))
	for oid := range byOID {
		oids = append(oids, oid)
	}
	if err := r.readColumns(ctx, oids, byOID); err != nil {
		return err
	}
	return r.readIndexes(ctx, oids, byOID)
}

func (r *Runner) readColumns(ctx context.Context, oids []int64, byOID map[int64]*Table) error {
	rows, _ := r.conn.Query(ctx, columnsSQL, pgx.QueryExecModeExec, oids)
	var oid int64
	var c Column
	_, err := pgx.ForEachRow(rows, []any{&oid, &c.Name, &c.Type, &c.NotNull, &c.NDistinct, &c.NullFrac, &c.Width, &c.Collation}, func() error {
		column := c
		byOID[oid].Columns[c.Name] = &column
		c.NDistinct, c.NullFrac = nil, nil
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
