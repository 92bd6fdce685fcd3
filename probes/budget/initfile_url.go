package budget

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// urlKeys are the variables that hold URLs of PostgreSQL databases: its own
// first, then those without a prefix.
func (w deployed) urlKeys() []string {
	rank := func(k string) int {
		prefix, _, _ := poolPrefix(k)
		switch {
		case w.owns(k):
			return 0
		case prefix == "":
			return 1
		}
		return 2
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(w.env)) {
		if w.urlOf(k) != nil {
			out = append(out, k)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
	return out
}

// urlOf is the URL of a PostgreSQL database that a variable holds; nil for none.
func (w deployed) urlOf(key string) *url.URL {
	v := strings.TrimPrefix(w.value(key), "jdbc:")
	scheme, _, ok := strings.Cut(v, "://")
	if !ok || !strings.HasPrefix(scheme, "postgres") && scheme != "ecto" {
		return nil
	}
	u, err := url.Parse(v)
	if err != nil {
		return nil
	}
	return u
}

// urlKey is the variable with the URL of its database; "" none.
func (w deployed) urlKey() string {
	if keys := w.urlKeys(); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// databaseURL is the URL of its database, nil when the environment has none.
func (w deployed) databaseURL() *url.URL { return w.urlOf(w.urlKey()) }

// dialect: the URL names a driver as SQLAlchemy's do, postgresql+asyncpg.
func (w deployed) dialect() bool {
	u := w.databaseURL()
	return u != nil && strings.Contains(u.Scheme, "+")
}

// urlSize is a size in the query of the database's URL.
func (w deployed) urlSize(name string) setting {
	key := w.urlKey()
	u := w.urlOf(key)
	if u == nil || !u.Query().Has(name) {
		return setting{}
	}
	text := u.Query().Get(name)
	// As it is written, its variables and their defaults can be told.
	if m := regexp.MustCompile(`[?&]` + regexp.QuoteMeta(name) + `=([^&]*)`).FindStringSubmatch(w.env[key]); m != nil {
		text = m[1]
	}
	return settingOf(name+" of "+key, text, w.vars)
}

// urlName is the application name that the database's URL gives; "" none.
func (w deployed) urlName() string {
	u := w.databaseURL()
	if u == nil || !plainASCII(u.Query().Get("application_name")) {
		return ""
	}
	return u.Query().Get("application_name")
}

// oneServer says that databases of several hosts are counted on one server.
func (d *draft) oneServer(users []deployed) {
	var hosts []string
	for _, w := range users {
		host, _, _ := w.database()
		pooler := slices.ContainsFunc(d.poolers, func(p draftPooler) bool { return p.name == host })
		if hostName.MatchString(host) && !pooler && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) > 1 {
		slices.Sort(hosts)
		d.serverNotes = append(d.serverNotes, "GUESS: "+strings.Join(hosts, ", ")+" are one server; what is on another needs a budget of its own")
	}
}

var hostName = regexp.MustCompile(`^[\w.:-]{1,255}$`)
