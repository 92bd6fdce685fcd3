package bouncer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/probes"
)

const hintNotConsole = "the console is the database pgbouncer at PgBouncer's own port (listen_port, usually 6432)"

// hintPassword is for who cannot be asked.
const hintPassword = "its password belongs into ~/.pgpass, PGPASSWORD or the service file (a line for database pgbouncer); the user must be in stats_users"

// connectError says in one line why there is no console, and what to do.
func (c *Console) connectError(err error) error {
	out := &probes.ConnectError{Target: c.Target(), User: c.cfg.User, Err: err}
	var pgErr *pgconn.PgError
	var opErr *net.OpError
	switch {
	case errors.As(err, &pgErr):
		out.Code, out.Msg = pgErr.Code, oneLine(pgErr.Message)
		out.Kind, out.Hint = classify(pgErr, c.cfg)
	case errors.Is(err, context.DeadlineExceeded):
		out.Kind, out.Msg = probes.KindTimeout, fmt.Sprintf("no answer within %v", c.opts.Timeout)
		out.Hint = "is it PgBouncer's port, and does a firewall drop the packets?"
	case errors.Is(err, context.Canceled):
		out.Kind, out.Msg = probes.KindTimeout, "stopped before an answer came"
	case errors.As(err, &opErr):
		out.Kind, out.Msg = probes.KindUnreachable, oneLine(opErr.Err.Error())
		out.Hint = "does PgBouncer run there? its listen_addr, listen_port and unix_socket_dir say where it listens"
	default:
		out.Kind, out.Msg = probes.KindRefused, lastCause(err)
	}
	if out.Hint == "" && c.cfg.Database != consoleName {
		out.Hint = hintNotConsole
	}
	return out
}

// classify reads the console's refusal. PgBouncer sends 08P01 for nearly all of
// them, so the texts tell.
func classify(e *pgconn.PgError, cfg *pgconn.Config) (kind, hint string) {
	msg := strings.ToLower(e.Message)
	has := func(part string) bool { return strings.Contains(msg, part) }
	switch {
	case has("not allowed"):
		return probes.KindAuth, "add " + cfg.User + " to stats_users in pgbouncer.ini and RELOAD; admin_users is more than pgsonde needs"
	case has("no such user"), has("password"), has("auth"), e.Code == "28P01", e.Code == "28000":
		return probes.KindAuth, "the user must be known to PgBouncer (auth_file or auth_query) and be in stats_users"
	case has("no such database"), e.Code == "3D000":
		return probes.KindUnsupported, "not PgBouncer's console: " + hintNotConsole
	case has("unsupported startup parameter"):
		return probes.KindRefused, "the console takes no settings: leave options and the like out of the DSN"
	case has("no more connections allowed"), e.Code == "53300":
		return probes.KindFull, "PgBouncer is at max_client_conn or at its file limit; users of admin_users and stats_users are let in over its Unix socket"
	case has("tls"), has("ssl"):
		return probes.KindTLS, "client_tls_sslmode in pgbouncer.ini says what it wants; sslmode in the DSN what we ask for"
	case has("shutting down"), e.Code == "57P01", e.Code == "57P03":
		return probes.KindStarting, ""
	}
	return probes.KindRefused, ""
}

// wantsPassword tells a login that a password may cure from one that is not
// allowed in at all.
func wantsPassword(e *probes.ConnectError) bool {
	return e.Kind == probes.KindAuth && !strings.Contains(e.Msg, "not allowed")
}

// notConsole is the error of a connection that works and is something else.
func (c *Console) notConsole(version string) error {
	msg := "this is not PgBouncer's console: it answers as server version " + oneLine(version)
	if version == "" {
		msg = "this is not PgBouncer's console: it does not say its version"
	}
	return &probes.ConnectError{
		Kind: probes.KindUnsupported, Target: c.Target(), User: c.cfg.User, Msg: msg, Hint: hintNotConsole,
		Err: errNotConsole,
	}
}

var errNotConsole = errors.New("not PgBouncer's console")

// lastCause is the innermost text of an error: the driver's own prefixes repeat
// the target.
func lastCause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return oneLine(err.Error())
		}
		err = inner
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
