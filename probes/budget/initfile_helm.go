package budget

import (
	"maps"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// helm reads Helm values: a workload is a mapping that says how many replicas it
// has, when it runs, or what its pool is; what stands outside of them (config,
// database, env, global) is of all.
func (d *draft) helm(root *yaml.Node) {
	shared := map[string]string{}
	for _, key := range []string{"global", "config", "database", "db", "postgresql", "postgres", "externalDatabase", "env", "extraEnv"} {
		flattenEnv(child(root, key), key, shared, 0)
	}
	if n, err := strconv.Atoi(shared["POSTGRESQL_MAX_CONNECTIONS"]); err == nil && n > defaultKeepFree && n <= maxSize {
		d.server = []size{sized("max_connections", n)}
	} else if m := maxConnectionsFlag.FindStringSubmatch(word(child(root, "postgresql", "primary", "extendedConfiguration"))); m != nil {
		if n, _ := strconv.Atoi(m[1]); n > defaultKeepFree && n <= maxSize {
			d.server = []size{sized("max_connections", n)}
		}
	}
	if len(d.server) == 0 {
		d.left = append(d.left, "GUESS: the server has PostgreSQL's default of 100 connections")
	}
	var ws []deployed
	if w, ok := helmWorkload("app", root, shared); ok {
		ws = append(ws, w)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		name := root.Content[i].Value
		if name == "postgresql" || name == "postgres" || name == "redis" {
			continue
		}
		if w, ok := helmWorkload(name, resolve(root.Content[i+1]), shared); ok {
			ws = append(ws, w)
		}
	}
	d.addDeployed(ws)
}

// helmWorkload reads one mapping as a workload.
func helmWorkload(name string, n *yaml.Node, shared map[string]string) (deployed, bool) {
	w := deployed{name: kebab(name), env: maps.Clone(shared)}
	replicas := word(child(n, "replicaCount"))
	if replicas == "" {
		replicas = word(child(n, "replicas"))
	}
	schedule := word(child(n, "schedule"))
	own := map[string]string{}
	for _, key := range []string{"env", "extraEnv", "config", "database", "db", "pool"} {
		flattenEnv(child(n, key), key, own, 0)
	}
	for i := 0; n != nil && n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if v := word(n.Content[i+1]); v != "" {
			own[snake(n.Content[i].Value)] = v
		}
	}
	maps.Copy(w.env, own)
	w.command = words(child(n, "command")) + " " + words(child(n, "args"))
	probe := deployed{env: own}
	if sizes, _ := probe.known(); replicas == "" && schedule == "" && sizes == nil {
		return deployed{}, false
	}
	if schedule != "" {
		w.sizes = append(w.sizes, size{"runs", "job"})
		w.notes = append(w.notes, "by schedule "+schedule)
		if policy := word(child(n, "concurrencyPolicy")); policy == "Allow" {
			w.notes = append(w.notes, "GUESS: concurrencyPolicy Allow lets runs overlap without limit; one at a time is counted")
		}
	}
	if on, ok := truth(word(child(n, "enabled"))); ok && !on {
		w.sizes, w.notes = []size{{"runs", "off"}}, append(w.notes, "enabled: false")
	}
	w.helmReplicas(n, replicas)
	return w, true
}

// helmReplicas reads replicas and surge.
func (w *deployed) helmReplicas(n *yaml.Node, replicas string) {
	if on, _ := truth(word(child(n, "autoscaling", "enabled"))); on {
		if most := word(child(n, "autoscaling", "maxReplicas")); most != "" {
			replicas = most
			w.notes = append(w.notes, "replicas: the most that autoscaling may start")
		}
	}
	if c, err := strconv.Atoi(replicas); err == nil && c >= 0 && c <= maxSize {
		w.sizes = append(w.sizes, sized("replicas", c))
	}
	for _, path := range [][]string{{"strategy", "rollingUpdate", "maxSurge"}, {"updateStrategy", "rollingUpdate", "maxSurge"}} {
		text := word(child(n, path...))
		if s, err := parseSurge(text, ""); text != "" && err == nil {
			w.sizes = append(w.sizes, size{"surge", quoted(s.String())})
		}
	}
	if word(child(n, "strategy", "type")) == "Recreate" {
		w.sizes = append(w.sizes, sized("surge", 0))
	}
}

// flattenEnv turns nested values into names as an environment has them:
// database: { poolSize: 5 } is DATABASE_POOL_SIZE. Under env the names stand by
// themselves.
func flattenEnv(n *yaml.Node, prefix string, into map[string]string, depth int) {
	if n = resolve(n); n == nil || depth > 4 {
		return
	}
	if prefix == "env" || prefix == "extraEnv" {
		envOf(n, into)
		return
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := prefix + "_" + n.Content[i].Value
		if v := word(n.Content[i+1]); v != "" {
			into[snake(name)] = v
			continue
		}
		flattenEnv(n.Content[i+1], name, into, depth+1)
	}
}

// snake turns poolSize, pool-size and pool_size into POOL_SIZE.
func snake(s string) string {
	var b strings.Builder
	last := rune(0)
	for _, c := range s {
		if unicode.IsUpper(c) && unicode.IsLower(last) {
			b.WriteByte('_')
		}
		if c == '-' || c == '.' {
			c = '_'
		}
		b.WriteRune(unicode.ToUpper(c))
		last = c
	}
	return b.String()
}

var camel = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// kebab turns checkpointGc into checkpoint-gc.
func kebab(s string) string { return strings.ToLower(camel.ReplaceAllString(s, "$1-$2")) }
