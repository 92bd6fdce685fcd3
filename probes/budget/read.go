package budget

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Bounds of a file: one that is beyond them is a mistake or an attack, never a
// budget.
const (
	maxFileBytes  = 1 << 20
	maxNodes      = 20_000 // with aliases followed
	maxDepth      = 16
	maxFileErrors = 20  // that are shown
	maxRoles      = 500 // and as many scenarios: the work grows with their product
	// maxSize is the largest max_connections PostgreSQL takes (MAX_BACKENDS,
	// 2^18-1); no pool needs more.
	maxSize = 262_143
	// maxClients bounds the client side of a pooler and counts of copies.
	maxClients = 10_000_000
)

// reader walks the YAML tree and collects mistakes instead of stopping at the
// first.
type reader struct {
	file string
	errs FileErrors
}

func (r *reader) errorf(line int, format string, args ...any) {
	r.errs = append(r.errs, &FileError{File: r.file, Line: line, Msg: fmt.Sprintf(format, args...)})
}

// err is all mistakes by line, or nil.
func (r *reader) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	slices.SortStableFunc(r.errs, func(a, b *FileError) int { return a.Line - b.Line })
	return r.errs
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)$`)

// document is the root mapping of data; nil for an empty file or after a
// mistake.
func (r *reader) document(data []byte) *yaml.Node {
	if len(data) > maxFileBytes {
		r.errorf(0, "the file has %d bytes; a budget has at most %d", len(data), maxFileBytes)
		return nil
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		m := yamlLine.FindStringSubmatch(strings.SplitN(err.Error(), "\n", 2)[0])
		line := 1 // the library leaves a first line out
		if m[1] != "" {
			line, _ = strconv.Atoi(m[1])
		}
		if strings.Contains(m[2], "cannot start any token") {
			m[2] = "a tab or another character that cannot stand here; YAML is indented with spaces"
		}
		r.errorf(line, "not YAML: %s", m[2])
		return nil
	}
	if err := dec.Decode(&second); err == nil {
		r.errorf(second.Line, "a second document; a budget is one document, one server")
		return nil
	}
	if len(doc.Content) == 0 {
		return nil
	}
	count := 0
	if !r.bounded(doc.Content[0], 0, &count) {
		return nil
	}
	return doc.Content[0]
}

// bounded refuses trees that are too deep or too large once aliases are
// followed, before anything walks them.
func (r *reader) bounded(n *yaml.Node, depth int, count *int) bool {
	*count++
	switch {
	case *count > maxNodes:
		r.errorf(n.Line, "too large: more than %d values once its aliases are followed", maxNodes)
		return false
	case depth > maxDepth:
		r.errorf(n.Line, "nested more than %d deep", maxDepth)
		return false
	case n.Kind == yaml.AliasNode:
		return r.bounded(n.Alias, depth+1, count)
	}
	for _, c := range n.Content {
		if !r.bounded(c, depth+1, count) {
			return false
		}
	}
	return true
}

// entry is one key of a mapping.
type entry struct {
	key  string
	line int
	val  *yaml.Node
}

// resolve follows an alias.
func resolve(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// entries lists the keys of mapping n in file order; those of a merge (<<)
// come in unless the mapping has them itself. what names n in messages.
func (r *reader) entries(n *yaml.Node, what string) []entry {
	n = resolve(n)
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.errorf(n.Line, "%s must be a mapping: { key: value, … }; it is %s", what, shape(n))
		return nil
	}
	var own, merged []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := resolve(n.Content[i]), resolve(n.Content[i+1])
		switch {
		case k.Tag == "!!merge":
			merged = append(merged, r.merged(v, what)...)
		case k.Kind != yaml.ScalarNode:
			r.errorf(k.Line, "a key of %s must be a word", what)
		case slices.ContainsFunc(own, func(e entry) bool { return e.key == k.Value }):
			r.errorf(k.Line, "%q twice in %s", k.Value, what)
		default:
			own = append(own, entry{k.Value, k.Line, v})
		}
	}
	for _, m := range merged {
		if !slices.ContainsFunc(own, func(e entry) bool { return e.key == m.key }) {
			own = append(own, m)
		}
	}
	return own
}

func (r *reader) merged(n *yaml.Node, what string) []entry {
	if n.Kind != yaml.SequenceNode {
		return r.entries(n, what)
	}
	var out []entry
	for _, c := range n.Content {
		out = append(out, r.entries(c, what)...)
	}
	return out
}

func (r *reader) unknown(e entry, what string, known []string) {
	r.unknownOf(e, what, known, known)
}

// unknownOf names the nearest of all names, and lists the first name of each.
func (r *reader) unknownOf(e entry, what string, all, first []string) {
	r.errorf(e.line, "unknown key %q in %s%s%s", e.key, what, nearest(e.key, all), knownList(nearest(e.key, all) != "", first))
}

// What a value must be that is none of it.
const (
	mustBeWord   = "must be a word"
	mustBeNumber = "must be a whole number"
)

// text is the scalar n.
func (r *reader) text(n *yaml.Node, what string) (string, bool) { return r.scalar(n, what, mustBeWord) }

// scalar is the scalar n; must says what it has to be.
func (r *reader) scalar(n *yaml.Node, what, must string) (string, bool) {
	n = resolve(n)
	switch {
	case n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		r.errorf(lineOf(n), "%s %s; it has no value", what, must)
	case n.Kind != yaml.ScalarNode:
		r.errorf(n.Line, "%s %s; it is %s", what, must, shape(n))
	default:
		return n.Value, true
	}
	return "", false
}

// shape is what a value is.
func shape(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	return fmt.Sprintf("%q", n.Value)
}

func lineOf(n *yaml.Node) int {
	if n == nil {
		return 0
	}
	return n.Line
}

// number is the scalar n as a whole number within lo and hi.
func (r *reader) number(n *yaml.Node, what string, lo, hi int) (int, bool) {
	text, ok := r.scalar(n, what, mustBeNumber)
	if !ok {
		return 0, false
	}
	v, err := wholeNumber(text, what, lo, hi)
	if err != nil {
		r.errorf(resolve(n).Line, "%s", err)
		return 0, false
	}
	return v, true
}

// wholeNumber reads text as a whole number within lo and hi; the error is for
// people.
func wholeNumber(text, what string, lo, hi int) (int, error) {
	v, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	switch digits := strings.TrimLeft(text, "+-"); {
	case err == nil && len(digits) > 1 && digits[0] == '0':
		return 0, fmt.Errorf("%s is %q; write it without leading zeros, which some read as octal", what, text)
	case errors.Is(err, strconv.ErrRange), err == nil && v > hi:
		return 0, fmt.Errorf("%s is %s; the most is %d", what, text, hi)
	case err != nil:
		return 0, fmt.Errorf("%s is %q; it must be a whole number", what, text)
	case v < lo:
		return 0, fmt.Errorf("%s is %d; the least is %d", what, v, lo)
	}
	return v, nil
}

// truth reads the YAML 1.1 and 1.2 words for yes and no.
func truth(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "on", "true", "yes":
		return true, true
	case "off", "false", "no":
		return false, true
	}
	return false, false
}

// durationUnits are PostgreSQL's and the usual ones.
func durationUnit(u string) time.Duration {
	switch u {
	case "us":
		return time.Microsecond
	case "ms":
		return time.Millisecond
	case "s", "sec":
		return time.Second
	case "m", "min":
		return time.Minute
	case "h":
		return time.Hour
	case "d":
		return 24 * time.Hour
	}
	return 0
}

var durationText = regexp.MustCompile(`^(\d{1,9}(?:\.\d{1,6})?)\s*([a-z]+)$`)

// duration is the scalar n as a time span with its unit: 300ms, 5s, 10min, 2h.
// A bare 0 is 0, meaning none.
func (r *reader) duration(n *yaml.Node, what string) (time.Duration, bool) {
	s, ok := r.scalar(n, what, "must be a time with its unit: 300ms, 5s, 10min, 2h")
	if !ok {
		return 0, false
	}
	if s == "0" {
		return 0, true
	}
	if d, ok := parseDuration(s); ok {
		return d, true
	}
	r.errorf(resolve(n).Line, "%s is %q; write a time with its unit: 300ms, 5s, 10min, 2h", what, s)
	return 0, false
}

// parseDuration reads a number with its unit.
func parseDuration(s string) (time.Duration, bool) {
	m := durationText.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(m[1], 64)
	d := f * float64(durationUnit(m[2]))
	return time.Duration(d), err == nil && durationUnit(m[2]) > 0 && d < float64(10*365*24*time.Hour)
}
