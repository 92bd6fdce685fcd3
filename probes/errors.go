package probes

import (
	"fmt"
	"time"
)

// Kinds of ConnectError: what a caller may branch on.
const (
	KindConfig      = "config"        // the DSN or the environment cannot be used
	KindUnreachable = "unreachable"   // nobody answers there
	KindAuth        = "auth"          // the server refuses this login
	KindDatabase    = "database"      // no such database, or no right to connect to it
	KindFull        = "full"          // 53300: no slot, or a role's or database's limit
	KindStarting    = "starting up"   // 57P03 and its relatives
	KindTLS         = "tls"           // encryption could not be agreed on
	KindUnsupported = "unsupported"   // an older server, or PgBouncer's own console
	KindRefused     = "refused"       // any other answer of the server
	KindTimeout     = "not answering" // connected or not: no answer in time
)

// ConnectError says why there is no connection. Error is one line: what was
// tried, where, and what came back; Hint is one line about what to do.
type ConnectError struct {
	Kind   string // Kind…
	Target string // host:port/database or socket path, never a password
	User   string
	Code   string // SQLSTATE, "" when the server did not speak
	Msg    string // one line
	Hint   string // one line, "" none
	Err    error
}

// Error is one line without the hint.
func (e *ConnectError) Error() string {
	if e.Kind == KindConfig {
		return "connection settings: " + e.Msg
	}
	return fmt.Sprintf("connecting to %s as %s: %s", e.Target, e.User, e.Msg)
}

// Unwrap gives the driver's error.
func (e *ConnectError) Unwrap() error { return e.Err }

// Unavailable is what Tick returns while no server answers. The Sampler keeps
// trying by itself: the next Tick after RetryIn makes the next attempt.
type Unavailable struct {
	State    string    // "restarting", "starting up", "shutting down", "in recovery", "full", "not answering", "unreachable", "refused"
	Since    time.Time // our clock: the first failure
	Attempts int       // connection attempts since then
	Err      error     // the last one; a *ConnectError when it was an attempt to connect
	RetryIn  time.Duration
}

// Error is one line.
func (e *Unavailable) Error() string {
	return fmt.Sprintf("server %s: %v", e.State, e.Err)
}

// Unwrap gives the last attempt's error.
func (e *Unavailable) Unwrap() error { return e.Err }
