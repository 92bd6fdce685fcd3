package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Limits on what Parse accepts, so that a hostile or broken file costs little.
const (
	MaxBytes = 64 << 20 // of JSON
	maxDepth = 1000     // nested plan nodes
	maxGap   = 4096     // blanks between a brace and its first key
)

// ErrNoPlan is returned for JSON, or text, that holds no plan.
var ErrNoPlan = errors.New("no EXPLAIN (FORMAT JSON) plan found")

// Parse reads the JSON that EXPLAIN prints, what auto_explain logs, or either of
// them as psql shows it (with the heading and the "+" at the ends of lines).
func Parse(text []byte) (*Tree, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("reading plan: %d bytes, more than %d", len(text), MaxBytes)
	}
	text = trim(text)
	if len(text) == 0 {
		return nil, ErrNoPlan
	}
	if err := checkDepth(text); err != nil {
		return nil, err
	}
	var one rawTree
	if text[0] == '[' {
		var many []rawTree
		if err := first(text, &many); err != nil {
			return nil, fmt.Errorf("reading plan: %w", err)
		}
		if len(many) == 0 {
			return nil, ErrNoPlan
		}
		one = many[0]
	} else if err := first(text, &one); err != nil {
		return nil, fmt.Errorf("reading plan: %w", err)
	}
	if one.Plan == nil || one.Plan.NodeType == "" {
		return nil, ErrNoPlan
	}
	t := one.tree()
	exclusive(t.Root)
	return t, nil
}

// checkDepth refuses nesting that no real plan has, before the decoder recurses.
func checkDepth(text []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > 2*maxDepth {
				return fmt.Errorf("reading plan: nested deeper than %d nodes", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// first decodes the first JSON value of a text.
func first(text []byte, into any) error {
	return json.NewDecoder(bytes.NewReader(text)).Decode(into)
}

// trim drops what psql and a log line put before the JSON, and psql's "+" at the
// ends of lines.
func trim(text []byte) []byte {
	start := opening(text)
	if start < 0 {
		return nil
	}
	body := text[start:]
	if !bytes.Contains(body, []byte("+\n")) && !bytes.Contains(body, []byte("+\r\n")) {
		return body
	}
	lines := strings.Split(string(body), "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, " \r")
		lines[i] = strings.TrimRight(strings.TrimSuffix(l, "+"), " ")
	}
	return []byte(strings.Join(lines, "\n"))
}

// opening finds where the JSON starts: at a brace before a key, or an empty pair,
// and at the bracket before that brace, if there is one. A log line's prefix may
// hold brackets too.
func opening(text []byte) int {
	bracket := -1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t', '\r', '\n', '+':
		case '[':
			bracket = i
		case '{':
			rest := bytes.TrimLeft(text[i+1:min(len(text), i+1+maxGap)], " \t\r\n+")
			if len(rest) > 0 && (rest[0] == '"' || rest[0] == '}') {
				if bracket >= 0 {
					return bracket
				}
				return i
			}
			bracket = -1
		default:
			bracket = -1
		}
	}
	return -1
}

// tree turns the decoded JSON into the exported form.
func (r *rawTree) tree() *Tree {
	t := &Tree{
		QueryText: r.QueryText, QueryParameters: r.QueryParameters,
		PlanningMS: r.PlanningTime, ExecutionMS: r.ExecutionTime, JIT: r.JIT != nil,
	}
	for _, g := range r.Triggers {
		t.Triggers = append(t.Triggers, Trigger{Name: g.Name, Relation: g.Relation, MS: g.Time, Calls: g.Calls})
	}
	t.Root = r.Plan.node(nil)
	t.Analyzed = t.Root.Actual != nil
	return t
}
