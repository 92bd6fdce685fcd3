package waits

import (
	"slices"
	"strings"
)

// heads are the first words, in lower case, of the statements of a message, as far as
// its text goes.
func heads(q string) []string {
	var out []string
	for first := true; q != ""; {
		switch c := q[0]; {
		case strings.HasPrefix(q, "--"):
			q = after(q, 2, "\n")
		case strings.HasPrefix(q, "/*"):
			q = after(q, 2, "*/")
		case c == '\'' || c == '"':
			q = after(q, 1, string(c))
		case c == '$':
			q = afterDollar(q)
		case letter(c):
			n := 1
			for n < len(q) && (letter(q[n]) || digit(q[n]) || q[n] == '$') {
				n++
			}
			if first {
				out, first = append(out, strings.ToLower(q[:n])), false
			}
			q = q[n:]
		default:
			first = first || c == ';'
			q = q[1:]
		}
	}
	return out
}

// afterDollar is what follows the constant in dollar quotes, or the parameter, that q
// begins with.
func afterDollar(q string) string {
	n := 1
	for n < len(q) && (letter(q[n]) || digit(q[n])) {
		n++
	}
	if n < len(q) && q[n] == '$' && (n == 1 || letter(q[1])) {
		return after(q, n+1, q[:n+1])
	}
	return q[n:]
}

// what names a queued request by the first word of the statement that waits, or by its
// mode where its message has several that may.
func what(n *Node) string {
	if n == nil || n.Edge == nil {
		return "request"
	}
	mode := n.Edge.Mode.String() + " request"
	if n.Session == nil || masked(n.Session) {
		return mode
	}
	all := heads(n.Session.Query)
	if n.Session.QueryClipped && len(all) > 1 {
		return mode // it may be one that is not seen
	}
	all = slices.DeleteFunc(all, controls)
	if some := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return !definesTables(w) }); len(some) > 0 {
		all = some
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) != 1 {
		return mode
	}
	return strings.ToUpper(all[0])
}

// controls reports whether a statement that begins so never waits for a table.
func controls(word string) bool {
	return slices.Contains([]string{
		"abort", "begin", "commit", "end", "release", "reset", "rollback", "savepoint", "set", "show", "start",
	}, word)
}

// definesTables reports whether a statement that begins so takes strong locks on tables
// as a rule.
func definesTables(word string) bool {
	return slices.Contains([]string{
		"alter", "cluster", "create", "drop", "lock", "refresh", "reindex", "truncate", "vacuum",
	}, word)
}
