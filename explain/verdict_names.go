package explain

import (
	"regexp"
	"strings"

	"github.com/pgsonde/pgsonde/explain/plan"
)

// spoken writes what is said of the scans with the names of the statement in the
// place of those that the planner made.
func (w *walker) spoken(t *plan.Tree) {
	say := w.namesFor(t)
	for _, s := range w.scans {
		for _, text := range []*string{&s.Why, &s.Key, &s.Bound, &s.apart} {
			*text = say(*text)
		}
		for i := range s.Fixed {
			s.Fixed[i] = say(s.Fixed[i])
		}
	}
}

// Names that the planner makes: outputs of subplans, and columns of what has no
// name in the statement.
var (
	subplanOutput = regexp.MustCompile(`\((?:hashed |rescan )?(?:InitPlan|SubPlan) \d+\)(?:\.col\d+)?`)
	unnamedColumn = regexp.MustCompile(`(?:"\*SELECT\* \d+(?:_\d+)?"|"ANY_subquery(?:_\d+)?"|unnamed_subquery(?:_\d+)?)\.("(?:[^"]|"")*"|\w+)`)
	valuesColumn  = regexp.MustCompile(`"\*VALUES\*(?:_\d+)?"\.("(?:[^"]|"")*"|\w+)`)
	lastNumber    = regexp.MustCompile(`_\d+$`)
)

// namesFor returns what puts the statement's names into a message about a plan.
func (w *walker) namesFor(t *plan.Tree) func(string) string {
	aliases := w.madeAliases(t)
	return func(text string) string {
		for made, name := range aliases {
			if requalified(text, quote(name), "") != text { // both are in it
				text = requalified(text, quote(made), "the other "+quote(name))
				continue
			}
			text = requalified(text, quote(made), quote(name))
		}
		text = subplanOutput.ReplaceAllString(text, "a subquery's result")
		text = unnamedColumn.ReplaceAllString(text, "a subquery's $1")
		return valuesColumn.ReplaceAllString(text, "$1 of the VALUES list")
	}
}

// requalified writes name in the place of the qualifier made.
func requalified(text, made, name string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, made+".")
		if i < 0 {
			return b.String() + text
		}
		b.WriteString(text[:i])
		if before := b.String(); before != "" && isNameByte(before[len(before)-1]) {
			b.WriteString(made)
		} else {
			b.WriteString(name)
		}
		text = text[i+len(made):]
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c == '"' || c == '.' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// madeAliases maps the aliases that the planner numbered, of partitions and
// inherited tables and of what a statement names more than once, to the names they
// are made of: in the statement or, inside a view, of the table.
func (w *walker) madeAliases(t *plan.Tree) map[string]string {
	written, used := map[string]bool{}, map[string]bool{}
	if w.known != nil && w.known.Query != nil {
		for _, b := range w.known.Query.Blocks {
			for _, f := range b.From {
				written[f.Alias] = true
			}
		}
	}
	t.Root.Walk(func(n *plan.Node) bool {
		used[n.Alias] = true
		return true
	})
	var out map[string]string
	t.Root.Walk(func(n *plan.Node) bool {
		if written[n.Alias] {
			return true
		}
		for name, next := n.Alias, ""; ; name = next {
			if next = lastNumber.ReplaceAllString(name, ""); next == name {
				return true
			}
			if written[next] || n.Alias != n.Relation && (used[next] || w.isTable(n, next)) {
				if out == nil {
					out = map[string]string{}
				}
				out[n.Alias] = next
				return true
			}
		}
	})
	return out
}

// renamed maps the columns of a table to the names that the statement's alias for it
// gives them: sample AS s (nr, at). Nil for none.
func (w *walker) renamed(n *plan.Node) map[string]string {
	t := w.catalog.Of(n)
	if t == nil || w.known == nil || w.known.Query == nil {
		return nil
	}
	if root := w.catalog[t.Root]; root != nil { // its columns may stand in another order
		t = root
	}
	var out map[string]string
	for _, b := range w.known.Query.Blocks {
		for _, f := range b.From {
			if len(f.Columns) == 0 || len(f.Name) == 0 || f.Alias != n.Alias && f.Alias != lastNumber.ReplaceAllString(n.Alias, "") {
				continue
			}
			out = map[string]string{}
			for name, c := range t.Columns {
				if c.Number > 0 && c.Number <= len(f.Columns) {
					out[name] = f.Columns[c.Number-1]
				}
			}
		}
	}
	return out
}

// isTable: the name is that of the table that the node reads, or is part of.
func (w *walker) isTable(n *plan.Node, name string) bool {
	if name == n.Relation {
		return true
	}
	t := w.catalog.Of(n)
	return t != nil && strings.HasSuffix(t.Root, "."+name)
}
