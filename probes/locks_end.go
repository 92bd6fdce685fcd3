package probes

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// endTimeout is the deadline of a cancel or terminate: one look and one signal.
const endTimeout = 5 * time.Second

// Outcome says what became of a cancel or terminate.
type Outcome string

// Outcomes.
const (
	Sent          Outcome = "sent"          // the signal is out; what it does is for the next readings to tell
	Changed       Outcome = "changed"       // not what the operator saw any more: nothing was sent
	Gone          Outcome = "gone"          // no such backend any more
	NotPermitted  Outcome = "not permitted" // Grant says what is missing
	NotABackend   Outcome = "not a backend" // an auxiliary process, or a prepared transaction
	Refused       Outcome = "refused"       // our own, or one that only Target.Force ends
	NotSent       Outcome = "not sent"      // the connection was lost before
	signalBackend         = "pg_signal_backend"
	readAllStats          = "pg_read_all_stats"
	superuser             = "superuser"
)

// Result is what a cancel or terminate did.
type Result struct {
	Outcome Outcome
	Grant   string // the role that would permit it
	Why     string // one line, "" when Sent
	At      time.Time
}

// String is the result in words, with its reason.
func (r Result) String() string {
	if why := r.Reason(); why != "" {
		return string(r.Outcome) + ": " + why
	}
	return string(r.Outcome)
}

// Reason is Why, with the grant that is missing where that is not said already.
func (r Result) Reason() string {
	switch {
	case r.Grant == "", r.Why != "" && r.Why == WhyMissing(r.Grant):
		return r.Why
	case r.Why == "":
		return "it needs " + r.Grant
	}
	return r.Why + "; it needs " + r.Grant
}

// Cancel asks a backend to abort its statement, if it is still in the same
// statement of the same transaction and, with t.Victim, that one still waits for it.
// Check and signal are one statement on the watch connection. The error is about
// the connection, and means that nobody knows whether the signal was sent;
// everything else is a Result.
func (s *Sampler) Cancel(ctx context.Context, t Target) (Result, error) {
	return s.endBackend(ctx, "locks_cancel", t)
}

// Terminate ends a backend, if it is still the same one in the same transaction
// and, with t.Victim, that one still waits for it. As Cancel otherwise; QueryStart is
// compared when it is set.
func (s *Sampler) Terminate(ctx context.Context, t Target) (Result, error) {
	return s.endBackend(ctx, "locks_terminate", t)
}

func (s *Sampler) endBackend(ctx context.Context, statement string, t Target) (Result, error) {
	switch {
	case t.PID == 0:
		return Result{Outcome: NotABackend, Why: "a prepared transaction: ROLLBACK PREPARED in its database ends it"}, nil
	case slices.Contains(s.ownPIDs(), t.PID):
		return Result{Outcome: Refused, Why: "this is pgsonde itself"}, nil
	case t.BackendStart.IsZero() && !s.hides():
		return Result{Outcome: Changed, Why: "which session it was is not known: it was not read with the locks; look again"}, nil
	}
	force := 0
	if t.Force {
		force = 1
	}
	cancel := statement == "locks_cancel"
	if server, _ := s.Facts(); server.InRecovery && t.Victim != 0 {
		statement += "_standby"
	}
	rows, err := s.Watch(ctx, endTimeout, statement, t.PID, micros(t.BackendStart), micros(t.XactStart), micros(t.QueryStart), t.Victim, force)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42501" {
		return notPermitted(pg), nil
	}
	if err != nil {
		return failed(err)
	}
	r := endResult(rows, t, cancel)
	if r.Outcome == NotPermitted {
		r.lack(NewRights(s.Facts()).Missing(rows.OID(2), true))
	}
	return r, nil
}

// lack names all that is missing, and why where that is told.
func (r *Result) lack(grant string) {
	if r.Grant = grant; WhyMissing(grant) != "" {
		r.Why = WhyMissing(grant)
	}
}

// hides reports whether this login sees other roles' rows masked.
func (s *Sampler) hides() bool {
	server, _ := s.Facts()
	return server.Masked
}

func endResult(rows *Rows, t Target, cancel bool) Result {
	if !rows.Next() {
		return Result{Outcome: Gone, Why: "no backend " + strconv.Itoa(t.PID) + " any more"}
	}
	kind, same, allowed := rows.Text(1), rows.Bool(3), rows.Bool(4)
	r := Result{At: rows.Time(6)}
	switch {
	case rows.Null(1):
		r.Outcome, r.Why = NotPermitted, "its state is hidden from this login: what cannot be checked is not ended"
	case auxiliary(kind):
		r.Outcome, r.Why = NotABackend, "the "+kind+" process cannot be signalled from SQL"
	case !allowed:
		r.Outcome, r.Why = Refused, notForEnding(kind)
	case !same && t.QueryStart.IsZero() && cancel:
		r.Outcome, r.Why = Changed, "the statement to cancel is not known: there is none"
	case !same:
		r.Outcome, r.Why = Changed, "it is another session, transaction or statement by now"
	case rows.Null(5):
		r.Outcome, r.Why = Changed, strconv.Itoa(t.Victim)+" does not wait for it, neither itself nor through others"
	case rows.Bool(5):
		r.Outcome = Sent
	default:
		r.Outcome, r.Why = NotABackend, "the server did not signal it"
	}
	return r
}

// notForEnding says why a backend is ended by force only.
func notForEnding(kind string) string {
	switch {
	case kind == "autovacuum worker":
		return "an anti-wraparound vacuum is not for ending: it starts again at once"
	case kind == "walsender":
		return "a walsender is not for ending: a standby or a subscriber is behind it"
	case strings.HasPrefix(kind, "logical replication"):
		return "a " + kind + " is not for ending: it starts again and waits again"
	}
	return "the " + kind + " is a part of the server, not a client's session"
}

// auxiliary processes are not PostgreSQL backends: the server warns and does
// nothing.
func auxiliary(kind string) bool {
	switch kind {
	case "startup", "checkpointer", "background writer", "walwriter", "archiver", "walreceiver", "walsummarizer", "io worker", "logger":
		return true
	}
	return false
}

// notPermitted names the grant that is missing. 16 and later say it in DETAIL.
func notPermitted(pg *pgconn.PgError) Result {
	r := Result{Outcome: NotPermitted, Grant: signalBackend, Why: pg.Message}
	text := strings.ToLower(pg.Message + " " + pg.Detail)
	switch {
	case strings.Contains(text, "pg_signal_autovacuum_worker"):
		r.Grant = "pg_signal_autovacuum_worker"
	case strings.Contains(text, "superuser"):
		r.lack(superuser) // of a superuser's session, or autovacuum before 18
	}
	return r
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
