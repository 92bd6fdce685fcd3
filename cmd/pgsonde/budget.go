package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
)

type budgetCmd struct {
	Check budgetCheckCmd `cmd:"" help:"Add the budget up and exit by its verdict."`
	Plan  budgetPlanCmd  `cmd:"" help:"Print the sum as a table, each scenario beside the base."`
	Init  budgetInitCmd  `cmd:"" help:"Draft a budget file from a live server, Helm values, a compose file or the environment."`
}

type budgetCheckCmd struct {
	File           string   `arg:"" help:"The budget file."`
	Scenario       []string `short:"s" sep:"none" placeholder:"CHANGE" help:"A scenario of the file or a change: api+1, api=3, metrics=on, web.pool_size=10, surge=all; may be repeated."`
	MaxConnections *int     `placeholder:"N" help:"As if the server had this max_connections."`
}

// Run prints the sum of one scenario.
func (c *budgetCheckCmd) Run(a *app) error {
	f, err := a.loadSums(c.File)
	if err != nil {
		return err
	}
	changes := c.Scenario
	if c.MaxConnections != nil {
		changes = append(slices.Clone(changes), "server.max_connections="+strconv.Itoa(*c.MaxConnections))
	}
	sc, err := budget.ParseScenario(f, changes)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	sum, err := budget.Plan(f, sc)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if a.cli.Format == "json" {
		err = a.printJSON(struct {
			Schema string `json:"schema"`
			*budget.Sum
		}{"pgsonde/budget/1", sum})
	} else {
		assumed := c.MaxConnections == nil && f.Server.Assumed() && sum.MaxConnections == f.Server.MaxConnections
		err = a.print(func(w io.Writer) { writeSum(w, sum, assumed) })
	}
	if err != nil {
		return err
	}
	return a.verdict(sum.Findings) // a verdict that is not ok has its finding
}

// loadSums reads a budget that has something to add up.
func (a *app) loadSums(path string) (*budget.File, error) {
	f, err := a.loadBudget(path)
	if err == nil && len(f.Roles)+len(f.Poolers) == 0 {
		err = fmt.Errorf("%s: declares no role and no pooler, so there is nothing to add up", path)
	}
	return f, err
}

// outcome is a sum's verdict in one word, which is about the server's slots; what
// fails beside them, such as a pooler's clients, makes it "fails".
func outcome(s *budget.Sum) string {
	if s.Verdict == budget.OK && slices.ContainsFunc(s.Findings, func(f probes.Finding) bool { return f.Severity == probes.Error }) {
		return "fails"
	}
	return string(s.Verdict)
}

// writeSum prints a sum; assumed says that nothing tells max_connections.
func writeSum(w io.Writer, s *budget.Sum, assumed bool) {
	fmt.Fprintf(w, "%s: %s\n", s.Scenario, strings.ToUpper(outcome(s)))
	fmt.Fprintf(w, "usable %d of %d, steady %d (kept %d), jobs %d, surge %d, peak %d, left %d, keep free %d\n",
		s.Usable, s.MaxConnections, s.Steady, s.Kept, s.Jobs, s.Surge, s.Peak, s.Left, s.KeepFree)
	if assumed {
		fmt.Fprintf(w, "the file does not say max_connections: PostgreSQL's default of %d is assumed; give it under server:, or with --max-connections\n", s.MaxConnections)
	}
	fmt.Fprintln(w)
	g := grid{head: []string{"role", "kind", "runs", ">copies", ">each", ">kept", ">cap", ">surge", "note"}}
	for _, r := range s.Roles {
		var note []string
		if r.Via != "" {
			note = append(note, "clients of "+r.Via)
		}
		if r.Group != "" {
			note = append(note, "group "+r.Group)
		}
		if fits := fitsText(s, r); fits != "" {
			note = append(note, "fits "+fits)
		}
		g.add(r.Role, r.Kind, string(r.Runs), copiesText(r), strconv.Itoa(r.PerProcess),
			strconv.Itoa(r.Kept), strconv.Itoa(r.Cap), strconv.Itoa(r.Surge), strings.Join(note, ", "))
	}
	for _, p := range s.Poolers {
		g.add("pooler "+p.Pooler, "pooler", "always", strconv.Itoa(p.Instances), "", strconv.Itoa(p.Kept), strconv.Itoa(p.Cap), "",
			"clients "+probes.OutOf(p.Clients, p.MaxClients, "", "limit"))
	}
	g.write(w)
	if len(s.Findings) > 0 {
		fmt.Fprintln(w)
		writeFindings(w, s.Findings)
	}
}

// copiesText is replicas, times processes where there are several.
func copiesText(r budget.RoleSum) string {
	if r.Processes == 1 {
		return strconv.Itoa(r.Replicas)
	}
	return fmt.Sprintf("%d×%d", r.Replicas, r.Processes)
}

// fitsText is how many of a role would fit: replicas, or of one that is counted
// in processes those.
func fitsText(s *budget.Sum, r budget.RoleSum) string {
	if n, ok := s.Fit[r.Role]; ok {
		return strconv.Itoa(n)
	}
	if n, ok := s.Fit[r.Role+".processes"]; ok {
		return fmt.Sprintf("%d processes", n)
	}
	return ""
}

type budgetPlanCmd struct {
	File     string   `arg:"" help:"The budget file."`
	Scenario []string `short:"s" sep:"none" placeholder:"CHANGE" help:"Show this change too, beside the file's scenarios."`
}

// Run prints the base and every scenario side by side.
func (c *budgetPlanCmd) Run(a *app) error {
	f, err := a.loadSums(c.File)
	if err != nil {
		return err
	}
	wants := [][]string{nil}
	for _, s := range f.Scenarios {
		wants = append(wants, []string{s.Name})
	}
	for _, s := range c.Scenario {
		wants = append(wants, []string{s})
	}
	var sums []*budget.Sum
	for _, want := range wants {
		sc, err := budget.ParseScenario(f, want)
		if err == nil {
			var s *budget.Sum
			s, err = budget.Plan(f, sc)
			sums = append(sums, s)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.File, err)
		}
	}
	if a.cli.Format == "json" {
		err = a.printJSON(planDocument{"pgsonde/budget-plan/1", outcome(worstSum(sums)), worstSum(sums).Scenario, sums})
	} else {
		err = a.print(func(w io.Writer) { writePlan(w, c.File, sums) })
	}
	if err != nil {
		return err
	}
	var findings []probes.Finding
	for _, s := range sums {
		findings = append(findings, s.Findings...)
	}
	return a.verdict(findings)
}

// planDocument is the JSON of budget plan: the worst outcome, of which scenario
// it is, and the sums.
type planDocument struct {
	Schema    string        `json:"schema"`
	Verdict   string        `json:"verdict"`
	Worst     string        `json:"worst"`
	Scenarios []*budget.Sum `json:"scenarios"`
}
