package explain

import (
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// premise is what is taken for granted where a part of a condition is read: that a key
// of the sort, or a value that does not depend on the row, is NULL or is not.
type premise struct {
	key  Key           // of a key
	expr *sqltext.Expr // of a value, nil for a key
	text string        // as written
	null bool
}

func (p premise) about(e *sqltext.Expr) bool {
	if p.expr == nil {
		return p.key.Matches(e)
	}
	return sqltext.Equal(uncast(e), p.expr)
}

func (p premise) String() string {
	if p.null {
		return p.text + " IS NULL"
	}
	return p.text + " IS NOT NULL"
}

// uncast is the placeholder under a cast to the type that it gets from there, else
// the expression itself.
func uncast(e *sqltext.Expr) *sqltext.Expr {
	if e.Kind == sqltext.Cast && e.Args[0].Kind == sqltext.Value {
		return e.Args[0]
	}
	return e
}

// reducer writes a condition shorter, under premises. Both are TRUE for the same
// rows; where one is FALSE the other may be NULL.
type reducer struct {
	premises []premise
	keys     []SortKey                // columns that compare with themselves as equal, unless NULL
	notNull  func(*sqltext.Expr) bool // the column cannot be NULL; may be nil

	and, or, not string // the keywords
}

// reduced is a condition: its truth where it is the same for every row, isFalse for
// one that is never TRUE, else its text.
type reduced struct {
	is      truth
	text    string
	or      bool // the text is an OR without parentheses
	changed bool
}

func (r reducer) reduce(e *sqltext.Expr, neg bool) reduced {
	if inner := isTrueOf(e); inner != nil && !neg {
		if x := r.reduce(inner, false); x.changed {
			return x
		}
		return kept(e)
	}
	switch e.Kind {
	case sqltext.And, sqltext.Or:
		return r.joined(e, neg)
	case sqltext.Not:
		if e.NotInside() {
			return r.leaf(e.Args[0], !neg, e, neg)
		}
		if x := r.reduce(e.Args[0], !neg); x.changed || neg {
			x.changed = true
			return x
		}
		return kept(e)
	}
	return r.leaf(e, neg, e, neg)
}

// leaf reduces a condition that is not made of others; as is how it is written, and
// not whether there is a NOT before that.
func (r reducer) leaf(e *sqltext.Expr, neg bool, as *sqltext.Expr, not bool) reduced {
	switch e.Kind {
	case sqltext.Bool:
		if e.Name == "null" {
			return reduced{is: isFalse, changed: true}
		}
		return always((e.Name == "true") != neg)
	case sqltext.IsNull, sqltext.IsNotNull:
		if n := r.null(e.Args[0]); n != isUnknown {
			return always((n == isTrue) == (e.Kind == sqltext.IsNull) != neg)
		}
	case sqltext.Distinct:
		if x := r.distinct(e, neg); x.changed {
			return x
		}
	case sqltext.Compare:
		if x := r.itself(e, neg); x.changed {
			return x
		}
	}
	if r.neverTrue(e, neg) {
		return reduced{is: isFalse, changed: true}
	}
	if not {
		return reduced{is: isUnknown, text: r.not + " " + operand(as)}
	}
	return kept(as)
}

func kept(e *sqltext.Expr) reduced {
	return reduced{is: isUnknown, text: e.Text(), or: e.Kind == sqltext.Or && !e.Parens}
}

func always(b bool) reduced { return reduced{is: of(b), changed: true} }

// joined reduces an AND or OR; one that is negated is the other of the negated parts.
func (r reducer) joined(e *sqltext.Expr, neg bool) reduced {
	and := (e.Kind == sqltext.And) != neg
	var parts []reduced
	changed := neg
	for _, a := range e.Args {
		x := r.reduce(a, neg)
		changed = changed || x.changed
		switch {
		case x.is == isUnknown:
			parts = append(parts, x)
		case (x.is == isTrue) != and: // it decides
			return x
		}
	}
	switch {
	case len(parts) == 0:
		return always(and)
	case len(parts) == 1 && changed:
		parts[0].changed = true
		return parts[0]
	case !changed:
		return kept(e)
	}
	texts := make([]string, len(parts))
	for i, x := range parts {
		texts[i] = x.text
		if x.or && and {
			texts[i] = "(" + x.text + ")"
		}
	}
	word := r.or
	if and {
		word = r.and
	}
	inner := false // under a NOT nothing may have changed but the side of the NOT
	for _, x := range parts {
		inner = inner || x.changed
	}
	return reduced{is: isUnknown, text: strings.Join(texts, " "+word+" "), or: !and, changed: !neg || inner || len(parts) < len(e.Args)}
}

// null says whether an expression is NULL under the premises.
func (r reducer) null(e *sqltext.Expr) truth {
	for _, p := range r.premises {
		if p.about(e) {
			return of(p.null)
		}
	}
	if e.Kind == sqltext.Const {
		return isFalse
	}
	return isUnknown
}

// distinct reduces IS [NOT] DISTINCT FROM, which is = or <> without NULLs.
func (r reducer) distinct(e *sqltext.Expr, neg bool) reduced {
	a, b := r.null(e.Args[0]), r.null(e.Args[1])
	switch {
	case a == isUnknown || b == isUnknown:
		return reduced{is: isUnknown}
	case a == isTrue || b == isTrue:
		return always((a != b) != neg)
	}
	op := " <> "
	if neg {
		op = " = "
	}
	return reduced{is: isUnknown, text: operand(e.Args[0]) + op + operand(e.Args[1]), changed: true}
}

// itself reduces the comparison of a key with itself, also in the first pair of rows.
func (r reducer) itself(e *sqltext.Expr, neg bool) reduced {
	a, b, op := e.Args[0], e.Args[1], e.Cmp
	if a.Kind == sqltext.Row && b.Kind == sqltext.Row && len(a.Args) == len(b.Args) && len(a.Args) > 1 {
		if neg || op == "<>" || !r.same(a.Args[0], b.Args[0]) {
			return reduced{is: isUnknown}
		}
		rest := rowOrValue(a.Args[1:]) + " " + op + " " + rowOrValue(b.Args[1:])
		if x := r.present(a.Args[0]); x.is == isUnknown {
			rest = x.text + " " + r.and + " " + rest
		}
		return reduced{is: isUnknown, text: rest, changed: true}
	}
	switch {
	case !r.same(a, b):
		return reduced{is: isUnknown}
	case (op == "=" || op == "<=" || op == ">=") != neg:
		return r.present(a)
	}
	return reduced{is: isFalse, changed: true}
}

func rowOrValue(es []*sqltext.Expr) string {
	if len(es) == 1 {
		return operand(es[0])
	}
	parts := make([]string, len(es))
	for i, e := range es {
		parts[i] = e.Text()
	}
	return "(" + list(parts) + ")"
}

// same: both are the same key.
func (r reducer) same(a, b *sqltext.Expr) bool {
	for _, k := range r.keys {
		if a.Kind == sqltext.Column && k.Key.Matches(a) && k.Key.Matches(b) {
			return true
		}
	}
	return false
}

// present says that a key is not NULL.
func (r reducer) present(key *sqltext.Expr) reduced {
	switch n := r.null(key); {
	case n != isUnknown:
		return always(n == isFalse)
	case r.notNull != nil && r.notNull(key):
		return always(true)
	}
	return reduced{is: isUnknown, text: key.Text() + " IS NOT NULL", changed: true}
}

// neverTrue reports a comparison with something that is NULL, negated or not.
func (r reducer) neverTrue(e *sqltext.Expr, neg bool) bool {
	switch e.Kind {
	case sqltext.Compare:
		a, b, op := e.Args[0], e.Args[1], e.Cmp
		if neg {
			op = negated(op)
		}
		if a.Kind != sqltext.Row && b.Kind != sqltext.Row {
			return r.null(a) == isTrue || r.null(b) == isTrue
		}
		if a.Kind != sqltext.Row || b.Kind != sqltext.Row || len(a.Args) != len(b.Args) || op == "<>" {
			return false
		}
		for i := range a.Args {
			if r.null(a.Args[i]) == isTrue || r.null(b.Args[i]) == isTrue {
				return true
			}
			if op != "=" { // the first pair may decide
				return false
			}
		}
	case sqltext.Between:
		return r.null(e.Args[0]) == isTrue || !neg && (r.null(e.Args[1]) == isTrue || r.null(e.Args[2]) == isTrue)
	case sqltext.InList:
		return r.null(e.Args[0]) == isTrue
	case sqltext.Opaque:
		return !neg && e.Name == "any" && len(e.Args) > 0 && r.null(e.Args[0]) == isTrue
	}
	return false
}
