package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// factored takes the conditions that every branch of the cursor's OR repeats out
// of it and proposes what can be done about the rest:
//
//	p = $3 AND a > $1 OR p = $3 AND a = $1 AND b > $2    p = $3 AND (a, b) > ($1, $2)
func (w *rewriter) factored() {
	whole := w.c.Term.Whole
	if whole.Kind != sqltext.Or || w.c.Term.Not {
		return
	}
	common := repeated(whole)
	var out []string
	for _, e := range common {
		if w.facts.unstable(e) != "" {
			return
		}
		out = append(out, condition(e))
	}
	if len(common) == 0 {
		return
	}
	and, or := " "+w.word("AND")+" ", " "+w.word("OR")+" "
	var branches []string
	for _, branch := range whole.Args {
		var rest []string
		for _, t := range Conjuncts(branch) {
			if !slices.ContainsFunc(common, func(e *sqltext.Expr) bool { return sqltext.Equal(e, t.Whole) }) {
				rest = append(rest, condition(t.Whole))
			}
		}
		if len(rest) == 0 {
			return
		}
		text := strings.Join(rest, and)
		if len(rest) > 1 {
			text = "(" + text + ")"
		}
		branches = append(branches, text)
	}
	text := strings.Join(out, and) + and + "(" + strings.Join(branches, or) + ")"
	kept := comments(whole.Text())
	sql := sqltext.Splice(w.q.SQL, []sqltext.Edit{{Start: whole.Start, End: whole.End, Text: kept + text}})
	q, err := sqltext.ParseQuery(sql)
	if err != nil {
		return
	}
	proof := oneLine(strings.Join(out, and)) + " is in every branch, so it can stand before them once"
	for _, x := range rewrites(q, RecogniseCursor(q), w.facts) {
		if x.First != "" {
			continue
		}
		x.Edits = []sqltext.Edit{difference1(w.q.SQL, x.SQL)}
		x.FirstEdits = nil
		x.Proof = append([]string{proof}, x.Proof...)
		w.add(x)
	}
}

// repeated lists the conjuncts that all branches of an OR have.
func repeated(or *sqltext.Expr) []*sqltext.Expr {
	var out []*sqltext.Expr
	for _, t := range Conjuncts(or.Args[0]) {
		every := true
		for _, branch := range or.Args[1:] {
			every = every && slices.ContainsFunc(Conjuncts(branch), func(x Term) bool { return sqltext.Equal(x.Whole, t.Whole) })
		}
		if every {
			out = append(out, t.Whole)
		}
	}
	return out
}
