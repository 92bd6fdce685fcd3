// Command pgsonde is a terminal diagnostic tool for PostgreSQL: who holds the
// connections and is that what was planned, who waits for whom, and does a
// page of rows start where its cursor is.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/tui/clean"
)

// Exit statuses of all commands.
const (
	exitOK    = 0
	exitFound = 1 // something at or above --fail-on
	exitError = 2 // could not run: usage, connection, file
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// signalError is the cause of a context that a signal ended.
type signalError struct{ sig syscall.Signal }

func (e signalError) Error() string { return e.sig.String() }

// run executes one command line and returns the exit status. It is main
// without the process: tests call it.
func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	ctx, stop := catchSignals(ctx)
	defer stop()
	a := &app{ctx: ctx, in: in, out: out, err: errw, args: args}
	err := a.main()
	if sig := (signalError{}); errors.As(context.Cause(ctx), &sig) {
		return 128 + int(sig.sig)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFound):
		return exitFound
	case errors.As(err, new(helpShown)):
		return exitOK
	}
	lines := []string{err.Error()}
	if all := budget.FileErrors(nil); errors.As(err, &all) {
		lines = strings.Split(err.Error(), "\n") // each mistake of a file
	}
	for _, line := range lines {
		fmt.Fprintf(errw, "pgsonde: %s\n", clean.Line(line))
	}
	return exitError
}

// catchSignals ends the context at SIGINT, SIGTERM or SIGHUP, so that a
// terminal is restored and a throw-away server removed. A second signal
// ends the process at once.
func catchSignals(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-ch:
			signal.Stop(ch)
			cancel(signalError{s.(syscall.Signal)})
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(done)
		cancel(nil)
	}
}
