package tui

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/probes/budget"
)

// link is the side of the program that does IO. Cmds use it; the model only
// hands it to them.
type link struct {
	ctx    context.Context
	open   func(context.Context) (Source, error)
	budget *budget.File
	audit  func(string)
	busy   sync.WaitGroup
	mu     sync.Mutex
	src    Source
	closed bool

	told atomic.Pointer[[]bouncer.Told] // what the consoles said last; nobody changes it

	explaining explaining // the EXPLAIN session
}

func newLink(ctx context.Context, o Options) *link {
	return &link{ctx: ctx, open: o.Open, budget: o.Budget, audit: o.Audit, src: o.Source, explaining: explaining{open: o.Explain}}
}

// take hands out the source and counts its use; nil when there is none (any
// more). Every take of a source is paired with busy.Done.
func (l *link) take() Source {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.src == nil {
		return nil
	}
	l.busy.Add(1)
	return l.src
}

// close ends the source once nothing uses it; its context has ended before.
func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	src := l.src
	l.mu.Unlock()
	l.busy.Wait()
	l.explaining.rest()
	if src != nil {
		src.Close()
	}
}

// connect opens the source.
func (l *link) connect() tea.Msg {
	src, err := l.open(l.ctx)
	if err != nil {
		return openedMsg{err}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		src.Close()
		return nil
	}
	l.src = src
	return openedMsg{}
}

// tick reads one snapshot and holds it against the budget. It closes done.
func (l *link) tick(gen int, w probes.Want, base time.Duration, done chan<- struct{}) tea.Cmd {
	return func() tea.Msg {
		defer close(done)
		src := l.take()
		if src == nil {
			return nil
		}
		defer l.busy.Done()
		told := l.saidLast() // before the tick: a session that is younger cannot be in it
		snap, err := src.Tick(l.ctx, w)
		a := answerMsg{gen: gen, snap: snap, err: err, at: time.Now(), next: src.Interval(base)}
		if err == nil {
			var poolers []probes.Pooler
			for _, t := range told {
				poolers = append(poolers, t.Pooler(a.at))
			}
			a.use = budget.Use(l.budget, snap, poolers...)
		}
		return a
	}
}

// query reads one full statement.
func (l *link) query(pid int, start time.Time, toCopy bool) tea.Cmd {
	return func() tea.Msg {
		src := l.take()
		if src == nil {
			return nil
		}
		defer l.busy.Done()
		text, err := src.FullQuery(l.ctx, pid, start)
		return queryMsg{pid: pid, start: start, text: text, err: err, copy: toCopy}
	}
}

// after sends msg made by f when d has passed; nothing once ctx has ended.
func (l *link) after(d time.Duration, f func(time.Time) tea.Msg) tea.Cmd {
	return l.afterUnless(nil, d, f)
}

// afterUnless is after, and nothing once done is closed.
func (l *link) afterUnless(done <-chan struct{}, d time.Duration, f func(time.Time) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-l.ctx.Done():
			return nil
		case <-done:
			return nil
		case at := <-t.C:
			return f(at)
		}
	}
}

// tmuxCopy puts text in tmux's buffer and, by tmux, in the clipboard: with its
// default settings tmux drops the escape sequence that asks for it.
func (l *link) tmuxCopy(text, what string) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(l.ctx, 2*time.Second)
		defer cancel()
		c := exec.CommandContext(ctx, "tmux", "load-buffer", "-w", "-")
		c.Stdin = strings.NewReader(text)
		return copiedMsg{what: what, err: c.Run()}
	}
}
