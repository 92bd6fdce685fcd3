package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// spelling reports what keeps a right cursor from being an index condition.
func (s *smeller) spelling(c *Cursor) {
	at := func(rule, action, format string, args ...any) {
		s.report(rule, c.Start, c.End, action, format, args...)
	}
	name := c.Keys[0].Text
	switch c.Form {
	case FormNullBranch:
		if f := c.Block.From; c.amongFew(s.facts) || len(f) == 1 && len(f[0].Name) == 0 && f[0].Sub == nil { // a function has no index
			break
		}
		at("null-branch", "read the rows with NULL in a query of their own: UNION ALL", "%s IS NULL as a branch lets no bound on %s be derived", name, name)
	case FormOptionalOr, FormOptionalRow:
		if notFalseOf(c.Term.Expr) != nil {
			at("optional-cursor", "use one statement for the first page and one for the next", "where a value of the cursor is NULL its comparison is NULL, which is kept as true for all rows, so a prepared statement cannot start at the cursor")
			break
		}
		at("optional-cursor", "use one statement for the first page and one for the next", "%s is true for all rows on the first page, so a prepared statement cannot start at the cursor", oneLine(guardText(c.Bound.Guards)))
	case FormCase:
		action := "use one statement for the first page and one for the next"
		if c.Term.Expr.Kind != sqltext.Case || caseCursor(c.Term.Expr, c.Keys[0].Key, c.Side) == nil {
			action = "write the comparisons without it: " + c.after(c.Side)
		}
		at("case-cursor", action, "the cursor is inside CASE")
	case FormJoined:
		at("joined-cursor", "compare with a sub-select over its table: "+c.afterSelect(), "the cursor's values come from a joined row")
	}
	if c.Loose != nil {
		s.about("loose-start", c.Loose, "add the cursor's own bound", "%s gives the scan its start, not the cursor", oneLine(c.Loose.Text()))
	}
	if !c.Bounded && c.Loose == nil {
		for _, t := range c.terms {
			if t.direct(c.Keys[0].Key, -c.Side) {
				s.about("bound-on-wrong-side", t.Whole, "add the bound on the side where the scan starts", "%s bounds %s where the scan ends, not where it starts", oneLine(t.Whole.Text()), name)
			}
		}
	}
}

func guardText(guards []*sqltext.Expr) string {
	parts := make([]string, len(guards))
	for i, g := range guards {
		parts[i] = g.Text()
	}
	return strings.Join(parts, " OR ")
}

// values reports keys that may be NULL and values that are given twice, or in a
// type that costs the index.
func (s *smeller) values(c *Cursor) {
	for i, k := range c.compared() {
		if is, known := s.facts.notNull(c.Block, k.Key.Expr); known && !is && c.Form != FormNullBranch && !mentionsNull(c, k) && !c.refusesNull(k) && !c.elsewhere(k.Key, nullOnly) {
			where := "such rows are on no page behind a cursor"
			if notFalseOf(c.Term.Expr) != nil {
				where = "such rows are on every page behind a cursor"
			}
			s.report("nullable-key", c.Start, c.End, "add IS NOT NULL to the statement, or page the rows with NULL separately", "%s may be NULL: %s", k.Text, where)
		}
		if severalParameters(k.Values) && (c.Form != FormNullBranch || i == 0) {
			s.about("duplicate-parameters", k.Values[1], "bind one parameter in both places, then a row comparison needs no assumption", "%s is compared with %d parameters that are meant to be equal", k.Text, len(k.Values))
		}
		s.valueType(c, k)
		if i == 0 && k.Key.Expr.Kind != sqltext.Column {
			s.report("expression-key", c.Page.OrderStart, c.Page.OrderEnd, "make sure that there is an index on ("+oneLine(k.Text)+", …)", "%s is an expression", k.Text)
		}
	}
	if col := s.facts.column(c.Block, c.Keys[0].Key.Expr); col != nil && col.NDistinct != nil && *col.NDistinct > 0 && *col.NDistinct < 1000 && !isRow(c.Term.Expr) && len(c.compared()) > 1 {
		action := ""
		switch {
		case !c.optional() && c.exact(true, (&rewriter{q: s.q, c: c, facts: s.facts}).sure(false)...) == nil: // other rows
		case c.Mixed():
			action = twoQueries(c)
		default:
			action = "compare rows: " + c.after(c.Side)
		}
		s.report("few-values", c.Start, c.End, action, "%s has about %.0f values: a bound on it leaves all rows of one value to be filtered", c.Keys[0].Text, *col.NDistinct)
	}
}

// mentionsNull: the condition asks for IS NULL or IS NOT NULL of the key.
func mentionsNull(c *Cursor, k SortKey) bool {
	found := false
	c.Block.Where.Walk(func(e *sqltext.Expr) bool {
		if (e.Kind == sqltext.IsNull || e.Kind == sqltext.IsNotNull) && k.Key.Matches(e.Args[0]) {
			found = true
		}
		return !found
	})
	return found
}

// refusesNull: a filter beside the cursor compares the key with another value, so that
// no page has a row with a NULL there.
func (c *Cursor) refusesNull(k SortKey) bool {
	return slices.ContainsFunc(c.terms, func(t Term) bool {
		if t.Whole == c.Term.Whole || t.Expr.Kind != sqltext.Compare || isRow(t.Expr) {
			return false
		}
		for i, a := range t.Expr.Args {
			v := t.Expr.Args[1-i]
			if k.Key.Matches(a) && !v.HasColumn() && !slices.ContainsFunc(k.Values, func(w *sqltext.Expr) bool { return chosenFrom(v, w) }) {
				return true
			}
		}
		return false
	})
}

