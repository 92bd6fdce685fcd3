package budget

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// serverSettings are what PostgreSQL calls the sizes of a budget's server, with
// the budget's name and the default of PostgreSQL, which is the budget's too.
func serverSettings() []struct{ postgres, key string } {
	return []struct{ postgres, key string }{
		{"max_connections", "max_connections"},
		{"superuser_reserved_connections", "superuser_reserved"},
		{"reserved_connections", "reserved"},
	}
}

// serverKnown is what is known of a server's limits: numbers by the budget's
// keys, and for what could not be read a comment.
type serverKnown struct {
	sizes map[string]int
	notes []string
}

// serverSetting finds name = value as postgresql.conf, -c and --name write it.
func serverSetting(name string) *regexp.Regexp {
	loose := strings.ReplaceAll(name, "_", "[-_]")
	return regexp.MustCompile(`(?im)(?:^|[\s,;"']|--)` + loose + `['"]?\s*[=:]\s*['"]?([^\s'",;#]+)`)
}

// connectionsFlag is -N 200 of postgres.
var connectionsFlag = regexp.MustCompile(`(?:^|\s)-N\s*(\S+)`)

// readText looks for the limits in a command line or a configuration file; of
// several the last one counts, as PostgreSQL takes it.
func (k *serverKnown) readText(text string, command bool) {
	if command {
		for _, m := range connectionsFlag.FindAllStringSubmatch(text, -1) {
			k.set("max_connections", "max_connections", m[1])
		}
	}
	for _, x := range serverSettings() {
		if !strings.Contains(strings.ToLower(text), "connections") {
			return
		}
		for _, m := range serverSetting(x.postgres).FindAllStringSubmatch(text, -1) {
			k.set(x.key, x.postgres, m[1])
		}
	}
}

// set notes one limit.
func (k *serverKnown) set(key, name, text string) {
	n, err := strconv.Atoi(strings.Trim(text, `"'`))
	lo := 0
	if key == "max_connections" {
		lo = 1
	}
	if err != nil || n < lo || n > maxSize {
		k.notes = append(k.notes, fmt.Sprintf("GUESS: the server's %s is no number that can be read; the default stands for it", name))
		return
	}
	if k.sizes == nil {
		k.sizes = map[string]int{}
	}
	k.sizes[key] = n
}

// setServer takes over what is known of the server, with a comment for each
// default that stands in.
func (d *draft) setServer(k serverKnown) {
	d.serverNotes = append(d.serverNotes, k.notes...)
	total, kept := 100, 3
	if n, ok := k.sizes["max_connections"]; ok {
		total = n
	} else {
		d.serverNotes = append(d.serverNotes, "GUESS: the server has PostgreSQL's default of 100 connections (max_connections), as nothing here says it")
	}
	if n, ok := k.sizes["superuser_reserved"]; ok {
		kept = n
	} else {
		d.serverNotes = append(d.serverNotes, "GUESS: 3 of them are kept for superusers, PostgreSQL's default")
	}
	if kept+k.sizes["reserved"] > total {
		d.serverNotes = append(d.serverNotes, fmt.Sprintf("GUESS: %d kept slots of %d connections cannot be; PostgreSQL's defaults stand for them", kept+k.sizes["reserved"], total))
		return
	}
	for _, x := range serverSettings() {
		if n, ok := k.sizes[x.key]; ok {
			d.server = append(d.server, sized(x.key, n))
		}
	}
	if _, ok := k.sizes["max_connections"]; !ok {
		d.server = append([]size{sized("max_connections", total)}, d.server...)
	}
}

// tunedConnections is max_connections as TimescaleDB's image takes it.
const tunedConnections = "TS_TUNE_MAX_CONNS"

// readEnv looks for the limits in variables that images of PostgreSQL take.
func (k *serverKnown) readEnv(env map[string]string, vars map[string]string) {
	if text, ok := env[tunedConnections]; ok {
		k.set("max_connections", "max_connections", fill(text, vars).text)
	}
	for _, prefix := range []string{"POSTGRESQL_", "POSTGRES_"} {
		for _, x := range serverSettings() {
			key := prefix + strings.ToUpper(x.postgres)
			if text, ok := env[key]; ok {
				k.set(x.key, x.postgres, fill(text, vars).text)
			}
		}
	}
	for _, key := range []string{"POSTGRESQL_EXTRA_FLAGS", "POSTGRES_INITDB_ARGS", "POSTGRES_EXTRA_OPTS", "POSTGRES_ARGS"} {
		k.readText(fill(env[key], vars).text, true)
	}
}
