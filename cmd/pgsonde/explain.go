package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/clean"
)

type explainCmd struct {
	Args        []string          `arg:"" optional:"" placeholder:"DSN|FILE" help:"A connection string or database first, then files and folders of *.sql; - is stdin. What exists as a file is a file."`
	Command     []string          `short:"c" sep:"none" placeholder:"SQL" help:"Judge this statement."`
	Statements  bool              `help:"Judge the statements of pg_stat_statements, the dearest first."`
	Limit       int               `default:"100" help:"Statements of pg_stat_statements at most."`
	PID         int               `name:"pid" placeholder:"PID" help:"Judge what this session is running."`
	Plan        []string          `placeholder:"FILE" help:"Judge a plan that someone took: EXPLAIN (FORMAT JSON) output; needs no server."`
	Log         []string          `placeholder:"FILE" help:"Judge the auto_explain plans of a server log (JSON plans); needs no server."`
	Param       map[string]string `placeholder:"NAME=VALUE" mapsep:"none" help:"Value of a parameter, by number, placeholder or column; may be repeated."`
	Analyze     bool              `help:"Execute statement and fix, read-only and under a timeout, and count rows and blocks."`
	AsSuperuser bool              `name:"explain-as-superuser" help:"As a superuser, explain text of other sessions too: planning may run functions."`

	Schema []string `placeholder:"FILE" help:"Judge on a throw-away server with this schema dump: needs no database."`
	Rows   []string `placeholder:"TABLE=ROWS" help:"With --schema: how large a table is in production (orders=1M), or all others (1M); may be repeated."`
	Stats  string   `placeholder:"FILE" help:"With --schema: statistics of production, from pg_dump --statistics-only (18) or lines of table, rows, column, n_distinct, null_frac with tabs between."`
	PG     int      `name:"pg" placeholder:"MAJOR" help:"With --schema: the server's major version (default: the newest that is there)."`

	left bool // a judgement was left to itself when a signal came
}

