package explain

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

func pick(r *rand.Rand, s ...string) string { return s[r.IntN(len(s))] }

func randomValue(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return fmt.Sprintf("'2024-01-0%d'", 1+r.IntN(4))
	case 1:
		return fmt.Sprintf("$%d::date", 1+r.IntN(3))
	}
	return fmt.Sprintf("$%d", 1+r.IntN(3))
}

func randomOp(r *rand.Rand) string { return pick(r, "<", "<=", "=", ">=", ">", "<", ">", "<>") }

// randomTerm writes any condition over the keys a, b, c and six parameters.
func randomTerm(r *rand.Rand, depth int) string {
	key := pick(r, "a", "a", "a", "b", "c")
	if depth == 0 || r.IntN(5) == 0 {
		switch r.IntN(16) {
		case 0:
			return randomValue(r) + " " + randomOp(r) + " " + key
		case 1:
			return key + pick(r, " between ", " not between ", " between symmetric ") + randomValue(r) + " and " + randomValue(r)
		case 2:
			return key + " in (" + randomValue(r) + ", " + randomValue(r) + ")"
		case 3:
			return "(a, b) " + pick(r, "<", "<=", ">", ">=", "=", "<>") + " (" + randomValue(r) + ", " + randomValue(r) + ")"
		case 4:
			return fmt.Sprintf("($%d, b) %s (a, $%d)", 1+r.IntN(3), pick(r, "<", ">", ">="), 1+r.IntN(3))
		case 5:
			return key + pick(r, " is null", " is not null")
		case 6:
			return fmt.Sprintf("$%d", 1+r.IntN(3)) + pick(r, " is null", " is not null")
		case 7:
			return pick(r, "true", "false", "null::boolean", "a > b", "b = c", "coalesce(a, b) > $1", "a = any(array[$1, $2])")
		case 8:
			return key + pick(r, " is not distinct from ", " is not distinct from ", " is distinct from ") + randomValue(r)
		case 9:
			return key + " " + randomOp(r) + fmt.Sprintf(" coalesce($%d, %s)", 1+r.IntN(3), pick(r, key, key, key, "b", "'2024-01-02'"))
		case 10:
			return fmt.Sprintf("(a, b) %s (coalesce($%d, a), %s)", pick(r, "<", "<=", ">", ">=", "=", "<>"), 1+r.IntN(3), pick(r, "coalesce($2, b)", "$2", "coalesce($1, b)"))
		}
		return key + " " + randomOp(r) + " " + randomValue(r)
	}
	n := 2 + r.IntN(2)
	parts := make([]string, n)
	for i := range parts {
		parts[i] = randomTerm(r, depth-1)
	}
	switch r.IntN(11) {
	case 9:
		return "case when " + parts[0] + " then " + pick(r, "1", "1", "0", "null") + " when " + parts[1] + " then " + pick(r, "1", "0") +
			pick(r, "", " else 0", " else 1") + " end " + pick(r, "= 1", "> 0", "<> 0", "<= 1")
	case 10:
		return "case when " + parts[0] + " then " + pick(r, "true", "false") + " when " + parts[1] + " then " + pick(r, "true", parts[n-1]) +
			" else " + pick(r, "false", parts[0]) + " end" + pick(r, "", " = true", " is true")
	case 0:
		return "not (" + parts[0] + ")"
	case 1:
		return "case when " + parts[0] + " then " + parts[1] + " else " + parts[n-1] + " end"
	case 2:
		return pick(r, "("+parts[0]+") is true", "("+parts[0]+") is not false", "coalesce("+parts[0]+", false)", "coalesce("+parts[0]+", true)")
	case 3, 4, 5:
		return "(" + strings.Join(parts, ") and (") + ")"
	}
	return "(" + strings.Join(parts, ") or (") + ")"
}

func randomOrder(r *rand.Rand) string {
	return "a" + pick(r, "", " desc") + ", b" + pick(r, "", " desc") + pick(r, "", ", c desc", ", c")
}

