package waits

import (
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

// TestSeverityOfATree: a tree is as bad as the worst that is found about it, and what
// is found about a circle's tree is found by the same rules as about a root's.
func TestSeverityOfATree(t *testing.T) {
	tests := []struct {
		name, rows string
		caps       map[string]int
		want       probes.Severity
		rules      []string
	}{
		{"short", "1 X x1\n2 S x1 @59", nil, probes.Warn, []string{RuleTree}},
		{"long", "1 X x1\n2 S x1 @40", nil, probes.Error, []string{RuleTree}},
		{"full", "1 X x1\n2 S x1 @59", map[string]int{"app": 2}, probes.Error, []string{RulePinned, RuleTree}},
		{"prepared", "p1 X x1\n2 S x1 @59", nil, probes.Error, []string{RulePrepared}},
		{"circle", "1 X x1\n2 X x2\n1 S x2 @59\n2 S x1 @59", nil, probes.Warn, []string{RuleDeadlock}},
		{"long circle", "1 X x1\n2 X x2\n1 S x2 @40\n2 S x1 @40", nil, probes.Error, []string{RuleTree, RuleDeadlock}},
		{"full circle", "1 X x1\n2 X x2\n1 S x2 @59\n2 S x1 @59", map[string]int{"app": 2}, probes.Error, []string{RulePinned, RuleDeadlock}},
	}
	for _, tt := range tests {
		l := reading(table(t, tt.rows))
		for i := range l.Procs {
			l.Procs[i].QueryStart = l.At.Add(-1e9)
		}
		f := Build(nil, l, nil)
		var rules []string
		worst := probes.Info
		for _, x := range Findings(f, tt.caps) {
			rules = append(rules, x.Rule)
			if worseFirst(x, probes.Finding{Severity: worst}) < 0 {
				worst = x.Severity
			}
		}
		if got := f.Severity(f.Drawn()[0], tt.caps); got != tt.want || worst != tt.want {
			t.Errorf("%s: got %s, findings up to %s, want %s", tt.name, got, worst, tt.want)
		}
		if len(rules) != len(tt.rules) {
			t.Errorf("%s: got %v, want %v", tt.name, rules, tt.rules)
		}
		for i := range min(len(rules), len(tt.rules)) {
			if rules[i] != tt.rules[i] {
				t.Errorf("%s: got %v, want %v", tt.name, rules, tt.rules)
			}
		}
	}
}
