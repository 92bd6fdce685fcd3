package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// guardTime is how long a question must have been on screen before its yes counts.
// What was typed before anybody could read it is no answer.
const guardTime = 150 * time.Millisecond

// guard keeps a question deaf to yes until it has been on screen for guardTime. Its
// zero value is a question that is new.
type guard struct {
	n     int // of the wait under way, 0 none yet
	ready bool
}

// guarded is an overlay that asks.
type guarded interface{ guarding() *guard }

func (g *guard) guarding() *guard { return g }

// renew makes the question a new one: what yes does has changed.
func (g *guard) renew() { *g = guard{} }

// readyMsg says that the n-th question has been on screen for long enough.
type readyMsg struct{ n int }

// guardNew starts the wait of a question that has none.
func (m *model) guardNew() tea.Cmd {
	o, ok := m.over.(guarded)
	if !ok || o.guarding().n != 0 {
		return nil
	}
	m.asked++
	n := m.asked
	o.guarding().n = n
	return m.link.after(guardTime, func(time.Time) tea.Msg { return readyMsg{n} })
}

// readable takes the end of such a wait.
func (m *model) readable(msg readyMsg) {
	if o, ok := m.over.(guarded); ok && o.guarding().n == msg.n {
		o.guarding().ready = true
	}
}
