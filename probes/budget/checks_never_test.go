package budget

import (
	"strings"
	"testing"
)

// TestALongNameIsNoMatterOfOrder: what to do about a name that the server cuts.
func TestALongNameIsNoMatterOfOrder(t *testing.T) {
	long := strings.Repeat("x", 64)
	tests := []struct{ roles, want string }{
		{"a: { pool: 1, match: " + long + " }", "at most 63 bytes"},
		{"a: { pool: 1, match: \"*\" }, b: { pool: 1 }", "the narrower role first"},
		{"a: { pool: 1, match: \"*\" }, b: { pool: 1, match: [b, " + long + "] }", "the narrower role first"},
	}
	for _, tt := range tests {
		f, err := Parse("x.yaml", []byte("roles: { "+tt.roles+" }"))
		if err != nil {
			t.Fatal(err)
		}
		if got := neverMatches(f); len(got) != 1 || !strings.Contains(got[0].Action, tt.want) {
			t.Errorf("%s: got %+v, want the action %q", tt.roles, got, tt.want)
		}
	}
}
