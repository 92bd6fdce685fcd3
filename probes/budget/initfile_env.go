package budget

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// InitFromEnv drafts a budget from an environment: lines of KEY=VALUE. Variables
// that differ in their prefix only (API_DB_POOL_SIZE, WORKER_DB_POOL_SIZE) are
// programs of their own, named after it.
func InitFromEnv(name string, env []string) (string, error) {
	vars := envLines(env)
	d := newDeployDraft(name)
	var server serverKnown
	server.readEnv(vars, vars)
	if len(server.sizes) > 0 {
		server.notes = append(server.notes, "GUESS: what POSTGRES… variables say of the server is of the one that is used")
	}
	d.setServer(server)
	prefixes := envPrefixes(vars)
	if len(prefixes) > maxRoles {
		return "", &FileError{File: name, Msg: fmt.Sprintf("variables of more than %d programs; give the environment of one system", maxRoles)}
	}
	d.addDeployed(envServices(vars, prefixes))
	return d.file()
}

// envLines reads lines of KEY=VALUE; names in capitals.
func envLines(lines []string) map[string]string {
	out := map[string]string{}
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if envLine.MatchString(line) {
			k, v, _ := strings.Cut(strings.TrimPrefix(line, "export"), "=")
			out[strings.ToUpper(strings.TrimSpace(k))] = envValue(v)
		}
	}
	return out
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

// envPrefixes are the prefixes of variables that size a pool or name a database.
func envPrefixes(vars map[string]string) []string {
	var prefixes []string
	for _, pools := range []bool{true, false} {
		for _, k := range slices.Sorted(maps.Keys(vars)) {
			p, pool, ok := poolPrefix(k)
			if !ok || p == "" || pool != pools || len(prefixes) > maxRoles || slices.Contains(prefixes, p) {
				continue
			}
			// A prefix of others with a database only says it for all of them.
			if !pools && slices.ContainsFunc(prefixes, func(o string) bool { return strings.HasPrefix(o, p+"_") }) {
				continue
			}
			prefixes = append(prefixes, p)
		}
	}
	slices.Sort(prefixes)
	return prefixes
}

// envServices takes an environment apart into programs: one for each prefix, and
// one for a pool that has no prefix. A variable without any of these prefixes is
// of all.
func envServices(vars map[string]string, prefixes []string) []deployed {
	owned := map[string]map[string]string{}
	for k, v := range vars {
		owner := ownerOf(k, prefixes)
		if owned[owner] == nil {
			owned[owner] = map[string]string{}
		}
		owned[owner][k] = v
	}
	plain := deployed{name: "app", env: map[string]string{}, vars: vars}
	maps.Copy(plain.env, owned[""])
	var out []deployed
	used := map[string]bool{} // and the URLs
	alone := len(prefixes) == 1 && !plain.sizesPool() && (plain.urlKey() == "" || deployed{env: owned[prefixes[0]], vars: vars}.urlKey() == "")
	for _, p := range prefixes {
		w := deployed{name: strings.ToLower(strings.ReplaceAll(p, "_", "-")), prefix: p, env: map[string]string{}, vars: vars}
		maps.Copy(w.env, owned[p])
		for k, v := range owned[""] {
			if alone || !railsKeys.MatchString(k) {
				w.env[k] = v
			}
		}
		w.copies()
		used[w.urlKey()] = true
		for _, k := range w.known().keys {
			used[k] = true
		}
		out = append(out, w)
	}
	rest := plain.known()
	fresh := slices.ContainsFunc(rest.keys, func(k string) bool { return !used[k] })
	// A database that no prefix uses is of a program without one.
	url := plain.urlKey()
	if len(prefixes) == 0 || !alone && (rest.sizes != nil && fresh || url != "" && !used[url]) {
		out = append([]deployed{plain}, out...)
	} else if !alone {
		giveProcesses(out, plain.env)
	}
	return out
}

// giveProcesses gives a number of processes that no prefix claims to all.
func giveProcesses(ws []deployed, env map[string]string) {
	for k, v := range env {
		if k != "WEB_CONCURRENCY" {
			continue
		}
		for i := range ws {
			ws[i].env[k] = v
			ws[i].notes = append(ws[i].notes, "GUESS: "+k+", which has no prefix, is of this one too")
		}
	}
}

// copies reads replicas from a variable of its own.
func (w *deployed) copies() {
	s := w.ownSetting("REPLICAS")
	switch {
	case s.size(0):
		w.sizes = append(w.sizes, sized("replicas", s.n))
		w.notes = append(w.notes, "replicas: "+s.from)
	case s.said():
		w.notes = append(w.notes, s.guess("1 replica is counted"))
	}
}

