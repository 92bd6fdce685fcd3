package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/explain/sqltext"
	"github.com/pgsonde/pgsonde/probes"
)

const (
	mostStatements = 100              // of pg_stat_statements
	explainIdle    = 60 * time.Second // without use the EXPLAIN session ends
	mostPasted     = 200              // statements of one pasted text
)

// Explainer judges statements over a session of its own. Its methods are called
// one at a time.
type Explainer interface {
	Statements(ctx context.Context, limit int) (explain.Listing, error)
	Judge(ctx context.Context, in explain.Input, o explain.Options) *explain.Result
	Close()
}

// subject is a statement that is judged, or waits to be. Its place in the
// memory is its identity for messages, its key that for tables.
type subject struct {
	key  string
	name string // for the path
	in   explain.Input
	stat *explain.Statement // of pg_stat_statements
	from *probes.Session    // whose text is read when its turn comes
	plan []byte             // a plan that somebody else took

	res *explain.Result
	err error     // why there is no result
	at  time.Time // of the result, the server's clock
}

// errand is one thing to ask the EXPLAIN session.
type errand struct {
	of      *subject // nil: list the statements
	analyze bool
}

// desk holds the statements of the Explain screens and what is still to be
// asked: one errand at a time, and only while such a screen is shown.
type desk struct {
	can      bool // there is a server to explain on
	readOnly bool
	login    string // pgsonde's own
	subjects []*subject
	pasted   int
	queue    []errand
	now      *errand
	cancel   context.CancelFunc
	dropped  bool      // the errand under way was cancelled
	uses     int       // of the session
	listed   bool      // the list was asked for
	at       time.Time // of the list, the server's clock; zero: not read
	listErr  error
	hidden   int    // statements whose texts the login may not read
	grant    string // what shows them
}

type (
	// statementsMsg is what pg_stat_statements has.
	statementsMsg struct {
		list explain.Listing
		err  error
	}
	// judgedMsg is one judgement.
	judgedMsg struct {
		of  *subject
		res *explain.Result
		sql string // the text that was read first
		err error
	}
	// unusedMsg says that the n-th use of the session is a while ago.
	unusedMsg struct{ n int }
)

// ask puts an errand in the queue, in front when somebody waits for it.
func (d *desk) ask(e errand, first bool) {
	d.queue = slices.DeleteFunc(d.queue, func(o errand) bool { return o.of == e.of && o.analyze == e.analyze })
	if first {
		d.queue = slices.Insert(d.queue, 0, e)
	} else {
		d.queue = append(d.queue, e)
	}
}

// list asks for the statements of the server, again when they are there.
func (d *desk) list() {
	d.listed = true
	d.queue = slices.DeleteFunc(d.queue, func(e errand) bool { return e.of == nil || e.of.stat != nil && !e.analyze })
	d.ask(errand{}, true)
}

// pending says what is still to come of a subject.
func (d *desk) pending(s *subject) (queued, running bool) {
	for _, e := range d.queue {
		queued = queued || e.of == s
	}
	return queued, d.now != nil && d.now.of == s
}

// judged counts the statements that are done.
func (d *desk) judged() (done, all int) {
	for _, s := range d.subjects {
		if s.res != nil || s.err != nil {
			done++
		}
	}
	return done, len(d.subjects)
}

// next starts the next errand, when none is under way.
func (d *desk) next(l *link) tea.Cmd {
	if d.now != nil || len(d.queue) == 0 || !l.connected() {
		return nil
	}
	e := d.queue[0]
	d.queue = d.queue[1:]
	ctx, cancel := context.WithCancel(l.ctx)
	d.now, d.cancel, d.dropped = &e, cancel, false
	d.uses++
	if e.of == nil {
		return l.statements(ctx)
	}
	return l.judge(ctx, e)
}

// stop cancels what is under way; it comes first when there is time again.
func (d *desk) stop() {
	if d.now != nil && !d.dropped {
		d.dropped = true
		d.cancel()
	}
}

// finished ends the errand under way; false: it was cancelled and is queued
// again, its answer does not count.
func (d *desk) finished() bool {
	e := d.now
	if e == nil {
		return false
	}
	d.cancel()
	d.now, d.cancel = nil, nil
	if d.dropped {
		d.ask(*e, true)
	}
	return !d.dropped
}

// take keeps the list: what is judged stays so until it is judged again.
func (d *desk) take(msg statementsMsg, at time.Time) {
	if !d.finished() {
		return
	}
	d.listErr = msg.err
	if msg.err != nil {
		return
	}
	d.hidden, d.grant = msg.list.Hidden, msg.list.Grant()
	d.at = at
	old := map[string]*subject{}
	var keep []*subject
	for _, s := range d.subjects {
		if s.stat == nil {
			keep = append(keep, s)
		} else {
			old[s.key] = s
		}
	}
	for _, st := range msg.list.Statements {
		if st.Role == d.login && strings.Contains(st.SQL, "pg_catalog.") {
			continue // our own questions
		}
		key := fmt.Sprintf("%d %s", st.QueryID, st.Role)
		s := old[key]
		if s == nil {
			s = &subject{key: key, name: "statement"}
		}
		s.stat = &st
		s.in = explain.Input{Source: fmt.Sprintf("queryid %d", st.QueryID), SQL: st.SQL, SearchPath: st.SearchPath}
		keep = append(keep, s)
		d.ask(errand{of: s}, false)
	}
	d.subjects = keep
}

// judgement keeps a result.
func (d *desk) judgement(msg judgedMsg, at time.Time) {
	if !d.finished() {
		return
	}
	if msg.sql != "" {
		msg.of.in.SQL = msg.sql
	}
	msg.of.res, msg.of.err, msg.of.at = msg.res, msg.err, at
}

// paste adds typed or pasted statements, or a plan, newest first.
func (d *desk) paste(text string) (first *subject, err error) {
	d.pasted++
	name := "pasted " + strconv.Itoa(d.pasted)
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return nil, errors.New("nothing to explain")
	}
	var all []*subject
	if trimmed[0] == '[' || trimmed[0] == '{' {
		all = append(all, &subject{key: name, name: name, in: explain.Input{Source: name}, plan: []byte(trimmed)})
	} else {
		parts := sqltext.Split(text)
		for i, st := range parts[:min(len(parts), mostPasted)] {
			n := name
			if len(parts) > 1 {
				n = fmt.Sprintf("%s.%d", name, i+1)
			}
			all = append(all, &subject{key: n, name: n, in: explain.Input{Source: n, SQL: st.Text, OwnText: true}})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("nothing to explain: no statement in this text")
	}
	for i := len(all) - 1; i >= 0; i-- {
		d.ask(errand{of: all[i]}, true)
	}
	d.subjects = append(all, d.subjects...)
	return all[0], nil
}

// session adds what a backend runs; its text is read when its turn comes.
func (d *desk) session(x probes.Session) *subject {
	name := "pid " + strconv.Itoa(x.PID)
	s := &subject{key: fmt.Sprintf("%s %d", name, d.uses), name: name, in: explain.Input{Source: name, SQL: x.Query}, from: &x}
	d.subjects = slices.DeleteFunc(d.subjects, func(o *subject) bool { return o.name == name && o.from != nil })
	d.subjects = append([]*subject{s}, d.subjects...)
	d.ask(errand{of: s}, true)
	return s
}
