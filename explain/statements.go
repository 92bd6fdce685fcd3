package explain

import (
	"context"
	_ "embed" // the queries
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/statements_where.sql
var statementsWhereSQL string

//go:embed sql/statements.sql
var statementsSQL string

//go:embed sql/statements_hidden.sql
var statementsHiddenSQL string

// ErrNoStatements says that pg_stat_statements is not installed in the database.
var ErrNoStatements = errors.New("pg_stat_statements is not installed in this database")

// Statement is one row of pg_stat_statements.
type Statement struct {
	QueryID      int64   `json:"query_id"`
	SQL          string  `json:"sql"` // constants replaced by $n
	Role         string  `json:"role"`
	Calls        int64   `json:"calls"`
	TotalMS      float64 `json:"total_ms"`
	Rows         int64   `json:"rows"`
	SharedBlocks int64   `json:"shared_blocks"`
	SearchPath   string  `json:"search_path"` // the role's own in this database
}

// Listing is what a login sees of pg_stat_statements.
type Listing struct {
	Statements []Statement
	Hidden     int // statements of other roles whose texts the login may not read

	login string
}

// Grant is the statement that shows the login what is hidden.
func (l Listing) Grant() string {
	return "GRANT pg_read_all_stats TO " + pgx.Identifier{l.login}.Sanitize()
}

// Statements returns the SELECT-like statements (and DELETE and UPDATE, which may
// hold one) of the database that the Runner is connected to, by total time, at
// most limit of them. It needs pg_stat_statements and, for the texts of other
// roles, pg_read_all_stats.
func Statements(ctx context.Context, r *Runner, limit int) (Listing, error) {
	out := Listing{login: r.server.User}
	if err := r.reopen(ctx); err != nil {
		return out, err
	}
	var schema string
	err := r.conn.QueryRow(ctx, statementsWhereSQL, pgx.QueryExecModeExec).Scan(&schema)
	if errors.Is(err, pgx.ErrNoRows) {
		return out, ErrNoStatements
	}
	if err != nil {
		return out, fmt.Errorf("looking for pg_stat_statements: %w", err)
	}
	in := func(sql string) string {
		return strings.Replace(sql, "FROM SCHEMA.", "FROM "+pgx.Identifier{schema}.Sanitize()+".", 1)
	}
	err = r.confined(ctx, settings{searchPath: safePath}, func(ctx context.Context) error {
		if err := r.conn.QueryRow(ctx, in(statementsHiddenSQL), pgx.QueryExecModeExec).Scan(&out.Hidden); err != nil {
			return err
		}
		rows, _ := r.conn.Query(ctx, in(statementsSQL), pgx.QueryExecModeExec, limit)
		var s Statement
		_, err := pgx.ForEachRow(rows, []any{&s.QueryID, &s.SQL, &s.Role, &s.Calls, &s.TotalMS, &s.Rows, &s.SharedBlocks, &s.SearchPath}, func() error {
			s.SearchPath = userPath(s.SearchPath, s.Role)
			out.Statements = append(out.Statements, s)
			return nil
		})
		return err
	})
	if err != nil {
		return Listing{}, fmt.Errorf("reading pg_stat_statements: %w", err)
	}
	return out, nil
}

// userPath puts the role's name in the place of "$user", which would stand for
// the login that explains.
func userPath(path, role string) string {
	return strings.ReplaceAll(path, `"$user"`, pgx.Identifier{role}.Sanitize())
}
