package tui

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/probes"
)

// ask reads now. While a tick is under way it only remembers that another one
// is wanted, so that requests never pile up.
func (m *model) ask() tea.Cmd {
	if !m.read.connected {
		return nil
	}
	m.read.timer++
	if m.read.busy {
		m.read.again = true
		return nil
	}
	m.read.busy = true
	m.read.asked++
	var w probes.Want
	m.screen().want(&w)
	m.wantPooled(&w)
	if d, ok := m.over.(*endDialog); ok && d.outcome == "" { // whether who is to be ended is still there
		w.Sessions, w.AllKinds, w.Limit = true, true, max(w.Limit, endSessions)
	}
	if m.ending.watching { // whether those that wait no longer have run
		w.Sessions, w.AllKinds, w.Limit = true, true, max(w.Limit, endSessions)
		if w.FullPID == 0 { // which is never cut off
			w.FullPID = m.ending.target.node.Key.PID
		}
	}
	gen, done := m.read.asked, make(chan struct{})
	m.read.done = done
	return tea.Batch(m.link.tick(gen, w, m.read.base, done), m.watch(gen, 2*m.read.next))
}

// askSoon reads now when the screen needs something that the data shown does
// not have.
func (m *model) askSoon() tea.Cmd {
	var w probes.Want
	m.screen().want(&w)
	if !w.Sessions || m.read.paused || m.frame == nil || m.frame.snap.Sessions != nil && !m.tellsPooled() {
		return nil
	}
	return m.ask()
}

// watch looks after d whether the answer of tick gen is there, unless that tick
// has ended.
func (m *model) watch(gen int, d time.Duration) tea.Cmd {
	return m.link.afterUnless(m.read.done, max(d, time.Second), func(at time.Time) tea.Msg { return lateMsg{gen, at} })
}

func (m *model) overdue(msg lateMsg) tea.Cmd {
	if !m.read.busy || msg.gen != m.read.asked || m.read.good.IsZero() {
		return nil
	}
	m.read.late = msg.at.Sub(m.read.good)
	m.drawn = nil
	return m.watch(msg.gen, time.Second)
}

// wait sets the next tick.
func (m *model) wait(d time.Duration) tea.Cmd {
	m.read.timer++
	gen := m.read.timer
	return m.link.after(d, func(time.Time) tea.Msg { return dueMsg{gen} })
}

func (m *model) due(msg dueMsg) tea.Cmd {
	if msg.gen != m.read.timer || m.read.paused && !m.ending.watching {
		return nil
	}
	return m.ask()
}

func (m *model) opened(msg openedMsg) tea.Cmd {
	if msg.err != nil {
		m.fatal = msg.err
		return tea.Quit
	}
	m.read.connected = true
	if !m.link.canEnd() {
		m.keys = m.keys.without(actCancel, actTerminate)
	}
	return m.ask()
}

// answered takes an answer, unless it is of an older generation, and sets the
// next tick.
func (m *model) answered(msg answerMsg) tea.Cmd {
	m.read.busy = false
	var say tea.Cmd
	if msg.gen == m.read.asked {
		m.read.next = msg.next
		if msg.err != nil {
			m.refused(msg)
		} else {
			say = m.take(msg)
		}
	}
	again := m.read.again
	m.read.again = false
	switch {
	case again:
		return tea.Batch(say, m.ask())
	case m.read.paused && !m.ending.watching:
		return say
	}
	d := m.read.next
	if m.ending.watching && !m.ending.pending {
		d = min(d, max(endFast, 2*m.read.cost))
	}
	if m.read.down != nil {
		d = max(m.read.down.RetryIn, 50*time.Millisecond)
	}
	return tea.Batch(say, m.fetch(), m.wait(d))
}

// refused keeps the last data and says how old it is.
func (m *model) refused(msg answerMsg) {
	if errors.Is(msg.err, context.Canceled) {
		return
	}
	fresh := m.read.err == nil
	m.read.down, m.read.err = nil, msg.err
	errors.As(msg.err, &m.read.down)
	if !m.read.good.IsZero() {
		m.read.late = msg.at.Sub(m.read.good)
	}
	if n := len(m.ring.all); fresh && n > 0 && m.at == 0 && m.pool.last != nil {
		m.show(n - 1) // poolers are judged without it from here on
	}
}

// take puts a reading in the ring and on screen.
func (m *model) take(msg answerMsg) tea.Cmd {
	r := &m.read
	r.down, r.err, r.late, r.good = nil, nil, 0, msg.at
	if c := msg.snap.Cost.RoundTrip; r.cost == 0 {
		r.cost = c
	} else {
		r.cost += (c - r.cost) / 8
	}
	before := ""
	if n := len(m.ring.all); n > 0 {
		before = noteOf(m.ring.all[n-1].snap)
	}
	m.ring.push(msg.snap, msg.use)
	if m.at == 0 {
		m.show(len(m.ring.all) - 1)
	}
	ended := m.watchEnd(msg.snap)
	if note := noteOf(msg.snap); note != "" && note != before { // what stays so is said once
		return tea.Batch(ended, m.say(note))
	}
	return ended
}

// noteOf is what must be known of a reading, "" nothing.
func noteOf(s *probes.Snapshot) string {
	if n := len(s.Notes); n > 0 {
		return s.Notes[n-1].Text
	}
	return ""
}

func (m *model) pause() tea.Cmd {
	m.read.paused = !m.read.paused
	if m.read.paused {
		m.read.timer++
		m.read.asked++ // what is under way comes too late
		m.read.late = 0
		return nil
	}
	return m.ask()
}

// paces are the intervals that + and - step through.
func paces() []time.Duration {
	return []time.Duration{
		250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second,
		5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
	}
}

func (m *model) pace(by int) tea.Cmd {
	p := paces()
	i, exact := slices.BinarySearch(p, m.read.base)
	if by > 0 && !exact {
		i--
	}
	return m.setPace(p[max(0, min(i+by, len(p)-1))])
}

func (m *model) setPace(d time.Duration) tea.Cmd {
	m.read.base, m.read.next = d, d
	say := m.say("reads every " + span(d))
	if m.read.paused || m.read.busy {
		return say
	}
	return tea.Batch(say, m.wait(d))
}

// step goes through the ring.
func (m *model) step(by int) tea.Cmd {
	n := len(m.ring.all)
	if n == 0 {
		return nil
	}
	i := n - 1
	if m.at != 0 {
		i = m.ring.index(m.at)
	}
	i = max(0, i+by)
	if i >= n-1 {
		return m.goLive()
	}
	m.at = m.ring.all[i].snap.Seq
	m.show(i)
	return nil
}

func (m *model) goLive() tea.Cmd {
	m.at = 0
	if n := len(m.ring.all); n > 0 {
		m.show(n - 1)
	}
	return nil
}

// fetch reads the statement that the screen wants whole, once for each
// statement.
func (m *model) fetch() tea.Cmd {
	if !m.read.connected {
		return nil
	}
	var locks tea.Cmd
	if s, ok := m.screen().(*sessionScreen); ok && m.at == 0 {
		if x, workers, ok := s.needLocks(); ok {
			locks = m.link.locksOf(x, workers)
		}
	}
	q, ok := m.screen().(queryWanter)
	if !ok {
		return locks
	}
	pid, start, ok := q.needQuery()
	if !ok {
		return locks
	}
	return tea.Batch(locks, m.link.query(pid, start, false))
}
