package probes

import (
	"github.com/jackc/pgx/v5"
)

// ConnConfig is how a session of another package reaches the same server with
// the same login, a session that speaks UTF-8 and has no settings of the
// Sampler's. The error is a *ConnectError.
func ConnConfig(o Options) (*pgx.ConnConfig, error) {
	o = o.withDefaults()
	t, err := newTarget(o)
	if err != nil {
		return nil, err
	}
	c, err := pgx.ParseConfig("")
	if err != nil {
		return nil, &ConnectError{Kind: KindConfig, Msg: oneLine(err), Err: err}
	}
	c.Config = *t.cfg.Copy()
	c.RuntimeParams["client_encoding"] = "UTF8"
	return c, nil
}

// Explain makes of a driver's error to connect what Open would have returned.
func Explain(o Options, err error) error {
	t, terr := newTarget(o.withDefaults())
	if terr != nil {
		return terr
	}
	r := t.copy()
	return r.explain(err)
}

// WantsPassword reports whether a connection failed for want of a password.
func WantsPassword(err error) bool {
	code, msg := lastPgError(err)
	return wantsPassword(code, msg)
}
