package budget

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// Who is what pg_stat_activity tells about the owner of a session. Empty fields
// are unknown or not set.
type Who struct {
	Kind     string // backend_type or probes.Kind…; "" means a client backend
	App      string // application_name
	User     string
	Database string
	Addr     string // without port; "local" for a Unix socket
}

// Match says which row a session belongs to.
type Match struct {
	Role   string // name of the row
	Origin Origin
	Via    string // pooler between the role and the server
	Also   bool   // by a role's also: a connection outside its pool
}

// Names of rows that no file declares.
const (
	roleOperators = "operators"
	roleSystem    = "system"
	roleUnmatched = "(unmatched)"
	roleStarting  = "(connecting)"
	poolerPrefix  = "pooler "
)

// rule is what a session must be: all given fields must fit.
type rule struct {
	app, user, db *pattern
	addr          netip.Prefix
	addrLocal     bool
	kind          string
	text          string // canonical, to compare rules
}

func (r rule) fits(w Who) bool {
	kind := r.kind
	if kind == "" {
		kind = probes.KindClient
	}
	return w.Kind == kind &&
		(r.app == nil || r.app.fits(w.App)) &&
		(r.user == nil || r.user.fits(w.User)) &&
		(r.db == nil || r.db.fits(w.Database)) &&
		r.fitsAddr(w.Addr)
}

func (r rule) fitsAddr(addr string) bool {
	switch {
	case r.addrLocal:
		return addr == "local"
	case !r.addr.IsValid():
		return true
	}
	a, err := netip.ParseAddr(addr)
	return err == nil && r.addr.Contains(a.Unmap().WithZone(""))
}

// bouncerSuffix is what PgBouncer's application_name_add_host appends:
// " - 10.0.0.7:40564", and " - unix:6432" or "unix(pid)" for sockets.
var bouncerSuffix = regexp.MustCompile(` - (?:[0-9a-fA-F.:\[\]]+:\d+|unix(?:\(\d+\))?(?:@[^ ]*)?:\d+)$`)

// normal strips what hides the name, and reads a row that may be a client as
// one.
func (w Who) normal() Who {
	if loc := bouncerSuffix.FindStringIndex(w.App); loc != nil {
		w.App = w.App[:loc[0]]
	}
	if w.Kind == "" || w.Kind == probes.KindMasked {
		w.Kind = probes.KindClient
	}
	return w
}

// Match finds the row of a session; the first rule that fits wins: the roles'
// own rules in file order, the file's capture pattern, pgsonde's built-in rules
// for tools and systems, the pools of declared poolers, else "(unmatched)". A
// pattern that takes every name as a role leaves tools and systems alone.
// Without a file the role is the application name, else user@database, unless
// a built-in rule fits.
func (f *File) Match(w Who) Match {
	w = w.normal()
	if f == nil {
		if name, ok := builtIn(w); ok {
			return Match{Role: name, Origin: BuiltIn}
		}
		return withoutFile(w)
	}
	for _, p := range f.Poolers {
		if slices.ContainsFunc(p.match, func(r rule) bool { return r.fits(w) }) {
			return Match{Role: p.Name, Origin: Pooler}
		}
	}
	for _, role := range f.Roles {
		if m, ok := f.matchRole(role, w); ok {
			return m
		}
	}
	if name, ok := f.capture.role(w.App); ok && w.Kind == probes.KindClient {
		if role := f.Role(name); role != nil {
			return Match{Role: name, Origin: Declared, Via: role.Via}
		}
		if tool, ok := builtIn(w); ok && name == w.App {
			return Match{Role: tool, Origin: BuiltIn}
		}
		return Match{Role: name, Origin: Captured}
	}
	if name, ok := builtIn(w); ok {
		return Match{Role: name, Origin: BuiltIn}
	}
	for _, p := range f.Poolers {
		if slices.ContainsFunc(p.Pools, func(q Pool) bool { return q.Database == w.Database && q.User == w.User }) {
			return Match{Role: p.Name, Origin: Pooler}
		}
	}
	return Match{Role: roleUnmatched, Origin: Unmatched}
}

// RoleOf names the row whose slot a session takes; "" for a process of the server
// itself that no rule takes.
func (f *File) RoleOf(s probes.Session) string {
	w := Who{Kind: s.Kind, App: s.App, User: s.User, Database: s.Database, Addr: s.Addr}
	m := f.Match(w)
	if m.Origin == Unmatched && w.normal().Kind != probes.KindClient {
		return ""
	}
	return m.Role
}

// matchRole tries the rules of one role. A role without a rule in a file
// without a capture pattern is the application of its name.
func (f *File) matchRole(role *Role, w Who) (Match, bool) {
	fits := func(r rule) bool { return r.fits(w) }
	m := Match{Role: role.Name, Origin: Declared, Via: role.Via}
	switch {
	case slices.ContainsFunc(role.also, fits):
		m.Also = true
		return m, true
	case slices.ContainsFunc(role.match, fits):
		return m, true
	case role.match == nil && f.capture == nil && w.Kind == probes.KindClient && w.App == role.Name:
		return m, true
	}
	return Match{}, false
}

// withoutFile names the row of a session when nothing is declared. Names that a
// driver gives by default say nothing about the application; changing parts of
// a name would make a row of each process.
func withoutFile(w Who) Match {
	app := w.App
	if loc := perProcess.FindStringIndex(app); loc != nil {
		app = strings.TrimSpace(app[:loc[0]])
	}
	m := Match{Role: app, Origin: Captured}
	switch {
	case app != "" && !slices.Contains(driverNames(), app):
	case w.User == "":
		return Match{Role: roleUnmatched, Origin: Unmatched}
	case w.Database == "":
		m.Role = w.User
	default:
		m.Role = w.User + "@" + w.Database
	}
	return m
}

// perProcess finds "-1234" of odoo-1234 and "[3 of 10 busy]" of Sidekiq.
var perProcess = regexp.MustCompile(`(?:-\d+| \[\d+ of \d+ busy\])$`)

// driverNames are application names that drivers send unasked.
func driverNames() []string {
	return []string{"PostgreSQL JDBC Driver", "postgres.js", "vertx-pg-client"}
}
