package budget

import (
	"fmt"
	"strconv"
	"strings"
)

// maxFillDepth bounds defaults inside defaults and variables of variables.
const maxFillDepth = 8

// filled is a value whose variables are filled in.
type filled struct {
	text      string
	defaulted bool // a default of the value stands in it
	missing   bool // a variable without a value and default was left out
}

// fill puts variables in their place, as a compose file writes them: $NAME,
// ${NAME}, ${NAME:-default}, ${NAME-default}, ${NAME:+other}, ${NAME+other},
// ${NAME:?message}, ${NAME?message}, and $$ for a dollar sign.
func fill(s string, vars map[string]string) filled { return fillDeep(s, vars, 0) }

func fillDeep(s string, vars map[string]string, depth int) filled {
	var b strings.Builder
	var out filled
	for s != "" {
		at := strings.IndexByte(s, '$')
		if at < 0 || at == len(s)-1 || depth > maxFillDepth {
			break
		}
		b.WriteString(s[:at])
		s = s[at+1:]
		var expr string
		switch {
		case s[0] == '$':
			b.WriteByte('$')
			s = s[1:]
			continue
		case s[0] == '{':
			end := closing(s)
			if end < 0 {
				b.WriteByte('$')
				continue
			}
			expr, s = s[1:end], s[end+1:]
		default:
			n := nameLen(s)
			if n == 0 {
				b.WriteByte('$')
				continue
			}
			expr, s = s[:n], s[n:]
		}
		v := fillOne(expr, vars, depth)
		out.defaulted, out.missing = out.defaulted || v.defaulted, out.missing || v.missing
		b.WriteString(v.text)
	}
	out.text = b.String() + s
	return out
}

// fillOne works out what stands between braces.
func fillOne(expr string, vars map[string]string, depth int) filled {
	n := nameLen(expr)
	name, rest := expr[:n], expr[n:]
	v, set := vars[strings.ToUpper(name)]
	if set {
		v = fillDeep(v, vars, depth+1).text
	}
	if strings.HasPrefix(rest, ":") {
		rest, set = rest[1:], set && v != ""
	}
	switch {
	case strings.HasPrefix(rest, "+"):
		if !set {
			return filled{}
		}
		return fillDeep(rest[1:], vars, depth+1)
	case set:
		return filled{text: v}
	case strings.HasPrefix(rest, "-"):
		out := fillDeep(rest[1:], vars, depth+1)
		out.defaulted = true
		return out
	}
	return filled{missing: true}
}

// closing is where the brace that s begins with ends; -1 nowhere.
func closing(s string) int {
	open := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return i
			}
		}
	}
	return -1
}

// nameLen is the length of the variable's name that s begins with.
func nameLen(s string) int {
	for i := range len(s) {
		c := s[i]
		if c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9' {
			continue
		}
		return i
	}
	return len(s)
}

// setting is what one variable says of a size.
type setting struct {
	key string // the variable; "" when there is none
	n   int
	bad string // why n is no number, after the variable's name; "" when it is one
	// from names the variable in a comment: its default, when that was taken.
	from string
}

func (s setting) said() bool   { return s.key != "" }
func (s setting) number() bool { return s.key != "" && s.bad == "" }

// size is a number of at least lo.
func (s setting) size(lo int) bool { return s.number() && s.n >= lo }

// guess says why the variable gives no size, and what is put in its place.
func (s setting) guess(instead string) string {
	why := s.bad
	if why == "" {
		why = fmt.Sprintf("is %d", s.n)
	}
	return fmt.Sprintf("GUESS: %s %s; %s", s.key, why, instead)
}

// settingOf reads the value of a variable. Values themselves are never repeated:
// what is no number may be a secret.
func settingOf(key, text string, vars map[string]string) setting {
	v := fill(text, vars)
	s := setting{key: key, from: key}
	t := strings.TrimSpace(v.text)
	n, err := strconv.Atoi(t)
	switch {
	case t == "" && v.missing, t == "" && text == "":
		s.bad = "has its value from outside"
	case t == "":
		s.bad = "is empty"
	case err != nil || n > maxSize || n < -maxSize:
		s.bad = "is no whole number that a pool could have"
	default:
		s.n = n
		if v.defaulted {
			s.from = "the default of " + key
		}
	}
	return s
}

// counted reads a number of copies that a file gives outside of variables: ok
// when it is one, else why not, with "" when nothing is said.
func counted(what, text string, vars map[string]string) (n int, note string, ok bool) {
	if text == "" {
		return 0, "", false
	}
	s := settingOf(what, text, vars)
	if !s.size(0) {
		return 0, s.guess("1 is counted"), false
	}
	return s.n, "", true
}
