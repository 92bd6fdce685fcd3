package sqltext

import "strings"

// nested reads a query expression at the current token: WITH, set operations,
// ORDER BY, LIMIT. The block it returns carries the tail.
func (p *parser) nested(role Role) *Block {
	p.depth++
	defer func() { p.depth-- }()
	parent, bare := p.block, p.bare
	defer func() { p.block, p.bare = parent, bare }()
	p.bare = false
	body := p.cur().Start
	outer := &Block{Role: role, Parent: parent, BodyStart: body}
	p.block = outer
	at := len(p.query.Blocks)
	p.query.Blocks = append(p.query.Blocks, outer)
	if p.is("with") {
		p.ctes(outer)
	}
	outer.Start = p.cur().Start
	if p.punct("(") {
		outer.Operands = []*Block{p.operand()}
	} else {
		p.core(outer)
	}
	outer.End = max(outer.Start, p.peek(-1).End)
	if p.isAny("union", "intersect", "except") {
		outer = p.setOperation(outer, at)
	}
	p.tail(outer)
	outer.End = max(outer.End, p.peek(-1).End)
	return outer
}

// setOperation reads the further operands. What was read as the block so far
// becomes the first operand of a new one, which stands at index at.
func (p *parser) setOperation(first *Block, at int) *Block {
	all := &Block{Role: first.Role, Parent: first.Parent, BodyStart: first.BodyStart, Start: first.Start, CTEs: first.CTEs}
	p.query.Blocks[at] = all
	operand := first
	if len(first.Operands) == 1 && len(first.Items) == 0 {
		operand = first.Operands[0]
		operand.Parent = all
	} else {
		first.Role, first.Parent, first.CTEs = RoleOperand, all, nil
		p.query.Blocks = append(p.query.Blocks, first)
	}
	all.Operands = []*Block{operand}
	p.block = all
	for p.isAny("union", "intersect", "except") {
		op := lowerASCII(p.cur().Text(p.text))
		p.i++
		if p.eat("all") {
			op += " all"
		}
		p.eat("distinct")
		if all.SetOp == "" || all.SetOp == op {
			all.SetOp = op
		} else {
			all.SetOp = "mixed"
		}
		before := p.i
		if p.punct("(") {
			all.Operands = append(all.Operands, p.operand())
		} else {
			b := &Block{Role: RoleOperand, Parent: all, Start: p.cur().Start, BodyStart: p.cur().Start}
			p.query.Blocks = append(p.query.Blocks, b)
			p.block = b
			p.core(b)
			b.End = max(b.Start, p.peek(-1).End)
			p.block = all
			all.Operands = append(all.Operands, b)
		}
		if p.i == before {
			break
		}
	}
	all.End = max(all.Start, p.peek(-1).End)
	return all
}

// operand reads a parenthesised query and steps over its end.
func (p *parser) operand() *Block {
	end := int(p.match[p.i])
	p.i++
	var b *Block
	if p.depth < maxDepth {
		b = p.nested(RoleOperand)
	} else {
		b = &Block{Role: RoleOperand, Parent: p.block}
	}
	p.i = min(end+1, p.last())
	return b
}

// ctes reads the WITH list of a block.
func (p *parser) ctes(b *Block) {
	p.i++
	recursive := p.eat("recursive")
	for p.cur().Kind == Word || p.cur().Kind == Quoted {
		t := p.cur()
		c := &CTE{Name: fold(t, t.Text(p.text)), Recursive: recursive}
		p.i++
		if p.punct("(") {
			c.Columns = p.names()
		}
		p.eat("as")
		not := p.eat("not")
		c.Materialized = p.eat("materialized") && !not
		if !p.punct("(") {
			return
		}
		b.CTEs = append(b.CTEs, c)
		end := int(p.match[p.i])
		p.i++
		if p.startsQuery(0) && p.depth < maxDepth {
			c.Block = p.nested(RoleCTE)
		} else {
			p.query.Writes = true
			p.rest(end)
		}
		p.i = min(end+1, p.last())
		for p.cur().Kind == Word && !p.isAny("select", "values", "table", "insert", "update", "delete", "merge") { // SEARCH, CYCLE
			p.i++
		}
		if !p.eatPunct(",") {
			return
		}
	}
}

// names reads (a, b, c).
func (p *parser) names() []string {
	end := int(p.match[p.i])
	var out []string
	for p.i++; p.i < end; p.i++ {
		t := p.cur()
		if (t.Kind == Word || t.Kind == Quoted) && (p.punctAt(-1, "(") || p.punctAt(-1, ",")) {
			out = append(out, fold(t, t.Text(p.text)))
		}
	}
	p.i = min(end+1, p.last())
	return out
}

// core reads SELECT … HAVING, VALUES or TABLE into the block.
func (p *parser) core(b *Block) {
	if !p.eat("select") {
		if p.isAny("insert", "update", "delete", "merge") {
			p.query.Writes = true
		}
		if p.isAny("values", "table") {
			p.toClause()
		}
		return
	}
	if p.eat("distinct") {
		b.Distinct = true
		if p.is("on") && p.punctAt(1, "(") {
			b.DistinctOn = true
			p.i++
			p.list()
		}
	}
	p.eat("all")
	p.items(b)
	for {
		word := p.i
		switch {
		case p.eat("into"):
			p.query.Writes = true
			p.toClause()
		case p.eat("from"):
			b.FromWord = p.toks[word].Start
			p.from(b)
		case p.eat("where"):
			b.WhereWord = p.toks[word].Start
			if !p.stops() {
				b.Where = p.full()
			}
			p.toClause()
		case p.is("group") && p.isAt(1, "by"):
			b.GroupBy = true
			p.i += 2
			p.groups(b)
			p.toClause()
		case p.eat("having"):
			b.Having = true
			p.toClause()
		case p.eat("window"):
			b.Window = true
			p.toClause()
		default:
			return
		}
	}
}

