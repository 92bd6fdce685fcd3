package budget

import (
	"cmp"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// helm reads Helm values: a workload is a mapping that says how many replicas it
// has, when it runs, or what its pool is, at any depth; what stands outside of
// them (config, database, env, global) is of all.
func (d *draft) helm(root *yaml.Node) {
	shared := map[string]string{}
	for _, e := range pairs(root) {
		if sharedKey.MatchString(e.key) {
			flattenEnv(e.val, e.key, shared, 0)
		}
	}
	if n := maxConnectionsOf(root, shared); n > 0 {
		d.server = []size{sized("max_connections", n)}
	} else {
		d.left = append(d.left, "GUESS: the server has PostgreSQL's default of 100 connections")
	}
	h := helmReader{d: d, shared: shared}
	h.walk(root, 0)
	// Without parts the values are of one workload; with some, what stands outside
	// of them is of all.
	if w, ok := h.workload("app", root); ok && (isWorkload(root) || len(h.found) == 0) {
		h.found = append([]deployed{w}, h.found...)
	}
	d.addDeployed(h.found)
}

var (
	envKey    = regexp.MustCompile(`^(?:extra|common)?(?:[eE]nv|[eE]nvs|[eE]nvVars|[eE]nvironment|[eE]nvironmentVars|[eE]nvironmentVariables)$`)
	sharedKey = regexp.MustCompile(`^(?:global|common|config|configuration|settings|database|db|postgresql|postgres|externalDatabase|externalPostgresql|(?:extra|common)?(?:[eE]nv|[eE]nvs|[eE]nvVars|[eE]nvironment|[eE]nvironmentVars|[eE]nvironmentVariables))$`)
	// otherServer are parts of a chart that are servers themselves, not users of one.
	otherServer = regexp.MustCompile(`(?i)^(?:postgres(?:ql)?(?:-ha)?|redis.*|valkey|rabbitmq|kafka|zookeeper|nats|memcached|mongo(?:db)?|mysql|mariadb|minio|elasticsearch|opensearch|clickhouse|nginx|ingress|statsd|prometheus|grafana|flower|vault)$`)
)

// maxConnectionsOf looks for max_connections in what configures the server; 0
// when it is not said.
func maxConnectionsOf(root *yaml.Node, shared map[string]string) int {
	n, _ := strconv.Atoi(shared["POSTGRESQL_MAX_CONNECTIONS"])
	var look func(n *yaml.Node, depth int) int
	look = func(at *yaml.Node, depth int) int {
		if m := maxConnectionsFlag.FindStringSubmatch(words(at)); m != nil {
			n, _ := strconv.Atoi(m[1])
			return n
		}
		for _, e := range pairs(at) {
			if snake(e.key) == "MAX_CONNECTIONS" {
				if n, err := strconv.Atoi(word(e.val)); err == nil {
					return n
				}
			}
			if depth < 5 {
				if n := look(e.val, depth+1); n > 0 {
					return n
				}
			}
		}
		return 0
	}
	for _, key := range []string{"postgresql", "postgresql-ha", "postgres", "cluster"} {
		if n == 0 {
			n = look(child(root, key), 0)
		}
	}
	if n <= defaultKeepFree || n > maxSize {
		return 0
	}
	return n
}

// helmReader collects the workloads of a chart.
type helmReader struct {
	d      *draft
	shared map[string]string
	found  []deployed
}

// walk looks for workloads below n, in lists too, whose items have names.
func (h *helmReader) walk(n *yaml.Node, depth int) {
	if depth > 3 {
		return
	}
	kids := pairs(n)
	if n = resolve(n); n != nil && n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			if name := word(child(item, "name")); name != "" {
				kids = append(kids, entry{name, item.Line, resolve(item)})
			}
		}
	}
	for _, e := range kids {
		switch {
		case strings.Contains(strings.ToLower(e.key), "pgbouncer"):
			if on, ok := truth(word(child(e.val, "enabled"))); on || !ok {
				h.d.left = append(h.d.left, e.key+": a pooler, left out: values do not say its databases and users; put it under poolers")
			}
		case otherServer.MatchString(e.key), sharedKey.MatchString(e.key) && depth == 0:
		default:
			if w, ok := h.workload(e.key, e.val); ok {
				h.found = append(h.found, w)
			} else {
				h.walk(e.val, depth+1)
			}
		}
	}
}

// isWorkload: it says how often it runs, or when.
func isWorkload(n *yaml.Node) bool {
	return cmp.Or(word(child(n, "replicaCount")), word(child(n, "replicas")), word(child(n, "schedule"))) != ""
}

// workload reads one mapping as a workload.
func (h *helmReader) workload(name string, n *yaml.Node) (deployed, bool) {
	w := deployed{name: kebab(name), env: maps.Clone(h.shared)}
	replicas := cmp.Or(word(child(n, "replicaCount")), word(child(n, "replicas")))
	schedule := word(child(n, "schedule"))
	own := map[string]string{}
	for _, e := range pairs(n) {
		if v := word(e.val); v != "" {
			own[snake(e.key)] = v
		} else if !isWorkload(e.val) && !otherServer.MatchString(e.key) && (isWorkload(n) || ownKey.MatchString(e.key)) {
			flattenEnv(e.val, e.key, own, 0)
		}
	}
	maps.Copy(w.env, own)
	w.command = words(child(n, "command")) + " " + words(child(n, "args"))
	probe := deployed{env: own}
	if sizes, _ := probe.known(); replicas == "" && schedule == "" && sizes == nil {
		return deployed{}, false
	}
	if !(deployed{env: own}).usesDatabase() && w.usesDatabase() {
		w.notes = append(w.notes, "GUESS: it uses the database that the chart configures for all")
	}
	if schedule != "" {
		w.sizes = append(w.sizes, size{"runs", "job"})
		w.notes = append(w.notes, "by schedule "+schedule)
		if policy := word(child(n, "concurrencyPolicy")); policy == "Allow" {
			w.notes = append(w.notes, "GUESS: concurrencyPolicy Allow lets runs overlap without limit; one at a time is counted")
		}
		if p, err := strconv.Atoi(word(child(n, "parallelism"))); err == nil && p > 1 && p <= maxSize {
			w.sizes = append(w.sizes, sized("concurrency", p))
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

// ownKey are parts of a mapping without replicas that may say its pool.
var ownKey = regexp.MustCompile(`^(?:config|database|db|pool|extra[eE]nv|[eE]nv)$`)

// flattenEnv turns nested values into names as an environment has them:
// database: { poolSize: 5 } is DATABASE_POOL_SIZE. Under env the names stand by
// themselves.
func flattenEnv(n *yaml.Node, prefix string, into map[string]string, depth int) {
	if n = resolve(n); n == nil || depth > 4 {
		return
	}
	if envKey.MatchString(prefix) {
		envOf(n, into)
		return
	}
	for _, e := range pairs(n) {
		name := prefix + "_" + e.key
		if envKey.MatchString(e.key) {
			name = e.key
		}
		if v := word(e.val); v != "" {
			into[snake(name)] = v
			continue
		}
		flattenEnv(e.val, name, into, depth+1)
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
