package probes

import (
	"context"
	"fmt"
)

// Diagnosis is what a login can see and do on a server, for the doctor command.
type Diagnosis struct {
	Server Server
	Limits Limits
	Checks []Check
}

// Check is one ability or circumstance. Fix is the exact statement or setting
// that is missing, "" when nothing is or nobody can change it.
type Check struct {
	Name   string // kebab-case, stable
	OK     bool
	Detail string // one line
	Fix    string // one line
}

// goodQuerySize is the track_activity_query_size from which texts of ORMs are
// mostly whole; the server's default is 1024.
const goodQuerySize = 4096

// Diagnose connects once, asks what this login can see and do, and disconnects.
// The error is a *ConnectError when there is no connection.
func Diagnose(ctx context.Context, o Options) (Diagnosis, error) {
	o.Connections = 1
	s, err := Open(ctx, o)
	if err != nil {
		return Diagnosis{}, err
	}
	defer s.Close()
	r, err := s.Watch(ctx, s.opts.Timeout, "doctor")
	if err != nil {
		return Diagnosis{}, fmt.Errorf("asking what the login may do: %w", err)
	}
	if !r.Next() {
		return Diagnosis{}, fmt.Errorf("asking what the login may do: %w", ErrGone)
	}
	d := Diagnosis{}
	d.Server, d.Limits = s.Facts()
	p := patient{
		Server: d.Server, Limits: d.Limits, role: r.Text(0), extension: r.Text(1), available: r.Bool(2), loaded: r.Bool(3),
		querySize: r.Int(4), activities: r.Bool(5), passfile: s.target.passfile, ignored: s.target.ignored,
	}
	for _, check := range []func(patient) Check{
		checkVersion, checkLogin, checkSees, checkSignals, checkReserved, checkStatements, checkTexts, checkPooler, checkRecovery,
		checkEncryption, checkPassfile, checkKeywords,
	} {
		d.Checks = append(d.Checks, check(p))
	}
	return d, nil
}

// patient is all that the checks look at.
type patient struct {
	Server
	Limits
	role                          string // quoted as SQL needs it
	extension                     string // schema of pg_stat_statements, "" not created
	available, loaded, activities bool
	querySize                     int
	passfile                      string
	ignored                       []string
}

func checkVersion(p patient) Check {
	c := Check{Name: "version", OK: true, Detail: "PostgreSQL " + p.Version}
	switch major := p.VersionNum / 10000; {
	case major < 14:
		c.OK, c.Detail = false, c.Detail+": older than 14, read as far as it goes"
	case major > 18:
		c.OK, c.Detail = false, c.Detail+": newer than 18, not tested"
	}
	return c
}

func checkLogin(p patient) Check {
	if !p.Superuser {
		return Check{Name: "login", OK: true, Detail: p.User + " is an ordinary role"}
	}
	return Check{
		Name: "login", Detail: p.User + " is a superuser: more than pgsonde needs, and EXPLAIN of others' queries is refused to it",
		Fix: "create role pgsonde login in role pg_monitor, pg_signal_backend",
	}
}

func checkSees(p patient) Check {
	if !p.Masked {
		return Check{Name: "see-all-sessions", OK: true, Detail: "states, ages, addresses and queries of all roles"}
	}
	return Check{
		Name: "see-all-sessions", Detail: "other roles' states, ages, addresses and queries are hidden; counts are upper bounds",
		Fix: "grant pg_monitor to " + p.role,
	}
}

func checkSignals(p patient) Check {
	if p.CanSignal || p.Superuser {
		return Check{Name: "end-sessions", OK: true, Detail: "cancel and terminate of other roles' sessions, not of superusers'"}
	}
	return Check{
		Name: "end-sessions", Detail: "only sessions of this role can be cancelled or terminated",
		Fix: "grant pg_signal_backend to " + p.role,
	}
}

