package sqltext

import "errors"

// MaxStatement is the length of the longest statement that is read, in bytes.
// Longer ones are lists of values, which say nothing of where a page starts.
const MaxStatement = 1 << 20

// Limits that keep reading linear and the stack small. Beyond them a part of
// the text becomes Opaque, or a condition is not read.
const (
	maxDepth     = 200              // nested expressions and sub-selects
	maxCondition = 4 * MaxStatement // bytes: EXPLAIN writes a condition longer than its statement does
)

// ErrTooLong is returned for a statement of more than MaxStatement bytes, and for a
// condition that no such statement gives.
var ErrTooLong = errors.New("longer than what is read")

// ErrEmpty is returned for a text without a token.
var ErrEmpty = errors.New("no SQL in the text")

// binding powers, weakest first (PostgreSQL's gram.y)
const (
	bpOr = iota + 1
	bpAnd
	bpNot
	bpIs
	bpCmp
	bpIn
	bpOp
	bpAdd
	bpMul
	bpPow
	bpAt
	bpCollate
	bpUnary
	bpPostfix
)

// ParseExpr reads one condition or expression, as people write it and as
// EXPLAIN prints it. Placeholders are $n.
func ParseExpr(src string) (*Expr, error) {
	if len(src) > maxCondition {
		return nil, ErrTooLong
	}
	p := newParser(src)
	if p.cur().Kind == EOF {
		return nil, ErrEmpty
	}
	e := p.full()
	if p.i < p.last() { // something after the end of the condition
		return p.make(Opaque, 0, p.last()), nil
	}
	return e, nil
}

type parser struct {
	*source
	i     int
	depth int
	bare  bool // an alias may follow without AS: what is not understood is not absorbed
	query *Query
	block *Block
}

func newParser(text string) *parser { return &parser{source: newSource(text)} }

func (p *parser) last() int { return len(p.toks) - 1 }

// peek looks d tokens ahead (or back), never outside the list.
func (p *parser) peek(d int) Token {
	return p.toks[max(0, min(p.i+d, p.last()))]
}

func (p *parser) cur() Token { return p.peek(0) }

func (p *parser) is(word string) bool { return p.cur().Is(p.text, word) }

func (p *parser) isAt(d int, word string) bool { return p.peek(d).Is(p.text, word) }

func (p *parser) isAny(words ...string) bool {
	t := p.cur()
	if t.Kind != Word {
		return false
	}
	for _, w := range words {
		if t.Is(p.text, w) {
			return true
		}
	}
	return false
}

func (p *parser) punct(s string) bool { return p.cur().IsPunct(p.text, s) }

func (p *parser) punctAt(d int, s string) bool { return p.peek(d).IsPunct(p.text, s) }

// eat steps over a keyword if it is there.
func (p *parser) eat(word string) bool {
	if p.is(word) {
		p.i++
		return true
	}
	return false
}

func (p *parser) eatPunct(s string) bool {
	if p.punct(s) {
		p.i++
		return true
	}
	return false
}

// make builds a node over the tokens lo … hi-1.
func (p *parser) make(kind ExprKind, lo, hi int, args ...*Expr) *Expr {
	hi = min(max(hi, lo), len(p.toks))
	e := &Expr{Kind: kind, Args: args, src: p.source, lo: int32(lo), hi: int32(hi)}
	switch {
	case hi > lo:
		e.Start, e.End = p.toks[lo].Start, p.toks[hi-1].End
	case lo > 0: // nothing was read: an empty range behind the token before
		e.Start = p.toks[lo-1].End
		e.End = e.Start
	}
	for _, a := range args {
		e.depth = max(e.depth, a.depth+1)
	}
	if e.depth > maxDepth {
		e.Kind, e.Args, e.depth = Opaque, nil, 0
	}
	return e
}

// node builds a node from token lo up to the current one.
func (p *parser) node(kind ExprKind, lo int, args ...*Expr) *Expr {
	return p.make(kind, lo, p.i, args...)
}

// full reads an expression of any precedence.
func (p *parser) full() *Expr { return p.expr(bpOr) }

// expr reads an expression whose operators bind at least as tightly as min.
func (p *parser) expr(min int) *Expr {
	p.depth++
	defer func() { p.depth-- }()
	lo := p.i
	if p.depth > maxDepth {
		p.skipTerm()
		return p.node(Opaque, lo)
	}
	var l *Expr
	if p.is("not") {
		p.i++
		l = p.node2(Not, lo, p.expr(bpNot))
	} else {
		l = p.postfix(p.primary(), lo)
	}
	for {
		next, ok := p.infix(l, lo, min)
		if !ok {
			if min > bpNot || p.bare || p.stops() {
				return l
			}
			p.skipTerm()
			next = p.node(Opaque, lo)
		}
		l = next
	}
}

// node2 is node with the argument evaluated first (it moves the position).
func (p *parser) node2(kind ExprKind, lo int, arg *Expr) *Expr { return p.node(kind, lo, arg) }

// chain reads the further operands of AND or OR.
func (p *parser) chain(kind ExprKind, word string, l *Expr, lo, bp int) *Expr {
	args := []*Expr{l}
	for p.eat(word) {
		args = append(args, p.expr(bp+1))
	}
	return p.node(kind, lo, args...)
}

// stops reports whether the current token cannot go on with an expression.
func (p *parser) stops() bool {
	t := p.cur()
	switch t.Kind {
	case EOF:
		return true
	case Punct:
		switch p.text[t.Start] {
		case ')', ']', ',', ';':
			return true
		}
	case Word:
		if p.punctAt(1, "(") && p.isAny("left", "right") { // the functions
			return false
		}
		return p.is("and") || p.is("or") || isStopWord(t.Text(p.text))
	}
	return false
}

// skipTerm steps over what is not understood: up to the next AND, OR, comma,
// closing parenthesis or clause at this depth.
func (p *parser) skipTerm() {
	for cases := 0; p.i < p.last(); {
		switch {
		case p.punct("("), p.punct("["):
			p.i = int(p.match[p.i])
		case p.is("case"):
			cases++
		case cases > 0 && p.is("end"):
			cases--
			p.i++
			continue
		case cases == 0 && p.stops():
			return
		}
		if p.i < p.last() {
			p.i++
		}
	}
}

// isStopWord lists the keywords that end an expression.
func isStopWord(word string) bool {
	if len(word) < 2 || len(word) > 9 {
		return false
	}
	var buf [9]byte
	for i := 0; i < len(word); i++ {
		buf[i] = lowerByte(word[i])
	}
	switch string(buf[:len(word)]) {
	case "as", "on", "asc", "for", "end", "desc", "from", "then", "else", "when", "into", "join", "left", "full", "with",
		"where", "group", "order", "limit", "fetch", "union", "nulls", "using", "inner", "right", "cross", "having",
		"window", "offset", "except", "natural", "intersect", "returning":
		return true
	}
	return false
}
