package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/explain/sqltext"
	"github.com/pgsonde/pgsonde/tui/clean"
)

// sources is what the command line asks to judge.
type sources struct {
	dsn   string
	items []item
	ask   bool // pg_stat_statements
}

// item is one thing to judge: a statement, or what is judged without a server.
type item struct {
	input *explain.Input
	name  string // of the statement's block
	file  string // as in judged
	plan  *takenPlan
	text  string // as in judged
	at    int
	done  *judged
}

// needsServer reports a statement among them, or a server that was named for the
// catalog behind plans.
func (s sources) needsServer() bool {
	for _, it := range s.items {
		if it.input != nil || it.plan != nil && s.dsn != "" {
			return true
		}
	}
	return s.ask
}

// sources reads all that is to be judged. A file that cannot be read is one of
// the judgements, so that the rest goes on.
func (c *explainCmd) sources(a *app) (sources, error) {
	s := sources{ask: c.Statements}
	args := c.Args
	if len(args) > 0 && !isSource(args[0]) {
		s.dsn, args = args[0], args[1:]
	}
	for _, arg := range args {
		s.addPath(a, arg)
	}
	for _, sql := range c.Command {
		s.add("-c", "", sql)
	}
	for _, p := range c.Plan {
		s.addPlan(a, p)
	}
	for _, p := range c.Log {
		s.addLog(a, p)
	}
	if c.PID != 0 {
		in, err := c.running(a, s.dsn)
		if err != nil {
			return s, err
		}
		s.items = append(s.items, item{input: &in})
	}
	if len(args)+len(c.Command)+len(c.Plan)+len(c.Log)+c.PID == 0 && !c.Statements {
		if strings.ContainsRune(s.dsn, '/') && !isDSN(s.dsn) {
			return s, fmt.Errorf("nothing to judge: there is no file or folder %s", clean.Line(s.dsn))
		}
		return s, errors.New("nothing to judge: name files, -c SQL, --statements, --pid, --plan or --log")
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

// addPath adds the statements of a file, of a folder's *.sql, or of stdin.
func (s *sources) addPath(a *app, path string) {
	if st, err := os.Stat(path); path == "-" || err != nil || !st.IsDir() {
		s.addFile(a, path)
		return
	}
	before := len(s.items)
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			s.fail(p, "file-not-read", err)
		case !d.IsDir() && strings.HasSuffix(p, ".sql"):
			s.addFile(a, p)
		}
		return nil
	})
	if err == nil && len(s.items) == before {
		err = errors.New("no *.sql file in the folder has a statement")
	}
	if err != nil {
		s.fail(path, "file-not-read", err)
	}
}

func (s *sources) addFile(a *app, path string) {
	b, err := a.readAll(path)
	if err != nil {
		s.fail(path, "file-not-read", err)
		return
	}
	if path == "-" {
		s.add("stdin", "", string(b))
		return
	}
	s.add(path, path, string(b))
}

// fail adds the finding for a file that gave nothing to judge.
func (s *sources) fail(path, rule string, err error) {
	action := "check the path and what is in it"
	if rule == "plan-not-read" {
		action = takePlan
	}
	var pe *fs.PathError
	if errors.As(err, &pe) { // the source says the path already
		err = pe.Err
	}
	s.items = append(s.items, item{done: notJudged(path, rule, err.Error(), action)})
}

// add adds the statements of a text, which is in a file or "".
func (s *sources) add(source, file, text string) {
	for _, st := range sqltext.Split(text) {
		it := item{input: &explain.Input{Source: source, Line: st.Line, SQL: st.Text, OwnText: true}, name: st.Name, file: file}
		if file != "" {
			it.text, it.at = text, st.Start
		}
		s.items = append(s.items, it)
	}
}

// running is what a session runs now.
func (c *explainCmd) running(a *app, dsn string) (explain.Input, error) {
	s, err := a.open(target{dsn})
	if err != nil {
		return explain.Input{}, err
	}
	defer s.Close()
	b, _, err := findBackend(a.ctx, s, c.PID)
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
