package explain

import (
	"math/big"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// number is the value of a numeric constant, nil for anything else: 0, -1, '-1'::integer,
// (0)::bigint. An index's text keeps the casts that a statement was given, a plan
// has the constant that the planner made of them.
func number(e *sqltext.Expr) *big.Rat {
	whole := false
	for e.Kind == sqltext.Cast {
		switch e.Name {
		case "smallint", "integer", "bigint", "int", "int2", "int4", "int8", "real", "float4": // a fraction may be another number in these
			whole = true
		case "numeric", "decimal", "double precision", "float8":
		default:
			return nil
		}
		if e = e.Args[0]; e.Kind != sqltext.Cast && e.Kind == sqltext.Const && strings.HasPrefix(unparenthesised(e), "'") {
			return decimal(strings.Trim(unparenthesised(e), "'"), whole)
		}
	}
	text := unparenthesised(e)
	switch {
	case e.Kind == sqltext.Const:
	case e.Kind == sqltext.Operator && len(e.Args) == 1 && e.Args[0].Kind == sqltext.Const && strings.HasPrefix(text, "-"):
	default:
		return nil
	}
	return decimal(strings.ReplaceAll(text, " ", ""), whole)
}

// decimal reads a number in plain notation; whole asks for an integer, which a cast
// does not round.
func decimal(text string, whole bool) *big.Rat {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789.") != "" || whole && strings.Contains(digits, ".") {
		return nil
	}
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return n
}

// unparenthesised is the text without the parentheses round it.
func unparenthesised(e *sqltext.Expr) string {
	if !e.Parens {
		return e.Text()
	}
	return strings.Trim(e.Text(), "() \t\r\n")
}

// sameOperator reports two operators, or chains of them, of the same operands. What a
// division gives depends on the types of its operands, too.
func sameOperator(a, b *sqltext.Expr) bool {
	if len(a.Args) != len(b.Args) || len(a.Args) == 0 {
		return false
	}
	for i := range a.Args {
		op := operatorBefore(a, i)
		if op != operatorBefore(b, i) || op == "/" && !sqltext.Equal(a.Args[i], b.Args[i]) || !sameKey(a.Args[i], b.Args[i]) {
			return false
		}
	}
	return operatorBefore(a, len(a.Args)) == operatorBefore(b, len(b.Args))
}

// operatorBefore writes what stands before an operand, behind the last one for i as
// their number: the operator, without white space and parentheses.
func operatorBefore(e *sqltext.Expr, i int) string {
	from, to := e.Start, e.End
	if i > 0 {
		from = e.Args[i-1].End
	}
	if i < len(e.Args) {
		to = e.Args[i].Start
	}
	if from > to {
		return "?"
	}
	return strings.ToLower(strings.Trim(strings.Join(strings.Fields(e.Text()[from-e.Start:to-e.Start]), " "), "() "))
}