// ownerOf is the longest of the prefixes that a variable begins with.
func ownerOf(key string, prefixes []string) string {
	best := ""
	for _, p := range prefixes {
		if strings.HasPrefix(key, p+"_") && len(p) > len(best) {
			best = p
		}
	}
	return best
}

// poolEndings end the names of variables that size a pool. Those that are marked
// say it of a database only when the name says so, too.
func poolEndings() []struct {
	text   string
	marked bool
} {
	return []struct {
		text   string
		marked bool
	}{
		{"MAXIMUMPOOLSIZE", false}, // as Spring Boot binds it; with signs between words too
		{"MAXIMUM_POOL_SIZE", false},
		{"MINIMUMIDLE", false},
		{"MINIMUM_IDLE", false},
		{"MAX_OPEN_CONNS", false},
		{"MAX_IDLE_CONNS", false},
		{"MAX_OPEN_CONN", false},
		{"MAX_IDLE_CONN", false},
		{"POOL_MAX_CONNS", false},
		{"POOL_MIN_CONNS", false},
		{"POOL_MAX_SIZE", false},
		{"POOL_MIN_SIZE", false},
		{"MAX_POOL_SIZE", false},
		{"MIN_POOL_SIZE", false},
		{"JDBC_MAX_SIZE", false},
		{"JDBC_MIN_SIZE", false},
		{"MAX_OVERFLOW", false},
		{"POOL_SIZE", false},
		{"PGPOOL_MAX", false},
		{"PGPOOL_MIN", false},
		{"POOL_MAX", true},
		{"POOL_MIN", true},
		{"MAX_CONNECTIONS", true},
		{"MAX_CONNS", true},
		{"POOL", true},
	}
}

// poolKey ends as one of them does, or as what names a database.
var poolKey = regexp.MustCompile(`(?:SIZE|IDLE|CONNS?|CONNECTIONS|OVERFLOW|POOL|POOL_MAX|POOL_MIN|URL|URI|DSN|HOST)$`)

// stackWords stand in names of variables between the program and the size.
func stackWords() []string {
	return append(databaseWords(), "SQLALCHEMY", "SQL", "ALCHEMY", "SPRING", "HIKARI", "RAILS", "DJANGO", "PRISMA", "TYPEORM", "KNEX",
		"SEQUELIZE", "ECTO", "ASYNCPG", "PGX", "QUARKUS", "JDBC", "CONNECTION", "CONN", "ENGINE", "")
}

func databaseWords() []string {
	return []string{"DB", "DATABASE", "DATASOURCE", "POSTGRES", "POSTGRESQL", "PG"}
}

// poolPrefix is API of API_DB_POOL_SIZE and of API_DATABASE_URL; pool says which
// of the two it is. ok is false for other variables.
func poolPrefix(key string) (prefix string, pool, ok bool) {
	if !poolKey.MatchString(key) || otherPools.MatchString(key) || isServerKey(key) {
		return "", false, false
	}
	for _, e := range poolEndings() {
		head, found := strings.CutSuffix("_"+key, "_"+e.text)
		if !found {
			continue
		}
		prefix, database := withoutStack(head)
		if e.marked && !database {
			return "", false, false
		}
		return prefix, true, true
	}
	for _, e := range []string{"URL", "URI", "DSN", "HOST"} {
		if head, found := strings.CutSuffix("_"+key, "_"+e); found {
			prefix, database := withoutStack(head)
			return prefix, false, database
		}
	}
	return "", false, false
}

// withoutStack takes the stack's words off the end of a name, and says whether
// they name a database.
func withoutStack(head string) (prefix string, database bool) {
	words := strings.Split(strings.TrimPrefix(head, "_"), "_")
	for len(words) > 0 && slices.Contains(stackWords(), words[len(words)-1]) {
		database = database || slices.Contains(databaseWords(), words[len(words)-1])
		words = words[:len(words)-1]
	}
	return strings.Join(words, "_"), database
}

// isServerKey: the variable is of PostgreSQL's own image.
func isServerKey(key string) bool {
	if key == tunedConnections {
		return true
	}
	for _, prefix := range []string{"POSTGRESQL_", "POSTGRES_"} {
		for _, x := range serverSettings() {
			if key == prefix+strings.ToUpper(x.postgres) {
				return true
			}
		}
	}
	return false
}
