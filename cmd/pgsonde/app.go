package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
)

// errFound is returned by a command that has reported what it found.
var errFound = errors.New("something was found")

// helpShown is the error of a run that printed its help.
type helpShown struct{}

func (helpShown) Error() string { return "help shown" }

// app is one run of the program.
type app struct {
	ctx  context.Context
	in   io.Reader
	out  io.Writer
	err  io.Writer
	args []string
	cli  cli
}

const description = `Who holds the connections and is that what was planned, who waits for whom, and does a page start where its cursor is.

Without a command pgsonde opens the terminal UI. A database with the name of a command is reached with -d NAME.

Every flag is also PGSONDE_NAME in the environment (PGSONDE_FAIL_ON=warn) and "name: value" in ~/.config/pgsonde/config.yaml.`

// main parses the command line and runs the command it names.
func (a *app) main() (err error) {
	defer func() { // kong ends a run that printed its help by calling Exit
		if r := recover(); r != nil {
			h, ok := r.(helpShown)
			if !ok {
				panic(r)
			}
			err = h
		}
	}()
	parser, err := kong.New(&a.cli,
		kong.Name("pgsonde"), kong.Description(description),
		kong.Writers(a.out, a.err), kong.Exit(func(int) { panic(helpShown{}) }),
		kong.DefaultEnvars("PGSONDE"), kong.Bind(a),
		kong.ExplicitGroups([]kong.Group{{Key: "conn", Title: "Connection:"}, {Key: "out", Title: "Reading and output:"}}),
		kong.ValueFormatter(func(v *kong.Value) string { return v.Help }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
	)
	if err != nil {
		return err
	}
	if conf, err := readConfig(configPath("config.yaml")); err != nil {
		return err
	} else if conf != nil {
		if err := kong.Resolvers(conf).Apply(parser); err != nil {
			return err
		}
	}
	args := a.args
	if len(args) > 0 && (args[0] == "--version" || args[0] == "-V") { // as psql has it
		args = append([]string{"version"}, args[1:]...)
	}
	args, err = gather(parser.Model.Node, args)
	if err != nil {
		return fmt.Errorf("%w; see pgsonde --help", err)
	}
	kctx, err := parser.Parse(args)
	if err != nil {
		return fmt.Errorf("%w; see pgsonde --help", a.misspelt(parser, err))
	}
	if err := a.check(kctx.Command()); err != nil {
		return err
	}
	return kctx.Run(a)
}

// misspelt says that the first word is no command where kong, which took it for
// a database, only dislikes the second.
func (a *app) misspelt(parser *kong.Kong, err error) error {
	if len(a.args) < 2 || !strings.Contains(err.Error(), "unexpected argument") || strings.HasPrefix(a.args[0], "-") || isDSN(a.args[0]) {
		return err
	}
	for _, c := range parser.Model.Children {
		if c.Name == a.args[0] {
			return err
		}
	}
	return fmt.Errorf("no command %s", a.args[0])
}

// check refuses values that the grammar cannot.
func (a *app) check(command string) error {
	switch c := a.cli.common; {
	case c.Format == "sarif" && !strings.HasPrefix(command, "explain"):
		return errors.New("--format sarif is for explain only")
	case c.Interval < minInterval:
		return fmt.Errorf("--interval %s: at least %s", c.Interval, minInterval)
	case c.Timeout < minInterval:
		return fmt.Errorf("--timeout %s: at least %s", c.Timeout, minInterval)
	}
	return nil
}

// findBudget loads the file of --budget, else pgsonde.yaml of the current
// folder, else of the configuration folder; nil when there is none.
func (a *app) findBudget() (*budget.File, string, error) {
	if p := a.cli.BudgetFile; p != "" {
		f, err := a.loadBudget(p)
		return f, p, err
	}
	for _, p := range []string{"pgsonde.yaml", configPath("pgsonde.yaml")} {
		if st, err := os.Stat(p); p != "" && err == nil && st.Mode().IsRegular() {
			f, err := a.loadBudget(p)
			return f, p, err
		}
	}
	return nil, "", nil
}

// loadBudget reads a budget file. Its error has a line for each mistake.
// It ends with the context: a pipe may never say anything.
func (a *app) loadBudget(path string) (*budget.File, error) {
	type loaded struct {
		f   *budget.File
		err error
	}
	done := make(chan loaded, 1)
	go func() {
		f, err := budget.Load(path)
		done <- loaded{f, err}
	}()
	var f *budget.File
	var err error
	select {
	case <-a.ctx.Done():
		return nil, context.Cause(a.ctx)
	case l := <-done:
		f, err = l.f, l.err
	}
	if err == nil && f.Empty() {
		return nil, fmt.Errorf("%s: an empty budget, which declares nothing; pgsonde budget init drafts one", path)
	}
	return f, err
}

// verdict turns findings into the exit status that --fail-on asks for.
func (a *app) verdict(findings []probes.Finding) error {
	for _, f := range findings {
		if f.Severity == probes.Error && a.cli.FailOn != "never" || f.Severity == probes.Warn && a.cli.FailOn == probes.Warn {
			return errFound
		}
	}
	return nil
}
