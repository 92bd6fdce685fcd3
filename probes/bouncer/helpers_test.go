package bouncer

import (
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

// finding is the first of that rule, nil when there is none.
func finding(v *View, rule string) *probes.Finding {
	for i := range v.Findings {
		if v.Findings[i].Rule == rule {
			return &v.Findings[i]
		}
	}
	return nil
}

func pool(v *View, database, user string) *PoolView {
	for i := range v.Pools {
		if v.Pools[i].Database == database && v.Pools[i].User == user {
			return &v.Pools[i]
		}
	}
	return &PoolView{}
}

// says fails unless the rule fired and its message has all the parts.
func says(t *testing.T, v *View, rule string, parts ...string) *probes.Finding {
	t.Helper()
	f := finding(v, rule)
	if f == nil {
		t.Fatalf("got no %s, findings %+v", rule, v.Findings)
	}
	spoken.note(v, rule, true)
	for _, p := range parts {
		if !strings.Contains(f.Message, p) {
			t.Errorf("%s: got %q, want %q in it", rule, f.Message, p)
		}
	}
	t.Logf("%s %s: %s\n   → %s", f.Severity, f.Rule, f.Message, f.Action)
	return f
}

// silent fails when one of the rules fired.
func silent(t *testing.T, v *View, rules ...string) {
	t.Helper()
	for _, r := range rules {
		if f := finding(v, r); f != nil {
			t.Errorf("got %s: %s, want none", r, f.Message)
		} else {
			spoken.note(v, r, false)
		}
	}
}
