package sqltext

// from reads the FROM list of a block: every table in order, joined ones too.
func (p *parser) from(b *Block) {
	for p.i < p.last() {
		lo := p.i
		p.tableRef(b, "")
		p.joins(b)
		if !p.eatPunct(",") || p.i == lo {
			break
		}
	}
	p.toClause()
}

// joins reads what is joined to the table before.
func (p *parser) joins(b *Block) {
	for {
		kind, n := p.joinWords()
		if n == 0 {
			return
		}
		p.i += n
		at := len(b.From)
		p.tableRef(b, kind)
		if p.punct("(") { // not a table
			return
		}
		var t *Table
		if len(b.From) > at {
			t = b.From[at]
		}
		switch {
		case p.eat("on"):
			e := p.full()
			if t != nil {
				t.On = e
			}
		case p.is("using") && p.punctAt(1, "("):
			p.i++
			names := p.names()
			if t != nil {
				t.Using = names
			}
			if p.eat("as") {
				p.i++
			}
		}
	}
}

// joinWords looks at [NATURAL] [INNER | LEFT | …] [OUTER] JOIN: the kind and
// the number of words, 0 if no join starts here.
func (p *parser) joinWords() (string, int) {
	kind, n := "inner", 0
	if p.isAt(n, "natural") {
		kind = "natural"
		n++
	}
	for _, w := range []string{"inner", "left", "right", "full", "cross"} {
		if p.isAt(n, w) {
			if kind != "natural" {
				kind = w
			} else if w != "inner" {
				kind += " " + w
			}
			n++
			break
		}
	}
	if p.isAt(n, "outer") {
		n++
	}
	if !p.isAt(n, "join") {
		return "", 0
	}
	return kind, n + 1
}

// tableRef reads one table, sub-select, function or parenthesised join.
func (p *parser) tableRef(b *Block, join string) {
	t := &Table{Join: join, Start: p.cur().Start}
	t.Lateral = p.eat("lateral")
	switch {
	case p.punct("(") && p.startsQuery(1):
		end := int(p.match[p.i])
		p.i++
		if p.depth < maxDepth {
			t.Sub = p.nested(RoleFrom)
		}
		p.i = min(end+1, p.last())
	case p.punct("("):
		p.joinedTable(b, join)
		return
	case p.is("rows") && p.isAt(1, "from") && p.punctAt(2, "("):
		p.i += 2
		p.list()
	default:
		p.eat("only")
		if !p.tableName(t) {
			return
		}
	}
	p.tableAlias(t)
	t.End = p.peek(-1).End
	b.From = append(b.From, t)
}

// joinedTable reads ( a JOIN b … ) [alias].
func (p *parser) joinedTable(b *Block, join string) {
	end := int(p.match[p.i])
	p.i++
	if p.depth++; p.depth < maxDepth {
		p.tableRef(b, join)
		p.joins(b)
	}
	p.depth--
	p.i = min(end+1, p.last())
	if p.is("as") || p.cur().Kind == Quoted { // an alias hides the names inside: nothing is resolved
		var t Table
		p.tableAlias(&t)
		b.From = append(b.From, &t)
	}
}

// tableName reads a qualified name, or a function call.
func (p *parser) tableName(t *Table) bool {
	for p.cur().Kind == Word && !p.stops() || p.cur().Kind == Quoted {
		tok := p.cur()
		t.Name = append(t.Name, fold(tok, tok.Text(p.text)))
		p.i++
		if !p.eatPunct(".") {
			break
		}
	}
	if len(t.Name) == 0 {
		return false
	}
	t.Alias = t.Name[len(t.Name)-1]
	if p.punct("(") {
		p.list()
		t.Name = nil
		if p.is("with") && p.isAt(1, "ordinality") {
			p.i += 2
		}
	}
	if p.punct("*") {
		p.i++
	}
	return true
}

// tableAlias reads [AS] alias [(columns)] and TABLESAMPLE.
func (p *parser) tableAlias(t *Table) {
	as := p.eat("as")
	tok := p.cur()
	if tok.Kind == Quoted || tok.Kind == Word && (as || !p.stops() && !p.clause() && !p.is("tablesample")) {
		t.Alias = fold(tok, tok.Text(p.text))
		p.i++
	}
	if p.punct("(") && (as || t.Alias != "") {
		t.Columns = p.names()
	}
	if p.eat("tablesample") {
		p.toClauseOrJoin()
	}
}

func (p *parser) toClauseOrJoin() {
	for p.i < p.last() && !p.clause() && !p.stops() {
		if p.punct("(") {
			p.i = int(p.match[p.i])
		}
		p.i++
	}
}
