package budget

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// InitFromFile drafts a budget from a deployment description: a compose file,
// Helm values, or an environment file of KEY=VALUE lines. Errors are as Parse's.
func InitFromFile(name string, data []byte) (string, error) {
	data = withoutMark(data)
	if looksLikeEnv(data) {
		return InitFromEnv(name, strings.Split(string(data), "\n"))
	}
	if manifest.Match(data) {
		return "", &FileError{File: name, Line: 1, Msg: "a Kubernetes manifest; give the chart's values, a compose file or an environment"}
	}
	if f, err := Parse(name, data); err == nil && len(f.Roles)+len(f.Poolers) > 0 {
		return "", &FileError{File: name, Msg: "a budget already; give the chart's values, a compose file or an environment"}
	}
	r := &reader{file: name}
	root := r.document(data)
	if root == nil {
		if err := r.err(); err != nil {
			return "", err
		}
		return "", &FileError{File: name, Msg: "nothing in it to draft a budget from"}
	}
	if root.Kind != yaml.MappingNode {
		return "", &FileError{File: name, Line: root.Line, Msg: "neither a compose file nor Helm values"}
	}
	d := newDeployDraft(name)
	if services := child(root, "services"); services != nil && services.Kind == yaml.MappingNode {
		d.compose(services)
	} else {
		d.helm(root)
	}
	return d.file()
}

// manifest is the head of a Kubernetes object.
var manifest = regexp.MustCompile(`(?m)^apiVersion:\s*\S`)

var envLine = regexp.MustCompile(`^(?:export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=`)

// looksLikeEnv: the first line that says something is KEY=VALUE, which begins no
// mapping of YAML. Later ones may be the rest of a value of several lines.
func looksLikeEnv(data []byte) bool {
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return envLine.MatchString(line)
		}
	}
	return false
}

// child is the value of a key of a mapping, nil when there is none.
func child(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		var found *yaml.Node
		for _, e := range pairs(n) {
			if e.key == key {
				found = e.val
			}
		}
		n = found
	}
	return resolve(n)
}

// pairs are the keys of a mapping in its order, those of a merge (<<) first, as
// the mapping's own win over them.
func pairs(n *yaml.Node) []entry {
	n = resolve(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var own, merged []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], resolve(n.Content[i+1])
		switch {
		case k.Tag != "!!merge":
			own = append(own, entry{k.Value, k.Line, v})
		case v.Kind == yaml.SequenceNode:
			for _, m := range slices.Backward(v.Content) { // the first of them wins
				merged = append(merged, pairs(m)...)
			}
		default:
			merged = append(merged, pairs(v)...)
		}
	}
	return append(merged, own...)
}

