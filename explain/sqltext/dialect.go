package sqltext

import "strings"

// Dialect is a spelling of placeholders.
type Dialect uint8

// Dialects. Auto is for Placeholders only: the lexer takes it as Dollar.
const (
	Auto          Dialect = iota
	Dollar                // $1
	Question              // ?   (?? is the operator ?)
	Colon                 // :name
	Percent               // %s, %b, %t  (%% is the operator %)
	PercentNamed          // %(name)s, …
	At                    // @name
	Numbered              // ?1
	ColonNumbered         // :1
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
	case Numbered:
		return "?n"
	case ColonNumbered:
		return ":n"
	}
	return "auto"
}

// Positional reports whether each placeholder takes the next value of a list,
// so that writing one twice needs the value twice.
func (d Dialect) Positional() bool { return d == Question || d == Percent }

// Numbered reports whether placeholders have numbers, so that one that is written twice
// is one value, and one without number beside them is none of theirs.
func (d Dialect) Numbered() bool { return d == Dollar || d == Numbered || d == ColonNumbered }

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
	case Question: // ?| is an operator of one operand, ?? the sign itself
		if rest[0] == '?' && s.at(1) != '?' && !isDigit(s.at(1)) && (s.at(1) != '|' || s.at(2) == '|') {
			return 1
		}
	case Numbered:
		return numberedLen(rest, '?')
	case ColonNumbered:
		if !s.slice() {
			return numberedLen(rest, ':')
		}
	case Colon:
		if rest[0] == ':' && len(rest) > 1 && isIdentStart(rest[1]) && !s.slice() {
			return 1 + identLen(rest[1:])
		}
	case At:
		if rest[0] == '@' && len(rest) > 1 && isIdentStart(rest[1]) {
			return 1 + identLen(rest[1:])
		}
	case Percent:
		if rest[0] == '%' && isFormat(s.at(1)) && !isIdent(s.at(2)) {
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
	if n > 0 && len(rest) > 2+n+1 && rest[2+n] == ')' && isFormat(rest[2+n+1]) {
		return 2 + n + 2
	}
	return 0
}

// isFormat: what stands behind the % of a placeholder: as text or not, or either.
func isFormat(c byte) bool { return c == 's' || c == 'b' || c == 't' }

// numberedLen: length of the sign and a number from 1 at the start of rest, 0 if it is
// neither or higher than any parameter's.
func numberedLen(rest string, sign byte) int {
	n := 1
	for n < len(rest) && isDigit(rest[n]) {
		n++
	}
	if rest[0] != sign || n == 1 || n > 6 || rest[1] == '0' {
		return 0
	}
	return n
}

// slice: a colon here may be that of a[:n], where nothing else tells that colons open
// placeholders.
func (s *scanner) slice() bool { return s.unsure && s.subscript }

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
	if d <= Dollar || strings.IndexByte("=<>+-*/", s.src[s.pos-1]) < 0 || d == At && s.unsure && s.src[s.pos-1] == '<' { // <@
		return false
	}
	operand := s.operand
	s.operand = false
	n := d.match(s)
	s.operand = operand
	return n > 0
}