// keyset is a random spelling of "after the cursor".
type keyset struct {
	where, order string
	plain        bool // cannot be one row comparison: a filter sits inside it
	apart        bool // takes more than one query: it goes on among NULLs, or behind them
}

// randomKeyset writes a lexicographic condition: flat, nested, in conjunctive
// form, negated or as rows, the parts shuffled, operands and branches swapped,
// with values given once or twice, NULL tests and other conditions around.
func randomKeyset(r *rand.Rand) keyset {
	keys := []string{"a", "b", "c"}[:2+r.IntN(2)]
	desc := make([]bool, len(keys))
	var order []string
	for i, k := range keys {
		desc[i] = r.IntN(2) == 0
		order = append(order, k+map[bool]string{true: " desc"}[desc[i]])
	}
	twice := r.IntN(3) == 0
	inclusive := r.IntN(4) == 0
	g := generator{r: r, keys: keys, desc: desc, twice: twice, inclusive: inclusive}
	if r.IntN(5) == 0 {
		g.every = pick(r, "c is not null", "$6 is not null", "(a < $5 or $6 is null)", "(c > $5 or c is null)", "b = any (array[$5, $6])",
			"(b <> $6 or c = $5)", "case when $6 is null then true else b > $5 end", "(a > b or c > $5 and $6 is null)", "not (c < $5 and b > $6)")
	}
	var where string
	switch r.IntN(10) {
	case 9:
		return keyset{where: g.casedNot(), order: strings.Join(order, ", "), plain: true}
	case 6:
		where, first := g.amongNulls()
		order[0] += map[bool]string{false: " nulls last", true: " nulls first"}[first]
		return keyset{where: where, order: strings.Join(order, ", "), plain: true, apart: !strings.HasPrefix(g.every, "b = any")}
	case 7:
		return keyset{where: g.cased(), order: strings.Join(order, ", "), plain: g.every != ""}
	case 8:
		return keyset{where: g.coalesced(), order: strings.Join(order, ", "), plain: true}
	case 0:
		where = g.nested(0)
	case 1:
		where = g.bounded()
	case 2:
		where = g.negated()
	case 3:
		where = g.conjunctive()
	default:
		where = g.flat()
	}
	switch r.IntN(5) {
	case 0:
		where = "c is not null and (" + where + ")"
	case 1:
		where = "(" + where + ") and $6 is not null"
	case 2:
		where = "(" + where + ")"
	}
	return g.around(keyset{where: where, order: strings.Join(order, ", ")})
}

// around puts what switches the cursor off, or adds rows to it, round it.
func (g generator) around(k keyset) keyset {
	if g.r.IntN(3) > 0 {
		return k
	}
	k.plain = true
	guard := pick(g.r, "$6 is null", "$1 is null", "$1::date is null", "$5 > $6", "$6 is null or $5 is null")
	switch g.r.IntN(9) {
	case 7:
		k.where = "coalesce(" + k.where + ", true)"
	case 8:
		k.where = "c is not null and (" + k.where + ") is not false"
	case 6:
		every := pick(g.r, "c is not null", "(b <> $6 or c = $5)", "b = any (array[$5, $6])")
		k.where = "(" + every + " and " + guard + ") or (" + every + " and (" + k.where + "))"
	case 0:
		k.where = guard + " or " + k.where
	case 1:
		k.where = "(" + guard + " or (" + k.where + ")) and c is not null"
	case 2:
		k.where = "case when " + guard + " then true else " + k.where + " end"
	case 3:
		k.where = "case when " + guard + " then " + k.where + " else true end"
	case 4:
		k.where = "(" + k.where + ") or " + pick(g.r, "a is null", "a is null and b > $5", "a is null and b is null")
	default:
		k.where = "(" + k.where + ") and a " + pick(g.r, ">", "<", ">=", "<=") + " $6"
	}
	return k
}

