package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// sources is what the command line asks to judge.
type sources struct {
	dsn    string
	inputs []explain.Input
	plans  []takenPlan
	ask    bool // pg_stat_statements
}

// takenPlan is a plan that someone else took.
type takenPlan struct {
	source string
	json   []byte
}

func (s sources) needsServer() bool { return len(s.inputs) > 0 || s.ask }

// sources reads all that is to be judged.
func (c *explainCmd) sources(a *app) (sources, error) {
	s := sources{ask: c.Statements}
	args := c.Args
	if len(args) > 0 && !isSource(args[0]) {
		s.dsn, args = args[0], args[1:]
	}
	for _, arg := range args {
		if err := a.addFiles(&s, arg); err != nil {
			return s, err
		}
	}
	for _, sql := range c.Command {
		s.add("-c", sql)
	}
	for _, p := range c.Plan {
		b, err := a.readAll(p)
		if err != nil {
			return s, err
		}
		s.plans = append(s.plans, takenPlan{p, b})
	}
	for _, p := range c.Log {
		b, err := a.readAll(p)
		if err != nil {
			return s, err
		}
		s.plans = append(s.plans, logPlans(p, string(b))...)
	}
	if c.PID != 0 {
		in, err := c.running(a, s.dsn)
		if err != nil {
			return s, err
		}
		s.inputs = append(s.inputs, in)
	}
	if len(args)+len(c.Command)+len(c.Plan)+len(c.Log)+c.PID == 0 && !c.Statements {
		return s, fmt.Errorf("nothing to judge: name files, -c SQL, --statements, --pid, --plan or --log")
	}
	return s, nil
}

// isSource tells a file, folder or stdin from a connection string.
func isSource(arg string) bool {
	if arg == "-" || strings.HasSuffix(arg, ".sql") {
		return true
	}
	if isDSN(arg) {
		return false
	}
	_, err := os.Stat(arg)
	return err == nil
}

// addFiles adds the statements of a file, of a folder's *.sql, or of stdin.
func (a *app) addFiles(s *sources, path string) error {
	st, err := os.Stat(path)
	if path != "-" && err != nil {
		return fmt.Errorf("reading statements: %w", err)
	}
	if path == "-" || !st.IsDir() {
		b, err := a.readAll(path)
		if err != nil {
			return err
		}
		if path == "-" {
			path = "stdin"
		}
		s.add(path, string(b))
		return nil
	}
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".sql") {
			return err
		}
		b, err := a.readAll(p)
		if err == nil {
			s.add(p, string(b))
		}
		return err
	})
}

func (s *sources) add(source, text string) {
	for _, st := range sqltext.Split(text) {
		s.inputs = append(s.inputs, explain.Input{Source: source, Line: st.Line, SQL: st.Text, OwnText: true})
	}
}

// running is what a session runs now.
func (c *explainCmd) running(a *app, dsn string) (explain.Input, error) {
	s, err := a.open(target{dsn})
	if err != nil {
		return explain.Input{}, err
	}
	defer s.Close()
	b, err := findBackend(a.ctx, s, c.PID)
	switch {
	case err != nil:
		return explain.Input{}, withHint(err)
	case b == nil:
		return explain.Input{}, fmt.Errorf("no backend with pid %d", c.PID)
	}
	server, _ := s.Facts()
	if b.Database != server.Database {
		return explain.Input{}, fmt.Errorf("pid %d is in database %s: connect there with -d", c.PID, b.Database)
	}
	sql, err := s.FullQuery(a.ctx, b.PID, b.BackendStart)
	if err != nil {
		return explain.Input{}, err
	}
	return explain.Input{Source: fmt.Sprintf("pid %d", c.PID), SQL: sql}, nil
}

// logPlans finds the JSON plans of auto_explain in a server log: a line with
// "plan:" and then a JSON object, indented under it.
func logPlans(path, text string) []takenPlan {
	var out []takenPlan
	line := 1
	for {
		i := strings.Index(text, "plan:\n")
		if i < 0 {
			return out
		}
		line += strings.Count(text[:i+6], "\n")
		text = text[i+6:]
		dec := json.NewDecoder(strings.NewReader(text))
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			continue
		}
		out = append(out, takenPlan{fmt.Sprintf("%s:%d", path, line), raw})
	}
}

// explainServer is the server of the explain document.
type explainServer struct {
	VersionNum int    `json:"version_num"`
	Database   string `json:"database"`
	User       string `json:"user"`
	InRecovery bool   `json:"in_recovery"`
}

type explainDoc struct {
	Schema  string            `json:"schema"`
	Server  *explainServer    `json:"server"`
	Queries []*explain.Result `json:"queries"`

	stats []stat
}

type stat struct {
	result *explain.Result
	from   explain.Statement
}
