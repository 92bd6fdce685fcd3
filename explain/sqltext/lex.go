package sqltext

import "strings"

// Lex splits src into tokens by PostgreSQL's rules (standard_conforming_strings
// on); the last token is EOF. Only $n counts as a placeholder.
func Lex(src string) []Token { return LexDialect(src, Dollar) }

// LexDialect is Lex with the placeholders of a dialect read as Param tokens.
func LexDialect(src string, d Dialect) []Token {
	s := scanner{src: src, dialect: d}
	out := make([]Token, 0, len(src)/2+2)
	for {
		t := s.next()
		out = append(out, t)
		if t.Kind == EOF {
			return out
		}
	}
}

// scanner yields the tokens of src one by one, in one pass.
type scanner struct {
	src     string
	pos     int
	dialect Dialect
	operand bool // the previous token ends an operand: what follows is no placeholder
	// subscript: the previous token is [. unsure: what may be an operator or a slice as
	// well is no placeholder.
	subscript, unsure bool
	signs             int // up to here there are only + and -, each an operator of its own
}

// at returns the byte d places ahead, 0 behind the end.
func (s *scanner) at(d int) byte {
	if i := s.pos + d; i < len(s.src) {
		return s.src[i]
	}
	return 0
}

// next returns the next token; EOF for ever at the end.
func (s *scanner) next() Token {
	start, kind := s.skip()
	if kind == EOF {
		start = s.pos
		kind = s.scan()
	}
	t := Token{Kind: kind, Start: start, End: s.pos}
	s.operand, s.subscript = endsOperand(t, s.src), t.IsPunct(s.src, "[")
	return t
}

// skip passes over white space and comments. A comment without end is returned
// as Bad with its start; otherwise the kind is EOF.
func (s *scanner) skip() (int, Kind) {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case isSpace(c):
			s.pos++
		case c == '-' && s.at(1) == '-':
			if n := strings.IndexAny(s.src[s.pos:], "\n\r"); n >= 0 {
				s.pos += n
			} else {
				s.pos = len(s.src)
			}
		case c == '/' && s.at(1) == '*':
			start := s.pos
			if !s.comment() {
				return start, Bad
			}
		default:
			return s.pos, EOF
		}
	}
	return s.pos, EOF
}

// comment passes over a block comment, nested ones included.
func (s *scanner) comment() bool {
	depth := 0
	for s.pos < len(s.src) {
		switch {
		case s.at(0) == '/' && s.at(1) == '*':
			depth++
			s.pos += 2
		case s.at(0) == '*' && s.at(1) == '/':
			depth--
			s.pos += 2
			if depth == 0 {
				return true
			}
		default:
			s.pos++
		}
	}
	return false
}

// scan reads one token at pos, which is not white space.
func (s *scanner) scan() Kind {
	if s.pos >= len(s.src) {
		return EOF
	}
	if s.placeholder() {
		return Param
	}
	c := s.src[s.pos]
	switch {
	case c == '\'':
		return s.quoted('\'', false)
	case c == '"':
		return s.quoted('"', false)
	case c == '$':
		return s.dollar()
	case isIdentStart(c):
		return s.word()
	case isDigit(c), c == '.' && isDigit(s.at(1)):
		return s.number()
	case strings.IndexByte("()[],;.:", c) >= 0:
		return s.punct(c)
	case isOpByte(c):
		return s.operator()
	}
	s.pos++
	return Bad
}

func (s *scanner) punct(c byte) Kind {
	n := s.at(1)
	s.pos++
	if c == ':' && (n == ':' || n == '=') || c == '.' && n == '.' {
		s.pos++
	}
	return Punct
}

// word reads an identifier, or the string or identifier that a prefix letter opens.
func (s *scanner) word() Kind {
	n := s.at(1)
	switch s.src[s.pos] {
	case 'e', 'E':
		if n == '\'' {
			s.pos++
			return s.quoted('\'', true)
		}
	case 'b', 'B', 'x', 'X', 'n', 'N':
		if n == '\'' {
			s.pos++
			return s.quoted('\'', false)
		}
	case 'u', 'U':
		if q := s.at(2); n == '&' && (q == '\'' || q == '"') {
			s.pos += 2
			return s.quoted(q, false)
		}
	}
	for s.pos < len(s.src) && isIdent(s.src[s.pos]) {
		s.pos++
	}
	return Word
}

// quoted reads up to the closing quote q; a doubled quote stands for one.
func (s *scanner) quoted(q byte, escapes bool) Kind {
	s.pos++
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case escapes && c == '\\':
			s.pos = min(s.pos+2, len(s.src))
		case c == q && s.at(1) == q:
			s.pos += 2
		case c == q:
			s.pos++
			if q == '"' {
				return Quoted
			}
			return String
		default:
			s.pos++
		}
	}
	return Bad
}

