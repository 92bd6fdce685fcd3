package budget

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// InitFromFile drafts a budget from a deployment description: a compose file,
// Helm values, or an environment file of KEY=VALUE lines. beside reads another
// file by the path that the description gives it, such as an env_file; nil when
// there is none to be had. Errors are as Parse's.
func InitFromFile(name string, data []byte, beside func(path string) ([]byte, error)) (string, error) {
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
	if r.unique(root); len(r.errs) > 0 {
		return "", r.err()
	}
	d := newDeployDraft(name)
	if services := child(root, "services"); services != nil && services.Kind == yaml.MappingNode && !hasParts(services) {
		newCompose(d, services, beside).read()
	} else {
		d.helm(root)
	}
	return d.file()
}

// unique refuses a key that a mapping has twice: one of them would not count.
func (r *reader) unique(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		lines := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if at, ok := lines[k.Value]; ok && k.Kind == yaml.ScalarNode && k.Tag != "!!merge" {
				r.errorf(k.Line, "%q twice in one mapping, first on line %d", k.Value, at)
			} else {
				lines[k.Value] = k.Line
			}
		}
	}
	for _, c := range n.Content {
		r.unique(c)
	}
}

// hasParts: these services are workloads of a chart, not of a compose file.
func hasParts(services *yaml.Node) bool {
	return slices.ContainsFunc(pairs(services), func(e entry) bool { return isWorkload(e.val) })
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

// withoutMark is data without the byte order mark that some editors write.
func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }
