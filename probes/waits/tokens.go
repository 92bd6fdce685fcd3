package waits

import (
	"slices"
	"strings"
)

// token is a piece of a statement: a word in lower case, the name inside quotation marks,
// a constant or a parameter, or a single sign.
type token struct {
	kind byte // 'w' word, 'n' quoted name, 'c' constant, 's' sign
	text string
}

// tokens are the pieces of a statement without its comments; ok is false where its text
// ends within one, or holds what is not read here: other kinds of strings.
func tokens(q string) (out []token, ok bool) {
	for q != "" {
		c, n := q[0], 1
		switch {
		case strings.HasPrefix(q, "--"):
			q = after(q, 2, "\n")
			continue
		case strings.HasPrefix(q, "/*"):
			end := strings.Index(q, "*/")
			if end < 0 || strings.Contains(q[2:end], "/*") {
				return nil, false
			}
			q = q[end+2:]
			continue
		case c == '\'' || c == '"':
			text, rest, closed := quoted(q)
			if !closed || strings.Contains(text, `\`) {
				return nil, false
			}
			out, q = append(out, token{kind: map[byte]byte{'\'': 'c', '"': 'n'}[c], text: text}), rest
			continue
		case letter(c):
			for n < len(q) && (letter(q[n]) || digit(q[n]) || q[n] == '$') {
				n++
			}
			if n < len(q) && (q[n] == '\'' || q[n] == '&') {
				return nil, false // E'…', U&'…'
			}
			out = append(out, token{kind: 'w', text: strings.ToLower(q[:n])})
		case digit(c), c == '$' && len(q) > 1 && digit(q[1]):
			for n < len(q) && (letter(q[n]) || digit(q[n]) || q[n] == '.') {
				n++
			}
			out = append(out, token{kind: 'c', text: q[:n]})
		case c == '$':
			return nil, false
		case c > ' ':
			out = append(out, token{kind: 's', text: q[:1]})
		}
		q = q[n:]
	}
	return out, true
}

// quoted is what stands inside the quotation marks that q begins with, and what follows.
func quoted(q string) (text, rest string, closed bool) {
	mark := q[:1]
	for q = q[1:]; ; {
		i := strings.Index(q, mark)
		if i < 0 {
			return "", "", false
		}
		text, q = text+q[:i], q[i+1:]
		if !strings.HasPrefix(q, mark) {
			return text, q, true
		}
		text, q = text+mark, q[1:]
	}
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func (t token) is(words ...string) bool { return t.kind == 'w' && slices.Contains(words, t.text) }

func (t token) sign(s string) bool { return t.kind == 's' && t.text == s }

// name reports whether the token may be a name.
func (t token) name() bool { return t.kind == 'w' || t.kind == 'n' }

// at is the place of the first token outside of parentheses of which yes is true, -1 none.
func at(ts []token, yes func(token) bool) int {
	depth := 0
	for i, t := range ts {
		switch {
		case t.sign("("), t.sign("["):
			depth++
		case t.sign(")"), t.sign("]"):
			depth--
		case depth == 0 && yes(t):
			return i
		}
	}
	return -1
}

// atWord is at for words.
func atWord(ts []token, words ...string) int {
	return at(ts, func(t token) bool { return t.is(words...) })
}

// split are the parts between the tokens outside of parentheses of which yes is true.
func split(ts []token, yes func(token) bool) [][]token {
	var out [][]token
	for {
		i := at(ts, yes)
		if i < 0 {
			return append(out, ts)
		}
		out, ts = append(out, ts[:i]), ts[i+1:]
	}
}

// inner is what stands in the parentheses that enclose all of ts.
func inner(ts []token) ([]token, bool) {
	if len(ts) < 2 || !ts[0].sign("(") {
		return nil, false
	}
	depth := 0
	for i, t := range ts {
		switch {
		case t.sign("("):
			depth++
		case t.sign(")"):
			if depth--; depth == 0 {
				return ts[1:i], i == len(ts)-1
			}
		}
	}
	return nil, false
}

// statement is the one statement of a text, after a BEGIN at most; nil where there are
// several, or it is not read.
func statement(q string, clipped bool) []token {
	ts, ok := tokens(q)
	if !ok || clipped {
		return nil
	}
	var one []token
	for _, s := range split(ts, func(t token) bool { return t.sign(";") }) {
		switch {
		case len(s) == 0, one == nil && s[0].is("begin"):
		case one != nil:
			return nil
		default:
			one = s
		}
	}
	return one
}

// named takes a name that may be qualified off the front of ts.
func named(ts []token) (parts []string, rest []token) {
	for len(ts) > 0 && ts[0].name() {
		parts, ts = append(parts, ts[0].text), ts[1:]
		if len(ts) < 2 || !ts[0].sign(".") {
			return parts, ts
		}
		ts = ts[1:]
	}
	return nil, ts
}
