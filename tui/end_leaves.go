package tui

import (
	"strings"

	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/clean"
)

// leaves says what a statement leaves behind when it is ended, "" nothing: those that
// work CONCURRENTLY commit in between, and what they have committed stays
// (PostgreSQL's reference, CREATE INDEX, REINDEX, DROP INDEX and ALTER TABLE).
func leaves(n *waits.Node) string {
	s := n.Session
	if s == nil || s.State != "active" {
		return ""
	}
	words := strings.Fields(strings.NewReplacer("(", " ", ")", " ", ",", " ").Replace(strings.ToUpper(clean.SQL(uncommented(s.Query), lineBytes))))
	what := ""
	switch {
	case !has(words, "CONCURRENTLY") || len(words) < 3:
	case words[0] == "CREATE" && (words[1] == "INDEX" || words[2] == "INDEX"):
		what = "an INVALID index, which every write still feeds: DROP INDEX it"
	case words[0] == "REINDEX":
		what = "an INVALID index, its name ending in _ccnew or _ccold: DROP INDEX it"
	case words[0] == "DROP" && words[1] == "INDEX":
		what = "the index, INVALID: DROP INDEX it again"
	case words[0] == "ALTER" && has(words, "DETACH"):
		what = "a pending detach: ALTER TABLE … DETACH PARTITION … FINALIZE ends it"
	}
	switch {
	case what == "":
		return ""
	case n.Edge != nil && n.Edge.LockType == "virtualxid": // it waits after a commit of its own
		return "leaves behind " + what
	}
	return "may leave behind " + what
}

func has(words []string, word string) bool {
	for _, w := range words {
		if w == word {
			return true
		}
	}
	return false
}

// uncommented is a statement without the comments before it.
func uncommented(q string) string {
	for {
		q = strings.TrimLeft(q, " \t\r\n;")
		end := "\n"
		if strings.HasPrefix(q, "/*") {
			end = "*/"
		}
		_, rest, ok := strings.Cut(q, end)
		if !strings.HasPrefix(q, "/*") && !strings.HasPrefix(q, "--") || !ok {
			return q
		}
		q = rest
	}
}
