package explain

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// union reads the rows of each condition, of which no two have a row in common, in a
// query of its own; apart says why they have none.
func (w *rewriter) union(conditions, apart []string) {
	b := w.c.Block
	o, ok := w.outer(b)
	if !ok || len(conditions) < 2 {
		return
	}
	if name := w.facts.drawnAnew(b); name != "" {
		w.refuse(UnionAll, name+" stands in each part of it, and may give another value in each: compute it first, and give its value as a parameter")
		return
	}
	exact, claims := true, []*Claim(nil)
	proof := append(apart, "each part gives its first rows in the same order, so the first rows of all together are those of the whole")
	parts := make([]string, len(conditions))
	for i, text := range conditions {
		part := w.branch(text, o.added...)
		parts[i], exact = "("+part.SQL+")", exact && part.Exact
		if part.Claim != nil {
			claims = append(claims, part.Claim)
		}
		proof = append(proof, part.Proof...)
	}
	text := strings.Join(parts, "\n"+w.word("UNION ALL")+"\n")
	if len(o.added) > 0 {
		text = w.word("SELECT ") + list(o.names) + w.word(" FROM") + " (\n" + text + "\n) page"
	}
	text += "\n" + o.order
	w.add(Candidate{Kind: UnionAll, Edits: []sqltext.Edit{{Start: b.Start, End: b.End, Text: text}}, Proof: proof, Exact: exact, Parts: claims})
}

// TieFixes splits a cursor whose first key has few values, so that no single scan
// can start at it: the rows that share the cursor's value, those behind it, and those
// with a NULL where the cursor has a branch for them.
func TieFixes(q *sqltext.Query, c *Cursor, f Facts) []Candidate {
	if c == nil || c.Hidden || ownOperator(c.Term.Whole) {
		return nil
	}
	w := &rewriter{q: q, c: c, facts: f, lower: q.SQL[c.Block.WhereWord] == 'w'}
	if c.Form == FormNullBranch {
		w.unionAll(true)
	} else if conditions, apart := w.ties(); len(conditions) > 0 && c.Page == c.Block && w.splittable(c.Block) {
		w.union(conditions, []string{apart})
	}
	return offerable(w.out)
}

// ties are the conditions of the rows that share the cursor's value of the first key
// and of those behind it, and why no row is in both; nil where it is not so simple.
func (w *rewriter) ties() (conditions []string, apart string) {
	c := w.c
	if isRow(c.Term.Whole) { // one among the conjuncts, not inside an IS TRUE over several
		return w.rowTies()
	}
	if c.Form != FormOr && c.Form != FormBoundedOr || c.Term.Not || c.Term.Whole.Kind != sqltext.Or || len(c.Keys[0].Values) != 1 || w.facts.unstable(c.Keys[0].Values[0]) != "" {
		return nil, ""
	}
	key, value := c.Keys[0].Key, c.Keys[0].Values[0]
	var same, rest []*sqltext.Expr
	for _, a := range c.Term.Whole.Args {
		tie, behind := false, false
		for _, t := range Conjuncts(a) {
			tie = tie || t.Fixes(key)
			b, ok := t.Implied(key, c.Side)
			behind = behind || ok && len(b.Values) == 1 && b.Values[0].Strict && len(b.Guards) == 0 && sqltext.Equal(b.Values[0].Expr, value)
		}
		switch {
		case tie:
			same = append(same, a)
		case behind:
			rest = append(rest, a)
		default:
			return nil, ""
		}
	}
	if len(same) == 0 || len(rest) == 0 {
		return nil, ""
	}
	return []string{w.anyOf(rest), w.factoredOr(same)}, fmt.Sprintf("%s is true only for rows with the cursor's %s, the other branches only for rows behind it: no row is in both", oneLine(texted(same)), c.Keys[0].Text)
}

// rowTies is ties for a comparison of rows.
func (w *rewriter) rowTies() (conditions []string, apart string) {
	e := w.c.Term.Whole
	l, r := e.Args[0], e.Args[1]
	if l.Kind != sqltext.Row || r.Kind != sqltext.Row || len(l.Args) != len(r.Args) || e.Cmp == "=" || e.Cmp == "<>" || w.facts.unstable(e) != "" {
		return nil, ""
	}
	first, second := operand(l.Args[0]), operand(r.Args[0])
	same := first + " = " + second
	return []string{
		first + " " + e.Cmp[:1] + " " + second,
		same + " " + w.word("AND") + " " + rowOrValue(l.Args[1:]) + " " + e.Cmp + " " + rowOrValue(r.Args[1:]),
	}, fmt.Sprintf("the first pair decides unless it is equal: no row is both at %s and behind it", oneLine(same))
}

// splitTies splits each of the conditions that ties can split; ok tells whether one was.
func (w *rewriter) splitTies(conditions []string) (out []string, ok bool) {
	for _, text := range conditions {
		q, c := w.part(text)
		if c != nil {
			x := &rewriter{q: q, c: c, facts: w.facts, lower: w.lower}
			if two, _ := x.ties(); len(two) > 0 && c.Term.Whole == c.Block.Where {
				out, ok = append(out, two...), true
				continue
			}
		}
		out = append(out, text)
	}
	return out, ok
}

func texted(es []*sqltext.Expr) string {
	parts := make([]string, len(es))
	for i, e := range es {
		parts[i] = e.Text()
	}
	return strings.Join(parts, " OR ")
}

