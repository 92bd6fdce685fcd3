package explain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// fixedBy reports an equality between the key and a value among the conjuncts of
// an index condition; "= ANY" counts, for the scan goes over its values in turn.
func fixedBy(conds []Term, key Key) bool {
	return slices.ContainsFunc(conds, func(c Term) bool {
		switch e := c.Expr; e.Kind {
		case sqltext.Compare:
			return c.Fixes(key)
		case sqltext.IsNull, sqltext.InList:
			return !c.Not && key.Matches(e.Args[0])
		case sqltext.Opaque:
			return !c.Not && e.Name == "any" && len(e.Args) > 0 && key.Matches(e.Args[0])
		}
		return false
	})
}

// startBounds returns the conjuncts of an index condition that bound the key on
// the side where the scan starts: a comparison, a BETWEEN or a row comparison.
func startBounds(conds []Term, key Key, side Side) []*sqltext.Expr {
	var out []*sqltext.Expr
	for _, c := range conds {
		if _, ok := c.Implied(key, side); ok && c.Expr.Kind != sqltext.Or || startsAtAny(c.Expr, key, side) {
			out = append(out, c.Expr)
		}
	}
	return out
}

// startsAtAny reports "key > ANY (…)", which 18 makes of an OR over one operator:
// the scan starts at the least of the values.
func startsAtAny(e *sqltext.Expr, key Key, side Side) bool {
	if e.Kind != sqltext.Opaque || len(e.Args) != 2 || !key.Matches(e.Args[0]) {
		return false
	}
	op, ok := strings.CutSuffix(strings.TrimSpace(e.Text()[e.Args[0].End-e.Start:e.Args[1].Start-e.Start]), "ANY")
	switch op = strings.TrimSpace(op); {
	case !ok:
		return false
	case side == Lower:
		return op == ">" || op == ">="
	}
	return op == "<" || op == "<="
}

// anyRow reports a row comparison of two or more keys, which starts at the
// cursor itself.
func anyRow(conds []*sqltext.Expr) bool {
	return slices.ContainsFunc(conds, func(c *sqltext.Expr) bool {
		return c.Kind == sqltext.Compare && c.Args[0].Kind == sqltext.Row && len(c.Args[0].Args) > 1
	})
}

// goesOn reports what decides about the rows that share a value of the key, among
// the conjuncts of a filter: an OR over it, or a comparison of rows that begins
// with it, of which an index condition on the first pair alone is left.
func goesOn(filter *sqltext.Expr, key Key) bool {
	return slices.ContainsFunc(Conjuncts(filter), func(c Term) bool {
		if inner := notFalseOf(c.Expr); inner != nil {
			c.Expr = inner
		}
		switch {
		case c.Expr.Kind == sqltext.Or:
			return mentions(c.Expr, key)
		case isRow(c.Expr):
			l, r := c.Expr.Args[0], c.Expr.Args[1]
			return l.Kind == sqltext.Row && mentions(l.Args[0], key) || r.Kind == sqltext.Row && mentions(r.Args[0], key)
		}
		return false
	})
}

func mentions(e *sqltext.Expr, key Key) bool {
	return !e.Walk(func(x *sqltext.Expr) bool { return !key.Matches(x) })
}

// nullBranch reports a condition in which every branch but "key IS NULL" bounds it,
// however deep that stands.
func nullBranch(filter *sqltext.Expr, key Key, side Side) bool {
	for _, c := range Conjuncts(filter) {
		nulls := 0
		x := extractor{key: key, side: side, nulls: &nulls}
		if p := x.walk(c.Expr, c.Not); nulls > 0 && p.found && len(p.Values) > 0 {
			return true
		}
	}
	return false
}

// hidden names what keeps an inequality on the key out of the index condition,
// "" when there is none: a CASE or a COALESCE that compares it, or a cast, another collation or
// an expression round it that the filter bounds.
func hidden(filter *sqltext.Expr, key Key, side Side, t *Table) string {
	for _, c := range Conjuncts(filter) {
		if (c.Expr.Kind == sqltext.Case || c.Expr.Kind == sqltext.Opaque) && comparesInside(c.Expr, key) {
			if c.Expr.Kind == sqltext.Opaque && !strings.HasPrefix(strings.ToUpper(strings.TrimLeft(c.Expr.Text(), "( ")), "CASE") {
				return "a test of its truth"
			}
			return "a CASE"
		}
		if e := caseOfNumber(c.Expr); e != nil && !c.Not && comparesInside(e, key) {
			return "a CASE that is compared"
		}
		if !c.Not && coalesced(c.Expr, key, side) {
			return "a COALESCE"
		}
		if a := arrayFrom(c.Expr, key, side); a != nil && !c.Not {
			return "an ARRAY that is compared"
		}
		if c.Expr.Kind == sqltext.Func && comparesInside(c.Expr, key) {
			return "a " + strings.ToUpper(c.Expr.Name)
		}
	}
	for _, e := range hiddenIn(filter, key) {
		if _, ok := Implied(filter, Key{Expr: e, Outer: key.Outer}, side); ok {
			return wrapper(e, t)
		}
	}
	for _, e := range turnedIn(filter, key) {
		if _, ok := Implied(filter, Key{Expr: e, Outer: key.Outer}, -side); ok {
			return "an expression"
		}
	}
	return wrappedBranch(filter, key, side, t)
}

