package budget

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
// { name, value }. What has a key and no value here has it from outside.
func envOf(n *yaml.Node, into map[string]string) {
	n = resolve(n)
	if n == nil {
		return
	}
	if n.Kind == yaml.MappingNode {
		for _, e := range pairs(n) {
			// { value: 5 } is how some charts write one
			into[strings.ToUpper(e.key)] = cmp.Or(word(e.val), word(child(e.val, "value")))
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
