package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes/budget"
)

type budgetInitCmd struct {
	File string `arg:"" help:"The file to write; - is stdout. An existing file is kept."`
	target
	From  string        `placeholder:"FILE" help:"Draft it from Helm values, a compose file or a .env file, without a server; - is stdin."`
	Env   bool          `help:"Draft it from this environment, without a server."`
	Watch time.Duration `default:"10s" help:"With a server: how long to look for the peaks."`
}

// Run writes a first budget file that states every guess.
func (c *budgetInitCmd) Run(a *app) error {
	switch offline := c.From != "" || c.Env; {
	case c.From != "" && c.Env:
		return errors.New("--from and --env: only one of them")
	case offline && c.DSN != "":
		return errors.New("a server to draft from, and --from or --env: only one of them")
	case offline && len(a.cli.Pooler) > 0:
		return errors.New("--pooler is read beside a server only, not with --from or --env")
	}
	if _, err := os.Lstat(c.File); c.File != "-" && err == nil {
		return fmt.Errorf("%s exists and is kept; name another file, or - for stdout", c.File)
	}
	draft, err := c.draft(a)
	if err != nil {
		return err
	}
	if c.File == "-" {
		return a.print(func(w io.Writer) { fmt.Fprint(w, draft) })
	}
	f, err := os.OpenFile(c.File, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing the budget: %w", err)
	}
	_, err = io.WriteString(f, draft)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing the budget: %w", err)
	}
	a.hint("wrote %s; see its comments for what was guessed, then: pgsonde budget check %s", c.File, c.File)
	return nil
}

func (c *budgetInitCmd) draft(a *app) (string, error) {
	switch {
	case c.Env:
		return budget.InitFromEnv("environment", os.Environ())
	case c.From != "":
		name := filepath.Base(c.From)
		if c.From == "-" {
			name = "stdin"
		}
		data, err := a.readAll(c.From)
		if err != nil {
			return "", fmt.Errorf("drafting from %s: %s", name, strings.TrimPrefix(err.Error(), "reading statements: "))
		}
		return budget.InitFromFile(name, data, beside(c.From))
	}
	return c.fromServer(a)
}

// besideBytes bounds what is read beside a deployment file.
const besideBytes = 1 << 20

// beside reads the files that a deployment file names by paths relative to it;
// nil for stdin, which has no place.
func beside(from string) func(string) ([]byte, error) {
	if from == "-" {
		return nil
	}
	return func(path string) ([]byte, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(from), path)
		}
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || st.Size() > besideBytes {
			return nil, fmt.Errorf("%s is no file that can be read here", path)
		}
		return os.ReadFile(path)
	}
}
