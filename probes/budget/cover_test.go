package budget_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/pgsonde/pgsonde/probes/budget"
)

// spoken notes which rules the live tests made speak, and in which calm
// situations beside those they were silent, as they should be.
var spoken = &coverage{seen: map[string][2]bool{}}

type coverage struct {
	mu   sync.Mutex
	seen map[string][2]bool // by rule: spoke, was silent
}

func (c *coverage) note(rule string, fires bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.seen[rule]
	if fires {
		s[0] = true
	} else {
		s[1] = true
	}
	c.seen[rule] = s
}

// cannot notes that a rule could not be played here.
func (c *coverage) cannot(t *testing.T, rule, why string) {
	t.Helper()
	c.note(rule, true)
	c.note(rule, false)
	t.Skip(why)
}

// missing are the rules without a live test that makes them speak, or without
// one in which they stay silent.
func (c *coverage) missing() []string {
	// A scenario's effect is a matter of the file alone: live use has none.
	offline := []string{"scenario-without-effect"}
	var out []string
	for _, r := range budget.Rules() {
		s := c.seen[r.Name]
		switch {
		case slices.Contains(offline, r.Name):
		case !s[0]:
			out = append(out, r.Name+" never spoke on a real server")
		case !s[1]:
			out = append(out, r.Name+" was never seen to be silent beside it")
		}
	}
	return out
}

// TestMain holds, after a whole run on a real server, that no rule is without its
// live tests.
func TestMain(m *testing.M) {
	code := m.Run()
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" &&
		flag.Lookup("test.list").Value.String() == "" && !testing.Short()
	if code == 0 && whole && len(spoken.seen) > 0 {
		for _, miss := range spoken.missing() {
			fmt.Fprintln(os.Stderr, "live tests: rule "+miss)
			code = 1
		}
	}
	os.Exit(code)
}
