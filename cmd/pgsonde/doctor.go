package main

import (
	"fmt"
	"io"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/clean"
)

type doctorCmd struct {
	target
}

type doctorDoc struct {
	Schema string      `json:"schema"`
	Target string      `json:"target"`
	User   string      `json:"user"`
	Server string      `json:"server_version"`
	Checks []doctorRow `json:"checks"`
}

type doctorRow struct {
	Check  string  `json:"check"`
	OK     bool    `json:"ok"`
	Detail string  `json:"detail"`
	Fix    *string `json:"fix"`
}

// Run says what this login can see and do.
func (c *doctorCmd) Run(a *app) error {
	o, err := a.options(c.target)
	if err != nil {
		return err
	}
	d, err := probes.Diagnose(a.ctx, o)
	if err != nil {
		return withHint(err)
	}
	doc := doctorDoc{Schema: "pgsonde/doctor/1", Target: d.Server.Target, User: d.Server.User, Server: d.Server.Version, Checks: []doctorRow{}}
	for _, ch := range d.Checks {
		doc.Checks = append(doc.Checks, doctorRow{ch.Name, ch.OK, ch.Detail, orNull(ch.Fix)})
	}
	if a.cli.Format == "json" {
		return a.printJSON(doc)
	}
	return a.print(func(w io.Writer) {
		fmt.Fprintf(w, "%s as %s, PostgreSQL %s\n\n", clean.Line(doc.Target), clean.Line(doc.User), clean.Line(doc.Server))
		for _, ch := range doc.Checks {
			sign := "ok"
			if !ch.OK {
				sign = "~ "
			}
			fmt.Fprintf(w, "%s  %-22s %s\n", sign, ch.Check, clean.Line(ch.Detail))
			if ch.Fix != nil {
				fmt.Fprintf(w, "      %s\n", clean.Line(*ch.Fix))
			}
		}
	})
}
