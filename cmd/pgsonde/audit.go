package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/clean"
)

// audit prints the record of an attempt to end a session.
func (a *app) audit(x probes.Audit) { writeAudit(a.err, x.String()) }

func writeAudit(w io.Writer, line string) { fmt.Fprintf(w, "audit: %s\n", clean.Line(line)) }

// auditTrail keeps what was done to sessions while the terminal belongs to the
// UI. Its methods may be called from several goroutines.
type auditTrail struct {
	mu    sync.Mutex
	lines []string
}

func (t *auditTrail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
}

// print writes the lines and forgets them.
func (t *auditTrail) print(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lines {
		writeAudit(w, l)
	}
	t.lines = nil
}
