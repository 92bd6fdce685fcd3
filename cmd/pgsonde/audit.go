package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/pgsonde/pgsonde/tui/clean"
)

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
		fmt.Fprintf(w, "audit: %s\n", clean.Line(l))
	}
	t.lines = nil
}