// severalParameters: the values are parameters, and not all the same one under casts.
func severalParameters(values []*sqltext.Expr) bool {
	several := false
	for _, v := range values {
		if bare(v).Kind != sqltext.Value {
			return false
		}
		several = several || !sqltext.Equal(bare(v), bare(values[0]))
	}
	return several
}

// valueType reports a value cast to a type that PostgreSQL prefers to the
// key's: then the key is cast instead, and its index cannot be used.
func (s *smeller) valueType(c *Cursor, k SortKey) {
	col := s.facts.column(c.Block, k.Key.Expr)
	if col == nil {
		return
	}
	for _, v := range k.Values {
		if typ := s.facts.castsKey(col, v); typ != "" {
			s.about("value-type", v, "cast the value to "+col.Type, "%s is %s, %s is %s: the key is cast and its index lost", v.Text(), typ, k.Text, col.Type)
		}
	}
}

func isInteger(t string) bool {
	switch t {
	case "bigint", "integer", "smallint", "int8", "int4", "int2":
		return true
	}
	return false
}

// hiddenKeys reports inequalities on a sort column that is wrapped in a cast, a
// collation or an expression, while the sort is by the column.
func (s *smeller) hiddenKeys(b *sqltext.Block, keys []SortKey) {
	if b.Where == nil || len(keys) == 0 || keys[0].Key.Expr.Kind != sqltext.Column {
		return
	}
	key := keys[0].Key
	for _, t := range Conjuncts(b.Where) {
		if a := arrayFrom(t.Expr, key, sideOf(keys[0])); a != nil && !t.Not {
			s.about("expression-on-key", a, "compare rows: "+afterRow(keys), "the page is sorted by %s but compares %s", keys[0].Text, oneLine(a.Text()))
		}
	}
	b.Where.Walk(func(e *sqltext.Expr) bool {
		if e.Kind != sqltext.Compare || e.Cmp == "=" || e.Cmp == "<>" {
			return true
		}
		for i, a := range e.Args {
			if a.Kind == sqltext.Row && len(a.Args) > 0 {
				a = a.Args[0]
			}
			if key.Matches(a) || !names(a, key) || a.Kind == sqltext.Func && !keepsOrder(a, key) || a.Kind == sqltext.Operator && !keepsOrder(a, key) || names(e.Args[1-i], key) || e.Args[1-i].HasColumn() && e.Args[1-i].Kind != sqltext.Row {
				continue
			}
			text := oneLine(a.Text())
			switch a.Kind {
			case sqltext.Cast:
				s.about("cast-on-key", a, "compare the column itself and cast the value", "the page is sorted by %s but compares %s", keys[0].Text, text)
			case sqltext.Collate:
				s.about("collation-on-key", a, "sort and compare under one collation", "the page is sorted by %s but compares %s", keys[0].Text, text)
			case sqltext.Func, sqltext.Operator, sqltext.Case:
				s.about("expression-on-key", a, "compare the column itself, or sort by the expression and index it", "the page is sorted by %s but compares %s", keys[0].Text, text)
			}
		}
		return true
	})
}

// hiddenSort reports a page that is sorted by an expression over the column that
// its cursor compares.
func (s *smeller) hiddenSort(c *Cursor) {
	e := c.Sort[0].Key.Expr
	if e.Kind == sqltext.Column {
		return
	}
	rule, action := "expression-on-key", "sort by the column itself, or compare the expression and index it"
	if e.Kind == sqltext.Collate {
		rule, action = "collation-on-key", "sort and compare under one collation"
	}
	s.report(rule, c.Page.OrderStart, c.Page.OrderEnd, action, "the page is sorted by %s but compares %s", oneLine(e.Text()), oneLine(c.Keys[0].Text))
}

// names: does the expression name the key somewhere?
func names(e *sqltext.Expr, key Key) bool {
	return !e.Walk(func(x *sqltext.Expr) bool { return !key.Matches(x) })
}

// indexes reports equality filters that no index has before the sort key.
func (s *smeller) indexes(c *Cursor) {
	lead := c.Keys[0].Key.Expr
	from := s.facts.tableOf(c.Block, lead)
	t := s.facts.table(from)
	if t == nil || lead.Kind != sqltext.Column || t.Kind == "v" {
		return
	}
	fixed := map[string]bool{}
	first := ""
	var at *sqltext.Expr
	for _, term := range c.terms {
		col := fixedColumn(term)
		if col == nil || s.facts.tableOf(c.Block, col) != from {
			continue
		}
		fixed[col.Name] = true
		if at == nil {
			first, at = col.Name, term.Whole
		}
	}
	if at == nil {
		return
	}
	for _, ix := range t.Indexes {
		n := 0
		for n < len(ix.Keys) && fixed[ix.Keys[n].Column] {
			n++
		}
		if ix.names(first) && ix.covers(c.terms) && n < len(ix.Keys) && ix.Keys[n].Column == lead.Name {
			return
		}
		if n > 0 && n < len(ix.Keys) && ix.Keys[n].Column == lead.Name {
			return
		}
	}
	s.about("filter-not-in-index", at, "create an index on ("+first+", "+lead.Name+", …) if few rows pass the filter", "no index begins with %s and goes on with %s", first, lead.Name)
}
