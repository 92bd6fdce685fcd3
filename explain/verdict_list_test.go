package explain

import "testing"

func TestValuesHeld(t *testing.T) {
	for cond, want := range map[string]float64{
		"(t.a = $1)": 1, "(t.a = ANY ('{1,2,3,4}'::bigint[]))": 4, "(t.a = ANY (ARRAY[$1, $2]))": 2, "(t.a = ANY ($1))": 10,
		"(t.a > ANY ($1))": 0, "(t.a > $1)": 0, "(t.a <> ALL ('{1,2}'::int[]))": 0,
	} {
		if got := valuesHeld(parseCond(cond)); got != want {
			t.Errorf("%s: got %g values, want %g", cond, got, want)
		}
	}
}