type generator struct {
	r         *rand.Rand
	keys      []string
	desc      []bool
	twice     bool
	inclusive bool
	every     string // what every branch repeats, "" for nothing
	from      int    // the number of keys before these
}

// value of a key; with twice, equalities use another parameter.
func (g generator) value(i int, eq bool) string {
	if g.twice && eq {
		return fmt.Sprintf("$%d", i+4)
	}
	return fmt.Sprintf("$%d", i+g.from+1)
}

func (g generator) cmp(i int, op string) string {
	v := g.value(i, op == "=")
	if g.r.IntN(4) == 0 {
		return v + " " + mirrored(op) + " " + g.keys[i]
	}
	return g.keys[i] + " " + op + " " + v
}

// after is the strict comparison of a key, inclusive for the last if so chosen.
func (g generator) after(i int) string {
	op := map[bool]string{false: ">", true: "<"}[g.desc[i]]
	if g.inclusive && i == len(g.keys)-1 {
		op += "="
	}
	return g.cmp(i, op)
}

func (g generator) shuffle(parts []string, sep string) string {
	g.r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return strings.Join(parts, sep)
}

func (g generator) flat() string {
	var branches []string
	for i := range g.keys {
		parts := []string{g.after(i)}
		for j := range i {
			parts = append(parts, g.cmp(j, "="))
		}
		if g.r.IntN(3) == 0 {
			parts = append(parts, g.keys[i]+" is not null")
		}
		if g.every != "" {
			parts = append(parts, g.every)
		}
		b := g.shuffle(parts, " and ")
		if g.r.IntN(2) == 0 {
			b = "(" + b + ")"
		}
		branches = append(branches, b)
	}
	if g.r.IntN(4) == 0 {
		never := g.keys[0] + " = $1 and false"
		if g.every != "" {
			never += " and " + g.every
		}
		branches = append(branches, "("+never+")")
	}
	return g.shuffle(branches, " or ")
}

func (g generator) nested(i int) string {
	after := g.after(i)
	if g.every != "" {
		after = g.shuffle([]string{after, g.every}, " and ")
	}
	if i == len(g.keys)-1 {
		return after
	}
	tie := g.cmp(i, "=") + " and (" + g.nested(i+1) + ")"
	return g.shuffle([]string{after, "(" + tie + ")"}, " or ")
}

// bounded: a >= v AND (…).
func (g generator) bounded() string {
	op := map[bool]string{false: ">=", true: "<="}[g.desc[0]]
	return g.cmp(0, op) + " and (" + g.flat() + ")"
}

// negated: NOT (before or at the cursor).
func (g generator) negated() string {
	g.twice = false
	var branches []string
	for i := range g.keys {
		op := map[bool]string{false: "<", true: ">"}[g.desc[i]]
		if i == len(g.keys)-1 && !g.inclusive {
			op += "="
		}
		parts := []string{g.cmp(i, op)}
		for j := range i {
			parts = append(parts, g.cmp(j, "="))
		}
		branches = append(branches, "("+g.shuffle(parts, " and ")+")")
	}
	return "not (" + g.shuffle(branches, " or ") + ")"
}

// conjunctive: a >= v AND (a <> v OR b >= w) AND (a <> v OR b <> w OR c > x).
func (g generator) conjunctive() string {
	g.twice = false
	var parts []string
	for i := range g.keys {
		var ors []string
		for j := range i {
			ors = append(ors, g.cmp(j, "<>"))
		}
		op := map[bool]string{false: ">", true: "<"}[g.desc[i]]
		if g.inclusive || i < len(g.keys)-1 {
			op += "="
		}
		ors = append(ors, g.cmp(i, op))
		parts = append(parts, "("+strings.Join(ors, " or ")+")")
	}
	return strings.Join(parts, " and ")
}

