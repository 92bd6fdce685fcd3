package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/tui/clean"
)

const minInterval = 100 * time.Millisecond

// options makes the sampler's options from the flags and the DSN.
func (a *app) options(t target) (probes.Options, error) {
	c := a.cli.common
	dsn := t.DSN
	if isDSN(c.Dbname) { // as psql: -d takes a connection string too
		if dsn != "" {
			return probes.Options{}, fmt.Errorf("two connection strings: --dbname %s and %s", redact(c.Dbname), redact(dsn))
		}
		dsn, c.Dbname = c.Dbname, ""
	}
	a.warnOfPassword(dsn)
	return probes.Options{
		DSN: dsn, Host: c.Host, Port: c.Port, User: c.Username, Database: c.Dbname,
		Password: a.askPassword, Getenv: os.Getenv, Connections: c.Connections, Timeout: c.Timeout, Wait: c.Wait,
		Notify: func(s string) { a.hint("%s", s) },
	}, nil
}

// open connects for a one-shot command.
func (a *app) open(t target) (*probes.Sampler, error) {
	o, err := a.options(t)
	if err != nil {
		return nil, err
	}
	s, err := probes.Open(a.ctx, o)
	if err != nil {
		return nil, withHint(err)
	}
	return s, nil
}

// openWithBudget loads the budget, if there is one, and connects.
func (a *app) openWithBudget(t target) (*budget.File, *probes.Sampler, error) {
	file, _, err := a.findBudget()
	if err != nil {
		return nil, nil, err
	}
	s, err := a.open(t)
	return file, s, err
}

// withHint appends what a person can do about a connection error.
func withHint(err error) error {
	if ce := (*probes.ConnectError)(nil); errors.As(err, &ce) && ce.Hint != "" {
		return fmt.Errorf("%w; %s", err, ce.Hint)
	}
	return err
}

func isDSN(s string) bool {
	return strings.Contains(s, "=") || strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

// warnOfPassword says that a command line is no place for one.
func (a *app) warnOfPassword(dsn string) {
	if hasPassword(dsn) {
		a.hint("the password in the connection string is visible to every user of this machine (ps); use ~/.pgpass or PGPASSWORD")
	}
}

// passwordIn finds a password in a keyword string or among a URL's parameters.
var passwordIn = regexp.MustCompile(`(?i)(?:^|[\s?&])(?:ssl)?password\s*=`)

func hasPassword(dsn string) bool {
	if u, err := url.Parse(dsn); err == nil && u.User != nil {
		if _, ok := u.User.Password(); ok {
			return true
		}
	}
	return isDSN(dsn) && passwordIn.MatchString(dsn)
}

// redact is dsn as it may be printed.
func redact(dsn string) string {
	if hasPassword(dsn) {
		return "(with a password)"
	}
	return dsn
}

// hint prints a line for the person to stderr; stdout is the answer's alone.
func (a *app) hint(format string, args ...any) {
	fmt.Fprintf(a.err, "pgsonde: %s\n", clean.Line(fmt.Sprintf(format, args...)))
}

// askPassword asks on the terminal, and only there.
func (a *app) askPassword(prompt string) (string, error) {
	f, ok := a.in.(*os.File)
	if !ok || !isTerminal(f) {
		return "", errors.New("a password is needed and stdin is no terminal; use ~/.pgpass or PGPASSWORD")
	}
	fmt.Fprint(a.err, clean.Line(prompt))
	b, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(a.err)
	return string(b), err
}

// each runs one for a single reading, or with watch at every interval until
// the context ends. Readings that fail because the server is away are told on
// stderr and retried.
func (a *app) each(s *probes.Sampler, want probes.Want, watch bool, one func(*probes.Snapshot) error) error {
	return a.eachAfter(func() {}, s, want, watch, one)
}

// eachAfter is each, with something to be done before every reading.
func (a *app) eachAfter(before func(), s *probes.Sampler, want probes.Want, watch bool, one func(*probes.Snapshot) error) error {
	told := ""
	for {
		before()
		snap, err := s.Tick(a.ctx, want)
		wait := s.Interval(a.cli.Interval)
		switch away := (*probes.Unavailable)(nil); {
		case err == nil:
			told = ""
			if err := one(snap); err != nil && (!watch || !errors.Is(err, errFound)) {
				return err
			}
		case a.ctx.Err() != nil:
			return nil
		case watch && errors.As(err, &away):
			if away.State != told {
				told = away.State
				a.hint("%s", err)
			}
			wait = max(away.RetryIn, minInterval)
		default:
			return withHint(err)
		}
		if !watch {
			return nil
		}
		select {
		case <-a.ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// printer collects the answer and hands it to stdout in one write.
func (a *app) print(f func(w io.Writer)) error {
	w := bufio.NewWriterSize(a.out, 64<<10)
	f(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
