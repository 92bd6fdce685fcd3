package sqltext

import "strings"

// Dialect is a spelling of placeholders.
type Dialect uint8

// Dialects. Auto is for Placeholders only: the lexer takes it as Dollar.
const (
	Auto         Dialect = iota
	Dollar               // $1
	Question             // ?   (?? is the operator ?)
	Colon                // :name
	Percent              // %s  (%% is the operator %)
	PercentNamed         // %(name)s
	At                   // @name
)

// String names the dialect by its spelling.
func (d Dialect) String() string {
	switch d {
	case Dollar:
		return "$n"
	case Question:
		return "?"
	case Colon:
		return ":name"
	case Percent:
		return "%s"
	case PercentNamed:
		return "%(name)s"
	case At:
		return "@name"
	}
	return "auto"
}

// Positional reports whether each placeholder takes the next value of a list,
// so that writing one twice needs the value twice.
func (d Dialect) Positional() bool { return d == Question || d == Percent }

// placeholder passes over a placeholder of the dialect at pos, if one is there.
func (s *scanner) placeholder() bool {
	n := s.dialect.match(s)
	s.pos += n
	return n > 0
}

// match returns the length of the dialect's placeholder at the scanner's
// position, 0 if there is none. An operand before it makes it an operator.
func (d Dialect) match(s *scanner) int {
	if s.operand || d <= Dollar {
		return 0
	}
	rest := s.src[s.pos:]
	switch d {
	case Question:
		if rest[0] == '?' && !(len(rest) > 1 && isOpByte(rest[1]) && rest[1] != '-' && rest[1] != '+' && rest[1] != '*' && rest[1] != '/' && rest[1] != '<' && rest[1] != '>' && rest[1] != '=') {
			return 1
		}
	case Colon:
		if rest[0] == ':' && len(rest) > 1 && isIdentStart(rest[1]) {
			return 1 + identLen(rest[1:])
		}
	case At:
		if rest[0] == '@' && len(rest) > 1 && isIdentStart(rest[1]) {
			return 1 + identLen(rest[1:])
		}
	case Percent:
		if strings.HasPrefix(rest, "%s") && !(len(rest) > 2 && isIdent(rest[2])) {
			return 2
		}
	case PercentNamed:
		return namedPercentLen(rest)
	}
	return 0
}

// namedPercentLen: length of %(name)s at the start of rest.
func namedPercentLen(rest string) int {
	if !strings.HasPrefix(rest, "%(") {
		return 0
	}
	n := identLen(rest[2:])
	if n > 0 && strings.HasPrefix(rest[2+n:], ")s") {
		return 2 + n + 2
	}
	return 0
}

func identLen(s string) int {
	i := 0
	for i < len(s) && isIdent(s[i]) && s[i] != '$' {
		i++
	}
	return i
}

// opensAfterOp: inside an operator, does a placeholder start here (a >=? b)?
// Only after characters that leave no doubt; PostgreSQL would read one operator.
func (d Dialect) opensAfterOp(s *scanner) bool {
	if d <= Dollar || strings.IndexByte("=<>+-*/", s.src[s.pos-1]) < 0 {
		return false
	}
	operand := s.operand
	s.operand = false
	n := d.match(s)
	s.operand = operand
	return n > 0
}
