package explain

import (
	"math/rand/v2"
	"testing"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// FuzzFixes: whatever the text is, nothing panics, ranges lie in the text, and a
// rewrite leaves everything outside its range alone.
func FuzzFixes(f *testing.F) {
	for _, c := range cursorCases {
		f.Add(c.sql)
	}
	for _, c := range smellCases {
		f.Add(c.sql)
	}
	r := rand.New(rand.NewPCG(5, 7))
	for range 40 {
		k := randomKeyset(r)
		f.Add("select a, b from doc where " + k.where + " order by " + k.order + " limit 5")
	}
	facts := docFacts()
	f.Fuzz(func(t *testing.T, src string) {
		n := sqltext.Placeholders(src, sqltext.Auto)
		q, err := sqltext.ParseQuery(n.SQL)
		if err != nil {
			return
		}
		for _, s := range Smells(q, facts) {
			if s.Start < 0 || s.End > len(q.SQL) || s.Start > s.End {
				t.Fatalf("%s at %d-%d of %q", s.Rule, s.Start, s.End, q.SQL)
			}
		}
		for _, c := range Cursors(q) {
			if c.Start < 0 || c.End > len(q.SQL) || c.Start > c.End {
				t.Fatalf("cursor at %d-%d of %q", c.Start, c.End, q.SQL)
			}
			PaginationOf(q, c)
			for _, x := range append(Fixes(q, c, facts), TieFixes(q, c, facts)...) {
				r := x.Render(n)
				if r.SQL[:r.NewStart] != src[:r.Start] || r.SQL[r.NewEnd:] != src[r.End:] {
					t.Fatalf("%s changed more than %d-%d:\n%s\n%s", x.Kind, r.Start, r.End, src, r.SQL)
				}
				for _, claim := range append(x.Parts, x.Claim) {
					if claim != nil {
						claim.Refutations()
					}
				}
			}
		}
	})
}
