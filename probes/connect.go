package probes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// hello is what a new connection says about the server and the login.
type hello struct {
	pid         int
	versionNum  int
	version     string
	inRecovery  bool
	readOnly    bool
	started     time.Time
	user        string
	database    string
	databaseOID uint32
	encoding    string
	superuser   bool
	readsAll    bool
	signals     bool
	reserved    bool
	system      string // system identifier
	pooled      bool
}

// connect makes one connection. It tries again at once, with one thing changed,
// when the answer names that thing: a password, settings that a pooler refuses,
// a role whose own statement_timeout is shorter than our first statement.
func (t *route) connect(ctx context.Context) (*pgconn.PgConn, hello, error) {
	for {
		pg, h, err := t.attempt(ctx)
		if err == nil {
			t.pin(pg)
			return pg, h, nil
		}
		again, aerr := t.adjust(err)
		if !again {
			ce := t.explain(err)
			if aerr != nil {
				ce.Hint = oneLine(aerr)
			}
			return nil, hello{}, ce
		}
	}
}

// adjust changes what the error names; false: nothing can be changed. An error is
// about the asking for a password.
func (t *route) adjust(err error) (bool, error) {
	code, msg := lastPgError(err)
	switch {
	case code == "08P01" && !t.plain && strings.Contains(msg, "startup parameter"):
		t.plain = true
		return true, nil
	case code == "57014" && !t.plain && !t.guarded:
		t.guarded = true
		return true, nil
	case wantsPassword(code, msg) && !t.password && !t.asked && t.opts.Password != nil:
		t.asked = true
		p, perr := t.opts.Password("Password for user " + t.cfg.User + ": ")
		if perr != nil || p == "" {
			return false, perr
		}
		t.cfg = t.cfg.Copy()
		t.cfg.Password = p
		return true, nil
	}
	return false, nil
}

// wantsPassword: PostgreSQL says 28P01; PgBouncer says 08P01 with its own words.
func wantsPassword(code, msg string) bool {
	return code == "28P01" || code == "08P01" && (strings.Contains(msg, "password") || strings.Contains(msg, "SASL"))
}

func (t *route) attempt(ctx context.Context) (*pgconn.PgConn, hello, error) {
	pg, err := pgconn.ConnectConfig(ctx, t.config())
	if err != nil {
		return nil, hello{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.opts.Timeout)
	defer cancel()
	h, err := t.greet(ctx, pg)
	if err != nil {
		closing, stop := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer stop()
		_ = pg.Close(closing)
		return nil, hello{}, err
	}
	return pg, h, nil
}

// greet asks who answers, and then, when no pooler is in between, sets our own
// timeouts for the session.
func (t *route) greet(ctx context.Context, pg *pgconn.PgConn) (hello, error) {
	version := pg.ParameterStatus("server_version")
	if strings.HasSuffix(version, "/bouncer") {
		return hello{}, &ConnectError{
			Kind: KindUnsupported, Target: t.name(), User: t.cfg.User, Msg: "this is PgBouncer's admin console, not a database",
			Hint: "name a database behind it, or use `pgsonde poolers` for the console",
		}
	}
	sql, err := statement("hello", 0)
	if err != nil {
		return hello{}, err
	}
	r, err := simple(ctx, pg, sql)
	if err != nil {
		return hello{}, t.tooOld(version, err)
	}
	if !r.Next() {
		return hello{}, errors.New("the server does not know its own login or database")
	}
	h := hello{
		pid: r.Int(0), versionNum: r.Int(1), version: string(r.Raw(2)), inRecovery: r.Bool(3), readOnly: r.Bool(4),
		started: r.Time(5), databaseOID: r.OID(8), encoding: string(r.Raw(9)),
		superuser: r.Bool(10), readsAll: r.Bool(11), signals: r.Bool(12), reserved: r.Bool(13), system: string(r.Raw(14)),
	}
	h.user, h.database = decodeText(h.encoding, r.Raw(6)), decodeText(h.encoding, r.Raw(7))
	if h.versionNum < 130000 {
		return hello{}, t.tooOld(h.version, nil)
	}
	h.pooled = int(pg.PID()) != h.pid
	if h.pooled {
		t.plain = true
		return h, nil
	}
	if sets := t.settings(h.versionNum); sets != "" {
		if _, err := simple(ctx, pg, sets); err != nil {
			return hello{}, err
		}
	}
	return h, nil
}

// settings are what a direct session still has to be told after the start. It is
// idle between ticks, and must not be ended for that: there may be no second
// chance to get in.
func (t *route) settings(versionNum int) string {
	var sets []string
	if versionNum >= 140000 {
		sets = append(sets, "set idle_session_timeout = 0")
	}
	if t.plain {
		sets = append(sets, "set search_path = ''; set jit = off; set bytea_output = hex")
	}
	if !t.guarded {
		for _, s := range ownTimeouts(t.opts.Timeout) {
			sets = append(sets, "set "+s.key+" = "+s.value)
		}
	}
	return strings.Join(sets, "; ")
}

// tooOld turns the answer of a server that lacks what every probe needs.
func (t *route) tooOld(version string, err error) error {
	var major int
	if _, serr := fmt.Sscanf(version, "%d", &major); serr == nil && major > 0 && major < 13 {
		return &ConnectError{
			Kind: KindUnsupported, Target: t.name(), User: t.cfg.User, Err: err,
			Msg: "server version " + version + " is older than 13", Hint: "pgsonde reads PostgreSQL 14 to 18, and 13 as far as it goes",
		}
	}
	return err
}

// simple runs constant SQL by the simple protocol, and reads the last result.
func simple(ctx context.Context, pg *pgconn.PgConn, sql string) (*Rows, error) {
	results, err := pg.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return &Rows{}, nil
	}
	return &Rows{cells: results[len(results)-1].Rows}, nil
}