// Run judges statements and plans.
func (c *explainCmd) Run(a *app) error {
	if err := c.check(a); err != nil {
		return err
	}
	src, err := c.sources(a)
	if err != nil {
		return err
	}
	out := a.results()
	if src.needsServer() {
		r, done, err := c.runner(a, src, &out.doc)
		if err != nil {
			return err
		}
		defer done()
		if err := c.judge(a, r, src, out); err != nil {
			return err
		}
	} else {
		for _, it := range src.items {
			j, _ := unlessEnded(a.ctx, func() *judged { return c.judgeItem(a, nil, it, explain.Options{}) })
			if a.ctx.Err() != nil {
				return a.ctx.Err()
			}
			if err := out.add(j); err != nil {
				return err
			}
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	if name := c.unused(out); name != "" {
		return fmt.Errorf("--param %s: no statement has a parameter of that number or name, or compares one with a column of that name", clean.Line(name))
	}
	return out.verdict()
}

// unused is a value that was given for no parameter of any statement, "" for none,
// and if some statement could not be judged.
func (c *explainCmd) unused(out *results) string {
	if out.done+out.plain < out.all {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(c.Param)) {
		if !out.used[name] {
			return name
		}
	}
	return ""
}

// check refuses flags that do not go together.
func (c *explainCmd) check(a *app) error {
	switch {
	case c.Analyze && a.cli.ReadOnly:
		return errors.New("--read-only has no --analyze")
	case c.Limit < 1:
		return fmt.Errorf("--limit %d: at least 1", c.Limit)
	case len(c.Schema) == 0 && (len(c.Rows) > 0 || c.Stats != "" || c.PG != 0):
		return errors.New("--rows, --stats and --pg are for --schema FILE")
	case len(c.Schema) > 0 && c.Analyze:
		return errors.New("--schema has no --analyze: the tables of a schema dump have no rows to count")
	case len(c.Schema) > 0 && (c.Statements || c.PID != 0):
		return errors.New("--schema has no --statements and no --pid: nobody else is on a throw-away server")
	}
	return nil
}

// judge judges all that was asked for, in the order of the command line, and the
// statements of the server after it, worst first.
func (c *explainCmd) judge(a *app, r *explain.Runner, src sources, out *results) error {
	server := r.Server()
	out.doc.Server = &explainServer{
		VersionNum: server.VersionNum, Database: server.Database, User: server.User, InRecovery: server.InRecovery, ThrowAway: out.doc.schema != nil,
	}
	opts := explain.Options{Analyze: c.Analyze}
	progress := a.progress("judged", len(src.items))
	defer progress(-1)
	for i, it := range src.items {
		progress(i)
		j, ok := unlessEnded(a.ctx, func() *judged { return c.judgeItem(a, r, it, opts) })
		if c.left = !ok; a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		if it.input != nil && it.plan == nil && out.doc.schema != nil {
			out.doc.sizes(j.Result)
		}
		if out.text != nil { // what is printed may go to the terminal that shows the progress
			progress(-1)
		}
		if err := out.add(j); err != nil {
			return err
		}
	}
	if !c.Statements {
		return nil
	}
	return c.judgeStatements(a, r, out)
}

// judgeItem judges one of what was asked for.
func (c *explainCmd) judgeItem(a *app, r *explain.Runner, it item, opts explain.Options) *judged {
	switch {
	case it.plan != nil:
		return a.judgeTaken(r, *it.plan)
	case it.input != nil:
		it.input.Params = c.Param
		return &judged{Result: explain.Judge(a.ctx, r, *it.input, opts), Name: it.name, file: it.file, text: it.text, at: it.at}
	}
	return it.done
}

// judgeStatements judges those of pg_stat_statements. Their order, worst first, is
// known when all are judged.
func (c *explainCmd) judgeStatements(a *app, r *explain.Runner, out *results) error {
	list, err := explain.Statements(a.ctx, r, c.Limit)
	if err != nil {
		return err
	}
	found := make([]*judged, len(list.Statements))
	progress := a.progress("judged", len(list.Statements))
	defer progress(-1)
	for i, s := range list.Statements {
		progress(i)
		in := explain.Input{Source: fmt.Sprintf("queryid %d", s.QueryID), SQL: s.SQL, Params: c.Param, SearchPath: s.SearchPath}
		res, ok := unlessEnded(a.ctx, func() *explain.Result { return explain.Judge(a.ctx, r, in, explain.Options{Analyze: c.Analyze}) })
		found[i] = &judged{Result: res, Statement: &list.Statements[i]}
		if c.left = !ok; a.ctx.Err() != nil {
			return a.ctx.Err()
		}
	}
	progress(-1)
	slices.SortStableFunc(found, func(a, b *judged) int {
		return cmp.Or(worst(b.Result)-worst(a.Result), cmp.Compare(b.Statement.TotalMS, a.Statement.TotalMS))
	})
	if list.Hidden > 0 {
		found = append(found, notJudged("pg_stat_statements", "statements-hidden",
			fmt.Sprintf("%s of other roles not judged: %s may not read their texts", plural(list.Hidden, "statement"), r.Server().User),
			list.Grant()))
	}
	for _, j := range found {
		if err := out.add(j); err != nil {
			return err
		}
	}
	return nil
}

// worst is 3 for an error, 2 for a warning, 1 for information, 0 for nothing. A
// statement that could not be judged is none of them.
func worst(r *explain.Result) int {
	n := 0
	if r.Verdict == explain.Unknown {
		return n
	}
	for _, f := range r.Findings {
		n = max(n, map[explain.Severity]int{explain.Error: 3, explain.Warn: 2, explain.Info: 1}[f.Severity])
	}
	return n
}

// Planning takes next to no time: usualTimeout is the limit of one statement where
// --timeout is not given, which else is defaultTimeout.
const (
	usualTimeout   = 2 * time.Second
	defaultTimeout = 5 * time.Second
)

// runner connects the EXPLAIN session: to the server, or to one made of a schema.
func (c *explainCmd) runner(a *app, src sources, doc *explainDoc) (*explain.Runner, func(), error) {
	stop := func() {}
	ro := explain.RunnerOptions{AsSuperuser: c.AsSuperuser}
	if t := a.cli.Timeout; t < usualTimeout || t > defaultTimeout { // asked for, not the default
		ro.StatementTimeout = t
	}
	var o probes.Options
	var err error
	if len(c.Schema) > 0 {
		if doc.schema, err = c.startSchema(a, src); err != nil {
			return nil, nil, err
		}
		stop = doc.schema.Stop
		o = probes.Options{DSN: doc.schema.DSN(), Getenv: func(string) string { return "" }}
		ro.StatementTimeout = 30 * time.Second // it is nobody's production
	} else if o, err = a.options(target{src.dsn}); err != nil {
		return nil, nil, err
	}
	r, err := c.connect(a, o, ro)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return r, func() {
		if !c.left { // else its session is in use, and ends with the process
			_ = r.Close(context.WithoutCancel(a.ctx))
		}
		stop()
	}, nil
}

// connect opens the session, asking for a password where one is wanted.
func (c *explainCmd) connect(a *app, o probes.Options, ro explain.RunnerOptions) (*explain.Runner, error) {
	cfg, err := probes.ConnConfig(o)
	if err != nil {
		return nil, withHint(err)
	}
	r, err := explain.OpenConfig(a.ctx, cfg, ro)
	if err != nil && probes.WantsPassword(err) && cfg.Password == "" {
		password, perr := a.askPassword("Password for user " + cfg.User + ": ")
		if perr != nil {
			return nil, perr
		}
		cfg.Password = password
		r, err = explain.OpenConfig(a.ctx, cfg, ro)
	}
	if err != nil {
		return nil, withHint(probes.Explain(o, err))
	}
	return r, nil
}
