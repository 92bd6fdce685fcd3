package bouncer

import (
	"os"
	"sync"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// spoken notes which rules real poolers made speak, and in which views of them a
// test asked a rule to be silent.
var spoken coverage

type coverage struct {
	pgtest.Spoken
	live sync.Map // the views of real poolers
}

func (c *coverage) real(v *View) *View {
	c.live.Store(v, true)
	return v
}

// note counts only what is said of a real pooler.
func (c *coverage) note(v *View, rule string, fires bool) {
	if _, ok := c.live.Load(v); ok {
		c.Note(rule, fires)
	}
}

// TestMain holds, after a whole run with a real pooler, that no rule is without
// its live tests.
func TestMain(m *testing.M) {
	var rules []string
	for _, r := range Rules() {
		rules = append(rules, r.Name)
	}
	os.Exit(spoken.Run(m, rules))
}
