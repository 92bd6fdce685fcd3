package budget

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
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
	d.setServer(serverOfValues(root, shared))
	h := helmReader{d: d, shared: shared, parts: map[*yaml.Node]bool{}}
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

// serverOfValues looks for the limits in what configures the server.
func serverOfValues(root *yaml.Node, shared map[string]string) serverKnown {
	var k serverKnown
	k.readEnv(shared, nil)
	var look func(at *yaml.Node, depth int)
	look = func(at *yaml.Node, depth int) {
		if at = resolve(at); at == nil || depth > 6 {
			return
		}
		if at.Kind != yaml.MappingNode {
			k.readText(strings.ReplaceAll(words(at), " ", "\n"), false) // a list of flags
			k.readText(words(at), false)
			return
		}
		for _, e := range pairs(at) {
			named := false
			for _, x := range serverSettings() {
				if snake(e.key) == strings.ToUpper(x.postgres) && word(e.val) != "" {
					k.set(x.key, x.postgres, word(e.val))
					named = true
				}
			}
			if !named {
				look(e.val, depth+1)
			}
		}
	}
	for _, key := range []string{"postgresql", "postgresql-ha", "postgres", "cluster"} {
		look(child(root, key), 0)
	}
	return k
}

// anchorHolder is a key that holds what others merge, and is nothing itself.
var anchorHolder = regexp.MustCompile(`^[xX][-_]|^[._]`)

// helmReader collects the workloads of a chart.
type helmReader struct {
	d      *draft
	shared map[string]string
	found  []deployed
	parts  map[*yaml.Node]bool // mappings that are workloads
	inside bool                // what is walked belongs to one
}

// hasPart: a workload is somewhere in n, so that what it says is not its owner's.
func (h *helmReader) hasPart(n *yaml.Node) bool {
	if n = resolve(n); n == nil {
		return false
	}
	return h.parts[n] || slices.ContainsFunc(n.Content, h.hasPart)
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
		case anchorHolder.MatchString(e.key) && depth == 0: // others merge it
		case otherServer.MatchString(e.key), sharedKey.MatchString(e.key) && depth == 0:
		default:
			h.part(e, depth)
		}
	}
}

// part takes e as a workload, after those that are inside it: below one that
// says how often it runs, only what says so too is another.
func (h *helmReader) part(e entry, depth int) {
	at := len(h.found)
	outer := h.inside
	if isWorkload(e.val) {
		h.inside = true
		h.walk(e.val, depth+1)
	}
	h.inside = outer
	if w, ok := h.workload(e.key, e.val); ok {
		h.found, h.parts[resolve(e.val)] = slices.Insert(h.found, at, w), true
	} else {
		h.walk(e.val, depth+1)
	}
}

// isWorkload: it says how often it runs, or when.
func isWorkload(n *yaml.Node) bool {
	return counts(n) || word(child(n, "schedule")) != ""
}

// workload reads one mapping as a workload.
func (h *helmReader) workload(name string, n *yaml.Node) (deployed, bool) {
	w := deployed{name: kebab(name), env: maps.Clone(h.shared), prefix: prefixOf(kebab(name))}
	schedule := word(child(n, "schedule"))
	own := map[string]string{}
	for _, e := range pairs(n) {
		if v := word(e.val); v != "" {
			own[snake(e.key)] = v
		} else if !h.hasPart(e.val) && !isWorkload(e.val) && !otherServer.MatchString(e.key) && (isWorkload(n) || ownKey.MatchString(e.key)) {
			flattenEnv(e.val, e.key, own, 0)
		}
	}
	maps.Copy(w.env, own)
	w.command = words(child(n, "command")) + " " + words(child(n, "args"))
	mine := deployed{env: own, command: w.command}
	hook := hookName.MatchString(name) && strings.TrimSpace(w.command) != ""
	if !isWorkload(n) && !hook && (h.inside || mine.known().sizes == nil) {
		return deployed{}, false
	}
	if !mine.usesDatabase() && w.usesDatabase() {
		w.notes = append(w.notes, "GUESS: it uses the database that the chart configures for all")
	}
	switch {
	case schedule != "":
		w.notes = append(w.notes, "by schedule "+schedule)
		w.asJob(n)
	case !counts(n) && hookName.MatchString(name):
		w.notes = append(w.notes, "GUESS: by its name a job that comes and goes")
		w.asJob(n)
	default:
		w.helmReplicas(n)
	}
	for _, key := range []string{"enabled", "suspend"} {
		if on, ok := truth(word(child(n, key))); ok && on == (key == "suspend") {
			w.sizes = append(slices.DeleteFunc(w.sizes, func(s size) bool { return s.key != "replicas" }), size{"runs", "off"})
			w.notes = append(w.notes, key+": "+word(child(n, key)))
		}
	}
	return w, true
}

// hookName is how jobs without a schedule are named.
var hookName = regexp.MustCompile(`(?i)migrat|hook|^(?:pre|post)-?(?:install|upgrade)|seed|backfill|job$`)

// counts: it says how many replicas it has.
func counts(n *yaml.Node) bool {
	return child(n, "replicaCount") != nil || child(n, "replicas") != nil || autoscaler(n) != nil
}

// autoscaler is what says how many replicas there may be; nil for none.
func autoscaler(n *yaml.Node) *yaml.Node {
	for _, key := range []string{"autoscaling", "hpa", "horizontalPodAutoscaler"} {
		if at := child(n, key); at != nil {
			return at
		}
	}
	return nil
}

// asJob reads how many of a job run at once.
func (w *deployed) asJob(n *yaml.Node) {
	w.job = true
	w.sizes = append(w.sizes, size{"runs", "job"})
	if word(child(n, "concurrencyPolicy")) == "Allow" {
		w.notes = append(w.notes, "GUESS: concurrencyPolicy Allow lets runs overlap without limit; one at a time is counted")
	}
	p, note, ok := counted("parallelism", word(child(n, "parallelism")), nil)
	switch {
	case ok && p > 1:
		w.sizes = append(w.sizes, sized("concurrency", p))
	case note != "":
		w.notes = append(w.notes, note)
	}
}

// helmReplicas reads replicas and surge.
func (w *deployed) helmReplicas(n *yaml.Node) {
	text := cmp.Or(word(child(n, "replicaCount")), word(child(n, "replicas")))
	scaler := autoscaler(n)
	if on, said := truth(word(child(scaler, "enabled"))); on || !said && child(n, "autoscaling") == nil {
		if most := cmp.Or(word(child(scaler, "maxReplicas")), word(child(scaler, "max"))); most != "" {
			text = most
			w.notes = append(w.notes, "replicas: the most that autoscaling may start")
		}
	}
	if c, note, ok := counted("its number of replicas", text, nil); ok {
		w.sizes = append(w.sizes, sized("replicas", c))
	} else if note != "" {
		w.notes = append(w.notes, note)
	}
	if word(child(n, "strategy", "type")) == "Recreate" {
		w.sizes = append(w.sizes, sized("surge", 0))
		return
	}
	for _, path := range [][]string{{"strategy", "rollingUpdate", "maxSurge"}, {"updateStrategy", "rollingUpdate", "maxSurge"}} {
		text := word(child(n, path...))
		if text == "" {
			continue
		}
		if s, err := parseSurge(text, ""); err == nil {
			w.sizes = append(withoutSize(w.sizes, "surge"), size{"surge", quoted(s.String())})
		} else {
			w.notes = append(w.notes, "GUESS: maxSurge is no number; Kubernetes' default 25% is left to stand")
		}
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
