package budget

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// deployed is one workload of a deployment description: its environment (keys
// in capitals) and what surrounds it.
type deployed struct {
	name    string
	env     map[string]string
	vars    map[string]string // what ${NAME} in it stands for
	prefix  string            // of variables that are its own: API of API_DB_POOL_SIZE; "" not known
	command string
	job     bool     // comes and goes
	sizes   []size   // replicas, surge, runs
	notes   []string // guesses already made
}

// value is a variable with the variables in it filled in.
func (w deployed) value(key string) string { return fill(w.env[key], w.vars).text }

// owns: the variable bears the prefix of this workload.
func (w deployed) owns(key string) bool {
	if _, variable, ok := strings.Cut(key, " of "); ok {
		key = variable // a size of a URL
	}
	return w.prefix != "" && strings.HasPrefix(key, w.prefix+"_")
}

// sizesPool: some variable sizes a pool.
func (w deployed) sizesPool() bool {
	for k := range w.env {
		if _, pool, ok := poolPrefix(k); ok && pool {
			return true
		}
	}
	return false
}

// ownPool: a variable of its own prefix sizes a pool; then no other's does.
func (w deployed) ownPool() bool {
	for k := range w.env {
		if _, pool, ok := poolPrefix(k); ok && pool && w.owns(k) {
			return true
		}
	}
	return false
}

// keys are the variables whose names end so: its own first, then those without
// any prefix. One that bears the prefix of another is the last.
func (w deployed) keys(end string) []string {
	var out []string
	for k := range w.env {
		head, ok := strings.CutSuffix("_"+k, "_"+end)
		if !ok || otherPools.MatchString(k) || isServerKey(k) || boundWord.MatchString(head) {
			continue
		}
		out = append(out, k)
	}
	rank := func(k string) int {
		prefix, _, _ := poolPrefix(k)
		switch {
		case w.owns(k):
			return 0
		case k == end:
			return 1
		case prefix == "":
			return 2
		}
		return 3
	}
	slices.SortFunc(out, func(a, b string) int {
		if c := rank(a) - rank(b); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	return out
}

// boundWord before an ending makes it another size: MIN_POOL_SIZE is no POOL_SIZE.
var boundWord = regexp.MustCompile(`_(?:MIN|MAX|MINIMUM|MAXIMUM|THREAD|THREADS|RESERVE)$`)

// setting is what the first variable with one of the endings says.
func (w deployed) setting(endings ...string) setting {
	for _, end := range endings {
		if keys := w.keys(end); len(keys) > 0 {
			return settingOf(keys[0], w.env[keys[0]], w.vars)
		}
	}
	return setting{}
}

// ownSetting is what PREFIX_NAME says.
func (w deployed) ownSetting(names ...string) setting {
	for _, name := range names {
		key := w.prefix + "_" + name
		if text, ok := w.env[key]; ok && w.prefix != "" {
			return settingOf(key, text, w.vars)
		}
	}
	return setting{}
}

// otherPools are of other servers, and of other things than connections.
var otherPools = regexp.MustCompile(`PGBOUNCER|PGCAT|ODYSSEY|REDIS|VALKEY|HTTP|MONGO|MYSQL|MARIA|RABBIT|AMQP|KAFKA|MEMCACHE|CELERY_BROKER|BROKER_POOL|GRPC|LDAP|SMTP|THREAD_POOL`)

// railsKeys are variables of the Rails application alone where there are others.
var railsKeys = regexp.MustCompile(`^(?:RAILS_MAX_THREADS|WEB_CONCURRENCY)$`)

// database is the host, the database and the user that it connects to, by its URL
// or by variables for each; "" what is not said.
func (w deployed) database() (host, db, user string) {
	if u := w.databaseURL(); u != nil {
		return u.Hostname(), strings.Trim(u.Path, "/"), u.User.Username()
	}
	part := func(pg string, endings ...string) string {
		for _, end := range append([]string{pg}, endings...) {
			for _, marked := range []string{"", "DB_", "DATABASE_", "POSTGRES_", "POSTGRESQL_"} {
				if marked == "" && end != pg {
					continue
				}
				for _, k := range w.keys(marked + end) {
					if v := w.value(k); v != "" {
						return v
					}
				}
			}
		}
		return ""
	}
	host, _, _ = strings.Cut(part("PGHOST", "HOST", "HOSTNAME", "SERVER"), ":")
	return host, part("PGDATABASE", "NAME", "DATABASE", "DB"), part("PGUSER", "USER", "USERNAME")
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
	return seen || w.known().sizes != nil
}

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
	names := map[string]int{}
	for _, w := range users {
		names[w.urlName()]++
	}
	d.oneServer(users)
	used := map[string]bool{}
	for _, w := range users {
		d.addUser(w, len(users) == 1, names, used)
	}
	d.unused(ws, used)
}

// addUser adds one role. names counts the application names of URLs.
func (d *draft) addUser(w deployed, only bool, names map[string]int, used map[string]bool) {
	r := draftRole{name: d.nameOf(w.name), notes: w.notes}
	p := w.pool()
	for _, k := range p.keys {
		used[k] = true
	}
	r.sizes, r.notes = slices.Concat(p.sizes, w.sizes), slices.Concat(r.notes, p.notes)
	host, db, user := w.database()
	via := ""
	if slices.ContainsFunc(d.poolers, func(p draftPooler) bool { return p.name == host }) {
		via = host
		r.sizes = append(r.sizes, size{"via", quoted(via)})
		d.addPool(via, db, user)
	}
	name := w.urlName()
	switch {
	case name != "" && names[name] == 1:
		r.sizes = append(r.sizes, size{"match", quoted(literal(name))})
	case name != "":
		r.notes = append(r.notes, fmt.Sprintf("GUESS: it sends application_name %q; its URL gives it one that others have too, and then nothing tells them apart", r.name))
	case only && via == "" && user != "" && plainASCII(user):
		r.sizes = append(r.sizes, size{"match", "{ user: " + quoted(literal(user)) + " }"})
	default:
		r.notes = append(r.notes, fmt.Sprintf("GUESS: it sends application_name %q", r.name))
	}
	d.roles = append(d.roles, r)
}

// addPool notes a pool that a role connects to.
func (d *draft) addPool(pooler, db, user string) {
	if db == "" || user == "" {
		return
	}
	for i := range d.poolers {
		if p := &d.poolers[i]; p.name == pooler && !slices.Contains(p.pools, db+"@"+user) {
			p.pools = append(p.pools, db+"@"+user)
		}
	}
}
