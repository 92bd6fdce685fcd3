package budget

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

// Rule documents one check: what a finding of that name means.
type Rule struct {
	Name     string
	Severity probes.Severity // the worst its findings can have
	Meaning  string          // one line
	Source   string          // where the fact behind it is from
}

// check is a rule with the function that finds it in live use; nil for rules
// that Plan finds.
type check struct {
	Rule
	find func(l *live) []probes.Finding
}

// Rules lists every rule of this package, in the order findings of one severity
// are shown.
func Rules() []Rule {
	var out []Rule
	for _, c := range checks() {
		out = append(out, c.Rule)
	}
	return out
}

func checks() []check {
	return slices.Concat(slotChecks(), roleChecks(), contractChecks(), timeChecks(), serverChecks(), planRules())
}

// found makes a finding.
func found(rule string, sev probes.Severity, subject, message, action string, evidence map[string]any) probes.Finding {
	if evidence == nil {
		evidence = map[string]any{}
	}
	return probes.Finding{
		Rule: rule, Severity: sev, Subject: subject, Message: message, Action: action, Evidence: evidence,
	}
}

// since adds how long it has been so.
func since(f probes.Finding, seconds float64) probes.Finding {
	f.SinceS = new(max(0, seconds))
	return f
}

// certain is Error, or Warn where masked rows make the figure an upper bound.
func (l *live) certain() probes.Severity {
	if l.u.Bound {
		return probes.Warn
	}
	return probes.Error
}

// findings runs all checks, worst findings first.
func (l *live) findings() []probes.Finding {
	out := []probes.Finding{}
	for _, c := range checks() {
		if c.find != nil {
			out = append(out, c.find(l)...)
		}
	}
	if l.plan != nil {
		out = append(out, planFindings(l.plan, l.u.Plan)...)
		out = append(out, lintFindings(l.f, l.plan)...)
	}
	sortFindings(out)
	return out
}

func sortFindings(fs []probes.Finding) {
	rank := []probes.Severity{probes.Error, probes.Warn, probes.Info}
	slices.SortStableFunc(fs, func(a, b probes.Finding) int {
		return cmp.Compare(slices.Index(rank, a.Severity), slices.Index(rank, b.Severity))
	})
}

// age is a time span for people, to about two digits.
func age(seconds float64) string {
	switch {
	case seconds < 100:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 100*60:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 72*3600:
		return fmt.Sprintf("%.0f h", seconds/3600)
	}
	return fmt.Sprintf("%.0f days", seconds/86400)
}

// plural is "1 slot" or "3 slots".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
