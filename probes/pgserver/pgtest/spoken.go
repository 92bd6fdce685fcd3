package pgtest

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
)

// Spoken notes which rules live tests made speak, and in which calm situations
// beside those they were silent, as they should be. Its zero value is ready.
type Spoken struct {
	mu   sync.Mutex
	seen map[string][2]bool // by rule: spoke, was silent
}

// Note is that a rule spoke, or was silent where it should be.
func (s *Spoken) Note(rule string, fires bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string][2]bool{}
	}
	was := s.seen[rule]
	if fires {
		was[0] = true
	} else {
		was[1] = true
	}
	s.seen[rule] = was
}

// Cannot skips a test of a rule that could not be played here.
func (s *Spoken) Cannot(t *testing.T, rule, why string) {
	t.Helper()
	s.Note(rule, true)
	s.Note(rule, false)
	t.Skip(why)
}

// Missing are those of the rules without a live test that makes them speak, or
// without one in which they stay silent.
func (s *Spoken) Missing(rules []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, r := range rules {
		switch was := s.seen[r]; {
		case !was[0]:
			out = append(out, r+" never spoke in a live test")
		case !was[1]:
			out = append(out, r+" was never seen to be silent beside it")
		}
	}
	return out
}

// Run runs the tests for a TestMain and gives its exit status: after a whole run in
// which any rule was played, none of the rules may be without its live tests.
func (s *Spoken) Run(m *testing.M, rules []string) int {
	code := m.Run()
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == "" &&
		flag.Lookup("test.list").Value.String() == "" && !testing.Short()
	if code != 0 || !whole || len(s.seen) == 0 {
		return code
	}
	for _, miss := range s.Missing(rules) {
		fmt.Fprintln(os.Stderr, "live tests: rule "+miss)
		code = 1
	}
	return code
}