// amongNulls goes on behind a value or among the NULLs of the first key, wherever they
// are in the order, or where its value tells; first says that they have to come first.
func (g generator) amongNulls() (where string, first bool) {
	key := g.keys[0]
	later := generator{r: g.r, keys: g.keys[1:], desc: g.desc[1:], inclusive: g.inclusive, from: 1}
	among := key + " is null and (" + later.flat() + ")"
	if g.every != "" {
		among += " and " + g.every
	}
	if g.r.IntN(3) == 0 {
		among = "(" + among + ")"
	}
	all, null := key+" is not null", key+" is null"
	switch g.r.IntN(8) {
	case 0:
		return g.shuffle([]string{among, all}, " or "), true
	case 1:
		return "not (" + key + " is null and not (" + later.flat() + "))", true
	case 2:
		return g.shuffle([]string{"$1 is not null and (" + g.flat() + ")", "$1 is null and (" + g.shuffle([]string{among, all}, " or ") + ")"}, " or "), true
	case 3:
		return g.shuffle([]string{g.flat(), "$1 is null and " + all, "$1 is null and " + among}, " or "), true
	case 4:
		return g.shuffle([]string{g.flat(), null}, " or "), false
	case 5:
		return g.shuffle([]string{"$1::date is not null and (" + g.shuffle([]string{g.flat(), null}, " or ") + ")", "$1 is null and " + among}, " or "), false
	case 6:
		return key + " is not distinct from $1 and (" + later.flat() + ") or " + g.after(0) + " or " + null + " and $1 is not null", false
	}
	return g.shuffle([]string{g.flat(), key + " is null and $1 is not null", among + " and $1 is null"}, " or "), false
}

// casedNot gives a number for each kind of row that is not behind the cursor.
func (g generator) casedNot() string {
	g.twice = false
	s := "case"
	for i := range g.keys {
		op := map[bool]string{false: "<", true: ">"}[g.desc[i]]
		if i == len(g.keys)-1 {
			op += "="
		}
		parts := []string{g.cmp(i, op)}
		for j := range i {
			parts = append(parts, g.cmp(j, "="))
		}
		s += " when " + g.shuffle(parts, " and ") + " then 0"
	}
	return s + " else 1 end = 1"
}

// cased gives a number or a truth for each branch.
func (g generator) cased() string {
	yes, no, end := pick(g.r, "1", "'y'"), "0", " = 1"
	if yes == "'y'" {
		no, end = "'n'", " = 'y'"
	}
	if g.r.IntN(2) == 0 {
		yes, no, end = "true", "false", pick(g.r, "", " = true", " is true")
	}
	s := "case"
	for i := range g.keys {
		parts := []string{g.after(i)}
		for j := range i {
			parts = append(parts, g.cmp(j, "="))
		}
		s += " when " + g.shuffle(parts, " and ") + " then " + yes
		if g.r.IntN(3) == 0 && !g.twice { // behind it nothing else can be true of such rows
			s += " when " + g.keys[0] + " " + map[bool]string{false: "<", true: ">"}[g.desc[0]] + " $1 then " + no
		}
	}
	return s + pick(g.r, "", " else "+no) + " end" + end
}

// coalesced compares with the row's own key where there is no value.
func (g generator) coalesced() string {
	var values []string
	for i, k := range g.keys {
		values = append(values, fmt.Sprintf("coalesce($%d, %s)", i+1, k))
	}
	op := map[bool]string{false: ">", true: "<"}[g.desc[0]]
	if g.inclusive {
		op += "="
	}
	switch g.r.IntN(3) {
	case 0:
		return g.keys[0] + " " + op + " " + values[0]
	case 1:
		return "(" + strings.Join(g.keys, ", ") + ") " + op + " (" + strings.Join(values, ", ") + ")"
	}
	second := pick(g.r, values[1], "$2")
	tie := g.keys[0] + " = " + values[0] + " and " + g.keys[1] + map[bool]string{false: " > ", true: " < "}[g.desc[1]] + second
	return g.shuffle([]string{g.keys[0] + " " + op[:1] + " " + values[0], "(" + tie + ")"}, " or ")
}
