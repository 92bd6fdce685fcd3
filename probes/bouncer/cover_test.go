package bouncer

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
)

// spoken notes which rules real poolers made speak, and in which views of them a
// test asked a rule to be silent.
var spoken = &coverage{live: map[*View]bool{}, seen: map[string][2]bool{}}

type coverage struct {
	mu   sync.Mutex
	live map[*View]bool // of real poolers
	seen map[string][2]bool
}

func (c *coverage) real(v *View) *View {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[v] = true
	return v
}

// note counts only what is said of a real pooler.
func (c *coverage) note(v *View, rule string, fires bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.live[v] {
		return
	}
	s := c.seen[rule]
	if fires {
		s[0] = true
	} else {
		s[1] = true
	}
	c.seen[rule] = s
}

// cannot notes that this version does not show what a rule needs.
func (c *coverage) cannot(t *testing.T, rule, why string) {
	t.Helper()
	c.mu.Lock()
	c.seen[rule] = [2]bool{true, true}
	c.mu.Unlock()
	t.Skip(why)
}

func (c *coverage) missing() []string {
	var out []string
	for _, r := range Rules() {
		switch s := c.seen[r.Name]; {
		case !s[0]:
			out = append(out, r.Name+" never spoke of a real pooler")
		case !s[1]:
			out = append(out, r.Name+" was never seen to be silent beside it")
		}
	}
	return out
}

// TestMain holds, after a whole run with a real pooler, that no rule is without
// its live tests.
func TestMain(m *testing.M) {
	code := m.Run()
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" &&
		flag.Lookup("test.list").Value.String() == "" && !testing.Short()
	if code == 0 && whole && len(spoken.live) > 0 {
		for _, miss := range spoken.missing() {
			fmt.Fprintln(os.Stderr, "live tests: rule "+miss)
			code = 1
		}
	}
	os.Exit(code)
}
