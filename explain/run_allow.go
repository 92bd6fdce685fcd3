package explain

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// maxSQL is the longest statement that is sent to the server.
const maxSQL = 1 << 20

// RefusedError says why a statement is not explained.
type RefusedError struct {
	Reason string
	Hint   string // what to do, one line
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

// allowed refuses what is not one SELECT, WITH, VALUES or TABLE.
func allowed(sql string) error {
	if len(sql) > maxSQL {
		return &RefusedError{Reason: fmt.Sprintf("the statement is %d bytes long", len(sql)), Hint: fmt.Sprintf("at most %d are sent to the server", maxSQL)}
	}
	tokens := sqltext.Lex(sql)
	first := 0
	for tokens[first].IsPunct(sql, "(") {
		first++
	}
	word := strings.ToLower(tokens[first].Text(sql))
	switch {
	case tokens[first].Kind == sqltext.EOF:
		return &RefusedError{Reason: "there is no statement"}
	case tokens[first].Kind != sqltext.Word || word != "select" && word != "with" && word != "values" && word != "table":
		return &RefusedError{Reason: fmt.Sprintf("it starts with %q", clip(tokens[first].Text(sql), 30)), Hint: "only SELECT, WITH, VALUES and TABLE are explained"}
	}
	for i, t := range tokens {
		switch {
		case t.IsPunct(sql, ";") && tokens[i+1].Kind != sqltext.EOF:
			return &RefusedError{Reason: "there is more than one statement", Hint: "one at a time"}
		case t.Is(sql, "into"):
			return &RefusedError{Reason: "it writes (INTO)", Hint: "only reading statements are explained"}
		}
	}
	return nil
}

// unwrapped is a statement without what stood round it.
type unwrapped struct {
	sql   string
	types []string // of the parameters, when a PREPARE named them
	start int      // where sql begins in the text it came from
	part  bool     // sql is the page that a DELETE or UPDATE selects, not the whole
}

// unwrap takes the statement out of EXPLAIN, PREPARE … AS and DECLARE … FOR, and
// the limited SELECT out of a DELETE or UPDATE, the only part of it that pages.
func unwrap(sql string) unwrapped {
	tokens := sqltext.Lex(sql)
	u := unwrapped{}
	i := 0
	for tokens[i].IsPunct(sql, ";") {
		i++
	}
	if tokens[i].Is(sql, "explain") {
		i++
		if tokens[i].IsPunct(sql, "(") && !opensQuery(sql, tokens, i) {
			i = closing(sql, tokens, i) + 1
		}
		for tokens[i].Is(sql, "analyze") || tokens[i].Is(sql, "verbose") {
			i++
		}
	}
	if tokens[i].Is(sql, "prepare") && i+2 < len(tokens) {
		i += 2
		if tokens[i].IsPunct(sql, "(") {
			end := closing(sql, tokens, i)
			u.types = splitTypes(sql, tokens[i+1:end])
			i = end + 1
		}
		if tokens[min(i, len(tokens)-1)].Is(sql, "as") {
			i++
		}
	} else if tokens[i].Is(sql, "declare") {
		for tokens[i].Kind != sqltext.EOF && !tokens[i].Is(sql, "for") {
			i++
		}
		if tokens[i].Kind != sqltext.EOF {
			i++
		}
	}
	i = min(i, len(tokens)-1)
	end := len(tokens) - 1
	for end > i && tokens[end-1].IsPunct(sql, ";") {
		end--
	}
	u.start = tokens[i].Start
	stop := u.start
	if end > i {
		stop = tokens[end-1].End
	}
	if a, b, ok := limitedPart(sql, tokens[i:end]); ok {
		u.start, stop, u.part = a, b, true
	}
	u.sql = sql[u.start:stop]
	return u
}

// limitedPart finds the first parenthesised SELECT with a LIMIT of its own in a
// statement that contains DELETE or UPDATE outside parentheses.
func limitedPart(sql string, tokens []sqltext.Token) (start, end int, ok bool) {
	dml, depth := false, 0
	for i, t := range tokens {
		switch {
		case t.IsPunct(sql, "("):
			depth++
		case t.IsPunct(sql, ")"):
			depth--
		case depth == 0 && (t.Is(sql, "delete") || t.Is(sql, "update")) && (i == 0 || !tokens[i-1].Is(sql, "for") && !tokens[i-1].Is(sql, "key")):
			dml = true
		}
	}
	if !dml {
		return 0, 0, false
	}
	for i := 0; i+1 < len(tokens); i++ {
		if !tokens[i].IsPunct(sql, "(") || !tokens[i+1].Is(sql, "select") {
			continue
		}
		close := closing(sql, tokens, i)
		for j, d := i+1, 0; j < close; j++ {
			switch {
			case tokens[j].IsPunct(sql, "("):
				d++
			case tokens[j].IsPunct(sql, ")"):
				d--
			case d == 0 && (tokens[j].Is(sql, "limit") || tokens[j].Is(sql, "fetch")):
				return tokens[i+1].Start, tokens[close-1].End, true
			}
		}
	}
	return 0, 0, false
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

func opensQuery(sql string, tokens []sqltext.Token, i int) bool {
	for tokens[i].IsPunct(sql, "(") {
		i++
	}
	return tokens[i].Is(sql, "select") || tokens[i].Is(sql, "with") || tokens[i].Is(sql, "values") || tokens[i].Is(sql, "table")
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
