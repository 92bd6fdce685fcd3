package demo

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"

	"golang.org/x/sync/errgroup"
)

const (
	database = "werft"
	observer = "sonde" // whom pgsonde logs in as

	eventRows = 300_000
)

//go:embed roles.sql
var rolesSQL string

//go:embed schema.sql
var schemaSQL string

// seed makes the roles, the database and its tables. Only the two indexes of
// the large table are worth doing at the same time.
func seed(ctx context.Context, s *pgserver.Server, statements bool) error {
	err := onConn(ctx, s, "postgres",
		rolesSQL,
		fmt.Sprintf("ALTER ROLE werft PASSWORD '%[1]s'; ALTER ROLE etl PASSWORD '%[1]s'", s.Password()),
		"CREATE DATABASE "+database+" OWNER werft",
	)
	if err != nil {
		return err
	}
	schema := []string{schemaSQL}
	if statements {
		schema = append(schema, "CREATE EXTENSION pg_stat_statements")
	}
	if err := onConn(ctx, s, database, schema...); err != nil {
		return err
	}
	var g errgroup.Group
	g.Go(func() error {
		return onConn(ctx, s, database, "CREATE INDEX event_created_at_idx ON event (created_at)")
	})
	g.Go(func() error {
		return onConn(ctx, s, database, "CREATE INDEX event_created_at_id_idx ON event (created_at, id)")
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return onConn(ctx, s, database, "VACUUM (FREEZE, ANALYZE)")
}

func onConn(ctx context.Context, s *pgserver.Server, db string, sql ...string) error {
	c, err := s.Open(ctx, pgserver.ConnOptions{Database: db})
	if err != nil {
		return err
	}
	defer c.Close()
	for _, q := range sql {
		if err := c.Exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// eventCreatedAt is created_at of row n, as schema.sql computes it, in text.
func eventCreatedAt(n int) string {
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return first.Add(time.Duration(n/2) * 7 * time.Second).Format("2006-01-02 15:04:05Z07:00")
}
