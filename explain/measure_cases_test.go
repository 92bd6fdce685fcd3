package explain

import (
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

func TestAnalyzeMeasuresWithoutAFix(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		_, dsn := small(t, in)
		r := open(t, dsn("app"), RunnerOptions{})
		tests := []struct {
			name, sql, rule string
			measured        int
		}{
			{"a good page", "SELECT * FROM t WHERE (a, b) > ($1, $2) ORDER BY a, b LIMIT 50", "", 3},
			{"no parameters", "SELECT * FROM t ORDER BY a, b LIMIT 5", "", 1},
			{"a volatile function", "SELECT random() FROM t ORDER BY a, b LIMIT 5", "statement-not-executed", 0},
		}
		for _, tt := range tests {
			res := Judge(t.Context(), r, Input{Source: tt.name, SQL: tt.sql}, Options{Analyze: true})
			n := 0
			for _, c := range res.Plans {
				if !c.Measured {
					continue
				}
				n++
				if c.Plan.Root.Actual == nil || c.Plan.Root.Actual.TotalMS <= 0 || c.SharedBlocks == nil {
					t.Errorf("%s: the %s case has no times or blocks", tt.name, c.Case)
				}
			}
			if n != tt.measured {
				t.Errorf("%s: got %d measured cases, want %d; findings %v", tt.name, n, tt.measured, res.Findings)
			}
			found := false
			for _, f := range res.Findings {
				found = found || f.Rule == tt.rule
			}
			if found != (tt.rule != "") {
				t.Errorf("%s: rule %q found: %v", tt.name, tt.rule, found)
			}
		}
	})
}
