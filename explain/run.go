package explain

import (
	"context"
	_ "embed" // the query
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed sql/server.sql
var serverSQL string

// RunnerOptions say how far a Runner may go. The zero value is the safe choice.
type RunnerOptions struct {
	StatementTimeout time.Duration // 0: 2 s
	LockTimeout      time.Duration // 0: 200 ms
	// AsSuperuser lets a login that could do harm explain text that is not the
	// user's own. Plain EXPLAIN already runs immutable and stable functions, and
	// neither READ ONLY nor ROLLBACK stops all that such a function may do: the
	// login is the fence.
	AsSuperuser bool
}

// Server is what the EXPLAIN session found out about its server and login.
type Server struct {
	VersionNum int
	Database   string
	User       string
	SearchPath string // the login's own
	InRecovery bool
	Superuser  bool
	Powers     []string // roles with dangerous powers that the login is a member of
	HypoPG     bool     // the extension is installed in this database
}

// Major is 14 to 18, …
func (s Server) Major() int { return s.VersionNum / 10000 }

// Runner explains statements over one session of its own, which nothing else
// may use. It is not safe for concurrent use.
type Runner struct {
	conn    *pgx.Conn
	config  *pgx.ConnConfig
	server  Server
	opts    RunnerOptions
	catalog Catalog
	asked   map[string]bool
	spreads map[string]spread
	hypopg  string // quoted schema of the extension
	serial  int    // of the name of prepared statements, while another has the plain one
}

// Open connects with the DSN (as for psql) and looks at what the login may do.
func Open(ctx context.Context, dsn string, o RunnerOptions) (*Runner, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("reading the DSN: %w", err)
	}
	return OpenConfig(ctx, config, o)
}

// OpenConfig is Open for a caller that has a configuration already, with the
// password asked for, say. The configuration is copied.
func OpenConfig(ctx context.Context, config *pgx.ConnConfig, o RunnerOptions) (*Runner, error) {
	if o.StatementTimeout <= 0 {
		o.StatementTimeout = 2 * time.Second
	}
	if o.LockTimeout <= 0 {
		o.LockTimeout = 200 * time.Millisecond
	}
	config = config.Copy()
	config.RuntimeParams["application_name"] = "pgsonde explain"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connecting to explain: %w", err)
	}
	r := &Runner{conn: conn, config: config, opts: o}
	r.Forget()
	if err := r.look(ctx); err != nil {
		_ = conn.Close(ctx)
		return nil, fmt.Errorf("looking at the EXPLAIN session: %w", err)
	}
	return r, nil
}

// look fills in what the session is. Its own search_path may hold schemas of
// others, so that only the first query, which uses no operator, runs under it.
func (r *Runner) look(ctx context.Context) error {
	rows, err := r.fetch(ctx, "SELECT pg_catalog.current_setting('search_path')")
	if err != nil {
		return err
	}
	s := &r.server
	s.SearchPath = string(rows[0][0])
	var schema *string
	err = r.confined(ctx, settings{searchPath: safePath}, func(ctx context.Context) error {
		return r.conn.QueryRow(ctx, serverSQL, pgx.QueryExecModeExec).Scan(
			&s.VersionNum, &s.Database, &s.User, &s.InRecovery, &s.Superuser, &s.Powers, &schema)
	})
	if schema != nil {
		s.HypoPG, r.hypopg = true, pgx.Identifier{*schema}.Sanitize()
	}
	return err
}

// safePath is the search_path of our own queries.
const safePath = "pg_catalog"

// Close ends the session.
func (r *Runner) Close(ctx context.Context) error {
	if r.conn.IsClosed() {
		return nil
	}
	return r.conn.Close(ctx)
}

// reopen connects again after a session was lost or given up, so that one broken
// statement does not end a list of them.
func (r *Runner) reopen(ctx context.Context) error {
	if !r.conn.IsClosed() {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, r.config)
	if err != nil {
		return fmt.Errorf("connecting to explain again: %w", err)
	}
	r.conn = conn
	return nil
}

// Server says what the session is connected to.
func (r *Runner) Server() Server { return r.server }

// settings of one confined transaction, all SET LOCAL.
type settings struct {
	searchPath   string // "": the login's own
	generic      bool   // plan_cache_mode = force_generic_plan, else force_custom_plan unless auto
	auto         bool   // plan_cache_mode = auto
	prove        bool   // constraint_exclusion = on
	keepParts    bool   // enable_partition_pruning = off
	statementDur time.Duration
}

