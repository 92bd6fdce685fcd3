package budget

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// deployed is one workload of a deployment description: its environment (keys
// in capitals) and what surrounds it.
type deployed struct {
	name    string
	env     map[string]string
	command string
	sizes   []size   // replicas, surge, runs
	notes   []string // guesses already made
}

// InitFromEnv drafts a budget from an environment: lines of KEY=VALUE. It is
// one application; its name is the prefix of the variables it was known by.
func InitFromEnv(name string, env []string) (string, error) {
	w := deployed{name: "app", env: map[string]string{}}
	for _, line := range env {
		line = strings.TrimSpace(line)
		if envLine.MatchString(line) {
			k, v, _ := strings.Cut(strings.TrimPrefix(line, "export"), "=")
			w.env[strings.ToUpper(strings.TrimSpace(k))] = envValue(v)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(w.env)) {
		if m := envPrefix.FindStringSubmatch(k); m != nil {
			w.name = strings.ToLower(m[1])
			break
		}
	}
	d := newDeployDraft(name)
	d.addDeployed([]deployed{w})
	return d.file()
}

// envValue is a value as env files write it: in quotes, or up to a comment.
func envValue(v string) string {
	v = strings.TrimSpace(v)
	if v != "" && (v[0] == '"' || v[0] == '\'') {
		if end := strings.IndexByte(v[1:], v[0]); end >= 0 {
			return v[1 : 1+end]
		}
	}
	if at := strings.Index(v, " #"); at >= 0 {
		v = v[:at]
	}
	return strings.Trim(strings.TrimSpace(v), `"'`)
}

// value is a variable with the defaults of a compose file's ${…} filled in.
func (w deployed) value(key string) string { return filledIn(w.env[key]) }

// envPrefix is DSTACK of DSTACK_DB_POOL_SIZE.
var envPrefix = regexp.MustCompile(`^([A-Z0-9]+)_(?:DB|DATABASE|POSTGRES|PG)_(?:POOL_SIZE|MAX_OVERFLOW|MAX_CONNECTIONS|URL|HOST)$`)

func newDeployDraft(name string) *draft {
	return &draft{
		keep: defaultKeepFree,
		head: []string{
			"Drafted by pgsonde from " + name + ".",
			"Every GUESS is a default or a habit, not something the source says: check it.",
		},
	}
}

// addDeployed adds a role for each workload that uses the database. One role
// can be matched by its login; several share one, so they need names.
func (d *draft) addDeployed(ws []deployed) {
	var users []deployed
	for _, w := range ws {
		if w.usesDatabase() {
			users = append(users, w)
		} else {
			d.left = append(d.left, w.name+": no sign of a database connection, left out")
		}
	}
	for _, w := range users {
		r := draftRole{name: d.nameOf(w.name), notes: w.notes}
		k, notes := w.pool()
		r.sizes, r.notes = append(r.sizes, k...), append(r.notes, notes...)
		r.sizes = append(r.sizes, w.sizes...)
		u := w.databaseURL()
		via := ""
		if u != nil && slices.ContainsFunc(d.poolers, func(p draftPooler) bool { return p.name == u.Hostname() }) {
			via = u.Hostname()
			r.sizes = append(r.sizes, size{"via", quoted(via)})
			d.addPool(via, u)
		}
		switch {
		case u != nil && plainASCII(u.Query().Get("application_name")) && u.Query().Get("application_name") != "":
			r.sizes = append(r.sizes, size{"match", quoted(literal(u.Query().Get("application_name")))})
		case len(users) == 1 && via == "" && u != nil && u.User.Username() != "" && plainASCII(u.User.Username()):
			r.sizes = append(r.sizes, size{"match", "{ user: " + quoted(literal(u.User.Username())) + " }"})
		default:
			r.notes = append(r.notes, fmt.Sprintf("GUESS: it sends application_name %q", r.name))
		}
		d.roles = append(d.roles, r)
	}
}

// addPool notes a pool that a role's URL names.
func (d *draft) addPool(pooler string, u *url.URL) {
	db, user := strings.Trim(u.Path, "/"), u.User.Username()
	if db == "" || user == "" {
		return
	}
	for i := range d.poolers {
		if p := &d.poolers[i]; p.name == pooler && !slices.Contains(p.pools, db+"@"+user) {
			p.pools = append(p.pools, db+"@"+user)
		}
	}
}

// databaseURL is the first URL of a PostgreSQL database in the environment.
func (w deployed) databaseURL() *url.URL {
	for _, k := range slices.Sorted(maps.Keys(w.env)) {
		v := strings.TrimPrefix(w.value(k), "jdbc:")
		if scheme, _, ok := strings.Cut(v, "://"); ok && strings.HasPrefix(scheme, "postgres") {
			if u, err := url.Parse(v); err == nil {
				return u
			}
		}
	}
	return nil
}

// dbKeys are variables that say that a program talks to PostgreSQL.
var dbKeys = regexp.MustCompile(`^(?:PGHOST|PGDATABASE|(?:.*_)?(?:DB|DATABASE|POSTGRES|POSTGRESQL)_HOST|(?:.*_)?(?:DB|DATABASE|POSTGRES|POSTGRESQL|PG)_(?:URL|URI|DSN))$`)

// otherDB are values that say that the database is another one: of a host, a
// port, a driver, or a URL.
var otherDB = regexp.MustCompile(`(?i)^(?:3306|1433|27017)$|mysql|maria|mssql|sqlserver|sqlite|mongo|redis|oracle|clickhouse`)

// kindKeys are variables that say which database it is.
var kindKeys = regexp.MustCompile(`^(?:.*_)?(?:DB|DATABASE)_(?:CONNECTION|CLIENT|TYPE|ENGINE|DRIVER|DIALECT|ADAPTER|HOST|PORT)$`)

func (w deployed) usesDatabase() bool {
	if w.databaseURL() != nil {
		return true
	}
	seen := false
	for k, v := range w.env {
		if kindKeys.MatchString(k) && otherDB.MatchString(v) {
			return false
		}
		scheme, _, isURL := strings.Cut(w.value(k), "://")
		seen = seen || dbKeys.MatchString(k) && (!isURL || strings.HasPrefix(scheme, "postgres")) && !otherDB.MatchString(v)
	}
	sizes, _ := w.known()
	return seen || sizes != nil
}

// number is the first variable whose name ends in one of the endings, as a
// whole number.
func (w deployed) number(endings ...string) (n int, from string, ok bool) {
	for _, end := range endings {
		for _, k := range slices.Sorted(maps.Keys(w.env)) {
			if k != end && !strings.HasSuffix(k, "_"+end) || otherPools.MatchString(k) {
				continue
			}
			text := w.value(k)
			if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n >= 0 && n <= maxSize {
				if text != w.env[k] {
					k = "the default of " + k
				}
				return n, k, true
			}
		}
	}
	return 0, "", false
}

// otherPools are of other servers.
var otherPools = regexp.MustCompile(`REDIS|HTTP|MONGO|MYSQL|RABBIT|AMQP|KAFKA|MEMCACHE`)

// known recognises a pool by the variables its stack is configured with; nil
// when there is none.
func (w deployed) known() ([]size, []string) {
	for _, find := range []func(deployed) ([]size, []string){sqlalchemyEnv, railsEnv, plainEnv, urlEnv} {
		if sizes, notes := find(w); sizes != nil {
			return sizes, notes
		}
	}
	return nil, nil
}

func sqlalchemyEnv(w deployed) ([]size, []string) {
	over, overFrom, ok := w.number("MAX_OVERFLOW")
	if !ok {
		return nil, nil
	}
	sizes := []size{{"kind", "sqlalchemy"}}
	notes := []string{"max_overflow: " + overFrom}
	if n, from, ok := w.number("POOL_SIZE"); ok && n > 0 {
		sizes = append(sizes, sized("pool_size", n))
		notes = []string{"pool_size: " + from + ", max_overflow: " + overFrom}
	} else {
		notes = append(notes, "GUESS: pool_size is SQLAlchemy's default 5")
	}
	return append(sizes, sized("max_overflow", over)), notes
}

func railsEnv(w deployed) ([]size, []string) {
	threads, from, ok := w.number("RAILS_MAX_THREADS")
	if !ok || threads == 0 {
		return nil, nil
	}
	pool, notes := threads, []string{"threads: " + from, "GUESS: the pool of database.yml is RAILS_MAX_THREADS, as Rails generates it"}
	if n, at, ok := w.number("DB_POOL", "RAILS_DB_POOL"); ok && n > 0 {
		pool, notes = n, []string{"threads: " + from + ", pool: " + at}
	}
	sizes := []size{{"kind", "rails"}, sized("threads", threads), sized("pool", pool)}
	if n, at, ok := w.number("WEB_CONCURRENCY"); ok && n > 0 {
		sizes, notes = append(sizes, sized("workers", n)), append(notes, "workers: "+at)
	}
	return sizes, notes
}

// plainEnv knows variables that give a maximum, and maybe a minimum.
func plainEnv(w deployed) ([]size, []string) {
	for _, x := range []struct{ kind, max, maxKey, min, minKey string }{
		{"hikari", "max", "MAXIMUM_POOL_SIZE", "min", "MINIMUM_IDLE"},
		{"database/sql", "max_open", "MAX_OPEN_CONNS", "max_idle", "MAX_IDLE_CONNS"},
		{"database/sql", "max_open", "MAX_OPEN_CONN", "max_idle", "MAX_IDLE_CONN"},
		{"pgxpool", "max", "POOL_MAX_CONNS", "min", "POOL_MIN_CONNS"},
		{"celery", "concurrency", "CELERY_CONCURRENCY", "", ""},
		{"celery", "concurrency", "CELERYD_CONCURRENCY", "", ""},
		{"", "max", "POOL_MAX", "min", "POOL_MIN"},
		{"", "max", "POOL_MAX_SIZE", "min", "POOL_MIN_SIZE"},
		{"", "max", "MAX_POOL_SIZE", "min", "MIN_POOL_SIZE"},
		{"", "max", "JDBC_MAX_SIZE", "min", "JDBC_MIN_SIZE"},
		{"", "pool", "DB_MAX_CONNECTIONS", "", ""},
		{"", "pool", "DATABASE_MAX_CONNECTIONS", "", ""},
		{"", "pool", "DB_MAX_CONNS", "", ""},
		{"", "pool", "DATABASE_MAX_CONNS", "", ""},
		{"", "pool", "DB_POOL_SIZE", "", ""},
		{"", "pool", "DATABASE_POOL_SIZE", "", ""},
		{"", "pool", "DB_POOL", "", ""},
		{"", "pool", "POOL_SIZE", "", ""},
	} {
		n, from, ok := w.number(x.maxKey)
		if !ok || n == 0 {
			continue
		}
		var sizes []size
		if x.kind != "" {
			sizes = append(sizes, size{"kind", x.kind})
		}
		sizes = append(sizes, sized(x.max, n))
		notes := []string{x.max + ": " + from}
		if x.max == "pool" {
			notes = append(notes, "GUESS: it opens no more than that; SQLAlchemy would add max_overflow, 10 unless said")
		}
		if lo, at, ok := w.number(x.minKey); ok && x.minKey != "" && lo <= n {
			sizes, notes = append(sizes, sized(x.min, lo)), append(notes, x.min+": "+at)
		}
		return sizes, notes
	}
	return nil, nil
}

// urlEnv knows pool sizes inside connection strings.
func urlEnv(w deployed) ([]size, []string) {
	if u := w.databaseURL(); u != nil {
		for _, x := range []struct{ key, kind, param string }{
			{"connection_limit", "prisma", "connection_limit"}, {"pool_max_conns", "pgxpool", "max"},
		} {
			if n, err := strconv.Atoi(u.Query().Get(x.key)); err == nil && n > 0 && n <= maxSize {
				return []size{{"kind", x.kind}, sized(x.param, n)}, []string{x.param + ": " + x.key + " of its URL"}
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(w.env)) {
		if m := npgsqlMax.FindStringSubmatch(w.value(k)); m != nil {
			return []size{{"kind", "npgsql"}, {"max", m[1]}}, []string{"max: Maximum Pool Size of " + k}
		}
	}
	return nil, nil
}

var npgsqlMax = regexp.MustCompile(`(?i)(?:^|;)\s*max(?:imum)? ?pool ?size\s*=\s*([1-9]\d{0,4})\b`)
