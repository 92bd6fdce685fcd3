package tui

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/explain"
)

// explaining is the EXPLAIN session of a link: opened at its first use, and
// used for one thing at a time.
type explaining struct {
	open func(context.Context, Source) (Explainer, error)
	mu   sync.Mutex
	x    Explainer
}

// connected says that there is a source.
func (l *link) connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.src != nil && !l.closed
}

// explain runs f with the EXPLAIN session.
func (l *link) explain(ctx context.Context, f func(Explainer) error) error {
	src := l.take()
	if src == nil {
		return context.Canceled
	}
	defer l.busy.Done()
	e := &l.explaining
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open == nil {
		return errors.New("a recording has no server to explain on")
	}
	if e.x == nil {
		x, err := e.open(ctx, src)
		if err != nil {
			return err
		}
		e.x = x
	}
	return f(e.x)
}

// rest ends the EXPLAIN session.
func (e *explaining) rest() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.x != nil {
		e.x.Close()
		e.x = nil
	}
}

// statements lists what the server has executed.
func (l *link) statements(ctx context.Context) tea.Cmd {
	return func() tea.Msg {
		var msg statementsMsg
		msg.err = l.explain(ctx, func(x Explainer) (err error) {
			msg.list, err = x.Statements(ctx, mostStatements)
			return err
		})
		return msg
	}
}

// judge does one errand about a statement.
func (l *link) judge(ctx context.Context, e errand) tea.Cmd {
	s := *e.of // of this moment: the model goes on
	return func() tea.Msg {
		msg := judgedMsg{of: e.of}
		if s.plan != nil {
			msg.res, msg.err = explain.JudgePlan(s.in.Source, s.plan, nil)
			return msg
		}
		if s.from != nil {
			if s.in.SQL, msg.err = l.textOf(ctx, &s); msg.err != nil {
				return msg
			}
			msg.sql = s.in.SQL
		}
		msg.err = l.explain(ctx, func(x Explainer) error {
			msg.res = x.Judge(ctx, s.in, explain.Options{Analyze: e.analyze})
			return ctx.Err()
		})
		return msg
	}
}

// textOf reads the whole statement of a subject's backend.
func (l *link) textOf(ctx context.Context, s *subject) (string, error) {
	if !s.from.QueryClipped && s.from.Query != "" {
		return s.from.Query, nil
	}
	src := l.take()
	if src == nil {
		return "", context.Canceled
	}
	defer l.busy.Done()
	sql, err := src.FullQuery(ctx, s.from.PID, s.from.BackendStart)
	if err == nil && sql == "" {
		err = fmt.Errorf("pid %d shows no statement", s.from.PID)
	}
	return sql, err
}

// explains says that a screen of statements is shown, or lies under the one
// that is.
func (m *model) explains() bool {
	for _, s := range m.view().stack {
		switch s.(type) {
		case *explainScreen, *planScreen:
			return true
		}
	}
	return false
}

// settle starts what there is to explain while it is looked at, and stops it
// when it is not.
func (m *model) settle() tea.Cmd {
	if !m.explains() {
		m.desk.stop()
		return nil
	}
	if m.desk.dropped { // back before the answer of what was cancelled
		return nil
	}
	return m.desk.next(m.link)
}

// explained takes an answer of the EXPLAIN session.
func (m *model) explained(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case statementsMsg:
		m.desk.take(msg, m.latest())
	case judgedMsg:
		m.desk.judgement(msg, m.latest())
		if m.flash.text == sayExecuting {
			m.flash.text = ""
		}
	case unusedMsg:
		if msg.n == m.desk.uses && m.desk.now == nil {
			return func() tea.Msg { m.link.explaining.rest(); return nil }
		}
		return nil
	}
	m.desk.dropped = false
	m.load(m.screen())
	if cmd := m.settle(); cmd != nil {
		return cmd
	}
	n := m.desk.uses
	return m.link.after(explainIdle, func(time.Time) tea.Msg { return unusedMsg{n} })
}
