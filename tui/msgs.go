package tui

import (
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
)

// openedMsg ends the first connection attempt.
type openedMsg struct{ err error }

// dueMsg says that the wait before the next tick is over.
type dueMsg struct{ gen int }

// answerMsg is what a tick brought.
type answerMsg struct {
	gen  int
	snap *probes.Snapshot
	use  *budget.Usage
	err  error
	at   time.Time // our clock, when it came
	next time.Duration
}

// lateMsg says that a tick's answer is overdue.
type lateMsg struct {
	gen int
	at  time.Time
}

// queryMsg is a full statement, to be shown or copied.
type queryMsg struct {
	pid   int
	start time.Time
	text  string
	err   error
	copy  bool
}

// copiedMsg says how a copy went.
type copiedMsg struct {
	what string
	err  error
}

// hushMsg ends the n-th flash.
type hushMsg struct{ n int }
