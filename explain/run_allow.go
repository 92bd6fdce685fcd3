package explain

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// RefusedError says why a statement is not explained.
type RefusedError struct {
	Reason string
	Hint   string // what to do, one line
	// NoQuery says that it is a statement of another kind, in which nothing is a
	// page: no mistake.
	NoQuery bool
}

func (e *RefusedError) Error() string { return "not explained: " + e.Reason }

// mayRun refuses for logins whose EXPLAIN of foreign text could do harm.
func (r *Runner) mayRun(own bool) error {
	if own || r.opts.AsSuperuser {
		return nil
	}
	who := ""
	if r.server.Superuser {
		who = "a superuser"
	} else if len(r.server.Powers) > 0 {
		who = "a member of " + strings.Join(r.server.Powers, ", ")
	}
	if who == "" {
		return nil
	}
	return &RefusedError{
		Reason: fmt.Sprintf("%s is %s and the text is not your own; planning it can run functions it calls", r.server.User, who),
		Hint:   "explain with a login that only reads, or insist with --explain-as-superuser",
	}
}

// explainable returns the part of a statement that may be explained, without row
// locks; the error is a *RefusedError.
func explainable(sql string) (sqltext.Explainable, error) {
	x, err := sqltext.Readable(sql)
	if errors.Is(err, sqltext.ErrTooLong) {
		return x, &RefusedError{
			Reason: fmt.Sprintf("the statement is longer than %d KiB, with its placeholders as $1, $2, …: no longer one is judged", sqltext.MaxStatement>>10),
			Hint:   "give long lists of values as an array parameter: = ANY ($1)",
		}
	}
	if noQuery(sql, err) {
		return x, &RefusedError{Reason: err.Error(), Hint: "nothing to do: it gives no page", NoQuery: true}
	}
	if err != nil {
		return x, &RefusedError{Reason: err.Error(), Hint: "only SELECT, WITH, VALUES and TABLE are explained, and the limited SELECT inside a DELETE or UPDATE"}
	}
	x.SQL = withoutLocks(x.SQL)
	return x, nil
}

// executedPart says what is executed of a statement that is not executed as it
// stands, "" for one that is.
func executedPart(sql string, x sqltext.Explainable) string {
	if x.Inner {
		return "measured is the SELECT inside it alone, not what it writes"
	}
	if readable, err := sqltext.Readable(sql); err == nil && readable.SQL != x.SQL {
		return "measured is the statement without its row locks, which read and write each row of the page once more"
	}
	return ""
}

// withoutLocks blanks FOR UPDATE and its kin: they change no scan, but need
// UPDATE on the table, which a login that only reads has not, and must not be
// executed. Offsets stay as they are.
func withoutLocks(sql string) string {
	tokens := sqltext.Lex(sql)
	var edits []sqltext.Edit
	for i := 0; i < len(tokens); i++ {
		if n := lockWords(sql, tokens[i:]); n > 0 {
			start, end := tokens[i].Start, tokens[i+n-1].End
			edits = append(edits, sqltext.Edit{Start: start, End: end, Text: strings.Repeat(" ", end-start)})
			i += n - 1
		}
	}
	return sqltext.Splice(sql, edits)
}

// lockWords returns how many tokens at the start are a locking clause.
func lockWords(sql string, tokens []sqltext.Token) int {
	n := 0
	eat := func(words ...string) bool {
		for k, w := range words {
			if n+k >= len(tokens) || !tokens[n+k].Is(sql, w) {
				return false
			}
		}
		n += len(words)
		return true
	}
	if !eat("for") || !eat("update") && !eat("share") && !eat("no", "key", "update") && !eat("key", "share") {
		return 0
	}
	if eat("of") {
		for n < len(tokens) && (tokens[n].Kind == sqltext.Word && !tokens[n].Is(sql, "nowait") && !tokens[n].Is(sql, "skip") && !tokens[n].Is(sql, "for") &&
			!tokens[n].Is(sql, "limit") || tokens[n].Kind == sqltext.Quoted || tokens[n].IsPunct(sql, ",") || tokens[n].IsPunct(sql, ".")) {
			n++
		}
	}
	if !eat("nowait") {
		eat("skip", "locked")
	}
	return n
}

// preparedTypes returns the parameter types that PREPARE name (types) AS gives,
// as pg_stat_statements keeps it in front of a statement.
func preparedTypes(sql string) []string {
	if sqltext.FirstKeyword(sql) != "prepare" {
		return nil
	}
	tokens := sqltext.Lex(sql)
	if len(tokens) < 4 || !tokens[2].IsPunct(sql, "(") {
		return nil
	}
	return splitTypes(sql, tokens[3:closing(sql, tokens, 2)])
}

// closing returns the index of the parenthesis that closes the one at open, or
// the last token when none does.
func closing(sql string, tokens []sqltext.Token, open int) int {
	depth := 0
	for i := open; i < len(tokens); i++ {
		if tokens[i].IsPunct(sql, "(") {
			depth++
		} else if tokens[i].IsPunct(sql, ")") {
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(tokens) - 1
}

// splitTypes reads the comma separated type list of PREPARE.
func splitTypes(sql string, tokens []sqltext.Token) []string {
	if len(tokens) == 0 {
		return nil
	}
	var out []string
	start, depth := 0, 0
	for i, t := range tokens {
		switch {
		case t.IsPunct(sql, "("):
			depth++
		case t.IsPunct(sql, ")"):
			depth--
		case t.IsPunct(sql, ",") && depth == 0 && i > start:
			out = append(out, sql[tokens[start].Start:tokens[i-1].End])
			start = i + 1
		}
	}
	if start < len(tokens) {
		out = append(out, sql[tokens[start].Start:tokens[len(tokens)-1].End])
	}
	return out
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "…"
}