// word is a scalar's text, "" when it is none.
func word(n *yaml.Node) string {
	if n = resolve(n); n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// words is a scalar's or a list's text in one line.
func words(n *yaml.Node) string {
	var out []string
	for _, item := range list(n) {
		out = append(out, word(item))
	}
	return strings.Join(out, " ")
}

// envOf reads an environment: a mapping, a list of KEY=VALUE, or a list of
// { name, value }.
func envOf(n *yaml.Node, into map[string]string) {
	n = resolve(n)
	if n == nil {
		return
	}
	if n.Kind == yaml.MappingNode {
		for _, e := range pairs(n) {
			// { value: 5 } is how some charts write one
			if v := cmp.Or(word(e.val), word(child(e.val, "value"))); v != "" {
				into[strings.ToUpper(e.key)] = v
			}
		}
		return
	}
	for _, item := range list(n) {
		if k, v, ok := strings.Cut(word(item), "="); ok || word(item) != "" {
			into[strings.ToUpper(k)] = v // a bare KEY is passed on from outside
		} else if name := word(child(item, "name")); name != "" {
			into[strings.ToUpper(name)] = word(child(item, "value"))
		}
	}
}

// interpolation is ${NAME}, ${NAME:-default} or ${NAME-default} of a compose file.
var interpolation = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*(?::?-([^{}]*))?(?::?\?[^{}]*)?\}`)

// filledIn puts the defaults of a value's variables in their place; a variable
// without one is empty.
func filledIn(s string) string { return interpolation.ReplaceAllString(s, "$1") }

// withoutMark is data without the byte order mark that some editors write.
func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }

var maxConnectionsFlag = regexp.MustCompile(`max_connections\s*=\s*['"]?(\d{1,6})\b`)

// compose reads the services of a compose file: poolers and the server first,
// as the others refer to them.
func (d *draft) compose(services *yaml.Node) {
	var ws []deployed
	for _, e := range pairs(services) {
		name, n := e.key, e.val
		image := filledIn(word(child(n, "image")))
		w := deployed{name: name, env: map[string]string{}, command: filledIn(words(child(n, "command")) + " " + words(child(n, "entrypoint")))}
		envOf(child(n, "environment"), w.env)
		switch {
		case strings.Contains(image, "pgbouncer"):
			d.addBouncer(w)
			continue
		case serverImage.MatchString(image):
			d.addServer(w)
			continue
		}
		for _, path := range [][]string{{"deploy", "replicas"}, {"scale"}} {
			if c, err := strconv.Atoi(filledIn(word(child(n, path...)))); err == nil && c >= 0 && c <= maxSize {
				w.sizes = []size{sized("replicas", c)}
			}
		}
		if child(n, "env_file") != nil {
			w.notes = append(w.notes, "its env_file was not read")
		}
		if waitedFor(services, name) {
			w.sizes = append(w.sizes, size{"runs", "job"})
			w.notes = append(w.notes, "others wait for it to complete, so it is a job")
		} else if p := words(child(n, "profiles")); p != "" {
			w.sizes = append(w.sizes, size{"runs", "manual"})
			w.notes = append(w.notes, "GUESS: of profile "+p+", so started by hand")
		}
		ws = append(ws, w)
	}
	if len(d.server) == 0 {
		d.left = append(d.left, "GUESS: the server has PostgreSQL's default of 100 connections")
	}
	d.addDeployed(ws)
	d.dropEmptyPoolers()
}

// waitedFor says that another service starts when this one has completed.
func waitedFor(services *yaml.Node, name string) bool {
	for _, e := range pairs(services) {
		if word(child(e.val, "depends_on", name, "condition")) == "service_completed_successfully" {
			return true
		}
	}
	return false
}

// serverImage finds images of the server itself.
var serverImage = regexp.MustCompile(`(?:^|/)(?:postgres|postgresql|postgis|timescaledb|pgvector)(?:-ha)?(?::|@|$)`)

func (d *draft) addServer(w deployed) {
	if m := maxConnectionsFlag.FindStringSubmatch(w.command); m != nil {
		n, _ := strconv.Atoi(m[1])
		if n > defaultKeepFree && n <= maxSize {
			d.server = []size{sized("max_connections", n)}
		}
	} else if n, _, ok := w.number("POSTGRESQL_MAX_CONNECTIONS", "POSTGRES_MAX_CONNECTIONS"); ok && n > defaultKeepFree {
		d.server = []size{sized("max_connections", n)}
	}
}

// addBouncer reads a PgBouncer by the variables its images take. Its pools are
// known by the URLs of those who use it.
func (d *draft) addBouncer(w deployed) {
	p := draftPooler{name: d.nameOf(w.name), sizes: []size{{"kind", "pgbouncer"}}}
	mode := strings.ToLower(cmp.Or(w.value("POOL_MODE"), w.value("PGBOUNCER_POOL_MODE")))
	if slices.Contains([]string{"session", "transaction", "statement"}, mode) {
		p.sizes = append(p.sizes, size{"mode", mode})
	} else {
		p.notes = append(p.notes, "GUESS: session mode, PgBouncer's default")
	}
	for _, key := range []string{"MAX_CLIENT_CONN", "DEFAULT_POOL_SIZE", "RESERVE_POOL_SIZE", "MIN_POOL_SIZE", "MAX_DB_CONNECTIONS", "MAX_USER_CONNECTIONS"} {
		n, _, ok := w.number(key)
		if !ok || n == 0 {
			continue
		}
		p.sizes = append(p.sizes, sized(strings.ToLower(key), n))
	}
	d.poolers = append(d.poolers, p)
}

// dropEmptyPoolers leaves out poolers whose pools nobody names; a role cannot go
// through them.
func (d *draft) dropEmptyPoolers() {
	for _, p := range d.poolers {
		if len(p.pools) > 0 {
			continue
		}
		d.left = append(d.left, p.name+": a pooler whose database and user no URL names, left out")
		for i := range d.roles {
			d.roles[i].sizes = slices.DeleteFunc(d.roles[i].sizes, func(s size) bool { return s.key == "via" && s.value == quoted(p.name) })
		}
	}
	d.poolers = slices.DeleteFunc(d.poolers, func(p draftPooler) bool { return len(p.pools) == 0 })
}
