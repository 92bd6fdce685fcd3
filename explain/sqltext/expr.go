package sqltext

// ExprKind says what an Expr is.
type ExprKind uint8

// Kinds of expressions. Args holds the operands in the order written.
const (
	Opaque    ExprKind = iota // not understood: may name columns, may be anything
	And                       // Args: two or more
	Or                        // Args: two or more
	Not                       // Args[0]
	Compare                   // Args[0] Cmp Args[1]
	IsNull                    // Args[0]
	IsNotNull                 // Args[0]
	IsTrue                    // Args[0] IS TRUE
	Between                   // Args[0] between Args[1] and Args[2]; Name "symmetric" or ""
	InList                    // Args[0] in (Args[1:])
	Row                       // ROW(…) or (a, b)
	Column                    // Name, Qual
	Value                     // placeholder, or a parameter the executor fills ($0, (InitPlan 1).col1)
	Const                     // string, number or typed literal
	Bool                      // Name: true, false, null
	Func                      // call of Name
	Operator                  // any other operators, one or more at the same precedence
	Cast                      // Args[0] as Name
	Collate                   // Args[0] collate Name
	Subquery                  // (SELECT …): Sub
	Distinct                  // Args[0] IS DISTINCT FROM Args[1]
	Case                      // searched CASE: when, then, when, then, …, and the else if the count is odd
)

// IsNotFalse is the Name of an Opaque that is Args[0] IS NOT FALSE.
const IsNotFalse = "is not false"

// Expr is a part of a condition. Start and End are byte offsets into the text
// it was parsed from and include the parentheses round it.
type Expr struct {
	Kind       ExprKind
	Cmp        string   // Compare: = <> < <= > >=
	Name       string   // folded as PostgreSQL folds
	Qual       []string // Column and Func: the qualifiers before Name
	Args       []*Expr
	Sub        *Block // Subquery
	Start, End int
	Parens     bool // written in parentheses
	src        *source
	lo, hi     int32 // token range, parentheses included
	depth      int32
}

// source is a text with its tokens; match holds, for each opening parenthesis
// or bracket, the index of the closing one (or of EOF).
type source struct {
	text  string
	toks  []Token
	match []int32
	first []int32 // the first token from here on that is no opening parenthesis
}

func newSource(text string) *source {
	s := &source{text: text, toks: Lex(text)}
	s.match = make([]int32, len(s.toks))
	var stack []int32
	last := int32(len(s.toks) - 1)
	for i, t := range s.toks {
		s.match[i] = last
		if t.Kind != Punct || t.End-t.Start != 1 {
			continue
		}
		switch text[t.Start] {
		case '(', '[':
			stack = append(stack, int32(i))
		case ')', ']':
			if n := len(stack); n > 0 {
				s.match[stack[n-1]] = int32(i)
				stack = stack[:n-1]
			}
		}
	}
	s.first = make([]int32, len(s.toks))
	for i := len(s.toks) - 1; i >= 0; i-- {
		s.first[i] = int32(i)
		if i+1 < len(s.toks) && s.toks[i].Kind == Punct && text[s.toks[i].Start] == '(' {
			s.first[i] = s.first[i+1]
		}
	}
	return s
}

// Text returns the expression as written, parentheses included.
func (e *Expr) Text() string {
	if e == nil || e.src == nil {
		return ""
	}
	return e.src.text[e.Start:e.End]
}

// NotInside reports whether a Not is part of an operator, as in NOT IN and IS NOT
// DISTINCT FROM, and not a word before its condition.
func (e *Expr) NotInside() bool {
	return e.Kind == Not && e.src != nil && e.src.first[e.lo] == e.src.first[e.Args[0].lo]
}

// Qualifier returns the last qualifier of a column, "" without one.
func (e *Expr) Qualifier() string {
	if len(e.Qual) == 0 {
		return ""
	}
	return e.Qual[len(e.Qual)-1]
}

// Walk calls f for e and everything below it, until f returns false.
func (e *Expr) Walk(f func(*Expr) bool) bool {
	if e == nil {
		return true
	}
	if !f(e) {
		return false
	}
	for _, a := range e.Args {
		if !a.Walk(f) {
			return false
		}
	}
	return true
}

// HasColumn reports whether the expression may depend on the row: it names a
// column or holds something not understood. A sub-select counts as a value.
func (e *Expr) HasColumn() bool {
	return !e.Walk(func(x *Expr) bool { return x.Kind != Column && x.Kind != Opaque })
}

// Equal reports whether two expressions are written the same, apart from
// white space, comments, the case of what is not quoted, and outer parentheses.
func Equal(a, b *Expr) bool {
	if a == nil || b == nil || a.src == nil || b.src == nil {
		return a == b
	}
	alo, ahi := a.inner()
	blo, bhi := b.inner()
	if ahi-alo != bhi-blo {
		return false
	}
	for i := int32(0); i < ahi-alo; i++ {
		if !sameToken(a.src, a.src.toks[alo+i], b.src, b.src.toks[blo+i]) {
			return false
		}
	}
	return true
}

// inner is the token range without the parentheses round it.
func (e *Expr) inner() (lo, hi int32) {
	lo, hi = e.lo, e.hi
	for e.Parens && hi-lo > 2 && e.src.toks[lo].IsPunct(e.src.text, "(") && e.src.match[lo] == hi-1 {
		lo, hi = lo+1, hi-1
	}
	return lo, hi
}

func sameToken(as *source, a Token, bs *source, b Token) bool {
	at, bt := a.Text(as.text), b.Text(bs.text)
	if a.Kind == Word || a.Kind == Quoted || b.Kind == Word || b.Kind == Quoted {
		return (a.Kind == Word || a.Kind == Quoted) && (b.Kind == Word || b.Kind == Quoted) && fold(a, at) == fold(b, bt)
	}
	return a.Kind == b.Kind && at == bt
}

// fold gives an identifier its name: quotes taken off, or in lower case.
func fold(t Token, text string) string {
	if t.Kind == Quoted {
		return unquote(text)
	}
	for i := 0; i < len(text); i++ {
		if c := text[i]; c >= 'A' && c <= 'Z' {
			return lowerASCII(text)
		}
	}
	return text
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = lowerByte(b[i])
	}
	return string(b)
}

// unquote takes the quotes off; U&"…" keeps its escapes, so it only equals itself.
func unquote(s string) string {
	if len(s) < 2 || s[0] != '"' {
		return s
	}
	s = s[1 : len(s)-1]
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '"' {
			return undouble(s)
		}
	}
	return s
}

func undouble(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		b = append(b, s[i])
		if s[i] == '"' && i+1 < len(s) && s[i+1] == '"' {
			i++
		}
	}
	return string(b)
}
