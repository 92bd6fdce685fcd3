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
	x := c.exact(false)
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
	sub := w.cursorRow(b.From[at], x)
	cut := w.cutTable(b, at)
	if sub == "" || cut == nil || w.usedElsewhere(b, b.From[at], x.units[0].whole) {
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
	row := "(" + list(keys) + ") " + op + " " + sub
	w.add(Candidate{
		Kind: RowSubselect, Row: row, Edits: append(w.replace(x.units, row), *cut),
		Assumes: []string{"the cursor's sub-select gives at most one row"},
		Proof:   rowProof(x, "("+list(keys)+") "+op+" the cursor row"),
	})
}

// cursorRow writes (SELECT values FROM …) for the joined item, "" if it cannot.
func (w *rewriter) cursorRow(t *sqltext.Table, x *lexicographic) string {
	if len(t.Columns) > 0 || t.Lateral || t.Join != "" && t.Join != "inner" && t.Join != "cross" {
		return ""
	}
	var items []string
	if t.Sub == nil {
		if t.On == nil || len(t.Name) == 0 || !onlyOf(t.On, t.Alias) {
			return ""
		}
		for _, k := range x.keys {
			items = append(items, k.Values[0].Text())
		}
		return "(" + w.word("SELECT ") + list(items) + w.word(" FROM ") + w.q.SQL[t.Start:t.End] + w.word(" WHERE ") + t.On.Text() + ")"
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
func (w *rewriter) usedElsewhere(b *sqltext.Block, t *sqltext.Table, cursor *sqltext.Expr) bool {
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
		inside := k.Start >= t.Start && k.End <= end || k.Start >= cursor.Start && k.End <= cursor.End
		if inside || i+1 >= len(toks) || !toks[i+1].IsPunct(w.q.SQL, ".") {
			continue
		}
		if name := k.Text(w.q.SQL); strings.EqualFold(strings.Trim(name, `"`), t.Alias) {
			return true
		}
	}
	for _, o := range b.From {
		for _, u := range o.Using {
			_ = u
			return true
		}
	}
	return false
}
