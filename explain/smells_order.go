package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// order reports a cursor that is not "after the last row" in the page's order.
func (s *smeller) order(c *Cursor) {
	if s.precedence(c) || s.otherTie(c) {
		return
	}
	if c.Mixed() {
		action := "swap key and value in the pairs that go the other way: " + c.after(c.Side)
		if k := c.nullTested(); k != "" {
			action = "keep the branch for " + k + " IS NULL, whose rows no comparison of rows has: " + twoQueries(c)
		}
		s.report("mixed-directions", c.Page.OrderStart, c.Page.OrderEnd, action, "the sort keys go different ways")
	}
	d, known := c.disagreement()
	if !known || d == nil {
		if !s.strict(c) {
			s.wholeOrder(c)
		}
		return
	}
	example := c.describe(d)
	switch {
	case isRow(c.Term.Expr) && c.Mixed() && !c.Swapped:
		s.report("row-direction-mismatch", c.Start, c.End, "swap key and value in the pairs that go the other way", "the row comparison goes one way, the sort two: %s", example)
	case c.Form == FormAnd:
		s.report("independent-keys", c.Start, c.End, "compare rows: "+c.after(c.Side), "each key is compared by itself: %s", example)
	case d.lost && s.strict(c):
	default:
		s.report("cursor-against-order", c.Start, c.End, "compare rows in the order of the sort keys", "the condition and the sort disagree: %s", example)
		if !d.lost { // rows come twice, none is missing
			s.soften(Warn)
		}
	}
}

// nullTested is the first key that the condition tests for NULL, as written, "" for none.
func (c *Cursor) nullTested() string {
	for _, k := range c.compared() {
		if testsNull(c.Term.Whole, k.Key) {
			return oneLine(k.Text)
		}
	}
	return ""
}

// backwards reports a cursor of two or more keys that goes against the sort: the
// scan starts at the far end and reads up to it. A batch that is deleted up to a
// limit is meant so: the rows behind the far end are gone.
func (s *smeller) backwards(b *sqltext.Block, keys []SortKey) {
	if s.q.Writes {
		return
	}
	turned := make([]SortKey, len(keys))
	for i, k := range keys {
		k.Desc = !k.Desc
		turned[i] = k
	}
	if c := findCursor(b, turned); c != nil && len(c.compared()) > 1 && c.Form != FormAnd {
		s.report("bound-on-wrong-side", c.Start, c.End, "turn the comparison or the sort round", "the condition keeps the rows up to the cursor, the sort starts at the other end")
	}
}

// describe says what row the condition and the order disagree about.
func (c *Cursor) describe(d *difference) string {
	keys := c.compared()
	parts := make([]string, 0, len(keys))
	for i, k := range d.standings {
		op := map[int8]string{-1: "<", 0: "=", 1: ">"}[k.cmp]
		parts = append(parts, keys[i].Text+" "+op+" "+keys[i].Values[0].Text())
	}
	what := "is kept though it comes before the cursor"
	if d.lost {
		what = "comes after the cursor and is left out"
	}
	return "a row with " + strings.Join(parts, " and ") + " " + what
}

// strict reports a plain bound with > or < on the leading key next to a cursor
// that has a branch for ties.
func (s *smeller) strict(c *Cursor) bool {
	if c.Form == FormSingle || c.Form == FormRow || c.Form == FormBoundedRow {
		return false
	}
	key := c.Keys[0].Key
	for _, t := range c.terms {
		if t.Expr == c.Term.Expr || !t.direct(key, c.Side) || isRow(t.Expr) || t.Expr.Kind != sqltext.Compare {
			continue
		}
		b, _ := t.Implied(key, c.Side)
		if len(b.Values) == 1 && b.Values[0].Strict && covers(b, c.Bound) {
			s.about("strict-bound", t.Whole, "write >= or <=: the condition beside it decides about the ties", "%s cuts off the rows that tie with the cursor on %s", oneLine(t.Whole.Text()), c.Keys[0].Text)
			return true
		}
	}
	return false
}

