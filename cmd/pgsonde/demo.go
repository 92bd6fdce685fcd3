package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pgsonde/pgsonde/cmd/pgsonde/demo"
	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes"
)

type demoCmd struct {
	Headless bool           `help:"Print dsn= and budget= once the incident is on, and keep it running."`
	For      *time.Duration `placeholder:"TIME" help:"End by itself after this time, 60s say."`
}

// Run plays the incident, with the terminal UI on it or without.
func (c *demoCmd) Run(a *app) error {
	if c.For != nil && *c.For <= 0 {
		return fmt.Errorf("--for %s: a time is positive", *c.For)
	}
	if !c.Headless {
		if err := a.checkTerminal(); err != nil {
			return err
		}
	}
	incident, err := demo.Start(a.ctx, demo.Options{Progress: a.err})
	if err != nil {
		return err
	}
	defer incident.Stop()
	ctx := a.ctx
	if c.For != nil { // from here on: a start that fetches a server may take longer
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *c.For)
		defer cancel()
	}
	if c.Headless {
		err := a.print(func(w io.Writer) { fmt.Fprintf(w, "dsn=%s\nbudget=%s\n", incident.DSN, incident.BudgetFile) })
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-incident.Done():
			return incident.Err()
		}
	}
	file, err := a.loadBudget(incident.BudgetFile)
	if err != nil {
		return err
	}
	a.ctx = ctx
	err = a.openTUI(probes.Options{DSN: incident.DSN, Connections: a.cli.Connections, Timeout: a.cli.Timeout}, file, incident.BudgetFile, "", explain.RunnerOptions{})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // --for is over
		return nil
	}
	return err
}
