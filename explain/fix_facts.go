package explain

import (
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// Facts is what is known of the tables a statement names. The zero value knows
// nothing: then a rewrite that needs a fact is not offered, or says what it
// takes for granted.
type Facts struct {
	// Tables by name as written: folded, qualifiers with dots ("doc", "public.doc").
	Tables map[string]*Table
	// Stable names functions known not to be volatile in any schema, beyond
	// PostgreSQL's own common ones.
	Stable map[string]bool
	// Params are the types of $1, $2, …, as far as they are known.
	Params []string
	// Untyped says that every placeholder may be bound by itself, or be replaced by a
	// literal, so that its type has to follow from the place where it stands.
	Untyped bool
}

// FactsFrom takes the tables of a query from a catalog, found by the names in
// its FROM clauses; a name without a schema is looked up along path.
func FactsFrom(q *sqltext.Query, c Catalog, path []string) Facts {
	f := Facts{Tables: map[string]*Table{}}
	for _, b := range q.Blocks {
		for _, t := range b.From {
			if len(t.Name) == 0 || t.CTE != nil {
				continue
			}
			name := strings.Join(t.Name, ".")
			if found := c[name]; found != nil {
				f.Tables[name] = found
				continue
			}
			for _, schema := range path {
				if found := c[schema+"."+name]; found != nil {
					f.Tables[name] = found
					break
				}
			}
		}
	}
	return f
}

// table returns what is known of a FROM item, nil for nothing.
func (f Facts) table(t *sqltext.Table) *Table {
	if t == nil || len(t.Name) == 0 || t.CTE != nil {
		return nil
	}
	return f.Tables[strings.Join(t.Name, ".")]
}

// tableOf finds the FROM item of the block that a column belongs to.
func (f Facts) tableOf(b *sqltext.Block, col *sqltext.Expr) *sqltext.Table {
	if col == nil || col.Kind != sqltext.Column {
		return nil
	}
	if q := col.Qualifier(); q != "" {
		for _, t := range b.From {
			if t.Alias == q {
				return t
			}
		}
		return nil
	}
	if len(b.From) == 1 {
		return b.From[0]
	}
	var found *sqltext.Table
	for _, t := range b.From {
		known := f.table(t)
		if known == nil {
			return nil
		}
		if known.Columns[col.Name] != nil {
			if found != nil {
				return nil
			}
			found = t
		}
	}
	return found
}

// column returns the catalog's column behind an expression, nil if unknown. A
// renamed column (t (a, b)) is not looked up.
func (f Facts) column(b *sqltext.Block, e *sqltext.Expr) *Column {
	t := f.tableOf(b, e)
	if t == nil || len(t.Columns) > 0 {
		return nil
	}
	known := f.table(t)
	if known == nil {
		return nil
	}
	return known.Columns[e.Name]
}

// notNull: is the key known to be NOT NULL, or known to be nullable? The columns
// of views never say NOT NULL, whatever stands behind them.
func (f Facts) notNull(b *sqltext.Block, e *sqltext.Expr) (is, known bool) {
	c := f.column(b, e)
	if c == nil {
		return false, false
	}
	t := f.tableOf(b, e)
	for i, other := range b.From { // the null-extended side of an outer join
		if other == t && (t.Join == "left" || t.Join == "full") {
			return false, true
		}
		if other != t && i > 0 && (other.Join == "right" || other.Join == "full") {
			return false, true
		}
	}
	switch f.table(t).Kind {
	case "v", "m", "f":
		return c.NotNull, c.NotNull
	}
	return c.NotNull, true
}

// partitioned: is a table of the block known to be partitioned, or known not to be?
func (f Facts) partitioned(b *sqltext.Block) (is, known bool) {
	known = len(b.From) > 0
	for _, t := range b.From {
		switch found := f.table(t); {
		case found == nil:
			known = false
		case found.Kind == "p":
			return true, true
		}
	}
	return false, known
}

// unstable names a function in the expression that may give another value when
// it is called again, "" if there is none.
func (f Facts) unstable(e *sqltext.Expr) string {
	name := ""
	e.Walk(func(x *sqltext.Expr) bool {
		switch {
		case x.Kind == sqltext.Func && !f.stable(x):
			name = x.Name
		case x.Kind == sqltext.Opaque && mayCall(x.Text()):
			name = x.Text()
		case x.Kind == sqltext.Subquery:
			name = f.unstableBlock(x.Sub)
		}
		return name == ""
	})
	return name
}

// mayCall: SQL that was not understood may call a function, or read a table.
func mayCall(sql string) bool {
	toks := sqltext.Lex(sql)
	for i, t := range toks {
		if t.Kind != sqltext.Word && t.Kind != sqltext.Quoted {
			continue
		}
		switch strings.ToLower(t.Text(sql)) {
		case "select", "with", "values", "table":
			return true
		case "any", "some", "all", "array", "row", "in", "and", "or", "not", "like", "ilike", "between", "is", "from":
		default:
			if i+1 < len(toks) && toks[i+1].IsPunct(sql, "(") {
				return true
			}
		}
	}
	return false
}

// drawnAnew names what in a block gives another value each time that the block is
// read, so that it cannot be copied: any function in its LIMIT that is not known to be
// stable, elsewhere one of those that are known not to be. "" if there is none.
func (f Facts) drawnAnew(b *sqltext.Block) string {
	if b.Limit != nil {
		if name := f.unstable(b.Limit); name != "" {
			return name
		}
	}
	for _, t := range b.From {
		if t.Sub != nil {
			if name := f.drawnAnew(t.Sub); name != "" {
				return name
			}
		}
	}
	exprs := []*sqltext.Expr{b.Where}
	for _, it := range b.Items {
		exprs = append(exprs, it.Expr)
	}
	for _, o := range b.OrderBy {
		exprs = append(exprs, o.Expr)
	}
	name := ""
	for _, e := range exprs {
		if e == nil {
			continue
		}
		e.Walk(func(x *sqltext.Expr) bool {
			switch {
			case x.Kind == sqltext.Func && f.isVolatile(x.Name):
				name = x.Name
			case x.Kind == sqltext.Subquery && x.Sub != nil:
				name = f.drawnAnew(x.Sub)
			}
			return name == ""
		})
	}
	return name
}

// isVolatile reports whether a function of that name is known to give another value
// each time: PostgreSQL's own, and what the catalog says of others.
func (f Facts) isVolatile(name string) bool {
	if stable, known := f.Stable[name]; known {
		return !stable
	}
	switch name {
	case "random", "random_normal", "setseed", "nextval", "setval", "currval", "lastval", "clock_timestamp", "timeofday", "gen_random_uuid",
		"uuidv4", "uuidv7", "uuid_generate_v1", "uuid_generate_v4", "gen_random_bytes", "pg_sleep":
		return true
	}
	return false
}

func (f Facts) unstableBlock(b *sqltext.Block) string {
	if b == nil {
		return "sub-select"
	}
	if b.HasLimit && len(b.OrderBy) == 0 {
		return "LIMIT without ORDER BY"
	}
	exprs := []*sqltext.Expr{b.Where, b.Limit}
	for _, it := range b.Items {
		exprs = append(exprs, it.Expr)
	}
	for _, o := range b.OrderBy {
		exprs = append(exprs, o.Expr)
	}
	for _, t := range b.From {
		exprs = append(exprs, t.On)
		if len(t.Name) == 0 && t.Sub == nil {
			return "function in FROM"
		}
		if t.Sub != nil {
			if name := f.unstableBlock(t.Sub); name != "" {
				return name
			}
		}
	}
	for _, e := range exprs {
		if name := f.unstable(e); name != "" {
			return name
		}
	}
	return ""
}

func (f Facts) stable(call *sqltext.Expr) bool {
	if len(call.Qual) > 0 && call.Qual[len(call.Qual)-1] != "pg_catalog" {
		return f.Stable[call.Name]
	}
	switch call.Name {
	case "", "coalesce", "nullif", "greatest", "least", "now", "current_timestamp", "current_date", "current_time", "localtime",
		"localtimestamp", "transaction_timestamp", "statement_timestamp", "date_trunc", "date_part", "extract", "date_bin",
		"to_timestamp", "to_date", "to_char", "to_number", "make_date", "make_interval", "make_timestamp", "make_timestamptz", "age",
		"timezone", "lower", "upper", "initcap", "trim", "btrim", "ltrim", "rtrim", "length", "char_length", "substr", "substring",
		"replace", "concat", "concat_ws", "lpad", "rpad", "left", "right", "reverse", "md5", "unaccent", "abs", "ceil", "ceiling",
		"floor", "round", "trunc", "sign", "mod", "power", "sqrt", "jsonb_extract_path_text", "json_extract_path_text", "encode",
		"decode", "current_user", "session_user", "current_setting", "max", "min", "count", "sum", "avg", "bool_and", "bool_or":
		return true
	}
	return f.Stable[call.Name]
}