// dollar reads $1, a dollar-quoted string, or a lone dollar sign.
func (s *scanner) dollar() Kind {
	i := s.pos + 1
	for i < len(s.src) && isDigit(s.src[i]) {
		i++
	}
	if i > s.pos+1 {
		s.pos = i
		return Param
	}
	for i < len(s.src) && s.src[i] != '$' && isIdent(s.src[i]) {
		i++
	}
	if i >= len(s.src) || s.src[i] != '$' {
		s.pos++
		return Bad
	}
	tag := s.src[s.pos : i+1]
	if n := strings.Index(s.src[i+1:], tag); n >= 0 {
		s.pos = i + 1 + n + len(tag)
		return String
	}
	s.pos = len(s.src)
	return Bad
}

// number reads integers (0x, 0o, 0b and _ included), decimals and exponents.
func (s *scanner) number() Kind {
	if s.at(0) == '0' && strings.IndexByte("xXoObB", s.at(1)) >= 0 && s.at(1) != 0 {
		s.pos += 2
		for s.pos < len(s.src) && (isDigit(s.src[s.pos]) || s.src[s.pos] == '_' ||
			lowerByte(s.src[s.pos]) >= 'a' && lowerByte(s.src[s.pos]) <= 'f') {
			s.pos++
		}
		return Number
	}
	s.digits()
	if s.at(0) == '.' && s.at(1) != '.' {
		s.pos++
		s.digits()
	}
	if lowerByte(s.at(0)) == 'e' {
		sign := 0
		if s.at(1) == '+' || s.at(1) == '-' {
			sign = 1
		}
		if isDigit(s.at(1 + sign)) {
			s.pos += 1 + sign
			s.digits()
		}
	}
	return Number
}

func (s *scanner) digits() {
	for s.pos < len(s.src) && (isDigit(s.src[s.pos]) || s.src[s.pos] == '_') {
		s.pos++
	}
}

// operator reads the longest operator: it ends before a comment, and a + or -
// at its end belongs to what follows unless the operator has a special character.
func (s *scanner) operator() Kind {
	start := s.pos
	if start < s.signs {
		s.pos++
		return Op
	}
	special := false
	for s.pos < len(s.src) && isOpByte(s.src[s.pos]) {
		if c := s.src[s.pos]; c == '-' && s.at(1) == '-' || c == '/' && s.at(1) == '*' {
			break
		}
		if s.pos > start && s.dialect.opensAfterOp(s) {
			break
		}
		special = special || strings.IndexByte("~!@#^&|`?%", s.src[s.pos]) >= 0
		s.pos++
	}
	if !special {
		end := s.pos
		for s.pos > start+1 && (s.src[s.pos-1] == '+' || s.src[s.pos-1] == '-') {
			s.pos--
		}
		s.signs = end
	}
	if s.pos == start { // a lone comment opener cannot come here; never stand still
		s.pos++
	}
	return Op
}

// endsOperand: after such a token an operator follows, not an operand.
func endsOperand(t Token, src string) bool {
	switch t.Kind {
	case Quoted, String, Number, Param:
		return true
	case Word:
		return !expectsOperand(t.Text(src))
	case Punct:
		c := src[t.Start]
		return c == ')' || c == ']'
	}
	return false
}

// expectsOperand lists the keywords after which an operand stands.
func expectsOperand(word string) bool {
	switch len(word) {
	case 2:
		return foldEqual(word, "or") || foldEqual(word, "in") || foldEqual(word, "on") || foldEqual(word, "by") || foldEqual(word, "to")
	case 3:
		return foldEqual(word, "and") || foldEqual(word, "not") || foldEqual(word, "any") || foldEqual(word, "all") || foldEqual(word, "set")
	case 4:
		return foldEqual(word, "like") || foldEqual(word, "when") || foldEqual(word, "then") || foldEqual(word, "else") ||
			foldEqual(word, "from") || foldEqual(word, "next") || foldEqual(word, "zone") || foldEqual(word, "case")
	case 5:
		return foldEqual(word, "where") || foldEqual(word, "limit") || foldEqual(word, "ilike") || foldEqual(word, "first")
	case 6:
		return foldEqual(word, "offset") || foldEqual(word, "select") || foldEqual(word, "having") || foldEqual(word, "values") ||
			foldEqual(word, "escape")
	case 7:
		return foldEqual(word, "between")
	case 9:
		return foldEqual(word, "symmetric") || foldEqual(word, "returning")
	}
	return false
}
