package sqltext

// primary reads an operand without the operators behind it.
func (p *parser) primary() *Expr {
	lo := p.i
	t := p.cur()
	switch t.Kind {
	case Param:
		p.i++
		return p.node(Value, lo)
	case String, Number:
		p.i++
		for t.Kind == String && p.cur().Kind == String { // 'a' 'b' on two lines is one constant
			p.i++
		}
		return p.node(Const, lo)
	case Op:
		if t.IsPunct(p.text, "*") {
			p.i++
			return p.node(Opaque, lo)
		}
		bp := bpOp
		if t.IsPunct(p.text, "-") || t.IsPunct(p.text, "+") {
			bp = bpUnary
		}
		p.i++
		return p.node2(Operator, lo, p.expr(bp))
	case Punct:
		if p.punct("(") {
			return p.paren()
		}
	case Word:
		return p.word()
	case Quoted:
		return p.name()
	case Bad:
		p.i++
	}
	return p.node(Opaque, lo)
}

// paren reads (expr), (a, b), (SELECT …) and what EXPLAIN prints in parentheses.
func (p *parser) paren() *Expr {
	lo, end := p.i, int(p.match[p.i])
	next := p.peek(1)
	if next.Kind == Word {
		switch {
		case p.startsQuery(1):
			return p.subquery(lo)
		case next.Is(p.text, "initplan"):
			p.i = min(end+1, p.last())
			return p.node(Value, lo)
		case next.Is(p.text, "subplan"), next.Is(p.text, "hashed"), next.Is(p.text, "alternatives"):
			p.i = min(end+1, p.last())
			return p.node(Opaque, lo)
		}
	} else if p.startsQuery(1) {
		return p.subquery(lo)
	}
	bare := p.bare
	p.bare = false
	p.i++
	args := []*Expr{p.full()}
	for p.eatPunct(",") {
		args = append(args, p.full())
	}
	p.bare = bare
	if p.i != end { // not understood, or not closed
		p.i = min(end+1, p.last())
		return p.node(Opaque, lo)
	}
	if p.i < p.last() {
		p.i++
	}
	if len(args) > 1 {
		return p.node(Row, lo, args...)
	}
	e := args[0]
	e.lo, e.hi, e.Parens = int32(lo), int32(p.i), true
	e.Start, e.End = p.toks[lo].Start, p.peek(-1).End
	return e
}

// startsQuery: do the tokens from d on, parentheses skipped, begin a query?
func (p *parser) startsQuery(d int) bool {
	i := int(p.first[max(0, min(p.i+d, p.last()))])
	t := p.toks[i]
	if t.Kind != Word {
		return false
	}
	return t.Is(p.text, "select") || t.Is(p.text, "with") || t.Is(p.text, "values") ||
		t.Is(p.text, "table") && p.toks[min(i+1, p.last())].Kind == Word
}

// subquery reads a parenthesised query at the current token.
func (p *parser) subquery(lo int) *Expr {
	end := int(p.match[p.i])
	var b *Block
	if p.query != nil && p.depth < maxDepth {
		p.i++
		b = p.nested(RoleSubquery)
	}
	if p.i != end && b != nil && !p.punct(")") {
		// `((SELECT …) + 1)`: not a query after all
		b = nil
	}
	p.i = min(end+1, p.last())
	e := p.node(Subquery, lo)
	e.Sub = b
	return e
}

// word reads what starts with an unquoted word.
func (p *parser) word() *Expr {
	lo := p.i
	t := p.cur()
	switch {
	case p.is("case"):
		return p.caseExpr()
	case p.is("cast") && p.punctAt(1, "("):
		return p.castCall()
	case p.is("row") && p.punctAt(1, "("):
		p.i++
		args := p.list()
		e := p.node(Row, lo, args...)
		e.Name = "row"
		return e
	case p.is("array"):
		p.i++
		if p.punct("(") || p.punct("[") {
			args := p.list()
			return p.node(Func, lo, args...)
		}
		return p.node(Opaque, lo)
	case p.is("exists") && p.punctAt(1, "("):
		p.i++
		p.primary()
		return p.node(Opaque, lo)
	case p.isAny("true", "false", "null"):
		p.i++
		e := p.node(Bool, lo)
		e.Name = lowerASCII(t.Text(p.text))
		return e
	case p.isAny("any", "all", "some") && p.punctAt(1, "("):
		p.i++
		p.primary()
		return p.node(Opaque, lo)
	case p.stops():
		return p.node(Opaque, lo)
	case isNiladic(t.Text(p.text)) && !p.punctAt(1, "(") && !p.punctAt(1, "."):
		p.i++
		e := p.node(Func, lo)
		e.Name = lowerASCII(t.Text(p.text))
		return e
	}
	if e := p.typed(); e != nil {
		return e
	}
	return p.name()
}

// typed reads a literal with its type before it: date '…', interval '1 day',
// double precision '1', and `interval $1` as pg_stat_statements writes it.
func (p *parser) typed() *Expr {
	lo := p.i
	n := 1
	for n < 5 && p.peek(n).Kind == Word && isTypeWord(p.peek(n).Text(p.text)) {
		n++
	}
	switch next := p.peek(n); {
	case next.Kind == String && n >= 1:
		p.i += n + 1
		for p.cur().Kind == Word && isIntervalField(p.cur().Text(p.text)) {
			p.i++
		}
		return p.node(Const, lo)
	case next.Kind == Param && isTypeWord(p.cur().Text(p.text)):
		p.i += n
		v := p.primary()
		e := p.node(Cast, lo, v)
		e.Name = lowerASCII(p.toks[lo].Text(p.text))
		return e
	}
	return nil
}

func isTypeWord(s string) bool {
	switch lowerASCII(s) {
	case "interval", "timestamp", "timestamptz", "date", "time", "timetz", "with", "without", "zone", "double", "precision",
		"character", "varying", "national", "bit", "numeric", "uuid", "text", "bigint", "int", "integer", "smallint":
		return true
	}
	return false
}

func isIntervalField(s string) bool {
	switch lowerASCII(s) {
	case "year", "month", "day", "hour", "minute", "second", "to":
		return true
	}
	return false
}

// isNiladic lists the functions SQL calls without parentheses.
func isNiladic(s string) bool {
	if len(s) < 4 || len(s) > 17 {
		return false
	}
	switch lowerASCII(s) {
	case "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp", "current_user", "session_user",
		"current_role", "user", "current_catalog", "current_schema", "system_user":
		return true
	}
	return false
}

// name reads a column, or a call.
func (p *parser) name() *Expr {
	lo := p.i
	var parts []string
	for p.cur().Kind == Word || p.cur().Kind == Quoted {
		t := p.cur()
		parts = append(parts, fold(t, t.Text(p.text)))
		p.i++
		if !p.punct(".") || len(parts) > 4 {
			break
		}
		p.i++
		if p.punct("*") { // t.*
			p.i++
			return p.node(Opaque, lo)
		}
	}
	if len(parts) == 0 {
		p.i++
		return p.node(Opaque, lo)
	}
	if p.punct("(") {
		return p.call(lo, parts)
	}
	e := p.node(Column, lo)
	e.Name, e.Qual = parts[len(parts)-1], parts[:len(parts)-1]
	return e
}
