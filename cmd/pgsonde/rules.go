package main

import (
	"io"
	"slices"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/probes/waits"
)

type rulesCmd struct{}

type ruleDoc struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Meaning  string `json:"meaning"`
}

// Run lists every rule that a finding can name.
func (rulesCmd) Run(a *app) error {
	var rules []ruleDoc
	for _, r := range budget.Rules() {
		rules = append(rules, ruleDoc{r.Name, string(r.Severity), r.Meaning})
	}
	for _, r := range waits.Rules() {
		rules = append(rules, ruleDoc{r.Name, string(r.Severity), r.Meaning})
	}
	for _, r := range bouncer.Rules() {
		at := slices.IndexFunc(rules, func(x ruleDoc) bool { return x.Rule == r.Name })
		switch {
		case at < 0:
			rules = append(rules, ruleDoc{r.Name, string(r.Severity), r.Meaning})
		case r.Severity == probes.Error: // said of the budget and of the live pooler: the worse counts
			rules[at].Severity = string(r.Severity)
		}
	}
	rules = append(rules, explainRules()...)
	if a.cli.Format == "json" {
		return a.printJSON(map[string]any{"schema": "pgsonde/rules/1", "rules": rules})
	}
	g := grid{head: []string{"rule", "severity", "meaning"}}
	for _, r := range rules {
		g.add(r.Rule, r.Severity, r.Meaning)
	}
	return a.print(func(w io.Writer) { g.write(w) })
}

// explainRules are the rules of explain's findings.
func explainRules() []ruleDoc {
	var out []ruleDoc
	for _, r := range append(explain.PlanRules(), explain.SmellRules()...) {
		out = append(out, ruleDoc{r.Name, string(r.Severity), r.Text})
	}
	return append(out, commandRules()...)
}
