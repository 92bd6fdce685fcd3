package main

import (
	"fmt"
	"time"
)

// progress returns a function that says on stderr, where it is a terminal, how
// many of so many things are done: every second, on one line. Called with -1 it
// takes the line away.
func (a *app) progress(what string, of int) func(done int) {
	if !isTerminal(a.err) {
		return func(int) {}
	}
	last, shown := time.Now(), false
	return func(done int) {
		switch {
		case done < 0 && shown:
			fmt.Fprint(a.err, "\r\x1b[K")
			shown = false
		case done >= 0 && time.Since(last) >= time.Second:
			fmt.Fprintf(a.err, "\r%s %d of %s\x1b[K", what, done, plural(of, "statement"))
			last, shown = time.Now(), true
		}
	}
}
