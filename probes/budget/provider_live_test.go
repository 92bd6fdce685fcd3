package budget_test

import (
	"slices"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestProvidersShareRefusesNobody: slots that the file says a provider keeps are
// the plan's. Whether a server refuses is what it counts itself.
func TestProvidersShareRefusesNobody(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		b := newBench(t, in, map[string]string{"max_connections": "16", "superuser_reserved_connections": "3"})
		const file = "server: { max_connections: 16, superuser_reserved: 3, provider_reserved: 5 }\nroles: { api: { pool: 4, match: { user: app } } }"
		f, err := budget.Parse("provider.yaml", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		b.open(7, "app", "api", 1, "")
		u := b.look("monitor", f)
		full := slices.ContainsFunc(u.Findings, func(x probes.Finding) bool { return x.Rule == "slots-full" || x.Rule == "slots-hidden" })
		b.open(1, "app", "api", 1, "") // it is let in at once
		if full || u.Usable != 13 || u.Free != 13-u.Used || u.Plan.Usable != 8 {
			t.Errorf("full %v, usable %d, used %d, free %d, planned %d: a login was let in", full, u.Usable, u.Used, u.Free, u.Plan.Usable)
		}
		b.until("monitor", file, "slots-full", false)
	})
}
