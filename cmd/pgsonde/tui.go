package main

import (
	"context"
	"errors"
	"os"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/tui"
)

type tuiCmd struct {
	target
	Screen      string `placeholder:"NAME" help:"The screen to start with: roles, locks, explain, sessions, …"`
	AsSuperuser bool   `name:"explain-as-superuser" help:"As a superuser, explain text of other sessions too: planning may run functions."`
}

// Run opens the terminal UI.
func (c *tuiCmd) Run(a *app) error {
	o, err := a.options(c.target)
	if err != nil {
		return err
	}
	file, path, err := a.findBudget()
	if err != nil {
		return err
	}
	return a.openTUI(o, file, path, c.Screen, explain.RunnerOptions{AsSuperuser: c.AsSuperuser})
}

// openTUI runs the terminal UI on one server.
func (a *app) openTUI(o probes.Options, file *budget.File, path, screen string, ro explain.RunnerOptions) error {
	if err := a.checkTerminal(); err != nil {
		return err
	}
	o.Notify = nil
	ask := o.Password
	fleet, err := a.consoles(file, nil)
	if err != nil {
		return err
	}
	var consoles tui.Consoles // nil, and not a nil fleet, when there is none
	if fleet != nil {
		consoles = fleet
	}
	var audit auditTrail
	defer audit.print(a.err)
	for {
		inUI := o
		if ask != nil { // the terminal belongs to the UI while it runs: leave it, ask, come back
			inUI.Password = func(string) (string, error) { return "", errNeedPassword }
		}
		err := tui.Run(a.ctx, tui.Options{
			Open:    func(ctx context.Context) (tui.Source, error) { return probes.Open(ctx, inUI) },
			Explain: openExplainer(ro), Consoles: consoles,
			Budget: file, BudgetPath: path, Interval: a.cli.Interval, Screen: screen,
			ASCII: a.cli.ASCII, Color: a.cli.Color, Theme: a.cli.Theme, ReadOnly: a.cli.ReadOnly, Audit: audit.add,
			In: a.in, Out: a.out, Target: redact(o.DSN),
		})
		if ask == nil || !errors.Is(err, errNeedPassword) {
			return withHint(err)
		}
		password, err := ask("Password: ")
		if err != nil {
			return err
		}
		o.Password = func(string) (string, error) { return password, nil }
		ask = nil
	}
}

func (a *app) checkTerminal() error {
	return tui.CheckTerminal(os.Environ(), isTerminal(a.out) && isTerminal(a.in))
}

var errNeedPassword = errors.New("a password is needed")