// confined runs f inside BEGIN READ ONLY … ROLLBACK with our timeouts. It leaves
// nothing behind in the session but prepared statements, which f drops itself,
// and closes the session when the rollback does not come through.
func (r *Runner) confined(ctx context.Context, s settings, f func(context.Context) error) (err error) {
	if err := r.reopen(ctx); err != nil {
		return err
	}
	limit := r.opts.StatementTimeout
	if s.statementDur > 0 {
		limit = s.statementDur
	}
	// The client waits a little longer than the server's own limit per statement.
	ctx, cancel := context.WithTimeout(ctx, 20*limit+5*time.Second)
	defer cancel()
	if err := r.send(ctx, "BEGIN READ ONLY"); err != nil {
		return err
	}
	defer func() {
		end, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer stop()
		if r.conn.IsClosed() {
			return
		}
		rollback := r.send(end, "ROLLBACK")
		if rollback == nil { // a function may have taken a session lock, which outlives the transaction
			rollback = r.send(end, "SELECT pg_catalog.pg_advisory_unlock_all()")
		}
		if rollback != nil {
			_ = r.conn.Close(end)
			err = errors.Join(err, rollback)
		}
	}()
	path := s.searchPath
	if path == "" {
		path = r.server.SearchPath
	}
	mode := "force_custom_plan"
	if s.auto {
		mode = "auto"
	}
	if s.generic {
		mode = "force_generic_plan"
	}
	onOff := map[bool]string{true: "on", false: "off"}
	exclusion := "partition"
	if s.prove {
		exclusion = "on"
	}
	err = r.send(ctx, `SELECT pg_catalog.set_config('statement_timeout', $1, true), pg_catalog.set_config('lock_timeout', $2, true),
		pg_catalog.set_config('idle_in_transaction_session_timeout', '5s', true), pg_catalog.set_config('search_path', $3, true),
		pg_catalog.set_config('plan_cache_mode', $4, true), pg_catalog.set_config('constraint_exclusion', $5, true),
		pg_catalog.set_config('enable_partition_pruning', $6, true)`,
		millis(limit), millis(r.opts.LockTimeout), path, mode, exclusion, onOff[!s.keepParts])
	if err != nil {
		return err
	}
	return f(ctx)
}

func millis(d time.Duration) string { return fmt.Sprintf("%dms", max(d.Milliseconds(), 1)) }

// send runs one statement by the extended protocol, which takes no second one,
// and drops what it returns. Arguments are text.
func (r *Runner) send(ctx context.Context, sql string, args ...string) error {
	_, err := r.fetch(ctx, sql, args...)
	return err
}

// fetch is send that returns the rows, all values as text.
func (r *Runner) fetch(ctx context.Context, sql string, args ...string) ([][][]byte, error) {
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	result := r.conn.PgConn().ExecParams(ctx, sql, values, nil, nil, nil).Read()
	return result.Rows, result.Err
}

// prepared runs f with the statement prepared under the name it is given, and
// drops it after. The text goes through PREPARE in SQL, not through the
// protocol's Parse, so that it also works behind a pooler that renames the
// protocol's statements; ExecParams keeps a second statement out. Types name
// parameters whose type the server cannot infer, "" or a missing one leaves it
// to the server.
//
// The name is the same each time, for pg_stat_statements keeps every text of an
// EXPLAIN EXECUTE, and a thousand names would drive out what others look for. A
// savepoint lets a failed statement be dropped in the same transaction, behind a
// pooler too.
func (r *Runner) prepared(ctx context.Context, sql string, types []string, f func(ctx context.Context, name string) error) error {
	name := "pgsonde_explain"
	if r.serial > 0 {
		name += fmt.Sprintf("_%d", r.serial)
	}
	list := ""
	if len(types) > 0 {
		named := make([]string, len(types))
		for i, t := range types {
			if named[i] = t; t == "" {
				named[i] = "unknown"
			}
		}
		list = " (" + strings.Join(named, ", ") + ")"
	}
	if err := r.send(ctx, "PREPARE "+name+list+" AS "+sql); err != nil {
		if isCode(err, "42P05") { // somebody left it behind in a pooler's connection
			r.serial++
		}
		return shifted(err, len("PREPARE "+name+list+" AS "))
	}
	err := r.send(ctx, "SAVEPOINT pgsonde")
	if err == nil {
		err = f(ctx, name)
	}
	if err != nil {
		end, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer stop()
		if r.send(end, "ROLLBACK TO SAVEPOINT pgsonde") == nil {
			_ = r.send(end, "DEALLOCATE "+name)
		}
		return err
	}
	return r.send(ctx, "DEALLOCATE "+name)
}

// isCode reports an error of the server with that SQLSTATE.
func isCode(err error, code string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code
}

// shifted moves the error position of a statement behind a prefix of ours back
// into the statement as the user wrote it.
func shifted(err error, by int) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && int(pg.Position) > by {
		moved := *pg
		moved.Position -= int32(by)
		return &moved
	}
	return err
}

// Closed reports that the session has ended: another Runner has to be opened.
func (r *Runner) Closed() bool { return r.conn.IsClosed() }
