package sqltext

// Kind is the lexical class of a token.
type Kind uint8

// Kinds of tokens. Comments and white space are no tokens.
const (
	EOF    Kind = iota // the end of the text, always the last token
	Word               // unquoted identifier or keyword
	Quoted             // quoted identifier, U&"…" included
	String             // any string constant: '…', E'…', B'…', X'…', N'…', U&'…', $tag$…$tag$
	Number             // numeric constant
	Param              // placeholder: $1, or the spelling of the chosen dialect
	Op                 // operator
	Punct              // one of ( ) [ ] , ; . : and the pairs :: := ..
	Bad                // a byte that starts no token, or a string or comment without end
)

// Token is one lexical unit: text[Start:End] of the text it was read from.
type Token struct {
	Kind       Kind
	Start, End int
}

// Text returns the token as written.
func (t Token) Text(src string) string {
	if t.Start < 0 || t.End > len(src) || t.Start > t.End {
		return ""
	}
	return src[t.Start:t.End]
}

// Is reports whether the token is the keyword word (lower case), however it is
// capitalised. A quoted identifier is no keyword.
func (t Token) Is(src, word string) bool {
	return t.Kind == Word && t.End-t.Start == len(word) && foldEqual(t.Text(src), word)
}

// IsPunct reports whether the token is the punctuation mark or operator s.
func (t Token) IsPunct(src, s string) bool {
	return (t.Kind == Punct || t.Kind == Op) && t.End-t.Start == len(s) && t.Text(src) == s
}

// foldEqual compares an ASCII word without regard to case; lower is lower case.
func foldEqual(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if lowerByte(s[i]) != lower[i] {
			return false
		}
	}
	return true
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isIdentStart(c byte) bool {
	return c == '_' || c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isIdent(c byte) bool { return isIdentStart(c) || isDigit(c) || c == '$' }

func isSpace(c byte) bool {
	return c == ' ' || c >= '\t' && c <= '\r'
}

// isOpByte: the characters PostgreSQL builds operators from.
func isOpByte(c byte) bool {
	switch c {
	case '~', '!', '@', '#', '^', '&', '|', '`', '?', '+', '-', '*', '/', '%', '<', '>', '=':
		return true
	}
	return false
}