// arrayFrom is the ARRAY of "ARRAY[K, …] > v", which goes on behind a row as a comparison
// of rows does and is nothing to start a scan with, nil for anything else.
func arrayFrom(e *sqltext.Expr, key Key, side Side) *sqltext.Expr {
	if e.Kind != sqltext.Compare {
		return nil
	}
	x := extractor{side: side}
	for i, op := range []string{e.Cmp, mirrored(e.Cmp)} {
		a, v := e.Args[i], e.Args[1-i]
		if elements := arrayOf(a); op != "=" && x.startsAt(op) && len(elements) > 1 && key.Matches(bare(elements[0])) && !hasColumns(v) {
			return a
		}
	}
	return nil
}

// arrayOf lists the elements of ARRAY[…], under a cast or not, nil for anything else.
func arrayOf(e *sqltext.Expr) []*sqltext.Expr {
	if e = bare(e); e.Kind != sqltext.Func || e.Name != "" {
		return nil
	}
	return e.Args
}

// turnedIn lists what inequalities compare that goes down as the key goes up: -key.
func turnedIn(filter *sqltext.Expr, key Key) (out []*sqltext.Expr) {
	filter.Walk(func(e *sqltext.Expr) bool {
		if e.Kind == sqltext.Operator && len(e.Args) == 1 && key.Matches(e.Args[0]) && strings.HasPrefix(strings.TrimLeft(e.Text(), "( "), "-") {
			out = append(out, e)
		}
		return true
	})
	return out
}

// wrappedBranch names what hides the key in some branch of an OR that else is a
// cursor over it, "" for none: a cast or another collation.
func wrappedBranch(filter *sqltext.Expr, key Key, side Side, t *Table) string {
	loose := key
	loose.Loose = true
	for _, c := range Conjuncts(filter) {
		if _, ok := c.Implied(loose, side); !ok || c.Not || c.Expr.Kind != sqltext.Or || !tied(c.Expr, loose, side) {
			continue
		}
		found := ""
		c.Expr.Walk(func(e *sqltext.Expr) bool {
			if (e.Kind == sqltext.Cast || e.Kind == sqltext.Collate) && loose.Matches(e) && !key.Matches(e) {
				found = wrapper(e, t)
			}
			return found == ""
		})
		return found
	}
	return ""
}

// comparesInside reports an inequality on the key somewhere inside e.
func comparesInside(e *sqltext.Expr, key Key) bool {
	return !e.Walk(func(x *sqltext.Expr) bool {
		return x.Kind != sqltext.Compare || x.Cmp == "=" || x.Cmp == "<>" || !mentions(x, key)
	})
}

// boundText writes "key >= value", with LEAST or GREATEST over several values.
func boundText(key Key, side Side, values []BoundValue) string {
	op, pick := " >= ", "LEAST("
	if side == Upper {
		op, pick = " <= ", "GREATEST("
	}
	es := make([]*sqltext.Expr, len(values))
	for i, v := range values {
		es[i] = v.Expr
	}
	if len(es) == 1 {
		return key.Expr.Text() + op + es[0].Text()
	}
	return key.Expr.Text() + op + pick + texts(es, ", ") + ")"
}

func wrapper(e *sqltext.Expr, t *Table) string {
	switch e.Kind {
	case sqltext.Cast:
		if c := e.Args[0]; c.Kind == sqltext.Column && t.column(c.Name) != nil && t.column(c.Name).Type == e.Name && !t.column(c.Name).Domain {
			return "another collation"
		}
		return "a cast"
	case sqltext.Collate:
		return "another collation"
	case sqltext.Func, sqltext.Operator:
		return "an expression"
	}
	return ""
}

// contains reports that the expression, or one of its operands, is written as v,
// or has a value known to be the same.
func contains(e, v *sqltext.Expr, k *Known) bool {
	return !e.Walk(func(x *sqltext.Expr) bool { return !sqltext.Equal(x, v) && !k.same(x, v) })
}

// shifted reports that a start has the value only less something, or plus something
// where the scan descends: v - interval '1 day', say, which lies before it.
func (s *Scan) shifted(start, v *sqltext.Expr) bool {
	op := "-"
	if s.Side == Upper {
		op = "+"
	}
	found := false
	start.Walk(func(x *sqltext.Expr) bool {
		if x.Kind == sqltext.Operator && len(x.Args) == 2 && contains(x.Args[0], v, nil) {
			between := x.Text()[x.Args[0].End-x.Start : x.Args[1].Start-x.Start]
			found = found || strings.Trim(between, "() ") == op
		}
		return !found
	})
	return found
}

// tells reports that two different parameters are known to be two values.
func (k *Known) tells() bool {
	return k != nil && (k.Reuses || slices.ContainsFunc(k.Params, func(v string) bool { return v != "" }))
}

// same reports two parameters that are known to hold one value.
func (k *Known) same(a, b *sqltext.Expr) bool {
	if k == nil || a.Kind != sqltext.Value || b.Kind != sqltext.Value {
		return false
	}
	x, y := k.param(a), k.param(b)
	return x != "" && x == y
}

func (k *Known) param(e *sqltext.Expr) string {
	if n := paramNumber(e); n > 0 && n <= len(k.Params) {
		return k.Params[n-1]
	}
	return ""
}

func texts(es []*sqltext.Expr, sep string) string {
	var parts []string
	for _, e := range es {
		parts = append(parts, e.Text())
	}
	return strings.Join(parts, sep)
}

// paramNumber is n of the parameter $n, 0 for anything else.
func paramNumber(e *sqltext.Expr) int {
	text := strings.Trim(e.Text(), "() ")
	if e.Kind != sqltext.Value || !strings.HasPrefix(text, "$") {
		return 0
	}
	n, _ := strconv.Atoi(text[1:])
	return n
}
