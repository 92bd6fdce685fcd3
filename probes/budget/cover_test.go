package budget_test

import (
	"os"
	"testing"

	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// spoken notes which rules the live tests made speak, and silent.
var spoken = &pgtest.Spoken{}

// TestMain holds, after a whole run on a real server, that no rule is without its
// live tests.
func TestMain(m *testing.M) {
	var rules []string
	for _, r := range budget.Rules() {
		if r.Name != "scenario-without-effect" { // of the file alone: live use has none
			rules = append(rules, r.Name)
		}
	}
	os.Exit(spoken.Run(m, rules))
}
