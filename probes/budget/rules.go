package budget

import "github.com/pgsonde/pgsonde/probes"

// Rule documents one check: what a finding of that name means.
type Rule struct {
	Name     string
	Severity probes.Severity
	Meaning  string // one line
	Source   string // where the fact behind it comes from
}
