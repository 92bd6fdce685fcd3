package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// proposal is an index that would give a page its order.
type proposal struct {
	table *Table
	keys  []proposedKey
	nulls []string // quoted columns that are asked to be NULL: the index is partial
	width int
}

// proposedKey is one key of a proposed index.
type proposedKey struct {
	expr             *sqltext.Expr
	text             string // as CREATE INDEX takes it, without direction
	fixed            bool   // an equality holds it: its direction is no matter
	desc, nullsFirst bool
}

func (k proposedKey) String() string {
	text := k.text
	if k.desc {
		text += " DESC"
	}
	switch {
	case k.nullsFirst == k.desc: // the default
	case k.nullsFirst:
		text += " NULLS FIRST"
	default:
		text += " NULLS LAST"
	}
	return text
}

// propose works out the index from the deciding scan and the page's order: the
// columns that equalities fix, then the sort keys. why says why there is none.
func (j *judgement) propose(ctx context.Context, catalog Catalog) (p proposal, why string) {
	s := j.page.scan
	if s == nil || s.Table == nil || j.query == nil {
		return p, "the page's table is not known"
	}
	p.table = s.Table
	if root := catalog[s.Table.Root]; root != nil {
		p.table = root
	}
	fixed, nulls := equalities(s)
	for _, name := range fixed {
		if p.table.column(name) != nil {
			p.add(SortKey{Key: ColumnKey("", name)}, true)
		}
	}
	for _, name := range nulls {
		p.nulls = append(p.nulls, pgx.Identifier{name}.Sanitize())
	}
	order := pageOrder(j.query, j.cursor)
	if b := pageBlock(j.query, j.cursor); b == nil || len(order) == 0 || len(order) < len(b.OrderBy) {
		return p, "the page's order is not understood"
	}
	for _, k := range order {
		if k.Key.Expr.Kind == sqltext.Column {
			if p.table.column(k.Key.Expr.Name) == nil {
				return p, oneLine(k.Text) + " is no column of " + p.table.Name
			}
		} else if why := j.unfit(ctx, p.table, k.Key.Expr); why != "" {
			return p, why
		}
		p.add(k, false)
	}
	p.turn()
	return p, ""
}

// add appends a key, unless its expression is there already.
func (p *proposal) add(k SortKey, fixed bool) {
	e := k.Key.Expr
	if slices.ContainsFunc(p.keys, func(x proposedKey) bool { return sameKey(x.expr, e) }) {
		return
	}
	key := proposedKey{expr: e, fixed: fixed, desc: k.Desc, nullsFirst: k.NullsFirst}
	if e.Kind == sqltext.Column {
		key.text = pgx.Identifier{e.Name}.Sanitize()
		p.width += p.table.column(e.Name).Width
	} else {
		key.text = unqualified(e)
		if e.Kind != sqltext.Func || len(e.Qual) > 0 || !strings.HasSuffix(key.text, ")") {
			key.text = "(" + key.text + ")"
		}
		p.width += 8
	}
	p.keys = append(p.keys, key)
}

// turn writes an order whose keys all descend as one that ascends, where that
// needs no word more: the scan goes backward.
func (p *proposal) turn() {
	for _, k := range p.keys {
		if !k.fixed && (!k.desc || !k.nullsFirst) {
			return
		}
	}
	for i := range p.keys {
		p.keys[i].desc, p.keys[i].nullsFirst = false, false
	}
}

// unqualified writes an expression with its columns bare, as an index has them.
func unqualified(e *sqltext.Expr) string {
	text := e.Text()
	var edits []sqltext.Edit
	e.Walk(func(x *sqltext.Expr) bool {
		if x.Kind == sqltext.Column && len(x.Qual) > 0 {
			edits = append(edits, sqltext.Edit{Start: x.Start - e.Start, End: x.End - e.Start, Text: lastName(x)})
		}
		return true
	})
	return oneSpace(sqltext.Splice(text, edits))
}

// oneSpace writes SQL on one line; a comment in it would swallow the rest.
func oneSpace(sql string) string {
	var parts []string
	end := -1
	for _, t := range sqltext.Lex(sql) {
		if t.Kind == sqltext.EOF {
			break
		}
		if t.Start == end {
			parts[len(parts)-1] += t.Text(sql)
		} else {
			parts = append(parts, t.Text(sql))
		}
		end = t.End
	}
	return strings.Join(parts, " ")
}

// unfit says why no index can hold an expression, "" if one can: it has to read
// the one table, and to be immutable. The server tells: it computes a call over
// constants while planning only if it is.
func (j *judgement) unfit(ctx context.Context, t *Table, e *sqltext.Expr) string {
	name := oneLine(e.Text())
	bare, err := sqltext.ParseExpr(unqualified(e))
	if err != nil || j.facts.unstable(e) != "" {
		return "no index can be over " + name
	}
	items := map[string]string{}
	for _, c := range columnsIn(bare) {
		col := t.column(c)
		if col == nil {
			return name + " is not over the columns of " + t.Name
		}
		sample, ok := sampleOf(col.Type)
		if !ok {
			return "it is not known whether an index can be over " + name
		}
		items[c] = sample + "::" + col.Type + " AS " + pgx.Identifier{c}.Sanitize()
	}
	list := make([]string, 0, len(items))
	for _, item := range items {
		list = append(list, item)
	}
	a := ask{sql: "SELECT " + bare.Text() + " FROM (SELECT " + strings.Join(list, ", ") + ") s", settings: settings{searchPath: j.in.SearchPath}}
	p, err := j.explain(ctx, a)
	if err != nil || len(p.Root.Output) != 1 {
		return "it is not known whether an index can be over " + name
	}
	out, err := sqltext.ParseExpr(p.Root.Output[0])
	if err == nil {
		if out.Kind == sqltext.Cast { // a constant is written with its type; a second cast would be one that is left to do
			out = out.Args[0]
		}
		if out.Kind == sqltext.Const || out.Kind == sqltext.Bool {
			return ""
		}
	}
	return "no index can be over " + name + ", which is not immutable: it depends on a setting such as TimeZone"
}

