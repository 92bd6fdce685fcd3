package sqltext

// list reads a parenthesised or bracketed list of expressions at the current
// token and steps over its end. Words that are no expression (DISTINCT, FROM,
// FOR, ORDER BY inside a call) are stepped over.
func (p *parser) list() []*Expr {
	end := int(p.match[p.i])
	bare := p.bare
	p.bare = false
	p.i++
	var args []*Expr
	for p.i < end {
		before := p.i
		if p.startsQuery(0) && p.query != nil && p.depth < maxDepth {
			p.nested(RoleSubquery)
			p.i = end
			break
		}
		if !p.stops() && !p.isAny("distinct", "variadic") {
			args = append(args, p.full())
		}
		if p.i < end && (p.i == before || p.stops()) {
			p.i++
		}
	}
	p.bare = bare
	p.i = min(end+1, p.last())
	return args
}

// call reads the arguments of a function and what may follow them.
func (p *parser) call(lo int, parts []string) *Expr {
	args := p.list()
	window := false
	for {
		switch {
		case p.is("filter") && p.punctAt(1, "("), p.is("over") && p.punctAt(1, "("):
			window = true
			p.i = min(int(p.match[p.i+1])+1, p.last())
			continue
		case p.is("over") && (p.peek(1).Kind == Word || p.peek(1).Kind == Quoted):
			window = true
			p.i += 2
			continue
		case p.is("within") && p.isAt(1, "group") && p.punctAt(2, "("):
			window = true
			p.i = min(int(p.match[p.i+2])+1, p.last())
			continue
		}
		break
	}
	e := p.node(Func, lo, args...)
	if window { // depends on other rows
		e.Kind = Opaque
	}
	e.Name, e.Qual = parts[len(parts)-1], parts[:len(parts)-1]
	return e
}

// castCall reads CAST(x AS type).
func (p *parser) castCall() *Expr {
	lo := p.i
	p.i++
	end := int(p.match[p.i])
	bare := p.bare
	p.bare = false
	p.i++
	arg := p.full()
	p.bare = bare
	name := ""
	if p.eat("as") {
		name = p.typeName()
	}
	ok := name != "" && p.i == end
	p.i = min(end+1, p.last())
	if !ok {
		return p.node(Opaque, lo)
	}
	e := p.node(Cast, lo, arg)
	e.Name = name
	return e
}

// caseExpr reads CASE … END. CASE x WHEN … is Opaque.
func (p *parser) caseExpr() *Expr {
	lo := p.i
	p.depth++
	defer func() { p.depth-- }()
	bare := p.bare
	p.bare = false
	defer func() { p.bare = bare }()
	p.i++
	kind := Case
	var args []*Expr
	if !p.is("when") {
		kind = Opaque
		if p.depth < maxDepth {
			p.full()
		}
	}
	for p.depth < maxDepth && p.eat("when") {
		args = append(args, p.full())
		if !p.eat("then") {
			kind = Opaque
			break
		}
		args = append(args, p.full())
	}
	if p.eat("else") {
		args = append(args, p.full())
	}
	if !p.eat("end") { // not understood: to the END that belongs to it
		kind = Opaque
		for open := 1; p.i < p.last(); {
			if p.punct(")") || p.punct("]") || p.punct(";") {
				break
			}
			if p.punct("(") || p.punct("[") {
				p.i = int(p.match[p.i])
			} else if p.is("case") {
				open++
			} else if p.is("end") {
				open--
			}
			if p.i < p.last() {
				p.i++
			}
			if open == 0 {
				break
			}
		}
	}
	return p.node(kind, lo, args...)
}

// postfix reads casts, subscripts and field selections behind an operand.
func (p *parser) postfix(e *Expr, lo int) *Expr {
	for {
		switch {
		case p.punct("::"):
			p.i++
			name := p.typeName()
			e = p.node(Cast, lo, e)
			e.Name = name
		case p.punct("["):
			p.i = min(int(p.match[p.i])+1, p.last())
			e = p.node(Operator, lo, e)
		case p.punct(".") && e.Parens || p.punct(".") && e.Kind == Value:
			p.i++
			if k := p.cur().Kind; k == Word || k == Quoted || p.punct("*") {
				p.i = min(p.i+1, p.last())
			}
			if e.Kind == Value {
				e = p.node(Value, lo) // (InitPlan 1).col1
			} else {
				e = p.node(Operator, lo, e)
			}
		default:
			return e
		}
	}
}

// typeName reads a type and returns it in lower case with single spaces.
func (p *parser) typeName() string {
	name := ""
	add := func(s string) {
		if name != "" && s != "." && name[len(name)-1] != '.' {
			name += " "
		}
		name += s
	}
	p.eat("setof")
	for {
		t := p.cur()
		if t.Kind != Word && t.Kind != Quoted {
			break
		}
		add(fold(t, t.Text(p.text)))
		p.i++
		if p.punct(".") {
			add(".")
			p.i++
			continue
		}
		if p.punct("(") {
			p.i = min(int(p.match[p.i])+1, p.last())
		}
		if !p.isAny("precision", "varying", "without", "with", "time", "zone", "year", "month", "day", "hour", "minute", "second", "to") ||
			p.is("with") && !p.isAt(1, "time") {
			break
		}
	}
	for p.punct("[") || p.is("array") {
		if p.eat("array") {
			continue
		}
		name += "[]"
		p.i = min(int(p.match[p.i])+1, p.last())
	}
	return name
}

// anyName reads a possibly qualified name and returns it folded.
func (p *parser) anyName() string {
	name := ""
	for p.cur().Kind == Word || p.cur().Kind == Quoted {
		t := p.cur()
		name += fold(t, t.Text(p.text))
		p.i++
		if !p.punct(".") {
			break
		}
		name += "."
		p.i++
	}
	return name
}