// groups reads the list of GROUP BY.
func (p *parser) groups(b *Block) {
	for p.i < p.last() && !p.stops() {
		lo := p.i
		b.Groups = append(b.Groups, p.full())
		if !p.eatPunct(",") || p.i == lo {
			return
		}
	}
}

// toClause steps to the next clause of this block; sub-selects on the way are read.
func (p *parser) toClause() {
	for p.i < p.last() && !p.clause() && !p.punct(")") && !p.punct(";") {
		switch {
		case p.punct("("), p.punct("["):
			p.list()
		default:
			p.i++
		}
	}
}

// clause reports whether the current token begins a clause of a SELECT.
func (p *parser) clause() bool {
	t := p.cur()
	if t.Kind != Word {
		return false
	}
	switch n := t.End - t.Start; {
	case n < 3 || n > 9:
		return false
	case p.is("group") || p.is("order"):
		return p.isAt(1, "by")
	case p.is("for"):
		return p.isAt(1, "update") || p.isAt(1, "share") || p.isAt(1, "no") || p.isAt(1, "key")
	case p.is("fetch"):
		return p.isAt(1, "first") || p.isAt(1, "next")
	}
	return p.isAny("from", "where", "having", "window", "union", "intersect", "except", "limit", "offset", "into", "returning")
}

// items reads the select list.
func (p *parser) items(b *Block) {
	for !p.clause() && p.i < p.last() && !p.punct(")") && !p.punct(";") {
		lo := p.i
		it := Item{Start: p.cur().Start}
		it.Star, it.Qual = p.star()
		if !it.Star {
			p.bare = true
			it.Expr = p.full()
			p.bare = false
			p.alias(&it)
		}
		for !p.punct(",") && !p.punct(")") && !p.punct(";") && !p.clause() && p.i < p.last() { // not understood
			it.Expr = nil
			if p.punct("(") || p.punct("[") {
				p.i = int(p.match[p.i])
			}
			if p.i < p.last() {
				p.i++
			}
		}
		it.End = p.peek(-1).End
		b.Items = append(b.Items, it)
		if !p.eatPunct(",") && p.i == lo {
			return
		}
	}
}

// star reads * and t.*.
func (p *parser) star() (bool, string) {
	qual := ""
	d := 0
	for (p.peek(d).Kind == Word || p.peek(d).Kind == Quoted) && p.punctAt(d+1, ".") && d < 8 {
		t := p.peek(d)
		qual = fold(t, t.Text(p.text))
		d += 2
	}
	if !p.punctAt(d, "*") {
		return false, ""
	}
	p.i += d + 1
	return true, qual
}

// alias reads [AS] name behind an item, or derives the name of a plain column.
func (p *parser) alias(it *Item) {
	as := p.eat("as")
	t := p.cur()
	if t.Kind == Quoted || t.Kind == Word && (as || !p.clause()) && !p.punct(",") {
		it.Alias, it.Given = fold(t, t.Text(p.text)), true
		p.i++
		return
	}
	if e := it.Expr; e != nil && (e.Kind == Column || e.Kind == Func) {
		it.Alias = e.Name
	}
}

// tail reads ORDER BY, LIMIT, OFFSET, FETCH and FOR in any order.
func (p *parser) tail(b *Block) {
	for {
		start := p.cur().Start
		switch {
		case p.is("order") && p.isAt(1, "by"):
			b.OrderStart = start
			p.i += 2
			p.orderBy(b)
			b.OrderEnd = p.peek(-1).End
		case p.eat("limit"):
			b.HasLimit = !p.is("all") && !p.is("null")
			if e := p.limitExpr(); b.HasLimit {
				b.Limit = e
			}
		case p.eat("offset"):
			b.Offset = p.limitExpr()
			if !p.eat("rows") {
				p.eat("row")
			}
		case p.is("fetch"):
			p.fetch(b)
		case p.is("for") && p.clause():
			b.Locking = true
			p.i++
			p.toClause()
			continue
		default:
			return
		}
		if b.TailStart == 0 {
			b.TailStart = start
		}
	}
}

func (p *parser) limitExpr() *Expr {
	p.bare = true
	defer func() { p.bare = false }()
	return p.full()
}

func (p *parser) fetch(b *Block) {
	p.i += 2
	b.HasLimit = true
	if !p.isAny("row", "rows") {
		b.Limit = p.limitExpr()
	}
	for p.isAny("row", "rows", "only", "with", "ties") {
		b.WithTies = b.WithTies || p.is("ties")
		p.i++
	}
}

// orderBy reads the sort keys.
func (p *parser) orderBy(b *Block) {
	for p.i < p.last() {
		lo := p.i
		o := OrderItem{Start: p.cur().Start, Expr: p.full()}
		if p.eat("desc") {
			o.Desc = true
		} else if !p.eat("asc") && p.eat("using") {
			o.Using = strings.TrimSpace(p.cur().Text(p.text))
			o.Desc = o.Using == ">"
			p.i++
		}
		if p.eat("nulls") {
			o.Nulls = lowerASCII(p.cur().Text(p.text))
			p.i++
		}
		o.End = p.peek(-1).End
		b.OrderBy = append(b.OrderBy, o)
		if !p.eatPunct(",") || p.i == lo {
			return
		}
	}
}
