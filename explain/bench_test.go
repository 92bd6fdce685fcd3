package explain

import (
	"fmt"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// BenchmarkJudge judges statements of the corpus one after the other over one
// session: by the generic plan alone, and with custom plans, fixes and proofs.
func BenchmarkJudge(b *testing.B) {
	r, _ := corpusServer(b, pgtest.Any(b))
	files := corpus(b)
	for _, o := range []Options{{PlanOnly: true}, {}} {
		b.Run(fmt.Sprintf("plan-only=%t", o.PlanOnly), func(b *testing.B) {
			start := time.Now()
			for i := range b.N {
				f := files[i%len(files)]
				Judge(b.Context(), r, Input{Source: f.name, SQL: f.sql, OwnText: true, SearchPath: f.path}, o)
			}
			b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "statements/s")
		})
	}
}
