package explain

import (
	"testing"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// TestKeyConstants: the constants of an expression are told by their value, for an
// index's text, a plan and a statement each write them in their own way.
func TestKeyConstants(t *testing.T) {
	for _, c := range []struct {
		key, expr string
		want      bool
	}{
		{"COALESCE(val, '-1'::integer::double precision)", "COALESCE(t.val, '-1'::double precision)", true},
		{"COALESCE(val, ('-1'::integer)::double precision)", "COALESCE(t.val, '-1'::double precision)", true},
		{"coalesce(rev, 2)", "coalesce(rev, 2.0)", false}, // an integer and a numeric
		{"rev / 2", "rev / '2'::numeric", false},
		{"rev / 2", "t.rev / 2", true},
		{"val + 0.1", "val + 0.1::real", false},
		{"COALESCE(rev, (0)::bigint)", "COALESCE(t.rev, '0'::bigint)", true},
		{"COALESCE(amount, (0)::numeric)", "COALESCE(t.amount, '0'::numeric)", true},
		{"COALESCE(amount, (-1)::numeric)", "coalesce(amount, -1)", true},
		{"COALESCE(amount, 0.50)", "coalesce(amount, .5)", true},
		{"(val + (1)::double precision)", "(t.val + '1'::double precision)", true},
		{"COALESCE(val, 0)", "coalesce(val, 1)", false},
		{"COALESCE(val, 1)", "coalesce(val, -1)", false},
		{"COALESCE(name, '0'::text)", "coalesce(name, 0)", false},
		{"COALESCE(name, '0'::text)", "coalesce(name, '00'::text)", false},
		{"COALESCE(val, ('1.7'::numeric)::integer)", "coalesce(val, 1.7)", false},
		{"(val + 1)", "(t.val - 1)", false},
		{"(val + 1)", "(t.vul + 1)", false},
		{"(val + 1)", "(t.val + 1 + 1)", false},
	} {
		k, err := sqltext.ParseExpr(c.key)
		if err != nil {
			t.Fatal(err)
		}
		e, err := sqltext.ParseExpr(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Key{Expr: k}).Matches(e); got != c.want {
			t.Errorf("%s and %s: got %t, want %t", c.key, c.expr, got, c.want)
		}
	}
}
