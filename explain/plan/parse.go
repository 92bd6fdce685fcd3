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
		if err := json.Unmarshal(text, &many); err != nil {
			return nil, fmt.Errorf("reading plan: %w", err)
		}
		if len(many) == 0 {
			return nil, ErrNoPlan
		}
		one = many[0]
	} else if err := json.Unmarshal(text, &one); err != nil {
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

// trim drops what psql and a log line put round the JSON.
func trim(text []byte) []byte {
	start := bytes.IndexAny(text, "[{")
	if start < 0 {
		return nil
	}
	end := bytes.LastIndexAny(text, "]}")
	if end < start {
		return nil
	}
	head, body := text[:start], text[start:end+1]
	if !bytes.Contains(head, []byte("QUERY PLAN")) && !bytes.Contains(body, []byte("+\n")) {
		return body
	}
	lines := strings.Split(string(body), "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, " \r")
		lines[i] = strings.TrimRight(strings.TrimSuffix(l, "+"), " ")
	}
	return []byte(strings.Join(lines, "\n"))
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
