package sqltext

// infix reads the operator at the current token and what follows it, if it
// binds at least as tightly as min; l is its left operand, lo l's first token.
func (p *parser) infix(l *Expr, lo, min int) (*Expr, bool) {
	t := p.cur()
	switch t.Kind {
	case Op:
		return p.infixOp(l, lo, min, t.Text(p.text))
	case Word:
		return p.infixWord(l, lo, min)
	case Punct:
		if p.text[t.Start] == ':' && p.punct("::") { // behind an operand that postfix did not see
			return p.postfix(l, lo), true
		}
	}
	return nil, false
}

func (p *parser) infixWord(l *Expr, lo, min int) (*Expr, bool) {
	switch {
	case min <= bpAnd && p.is("and"):
		return p.chain(And, "and", l, lo, bpAnd), true
	case min <= bpOr && p.is("or"):
		return p.chain(Or, "or", l, lo, bpOr), true
	case min <= bpIs && p.is("is"):
		return p.isTest(l, lo), true
	case min <= bpIs && p.is("isnull"):
		p.i++
		return p.node(IsNull, lo, l), true
	case min <= bpIs && p.is("notnull"):
		p.i++
		return p.node(IsNotNull, lo, l), true
	case min <= bpIn && p.isAny("between", "in", "like", "ilike", "similar"):
		return p.membership(l, lo), true
	case min <= bpIn && p.is("not") && (p.isAt(1, "between") || p.isAt(1, "in") || p.isAt(1, "like") || p.isAt(1, "ilike") || p.isAt(1, "similar")):
		p.i++
		return p.node2(Not, lo, p.membership(l, lo)), true
	case min <= bpOp && p.is("operator") && p.punctAt(1, "("):
		name := p.operatorName()
		if min > bpOp {
			return nil, false
		}
		return p.binary(l, lo, name, bpOp), true
	case min <= bpAt && p.is("at") && (p.isAt(1, "time") || p.isAt(1, "local")):
		p.i++
		if p.eat("local") {
			return p.node(Operator, lo, l), true
		}
		p.i++
		p.eat("zone")
		return p.node2Args(Operator, lo, l, p.expr(bpAt+1)), true
	case min <= bpCollate && p.is("collate"):
		p.i++
		e := p.anyName()
		c := p.node(Collate, lo, l)
		c.Name = e
		return c, true
	}
	return nil, false
}

func (p *parser) node2Args(kind ExprKind, lo int, l, r *Expr) *Expr { return p.node(kind, lo, l, r) }

// operatorName reads OPERATOR(schema.op) and returns op.
func (p *parser) operatorName() string {
	end := int(p.match[p.i+1])
	name := p.toks[max(end-1, 0)].Text(p.text)
	p.i = min(end+1, p.last())
	return name
}

func precedence(op string) int {
	switch op {
	case "=", "<", ">", "<=", ">=", "<>", "!=":
		return bpCmp
	case "+", "-":
		return bpAdd
	case "*", "/", "%":
		return bpMul
	case "^":
		return bpPow
	}
	return bpOp
}

func (p *parser) infixOp(l *Expr, lo, min int, op string) (*Expr, bool) {
	bp := precedence(op)
	if bp < min {
		return nil, false
	}
	p.i++
	return p.binary(l, lo, op, bp), true
}

// binary builds l op r; the operator has been read.
func (p *parser) binary(l *Expr, lo int, op string, bp int) *Expr {
	cmp := precedence(op) == bpCmp
	if p.isAny("any", "all", "some") && p.punctAt(1, "(") {
		some := !p.is("all")
		p.i++
		r := p.primary()
		e := p.node(Opaque, lo, l, r)
		if some && op == "=" && e.Args != nil { // an equality, with any value of a list
			e.Name = "any"
		}
		return e
	}
	r := p.expr(bp + 1)
	if cmp {
		e := p.node(Compare, lo, l, r)
		if op == "!=" {
			op = "<>"
		}
		e.Cmp = op
		return e
	}
	if l.Kind == Operator && !l.Parens { // one flat node for a + b - c …
		e := p.make(Operator, lo, p.i)
		e.Args, e.depth = append(l.Args, r), max(l.depth, r.depth+1)
		return e
	}
	return p.node(Operator, lo, l, r)
}

// isTest reads IS [NOT] NULL | TRUE | DISTINCT FROM | ….
func (p *parser) isTest(l *Expr, lo int) *Expr {
	p.i++
	not := p.eat("not")
	switch {
	case p.eat("null"):
		if not {
			return p.node(IsNotNull, lo, l)
		}
		return p.node(IsNull, lo, l)
	case !not && p.eat("true"):
		return p.node(IsTrue, lo, l)
	case not && p.eat("false"):
		e := p.node(Opaque, lo, l)
		if e.Args != nil {
			e.Name = IsNotFalse
		}
		return e
	case p.eat("distinct"):
		p.eat("from")
		e := p.node2Args(Distinct, lo, l, p.expr(bpIs+1))
		if not {
			return p.node2(Not, lo, e)
		}
		return e
	}
	for p.cur().Kind == Word && !p.stops() && p.isAny("true", "false", "unknown", "document", "json", "normalized",
		"nfc", "nfd", "nfkc", "nfkd", "value", "object", "array", "scalar", "with", "without", "unique", "keys", "of") {
		p.i++
	}
	if p.punct("(") {
		p.i = min(int(p.match[p.i])+1, p.last())
	}
	return p.node(Opaque, lo, l)
}

// membership reads BETWEEN, IN, LIKE, ILIKE and SIMILAR TO behind l.
func (p *parser) membership(l *Expr, lo int) *Expr {
	switch {
	case p.eat("between"):
		sym := p.eat("symmetric")
		if !sym {
			p.eat("asymmetric")
		}
		low := p.expr(bpCmp)
		p.eat("and")
		e := p.node2Between(lo, l, low, p.expr(bpIn+1))
		if sym && e.Kind == Between {
			e.Name = "symmetric"
		}
		return e
	case p.eat("in"):
		r := p.primary()
		if r.Kind == Subquery {
			return p.node(Opaque, lo, l, r)
		}
		if r.Kind == Row && r.Name == "" {
			return p.node(InList, lo, append([]*Expr{l}, r.Args...)...)
		}
		return p.node(InList, lo, l, r)
	}
	p.i++
	p.eat("to")
	r := p.expr(bpIn + 1)
	if p.eat("escape") {
		return p.node2Between(lo, l, r, p.expr(bpIn+1)).opaque()
	}
	return p.node(Opaque, lo, l, r)
}

func (p *parser) node2Between(lo int, a, b, c *Expr) *Expr { return p.node(Between, lo, a, b, c) }

func (e *Expr) opaque() *Expr {
	e.Kind, e.Name = Opaque, ""
	return e
}
