package explain

import "github.com/pgsonde/pgsonde/explain/sqltext"

// Whether a condition is a lexicographic comparison is decided by cases. Each
// key stands before, at or after its value, or the comparison is unknown since
// one of them is NULL; a condition made of such comparisons alone has the same
// truth value for all rows of a case. Two conditions that are TRUE in the same
// cases keep the same rows.

// Truth values of SQL.
type truth int8

const (
	isFalse truth = iota
	isUnknown
	isTrue
)

// standing is how a row's key stands to the cursor's value.
type standing struct {
	cmp                int8 // -1 before, 0 at, 1 after, unknown
	keyNull, valueNull bool
}

const unknown = 2

// formula is a condition in terms of standings.
type formula struct {
	kind sqltext.ExprKind // And, Or, Not, IsTrue, Compare, IsNull (of key), IsNotNull (of key), Value (its value is null), Bool
	key  int
	op   string
	set  truth // Bool
	args []*formula
}

// compiler translates conditions over the keys and their values.
type compiler struct {
	keys   []SortKey
	merged bool // every value of a key stands for one value: the assumption "bound to the same"
	nulls  bool // a NULL test occurs
	open   bool // COALESCE(…, true) occurs: a NULL is no FALSE
}

// compile returns nil if the condition holds anything but comparisons of the
// keys with their values.
func (c *compiler) compile(e *sqltext.Expr) *formula {
	if inner := isTrueOf(e); inner != nil {
		f := c.compile(inner)
		if f == nil {
			return nil
		}
		return f.is()
	}
	if inner := notFalseOf(e); inner != nil {
		f := c.compile(inner)
		if f == nil {
			return nil
		}
		c.nulls, c.open = true, true
		return f.not().is().not()
	}
	switch e.Kind {
	case sqltext.And, sqltext.Or, sqltext.Not:
		f := &formula{kind: e.Kind}
		for _, a := range e.Args {
			g := c.compile(a)
			if g == nil {
				return nil
			}
			f.args = append(f.args, g)
		}
		return f
	case sqltext.Bool:
		return &formula{kind: sqltext.Bool, set: map[string]truth{"true": isTrue, "false": isFalse, "null": isUnknown}[e.Name]}
	case sqltext.Compare:
		return c.comparison(e)
	case sqltext.Between:
		if e.Name != "" {
			return nil
		}
		return both(c.pair(e.Args[0], e.Args[1], ">="), c.pair(e.Args[0], e.Args[2], "<="))
	case sqltext.IsNull, sqltext.IsNotNull:
		return c.nullTest(e)
	}
	return nil
}

func (f *formula) not() *formula { return &formula{kind: sqltext.Not, args: []*formula{f}} }

// is says that the formula is TRUE, not FALSE and not NULL.
func (f *formula) is() *formula { return &formula{kind: sqltext.IsTrue, args: []*formula{f}} }

func both(a, b *formula) *formula {
	if a == nil || b == nil {
		return nil
	}
	return &formula{kind: sqltext.And, args: []*formula{a, b}}
}

func (c *compiler) nullTest(e *sqltext.Expr) *formula {
	for i, k := range c.keys {
		if k.Key.Matches(e.Args[0]) {
			c.nulls = true
			return &formula{kind: e.Kind, key: i}
		}
		if len(k.Values) > 0 && c.isValueOf(i, e.Args[0]) {
			c.nulls = true
			f := &formula{kind: sqltext.Value, key: i}
			if e.Kind == sqltext.IsNotNull {
				f = f.not()
			}
			return f
		}
	}
	return nil
}

// comparison compiles one of values or of rows; a row comparison is the OR it
// stands for.
func (c *compiler) comparison(e *sqltext.Expr) *formula {
	l, r := e.Args[0], e.Args[1]
	if l.Kind != sqltext.Row && r.Kind != sqltext.Row {
		return c.pair(l, r, e.Cmp)
	}
	if l.Kind != sqltext.Row || r.Kind != sqltext.Row || len(l.Args) != len(r.Args) {
		return nil
	}
	switch e.Cmp {
	case "=", "<>":
		all := &formula{kind: sqltext.And}
		for i := range l.Args {
			g := c.pair(l.Args[i], r.Args[i], "=")
			if g == nil {
				return nil
			}
			all.args = append(all.args, g)
		}
		if e.Cmp == "<>" {
			return all.not()
		}
		return all
	}
	return c.rows(l.Args, r.Args, e.Cmp)
}