func checkReserved(p patient) Check {
	c := Check{Name: "reserved-slot"}
	switch {
	case p.Superuser:
		c.OK, c.Detail = true, fmt.Sprintf("%d slots are kept for superusers", p.SuperuserReserved)
	case p.VersionNum < 160000:
		c.Detail = "when the server is full only superusers get in (before 16 no other role can)"
	case p.CanReserved && p.Reserved > 0:
		c.OK, c.Detail = true, fmt.Sprintf("%d slots are kept for pg_use_reserved_connections", p.Reserved)
	case p.Reserved == 0:
		c.Detail = "reserved_connections is 0: when the server is full pgsonde is not let in"
		c.Fix = "alter system set reserved_connections = 2 (then restart), grant pg_use_reserved_connections to " + p.role
	default:
		c.Detail = "when the server is full pgsonde is not let in"
		c.Fix = "grant pg_use_reserved_connections to " + p.role
	}
	return c
}

func checkStatements(p patient) Check {
	c := Check{Name: "statement-statistics"}
	switch {
	case p.loaded && p.extension != "":
		c.OK, c.Detail = true, "pg_stat_statements is there, in schema "+p.extension
	case p.loaded:
		c.Detail, c.Fix = "pg_stat_statements is loaded, but not created in database "+p.Database, "create extension pg_stat_statements"
	case p.available || p.extension != "":
		c.Detail = "pg_stat_statements is not loaded: explain knows only the statements it is given"
		c.Fix = "alter system set shared_preload_libraries = 'pg_stat_statements' (with what is there already; then restart), create extension pg_stat_statements"
	default:
		c.Detail = "pg_stat_statements is not installed on the server (package postgresql-contrib)"
	}
	return c
}

func checkTexts(p patient) Check {
	c := Check{Name: "query-texts", OK: true, Detail: fmt.Sprintf("the server keeps %d bytes of each query", p.querySize)}
	switch {
	case !p.activities:
		c.OK, c.Detail, c.Fix = false, "track_activities is off: states and queries are not kept", "alter system set track_activities = on, select pg_reload_conf()"
	case p.querySize < goodQuerySize:
		c.OK, c.Detail = false, c.Detail+": longer ones are cut"
		c.Fix = fmt.Sprintf("alter system set track_activity_query_size = %d (then restart)", goodQuerySize)
	}
	return c
}

func checkPooler(p patient) Check {
	if !p.Pooled {
		return Check{Name: "direct", OK: true, Detail: "no pooler between pgsonde and the server"}
	}
	return Check{Name: "direct", Detail: "a pooler is in between: pgsonde takes connections of its pool, and is refused when the pool is full", Fix: "connect to the server's own port"}
}

func checkRecovery(p patient) Check {
	switch {
	case p.InRecovery:
		return Check{Name: "role", OK: true, Detail: "a standby"}
	case p.ReadOnly:
		return Check{Name: "role", OK: true, Detail: "a primary, read-only by default for this login"}
	}
	return Check{Name: "role", OK: true, Detail: "a primary"}
}

func checkEncryption(p patient) Check {
	if !p.PlainTCP {
		return Check{Name: "encryption", OK: true, Detail: "TLS, or a connection that does not leave this host"}
	}
	return Check{Name: "encryption", Detail: "the connection goes over the network in plain text", Fix: "ssl = on in postgresql.conf, sslmode=verify-full in the connection string"}
}

func checkPassfile(p patient) Check {
	if p.passfile == "" {
		return Check{Name: "password-file", OK: true, Detail: "nobody else can read it, or there is none"}
	}
	return Check{Name: "password-file", Detail: p.passfile, Fix: "chmod 0600 the password file"}
}

func checkKeywords(p patient) Check {
	if len(p.ignored) == 0 {
		return Check{Name: "connection-string", OK: true, Detail: "every keyword is understood"}
	}
	return Check{Name: "connection-string", OK: true, Detail: fmt.Sprintf("keywords without a meaning here: %v", p.ignored)}
}