// factoredOr writes an OR of some branches with what all of them require before it.
func (w *rewriter) factoredOr(branches []*sqltext.Expr) string {
	or := &sqltext.Expr{Kind: sqltext.Or, Args: branches}
	var parts []string
	if len(branches) > 1 {
		for _, e := range repeated(or) {
			parts = append(parts, condition(e))
		}
		parts = append(parts, w.without(or, repeated(or)))
	}
	if len(parts) < 2 || parts[len(parts)-1] == "" {
		return w.anyOf(branches)
	}
	return strings.Join(parts, " "+w.word("AND")+" ")
}

// anyOf writes an OR of some branches so that it can stand among ANDs.
func (w *rewriter) anyOf(branches []*sqltext.Expr) string {
	if len(branches) == 1 {
		return condition(branches[0])
	}
	parts := make([]string, len(branches))
	for i, e := range branches {
		parts[i] = e.Text()
	}
	return "(" + strings.Join(parts, " "+w.word("OR")+" ") + ")"
}

// splittable: a plain page whose rows do not depend on each other.
func (w *rewriter) splittable(b *sqltext.Block) bool { return w.whole(b) == "" }

// part is the block with another condition in the place of its cursor's, and with more
// edits, and the cursor of that, nil for none.
func (w *rewriter) part(text string, more ...sqltext.Edit) (*sqltext.Query, *Cursor) {
	b, whole := w.c.Block, w.c.Term.Whole
	edits := []sqltext.Edit{{Start: whole.Start - b.Start, End: whole.End - b.Start, Text: text}}
	for _, e := range more {
		edits = append(edits, sqltext.Edit{Start: e.Start - b.Start, End: e.End - b.Start, Text: e.Text})
	}
	sql := sqltext.Splice(w.q.SQL[b.Start:b.End], edits)
	q, err := sqltext.ParseQuery(sql)
	if err != nil {
		return &sqltext.Query{SQL: sql}, nil
	}
	return q, RecogniseCursor(q)
}

// branch writes the part with a condition in its best form.
func (w *rewriter) branch(text string, more ...sqltext.Edit) Candidate {
	q, c := w.part(text, more...)
	for _, f := range Fixes(q, c, w.facts) {
		if len(f.Assumes) == 0 && (f.Kind == RowComparison || f.Kind == AddBound) {
			f.Exact = f.Kind == RowComparison
			return f
		}
	}
	return Candidate{SQL: q.SQL, Exact: true}
}

// outer is what is written round the parts of a union.
type outer struct {
	order string         // ORDER BY and LIMIT over the output columns
	added []sqltext.Edit // the sort keys that are no output columns, as further ones
	names []string       // the output columns without those, where there are any
}

// outer is ok unless a sort key cannot be had from the output.
func (w *rewriter) outer(b *sqltext.Block) (o outer, ok bool) {
	var keys []string
	for _, k := range b.OrderBy {
		name, ok := w.outputName(b, k.Expr)
		if !ok {
			if name, ok = w.addKey(b, k.Expr, &o); !ok {
				return o, false
			}
		}
		keys = append(keys, name+w.q.SQL[k.Expr.End:k.End])
	}
	o.order = w.word("ORDER BY") + " " + list(keys) + " " + w.word("LIMIT") + " " + operand(b.Limit)
	return o, true
}

// addKey adds a column to the output, under a name that is not there, and lists the
// names of the others, of which no two may be the same.
func (w *rewriter) addKey(b *sqltext.Block, e *sqltext.Expr, o *outer) (name string, ok bool) {
	if e.Kind != sqltext.Column || len(b.Items) == 0 {
		return "", false
	}
	seen := map[string]bool{}
	o.names = nil
	for _, it := range b.Items {
		if it.Star || it.Alias == "" || seen[it.Alias] || it.Alias == e.Name {
			return "", false
		}
		seen[it.Alias] = true
		o.names = append(o.names, quote(it.Alias))
	}
	for n := len(o.added) + 1; name == "" || seen[name]; n++ {
		name = fmt.Sprintf("key%d", n)
	}
	end := b.Items[len(b.Items)-1].End
	o.added = append(o.added, sqltext.Edit{Start: end, End: end, Text: ", " + e.Text() + w.word(" AS ") + name})
	return name, true
}

// outputName is the name under which a sort key is in the result.
func (w *rewriter) outputName(b *sqltext.Block, e *sqltext.Expr) (string, bool) {
	if e.Kind == sqltext.Const {
		return e.Text(), true
	}
	if e.Kind != sqltext.Column {
		return "", false
	}
	name, count := "", 0
	for _, it := range b.Items {
		switch {
		case it.Star:
			if len(b.From) == 1 || it.Qual != "" && it.Qual == e.Qualifier() && len(e.Qual) == 1 {
				name, count = lastName(e), count+1
			} else if it.Qual == "" {
				return "", false
			}
		case it.Expr != nil && it.Expr.Kind == sqltext.Column && sameKey(it.Expr, e):
			name = lastName(it.Expr)
			if it.Given {
				name = w.q.SQL[lastStart(w.q.SQL[it.Start:it.End])+it.Start : it.End]
			}
			count++
		case len(e.Qual) == 0 && it.Given && it.Alias == e.Name:
			name, count = e.Text(), count+1
		case it.Alias == e.Name:
			return "", false
		}
	}
	return name, count == 1
}

// lastName is the column's name as written, without qualifiers.
func lastName(e *sqltext.Expr) string {
	s := e.Text()
	return strings.TrimRight(s[lastStart(s):], ") ")
}

// lastStart is the offset of the last token of a text.
func lastStart(s string) int {
	toks := sqltext.Lex(s)
	for i := len(toks) - 1; i >= 0; i-- {
		if toks[i].Kind == sqltext.Word || toks[i].Kind == sqltext.Quoted {
			return toks[i].Start
		}
	}
	return 0
}
