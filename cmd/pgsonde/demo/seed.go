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

//go:embed event.sql
var eventSQL string

// maintenance is the database to connect to while werft is being made.
const maintenance = "template1"

// seed makes the roles, the database and all its tables but event. To rename the
// cluster's own database is 0.2 s faster than to make another.
func seed(ctx context.Context, s *pgserver.Server) error {
	err := onConn(ctx, s, maintenance,
		rolesSQL,
		fmt.Sprintf("ALTER ROLE werft PASSWORD '%[1]s'; ALTER ROLE etl PASSWORD '%[1]s'", s.Password()),
		"ALTER DATABASE postgres RENAME TO "+database,
		"ALTER DATABASE "+database+" OWNER TO werft",
	)
	if err != nil {
		return err
	}
	return onConn(ctx, s, database, schemaSQL)
}

// seedEvents makes the large table, and the view of statements where the server
// has it. The indexes are made at the same time.
func seedEvents(ctx context.Context, s *pgserver.Server, statements bool) error {
	laying := []string{eventSQL, "ALTER TABLE event ALTER id SET NOT NULL, ALTER created_at SET NOT NULL", "ANALYZE event"}
	if statements {
		laying = append(laying, "CREATE EXTENSION pg_stat_statements")
	}
	if err := onConn(ctx, s, database, laying...); err != nil {
		return err
	}
	var g errgroup.Group
	for _, index := range []string{
		"CREATE UNIQUE INDEX event_pkey ON event (id)",
		"CREATE INDEX event_created_at_idx ON event (created_at)",
		"CREATE INDEX event_created_at_id_idx ON event (created_at, id)",
	} {
		g.Go(func() error { return onConn(ctx, s, database, index) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return onConn(ctx, s, database, "ALTER TABLE event ADD PRIMARY KEY USING INDEX event_pkey")
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

// eventCreatedAt is created_at of row n, as event.sql computes it, in text.
func eventCreatedAt(n int) string {
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return first.Add(time.Duration(n/2) * 7 * time.Second).Format("2006-01-02 15:04:05Z07:00")
}