// wholeOrder looks at a cursor that is right as far as it goes: does it compare
// enough keys to tell every row from the last one?
func (s *smeller) wholeOrder(c *Cursor) {
	compared := c.compared()
	last := c.Bound.Values
	single := c.Form == FormSingle || c.Form == FormNot && c.Term.Expr.Kind == sqltext.Compare && !isRow(c.Term.Expr)
	if !single || len(last) != 1 || !last[0].Strict || c.Page.DistinctOn || c.Page.Distinct || c.Page.WithTies {
		return
	}
	unique, known := s.unique(c.Block, compared)
	if unique || c.groupKeys() || c.tiesElsewhere() {
		return
	}
	name := c.Keys[0].Text
	action := "add a unique key to sort and cursor"
	if more := s.tiebreakers(c); len(more) > 0 {
		action += ": " + rowOf(append([]string{name}, more...), c.Keys[0].Desc)
	}
	s.report("unique-key-needed", c.Start, c.End, action, "rows that share the %s of the last row are lost, or come late and are never seen", name)
	if !known {
		s.soften(Info)
	}
}

// tiebreakers are columns that tell the rows with the cursor's key apart: those of the
// shortest unique key that may not be NULL, "id" for a table that is not known.
func (s *smeller) tiebreakers(c *Cursor) []string {
	t := s.facts.table(s.facts.tableOf(c.Block, c.Keys[0].Key.Expr))
	if t == nil || len(t.Columns) == 0 {
		return []string{"id"}
	}
	var best []string
	for _, i := range t.Indexes {
		var names []string
		whole := i.Unique && i.Valid && i.Predicate == ""
		for _, k := range i.Keys {
			col := t.column(k.Column)
			if whole = whole && col != nil && col.NotNull; whole && !c.Keys[0].Key.Matches(ColumnKey("", k.Column).Expr) {
				names = append(names, quote(k.Column))
			}
		}
		if whole && len(names) > 0 && (best == nil || i.Primary || len(names) < len(best)) {
			best = names
		}
		if whole && i.Primary {
			break
		}
	}
	return best
}

// groupKeys: no two rows of the result share the compared keys, for the groups
// are made by nothing else.
func (c *Cursor) groupKeys() bool {
	b := c.Block
	if !b.GroupBy {
		return false
	}
	for _, g := range b.Groups {
		e, ok := resolve(b, g)
		if !ok { // ROLLUP and the like: not known to be more than the keys
			continue
		}
		held := fixed(c.terms, Key{Expr: e})
		for _, k := range c.compared() {
			held = held || k.Key.Matches(e)
		}
		if !held {
			return false
		}
	}
	return true
}

// tiesElsewhere: another part of a UNION reads the rows that share the key of the last row.
func (c *Cursor) tiesElsewhere() bool { return c.elsewhere(c.Keys[0].Key, fixed) }

// nullOnly: some term keeps only the rows with a NULL key.
func nullOnly(terms []Term, k Key) bool {
	return slices.ContainsFunc(terms, func(t Term) bool { return requiresNull(t.Whole, k) })
}

// elsewhere: the page is one part of a UNION, and another part reads the rows that has
// tells of a key.
func (c *Cursor) elsewhere(key Key, has func([]Term, Key) bool) bool {
	if key.Expr.Kind == sqltext.Column { // the parts may name their tables otherwise
		key = ColumnKey("", key.Expr.Name)
	}
	for b := c.Page; b.Parent != nil; b = b.Parent {
		if !strings.HasPrefix(b.Parent.SetOp, "union") {
			continue
		}
		for _, o := range b.Parent.Operands {
			for len(o.Operands) == 1 { // in parentheses
				o = o.Operands[0]
			}
			if o != b && has(Conjuncts(o.Where), key) {
				return true
			}
		}
	}
	return false
}

// tiebreaker reports a page whose sort keys are known not to be unique.
func (s *smeller) tiebreaker(b *sqltext.Block, keys []SortKey) {
	if len(keys) == 0 || b.Distinct || b.GroupBy || b.WithTies || len(keys) < len(b.OrderBy) || looksUp(b) {
		return
	}
	unique, known := s.unique(b, keys)
	if unique || !known {
		return
	}
	s.report("missing-tiebreaker", b.OrderStart, b.OrderEnd, "add a unique column as the last sort key", "no unique key is among the sort keys")
}

// looksUp: the block gets one row for each of another, as of a LATERAL: no page.
func looksUp(b *sqltext.Block) bool {
	return b.Role != sqltext.RoleTop && b.Limit != nil && strings.Trim(b.Limit.Text(), "() ") == "1" && b.Correlated()
}

