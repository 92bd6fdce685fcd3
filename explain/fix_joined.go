package explain

import (
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// rowSubselect takes a cursor row out of FROM: the joined row becomes a
// sub-select in a row comparison, so that the planner knows its values before
// it scans. One row must come out of it: more would be an error where the join
// gave every page row several times.
func (w *rewriter) rowSubselect() {
	c, b := w.c, w.c.Block
	x := c.exactOver(1, false)
	if x == nil || c.Mixed() || len(x.units) != 1 {
		return
	}
	alias := x.keys[0].Values[0].Qualifier()
	for _, k := range x.keys {
		if v := k.Values[0]; v.Kind != sqltext.Column || v.Qualifier() != alias {
			return
		}
	}
	at := -1
	for i, t := range b.From {
		if t.Alias == alias {
			at = i
		}
	}
	if at < 0 {
		return
	}
	moved := w.ownTerms(b.From[at])
	sub := w.cursorRow(b.From[at], x, moved)
	cut := w.cutTable(b, at)
	if sub == "" || cut == nil || w.usedElsewhere(b, b.From[at], append(moved, x.units[0].whole)) {
		return
	}
	keys := make([]string, len(x.keys))
	for i, k := range x.keys {
		keys[i] = k.Text
	}
	op := map[bool]string{false: ">", true: "<"}[x.keys[0].Desc]
	if x.inclusive {
		op += "="
	}
	left := "(" + list(keys) + ")"
	if len(keys) == 1 {
		left = keys[0]
	}
	row := left + " " + op + " " + sub
	edits := append(w.replace(x.units, row), *cut)
	for _, m := range moved {
		edits = append(edits, w.drop(m)...)
	}
	f := Candidate{Kind: RowSubselect, Row: row, Edits: edits, Proof: rowProof(x, left+" "+op+" the cursor row")}
	switch t, key, known := w.oneRow(b.From[at], moved); {
	case key != "":
		f.Proof = append(f.Proof, "the cursor row is one at most: "+key+" of "+t+" is unique")
	case known:
		f.Refused = "the cursor row may be several, and a sub-select that gives several fails: no unique key of " + t + " is in its filter; add one, or read the row first and give its values as parameters"
	default:
		f.Assumes = []string{"the cursor's sub-select gives at most one row"}
	}
	w.add(f)
}

// oneRow names the table that a joined item reads and the unique key of it that
// equalities hold, which leaves one row at most: key is "" for none, known false where
// the table's keys are not known.
func (w *rewriter) oneRow(from *sqltext.Table, moved []*sqltext.Expr) (table, key string, known bool) {
	var terms []Term
	for _, e := range append(moved[:len(moved):len(moved)], from.On) {
		terms = append(terms, Conjuncts(e)...)
	}
	inner := from.Sub
	if from.CTE != nil {
		inner = from.CTE.Block
	}
	if inner != nil {
		if !plain(inner) || len(inner.From) != 1 {
			return "", "", false
		}
		from, terms = inner.From[0], Conjuncts(inner.Where)
	}
	t := w.facts.table(from)
	if t == nil || len(from.Columns) > 0 || t.Kind != "r" && t.Kind != "p" || t.Inherited {
		return "", "", false
	}
	held := map[string]bool{}
	for _, term := range terms {
		col := fixedColumn(term)
		if col == nil || t.Columns[col.Name] == nil {
			continue
		}
		v := otherSide(term.Expr, Key{Expr: col})
		held[col.Name] = held[col.Name] || v.Kind != sqltext.Collate && w.facts.castsKey(t.Columns[col.Name], v) == ""
	}
	for _, i := range t.Indexes {
		if !i.Unique || !i.Valid || i.Predicate != "" || len(i.Keys) == 0 {
			continue
		}
		var names []string
		for _, k := range i.Keys {
			if held[k.Column] && k.Collation == "" {
				names = append(names, k.Column)
			}
		}
		if len(names) == len(i.Keys) {
			return t.Name, list(names), true
		}
	}
	return t.Name, "", true
}

// ownTerms are the conjuncts of the WHERE that are about the joined item alone.
func (w *rewriter) ownTerms(t *sqltext.Table) []*sqltext.Expr {
	var out []*sqltext.Expr
	for _, term := range w.c.terms {
		if !term.Not && term.Expr.HasColumn() && onlyOf(term.Expr, t.Alias) {
			out = append(out, term.Whole)
		}
	}
	return out
}

// cursorRow writes (SELECT values FROM …) for the joined item, "" if it cannot.
func (w *rewriter) cursorRow(t *sqltext.Table, x *lexicographic, moved []*sqltext.Expr) string {
	if len(t.Columns) > 0 || t.Lateral || t.Join != "" && t.Join != "inner" && t.Join != "cross" {
		return ""
	}
	var items []string
	if t.Sub == nil {
		var where []string
		if t.On != nil && (t.On.Kind != sqltext.Bool || t.On.Name != "true") {
			if !onlyOf(t.On, t.Alias) {
				return ""
			}
			where = append(where, condition(t.On))
		}
		for _, m := range moved {
			where = append(where, condition(m))
		}
		if len(t.Name) == 0 || len(where) == 0 && t.CTE == nil {
			return ""
		}
		for _, k := range x.keys {
			items = append(items, k.Values[0].Text())
		}
		sql := "(" + w.word("SELECT ") + list(items) + w.word(" FROM ") + w.q.SQL[t.Start:t.End]
		if len(where) > 0 {
			sql += w.word(" WHERE ") + strings.Join(where, w.word(" AND "))
		}
		return sql + ")"
	}
	if len(moved) > 0 {
		return ""
	}
	if t.On != nil || !plain(t.Sub) || t.Sub.FromWord == 0 {
		return ""
	}
	for _, k := range x.keys {
		for _, it := range t.Sub.Items {
			if it.Expr != nil && it.Alias == k.Values[0].Name {
				items = append(items, it.Expr.Text())
			}
		}
	}
	if len(items) != len(x.keys) {
		return ""
	}
	return "(" + w.word("SELECT ") + list(items) + " " + w.q.SQL[t.Sub.FromWord:t.Sub.End] + ")"
}

// onlyOf: every column of the expression belongs to the table of that alias.
func onlyOf(e *sqltext.Expr, alias string) bool {
	return e.Walk(func(x *sqltext.Expr) bool {
		return x.Kind != sqltext.Opaque && x.Kind != sqltext.Subquery && (x.Kind != sqltext.Column || x.Qualifier() == alias)
	})
}

// cutTable removes an item of FROM with its comma or JOIN … ON.
func (w *rewriter) cutTable(b *sqltext.Block, at int) *sqltext.Edit {
	t := b.From[at]
	end := t.End
	if t.On != nil {
		end = t.On.End
	}
	toks := sqltext.Lex(w.q.SQL)
	first := 0
	for first < len(toks) && toks[first].Start < t.Start {
		first++
	}
	if at == 0 { // with the comma behind it
		for _, n := range toks[first:] {
			if n.Start >= end {
				if n.IsPunct(w.q.SQL, ",") {
					return &sqltext.Edit{Start: t.Start, End: b.From[1].Start}
				}
				return nil
			}
		}
		return nil
	}
	i := first - 1
	for i > 0 && (toks[i].Is(w.q.SQL, "join") || toks[i].Is(w.q.SQL, "inner") || toks[i].Is(w.q.SQL, "cross")) {
		i--
	}
	start := toks[i+1].Start
	if i == first-1 {
		if !toks[i].IsPunct(w.q.SQL, ",") {
			return nil
		}
		start = toks[i].Start
	}
	for start > 0 && strings.IndexByte(" \t\r\n", w.q.SQL[start-1]) >= 0 {
		start--
	}
	return &sqltext.Edit{Start: start, End: end}
}

// usedElsewhere: does the block name the joined item outside FROM and the cursor?
func (w *rewriter) usedElsewhere(b *sqltext.Block, t *sqltext.Table, gone []*sqltext.Expr) bool {
	for _, it := range b.Items {
		if it.Star && it.Qual == "" {
			return true
		}
	}
	toks := sqltext.Lex(w.q.SQL)
	end := t.End
	if t.On != nil {
		end = t.On.End
	}
	for i, k := range toks {
		inside := k.Start >= t.Start && k.End <= end
		for _, e := range gone {
			inside = inside || k.Start >= e.Start && k.End <= e.End
		}
		if inside || i+1 >= len(toks) || !toks[i+1].IsPunct(w.q.SQL, ".") {
			continue
		}
		if name := k.Text(w.q.SQL); strings.EqualFold(strings.Trim(name, `"`), t.Alias) {
			return true
		}
	}
	for _, o := range b.From {
		if len(o.Using) > 0 {
			return true
		}
	}
	return false
}
