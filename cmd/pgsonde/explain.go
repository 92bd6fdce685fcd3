package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes"
)

type explainCmd struct {
	Args        []string          `arg:"" optional:"" placeholder:"DSN|FILE" help:"A connection string or database first, then files and folders of *.sql; - is stdin. What exists as a file is a file."`
	Command     []string          `short:"c" sep:"none" placeholder:"SQL" help:"Judge this statement."`
	Statements  bool              `help:"Judge the statements of pg_stat_statements, the dearest first."`
	Limit       int               `default:"100" help:"Statements of pg_stat_statements at most."`
	PID         int               `name:"pid" placeholder:"PID" help:"Judge what this session is running."`
	Plan        []string          `type:"path" placeholder:"FILE" help:"Judge a plan that someone took: EXPLAIN (FORMAT JSON) output; needs no server."`
	Log         []string          `type:"path" placeholder:"FILE" help:"Judge the auto_explain plans of a server log; needs no server."`
	Param       map[string]string `placeholder:"NAME=VALUE" mapsep:"none" help:"Value of a parameter, by number, placeholder or column; may be repeated."`
	Analyze     bool              `help:"Execute statement and fix, read-only and under a timeout, and count rows and blocks."`
	AsSuperuser bool              `name:"explain-as-superuser" help:"As a superuser, explain text of other sessions too: planning may run functions."`
}

// Run judges statements and plans.
func (c *explainCmd) Run(a *app) error {
	if c.Analyze && a.cli.ReadOnly {
		return errors.New("--read-only has no --analyze")
	}
	if c.Limit < 1 {
		return fmt.Errorf("--limit %d: at least 1", c.Limit)
	}
	src, err := c.sources(a)
	if err != nil {
		return err
	}
	doc := explainDoc{Schema: "pgsonde/explain/1", Queries: []*explain.Result{}}
	for _, p := range src.plans {
		r, err := explain.JudgePlan(p.source, p.json, nil)
		if err != nil {
			a.hint("%s", err)
			continue
		}
		doc.Queries = append(doc.Queries, r)
	}
	if src.needsServer() {
		if err := c.judge(a, src, &doc); err != nil {
			return err
		}
	}
	if len(doc.Queries) == 0 {
		return errors.New("nothing to judge: no statement was found")
	}
	if err := a.printExplain(&doc); err != nil {
		return err
	}
	return a.explainVerdict(doc.Queries)
}

// judge opens the server and judges all that needs one.
func (c *explainCmd) judge(a *app, src sources, doc *explainDoc) error {
	r, done, err := c.runner(a, src)
	if err != nil {
		return err
	}
	defer done()
	server := r.Server()
	doc.Server = &explainServer{VersionNum: server.VersionNum, Database: server.Database, User: server.User, InRecovery: server.InRecovery}
	opts := explain.Options{Analyze: c.Analyze}
	for _, in := range src.inputs {
		in.Params = c.Param
		doc.Queries = append(doc.Queries, explain.Judge(a.ctx, r, in, opts))
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
	}
	if !c.Statements {
		return nil
	}
	list, err := explain.Statements(a.ctx, r, c.Limit)
	if err != nil {
		return err
	}
	for _, s := range list {
		res := explain.Judge(a.ctx, r, explain.Input{Source: fmt.Sprintf("queryid %d", s.QueryID), SQL: s.SQL, Params: c.Param, SearchPath: s.SearchPath}, opts)
		doc.Queries = append(doc.Queries, res)
		doc.stats = append(doc.stats, stat{res, s})
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
	}
	doc.rank()
	return nil
}

// runner connects the EXPLAIN session.
func (c *explainCmd) runner(a *app, src sources) (*explain.Runner, func(), error) {
	ro := explain.RunnerOptions{AsSuperuser: c.AsSuperuser}
	o, err := a.options(target{src.dsn})
	if err != nil {
		return nil, nil, err
	}
	cfg, err := probes.ConnConfig(o)
	if err != nil {
		return nil, nil, withHint(err)
	}
	r, err := explain.OpenConfig(a.ctx, cfg, ro)
	if err != nil && probes.WantsPassword(err) && cfg.Password == "" {
		password, perr := a.askPassword("Password for user " + cfg.User + ": ")
		if perr != nil {
			return nil, nil, perr
		}
		cfg.Password = password
		r, err = explain.OpenConfig(a.ctx, cfg, ro)
	}
	if err != nil {
		return nil, nil, withHint(probes.Explain(o, err))
	}
	return r, func() { _ = r.Close(context.WithoutCancel(a.ctx)) }, nil
}

// explainVerdict is the exit status: 2 when nothing at all could be judged.
func (a *app) explainVerdict(rs []*explain.Result) error {
	judged, found := 0, false
	for _, r := range rs {
		if r.Verdict != explain.Unknown {
			judged++
		}
		for _, f := range r.Findings {
			found = found || a.cli.FailOn != "never" && (f.Severity == explain.Error || f.Severity == explain.Warn && a.cli.FailOn == probes.Warn)
		}
	}
	switch {
	case judged == 0:
		return fmt.Errorf("none of %s could be judged", plural(len(rs), "statement"))
	case found:
		return errFound
	}
	return nil
}

// readAll reads a file or, for "-", stdin, up to 64 MB.
func (a *app) readAll(path string) ([]byte, error) {
	in := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("reading statements: %w", err)
		}
		defer f.Close()
		in = f
	}
	const most = 64 << 20
	b, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading statements: %w", err)
	case len(b) > most:
		return nil, fmt.Errorf("reading statements: %s is larger than 64 MB", path)
	case strings.ContainsRune(string(b), 0):
		return nil, fmt.Errorf("reading statements: %s is no text: it has NUL bytes", path)
	}
	return b, nil
}