// unique: is some unique index made of columns that the keys, or equalities of
// the WHERE, fix? Known is false if the tables are not known.
func (s *smeller) unique(b *sqltext.Block, keys []SortKey) (unique, known bool) {
	from := s.pageTable(b, keys)
	if from == nil || len(from.Columns) > 0 {
		return false, false
	}
	t := s.facts.table(from)
	if t == nil || t.Kind == "v" {
		return false, false
	}
	var columns []string
	for _, k := range keys {
		if isPlace(k.Key.Expr) && t.Kind == "r" {
			return true, true
		}
		if k.Key.Expr.Kind == sqltext.Column {
			columns = append(columns, k.Key.Expr.Name)
		}
	}
	for _, term := range Conjuncts(b.Where) {
		if col := fixedColumn(term); col != nil && s.facts.tableOf(b, col) == from {
			columns = append(columns, col.Name)
		}
	}
	return t.uniqueAmong(columns, Conjuncts(b.Where)), true
}

// pageTable is the one table whose rows a block gives, each once at most: the others
// are joined for the one row that an equality on a unique key of theirs leaves, like the
// cursor's. Nil for none.
func (s *smeller) pageTable(b *sqltext.Block, keys []SortKey) *sqltext.Table {
	if len(b.From) == 1 {
		return b.From[0]
	}
	if len(keys) == 0 {
		return nil
	}
	from := s.facts.tableOf(b, keys[0].Key.Expr)
	w := &rewriter{q: s.q, c: &Cursor{terms: Conjuncts(b.Where)}, facts: s.facts}
	for _, t := range b.From {
		if t == from {
			continue
		}
		if _, key, _ := w.oneRow(t, w.ownTerms(t)); key == "" || t.Join != "" && t.Join != "inner" && t.Join != "cross" {
			return nil
		}
	}
	return from
}

// isPlace: the column is ctid, the place of a row in its table: no two rows have the
// same, and no index can have it.
func isPlace(e *sqltext.Expr) bool { return e.Kind == sqltext.Column && e.Name == "ctid" }

// fixedColumn returns the column that an equality with a value holds fast.
func fixedColumn(t Term) *sqltext.Expr {
	if t.Not || t.Expr.Kind != sqltext.Compare || t.Expr.Cmp != "=" {
		return nil
	}
	for i, a := range t.Expr.Args {
		if a.Kind == sqltext.Column && !t.Expr.Args[1-i].HasColumn() {
			return a
		}
	}
	return nil
}

// precedence reports a filter that an OR without parentheses keeps out of some
// branches: p = $1 AND a > $2 OR a = $2 AND b > $3.
func (s *smeller) precedence(c *Cursor) bool {
	e := c.Term.Whole
	if e.Kind != sqltext.Or || e.Parens || e != c.Block.Where || c.Term.Not {
		return false
	}
	comp := &compiler{keys: c.compared(), merged: true}
	if len(comp.keys) == 0 || len(comp.keys) > maxKeys {
		return false
	}
	reduced := &formula{kind: sqltext.Or}
	var filters, branches []string
	with, grouped := 0, true
	for _, branch := range e.Args {
		part := &formula{kind: sqltext.And}
		var own []string
		all := 0
		for _, t := range Conjuncts(branch) {
			all++
			if f := comp.compile(t.Whole); f != nil {
				part.args, own = append(part.args, f), append(own, t.Whole.Text())
			} else if c.mentioned(t.Whole) > 0 { // a limit of the cursor's own key is no filter
				return false
			} else if text := t.Whole.Text(); !slices.Contains(filters, text) {
				filters = append(filters, text)
			}
		}
		if len(own) < all {
			with++
			grouped = grouped && branch.Parens
		}
		if len(own) == 0 { // a branch of its own, no part of a cursor
			return false
		}
		reduced.args, branches = append(reduced.args, part), append(branches, strings.Join(own, " AND "))
	}
	if with == 0 || with == len(e.Args) {
		return false
	}
	if _, ok := same([]unit{{e, reduced}}, comp, false, nil); !ok {
		return false
	}
	filter := oneLine(strings.Join(filters, " AND "))
	meant := strings.Join(filters, " AND ") + " AND (" + strings.Join(branches, " OR ") + ")"
	why := ", for AND binds tighter than OR"
	if grouped {
		why = " only"
	}
	s.about("precedence-bug", e, "write what was meant, which changes the rows of the page: WHERE "+oneLine(meant), "%s holds in %d of %d branches%s: rows without it are on the page", filter, with, len(e.Args), why)
	if grouped { // the parentheses say that it is meant so
		s.soften(Warn)
	}
	s.out[len(s.out)-1].Mend = []sqltext.Edit{{Start: e.Start, End: e.End, Text: meant}}
	return true
}
