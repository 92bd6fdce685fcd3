package sqltext

// Role says where a block stands in its statement.
type Role uint8

// Roles of blocks.
const (
	RoleTop Role = iota
	RoleCTE
	RoleSubquery // in a condition or select list
	RoleFrom     // in FROM
	RoleOperand  // of UNION and the like, or in parentheses
)

// Query is a statement taken apart into its SELECT blocks.
type Query struct {
	SQL    string   // the text, placeholders as $n
	Verb   string   // first keyword: select, with, values, table, delete, update, insert, …
	Blocks []*Block // outer ones before those inside them
	Writes bool     // changes data: DML, also inside a CTE, or SELECT … INTO
	source *source
}

// Block is one SELECT with its clauses, or a set operation over blocks.
// Offsets are bytes into Query.SQL; a clause that is absent has End 0.
type Block struct {
	Role       Role
	Parent     *Block // the block it stands in; nil at the top
	Start, End int    // from SELECT (not WITH) to the end of its last clause
	BodyStart  int    // where the query begins, WITH included

	CTEs     []*CTE
	SetOp    string   // union, union all, intersect, …; "" for a plain block
	Operands []*Block // of the set operation, or the one block in parentheses

	Distinct   bool // DISTINCT or DISTINCT ON
	DistinctOn bool
	Items      []Item
	FromWord   int      // where the keyword FROM starts
	From       []*Table // every table of FROM, joined ones too, in order
	Where      *Expr
	WhereWord  int // where the keyword WHERE starts
	GroupBy    bool
	Groups     []*Expr // what GROUP BY lists, as written: a number or a name may stand for an output column
	Having     bool
	Window     bool // a WINDOW clause
	Locking    bool // FOR UPDATE and the like
	OrderBy    []OrderItem
	OrderStart int // the keyword ORDER
	OrderEnd   int
	Limit      *Expr // of LIMIT or FETCH; nil for none or ALL
	HasLimit   bool
	WithTies   bool
	Offset     *Expr
	TailStart  int // where ORDER BY, LIMIT, OFFSET or FETCH begin; 0 if there is none
}

// CTE is one WITH query.
type CTE struct {
	Name         string
	Columns      []string
	Materialized bool
	Recursive    bool
	Block        *Block // nil for INSERT, UPDATE, DELETE
	Uses         int    // times its name stands in a FROM of the statement
}

// Item is one item of a select list.
type Item struct {
	Expr       *Expr  // nil for * and t.*
	Alias      string // given, else the name of a plain column, else ""
	Given      bool   // Alias was written
	Star       bool
	Qual       string // of t.*
	Start, End int
}

// Table is one item of FROM.
type Table struct {
	Name    []string // folded, qualifiers first; nil for a sub-select or function
	Alias   string   // the name it goes by in the block
	Columns []string // column renames: t (a, b)
	Sub     *Block   // sub-select
	CTE     *CTE     // the WITH query it names
	Join    string   // "" for the first of a list item, else inner, left, right, full, cross, natural …
	On      *Expr
	Using   []string
	Lateral bool
	Start   int
	End     int
}

// OrderItem is one sort key.
type OrderItem struct {
	Expr       *Expr
	Desc       bool
	Nulls      string // first, last, or "" for PostgreSQL's default
	Using      string // operator of USING
	Start, End int
}

// NullsFirst reports where NULLs sort: by default first when descending.
func (o OrderItem) NullsFirst() bool {
	if o.Nulls == "" {
		return o.Desc
	}
	return o.Nulls == "first"
}

// ParseQuery takes a statement apart. The text must hold one statement with
// placeholders as $n. Statements without a SELECT have no blocks.
func ParseQuery(sql string) (*Query, error) {
	if len(sql) > MaxStatement {
		return nil, ErrTooLong
	}
	p := newParser(sql)
	if p.cur().Kind == EOF {
		return nil, ErrEmpty
	}
	q := &Query{SQL: sql, source: p.source}
	p.query = q
	q.Verb = p.verb()
	switch q.Verb {
	case "select", "with", "values", "table":
		p.nested(RoleTop)
	default:
		q.Writes = true
	}
	p.rest(p.last())
	q.link()
	return q, nil
}

// verb is the first keyword, parentheses skipped.
func (p *parser) verb() string {
	if t := p.toks[p.first[p.i]]; t.Kind == Word {
		return lowerASCII(t.Text(p.text))
	}
	return ""
}

// rest looks for parenthesised queries, and for a SELECT of INSERT … SELECT, in
// tokens that are not read otherwise, up to token end.
func (p *parser) rest(end int) {
	for p.i < end {
		switch {
		case p.punct("(") && p.startsQuery(1) && p.depth < maxDepth:
			close := int(p.match[p.i])
			p.i++
			p.nested(RoleSubquery)
			p.i = max(p.i, min(close, end))
		case p.isAny("select", "with") && !p.isAt(1, "time") && (p.isAt(1, "recursive") || p.is("select") || p.isAt(2, "as")):
			at := p.i
			p.nested(RoleTop)
			p.i = max(p.i, at+1)
		default:
			p.i++
		}
	}
}

// link resolves the tables that name WITH queries and counts their uses.
func (q *Query) link() {
	for _, b := range q.Blocks {
		for _, t := range b.From {
			if len(t.Name) != 1 {
				continue
			}
			if c := b.visibleCTE(t.Name[0]); c != nil {
				t.CTE = c
				c.Uses++
			}
		}
	}
}

// visibleCTE finds the WITH query of that name in the block or around it. Inside
// a WITH query only those before it are visible, and itself if RECURSIVE.
func (b *Block) visibleCTE(name string) *CTE {
	var from *Block
	for at := b; at != nil; from, at = at, at.Parent {
		for _, c := range at.CTEs {
			inside := from != nil && c.Block == from
			if c.Name == name && (!inside || c.Recursive) {
				return c
			}
			if inside && !c.Recursive {
				break
			}
		}
	}
	return nil
}

// Correlated reports whether the block names a table from outside it by a
// qualifier, or names columns without reading any table. A column without a
// qualifier is taken for one of its own tables.
func (b *Block) Correlated() bool {
	known := map[string]bool{}
	return b.correlated(known)
}

func (b *Block) correlated(known map[string]bool) bool {
	if b.SetOp != "" || len(b.Operands) > 0 {
		for _, o := range b.Operands {
			if o.correlated(known) {
				return true
			}
		}
		return false
	}
	inner := map[string]bool{}
	for k := range known {
		inner[k] = true
	}
	for _, t := range b.From {
		inner[t.Alias] = true
	}
	outside := func(x *Expr) bool {
		switch {
		case x.Kind == Column && len(x.Qual) == 0:
			return len(inner) > 0
		case x.Kind == Column:
			return inner[x.Qualifier()]
		case x.Kind == Subquery && x.Sub != nil:
			return !x.Sub.correlated(inner)
		}
		return true
	}
	exprs := []*Expr{b.Where}
	for _, it := range b.Items {
		exprs = append(exprs, it.Expr)
	}
	for _, t := range b.From {
		exprs = append(exprs, t.On)
		if t.Sub != nil && t.Lateral && t.Sub.correlated(inner) || t.Sub != nil && !t.Lateral && t.Sub.correlated(known) {
			return true
		}
	}
	for _, e := range exprs {
		if !e.Walk(outside) {
			return true
		}
	}
	return false
}
