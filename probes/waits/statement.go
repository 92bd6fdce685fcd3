package waits

import (
	"slices"
	"strings"
)

// words are those of a statement in lower case, without comments, constants and
// quoted names, as far as its text goes.
func words(q string) []string {
	var out []string
	for q != "" {
		switch c := q[0]; {
		case strings.HasPrefix(q, "--"):
			q = after(q, 2, "\n")
		case strings.HasPrefix(q, "/*"):
			q = after(q, 2, "*/")
		case c == '\'' || c == '"':
			q = after(q, 1, string(c))
		case letter(c):
			n := 1
			for n < len(q) && (letter(q[n]) || q[n] >= '0' && q[n] <= '9') {
				n++
			}
			out = append(out, strings.ToLower(q[:n]))
			q = q[n:]
		default:
			q = q[1:]
		}
	}
	return out
}

// after is what follows the next end in q, from a place on.
func after(q string, from int, end string) string {
	if i := strings.Index(q[from:], end); i >= 0 {
		return q[from+i+len(end):]
	}
	return ""
}

func letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// about is what a statement that waits for another's transaction, without a row's
// lock, may be after.
type about int

const (
	rowOrKey about = iota // an update, or what cannot be told
	aKey                  // it only inserts
	aRow                  // it writes no key
)

// aboutOf reads a statement's text. Who waits for a row whose holder has gone on to a
// new version waits without the row's lock, as an insert waits for a key; and what
// a function or a prepared statement does is not in the text.
func aboutOf(query string, clipped bool) about {
	inserts, locks, other := false, false, clipped
	for _, w := range words(query) {
		switch w {
		case "insert", "copy":
			inserts = true
		case "delete":
			locks = true
		case "update", "merge", "execute", "call", "share":
			other = true
		}
	}
	switch {
	case other:
		return rowOrKey
	case inserts && !locks:
		return aKey
	case locks && !inserts:
		return aRow
	}
	return rowOrKey
}

// onlyInserts reports whether a statement is an INSERT or a COPY that by its text locks
// no row.
func onlyInserts(query string, clipped bool) bool {
	w := words(query)
	return len(w) > 0 && (w[0] == "insert" || w[0] == "copy") && aboutOf(query, clipped) == aKey
}

// mentions reports whether a statement names a table, in lower case without quotes.
func mentions(query, table string) bool {
	return table != "" && slices.Contains(words(query), index(table))
}

// onlyWrites reports whether a statement is an UPDATE, a DELETE or a MERGE that by its
// text does not lock rows beforehand.
func onlyWrites(query string, clipped bool) bool {
	w := words(query)
	return len(w) > 0 && !clipped && slices.Contains([]string{"update", "delete", "merge"}, w[0]) && !slices.Contains(w, "for")
}