// columnsIn lists the columns that an expression names, once each.
func columnsIn(e *sqltext.Expr) []string {
	var out []string
	e.Walk(func(x *sqltext.Expr) bool {
		if x.Kind == sqltext.Column && !slices.Contains(out, x.Name) && !isField(e, x) {
			out = append(out, x.Name)
		}
		return true
	})
	return out
}

// isField: the word is the field of an EXTRACT, no column.
func isField(e, column *sqltext.Expr) bool {
	found := false
	e.Walk(func(x *sqltext.Expr) bool {
		found = found || x.Kind == sqltext.Func && x.Name == "extract" && len(x.Args) > 0 && x.Args[0] == column
		return !found
	})
	return found
}

// sampleOf is some value of a type, as a string constant.
func sampleOf(typ string) (string, bool) {
	base, _, _ := strings.Cut(typ, "(")
	switch strings.TrimSpace(base) {
	case "bigint", "integer", "smallint", "numeric", "real", "double precision", "oid", "text", "character varying", "character", "\"char\"", "name":
		return "'1'", true
	case "date", "timestamp with time zone", "timestamp without time zone":
		return "'2024-02-03 04:05:06'", true
	case "boolean":
		return "'t'", true
	case "uuid":
		return "'00000000-0000-0000-0000-000000000001'", true
	case "json", "jsonb":
		return "'{}'", true
	case "interval":
		return "'1 day'", true
	case "inet", "cidr":
		return "'10.0.0.1'", true
	case "bytea":
		return `'\x01'`, true
	}
	return "", false
}

// equalities lists the columns that the scan's conditions hold to one value, and
// those that they ask to be NULL, which as a key would give no order to the next.
func equalities(s *Scan) (fixed, nulls []string) {
	add := func(out *[]string, e *sqltext.Expr) {
		if c := column(e); c != nil && !slices.Contains(*out, c.Name) {
			*out = append(*out, c.Name)
		}
	}
	for _, text := range []string{s.Node.IndexCond, s.Node.RecheckCond, s.Node.Filter} {
		for _, t := range Conjuncts(parseCond(text)) {
			e := t.Expr
			switch {
			case t.Not:
			case e.Kind == sqltext.IsNull:
				add(&nulls, e.Args[0])
			case e.Kind == sqltext.Compare && e.Cmp == "=": // = ANY gives no order to the next key
				for i, a := range e.Args {
					if !e.Args[1-i].HasColumn() {
						add(&fixed, a)
					}
				}
			}
		}
	}
	return fixed, nulls
}

// exists reports a valid index whose first keys are those of the proposal, read
// one way or the other.
func (p proposal) exists() bool {
	return len(p.nulls) == 0 && slices.ContainsFunc(p.table.Indexes, func(i *Index) bool {
		if !i.Valid || i.Method != "btree" || i.Predicate != "" || len(i.Keys) < len(p.keys) {
			return false
		}
		turned, known := false, false
		for n, k := range p.keys {
			have := i.Keys[n]
			if k.expr.Kind == sqltext.Column && have.Column != k.expr.Name || k.expr.Kind != sqltext.Column && !sameIndexKey(have, k) {
				return false
			}
			if k.fixed {
				continue
			}
			if !known {
				turned, known = have.Desc != k.desc, true
			}
			if have.Desc != (k.desc != turned) || have.NullsFirst != (k.nullsFirst != turned) && !p.notNull(k) {
				return false
			}
		}
		return true
	})
}

// notNull: the key is a column that cannot be NULL.
func (p proposal) notNull(k proposedKey) bool {
	c := p.table.column(k.expr.Name)
	return k.expr.Kind == sqltext.Column && c != nil && c.NotNull
}

func sameIndexKey(have IndexKey, k proposedKey) bool {
	if have.Column != "" {
		return false
	}
	e, err := sqltext.ParseExpr(have.Text)
	want, err2 := sqltext.ParseExpr(unqualified(k.expr))
	return err == nil && err2 == nil && sameKey(e, want)
}

// sql is the statement that makes the index. A partitioned table takes no
// CONCURRENTLY.
func (p proposal) sql(concurrently bool) string {
	verb := "CREATE INDEX "
	if concurrently && p.table.Kind != "p" {
		verb += "CONCURRENTLY "
	}
	columns := make([]string, len(p.keys))
	for i, k := range p.keys {
		columns[i] = k.String()
	}
	sql := verb + "ON " + pgx.Identifier{p.table.Schema, p.table.Name}.Sanitize() + " (" + strings.Join(columns, ", ") + ")"
	if len(p.nulls) > 0 {
		sql += " WHERE " + strings.Join(p.nulls, " IS NULL AND ") + " IS NULL"
	}
	return sql
}

// bytes estimates the size of the index: a tuple header and a line pointer of 12
// bytes a row, the columns' average widths aligned to 8, leaves filled to 90 %.
func (p proposal) bytes() float64 {
	width := float64((p.width + 7) / 8 * 8)
	return max(p.table.Rows, 0) * (12 + width) / 0.9
}

// size writes a number of bytes for people.
func size(bytes float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	i := 0
	for bytes >= 1024 && i < len(units)-1 {
		bytes, i = bytes/1024, i+1
	}
	return fmt.Sprintf("%.0f %s", bytes, units[i])
}