// rows: the first pair that is not equal decides: l0 < r0 OR (l0 = r0 AND …).
func (c *compiler) rows(l, r []*sqltext.Expr, op string) *formula {
	if len(l) == 1 {
		return c.pair(l[0], r[0], op)
	}
	first, equal, rest := c.pair(l[0], r[0], op[:1]), c.pair(l[0], r[0], "="), c.rows(l[1:], r[1:], op)
	tie := both(equal, rest)
	if first == nil || tie == nil {
		return nil
	}
	return &formula{kind: sqltext.Or, args: []*formula{first, tie}}
}

func (c *compiler) pair(l, r *sqltext.Expr, op string) *formula {
	for i, k := range c.keys {
		switch {
		case k.Key.Matches(l) && c.isValueOf(i, r):
			return &formula{kind: sqltext.Compare, key: i, op: op}
		case k.Key.Matches(r) && c.isValueOf(i, l):
			return &formula{kind: sqltext.Compare, key: i, op: mirrored(op)}
		}
	}
	return nil
}

func (c *compiler) isValueOf(i int, e *sqltext.Expr) bool {
	for n, v := range c.keys[i].Values {
		if (n == 0 || c.merged) && sqltext.Equal(v, e) {
			return true
		}
	}
	return false
}

// eval gives the truth value for the standings of the keys.
func (f *formula) eval(s []standing) truth {
	switch f.kind {
	case sqltext.And:
		out := isTrue
		for _, a := range f.args {
			out = min(out, a.eval(s))
		}
		return out
	case sqltext.Or:
		out := isFalse
		for _, a := range f.args {
			out = max(out, a.eval(s))
		}
		return out
	case sqltext.Not:
		return isTrue - f.args[0].eval(s)
	case sqltext.IsTrue:
		return of(f.args[0].eval(s) == isTrue)
	case sqltext.Compare:
		return compares(s[f.key].cmp, f.op)
	case sqltext.IsNull:
		return of(s[f.key].keyNull)
	case sqltext.IsNotNull:
		return of(!s[f.key].keyNull)
	case sqltext.Value:
		return of(s[f.key].valueNull)
	}
	return f.set
}

func of(b bool) truth {
	if b {
		return isTrue
	}
	return isFalse
}

func compares(cmp int8, op string) truth {
	if cmp == unknown {
		return isUnknown
	}
	switch op {
	case "<":
		return of(cmp < 0)
	case "<=":
		return of(cmp <= 0)
	case ">":
		return of(cmp > 0)
	case ">=":
		return of(cmp >= 0)
	case "=":
		return of(cmp == 0)
	}
	return of(cmp != 0)
}

// cases calls visit for every combination of standings of n keys, until it
// returns false. Without NULL tests one unknown standing stands for all.
func cases(n int, nulls bool, visit func([]standing) bool) {
	options := []standing{{cmp: -1}, {cmp: 0}, {cmp: 1}, {cmp: unknown, keyNull: true}}
	if nulls {
		options = append(options, standing{cmp: unknown, valueNull: true}, standing{cmp: unknown, keyNull: true, valueNull: true})
	}
	s := make([]standing, n)
	at := make([]int, n)
	for {
		for i := range s {
			s[i] = options[at[i]]
		}
		if !visit(s) {
			return
		}
		i := n - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(options) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// follows: does a row with these standings come after the cursor in the sort?
// With inclusive the cursor's own row does too. It is the TRUE of a row
// comparison: the first key that is not at its value decides.
func follows(s []standing, desc []bool, inclusive bool) bool {
	for i, k := range s {
		switch {
		case k.cmp == unknown:
			return false
		case k.cmp != 0:
			return (k.cmp > 0) != desc[i]
		}
	}
	return inclusive
}
