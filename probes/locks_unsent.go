package probes

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// unsentError is what failed before the statement itself was sent.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }

// unsent says that a statement did not reach the server, not even a part of it that
// the server would run.
func unsent(err error) bool {
	var before *unsentError
	var op *net.OpError
	return errors.As(err, &before) || errors.Is(err, ErrNoConnection) || errors.As(err, &op) && op.Op == "write"
}

// endError is an error of the connection while a session was to be ended, in words
// for a person.
type endError struct {
	why string
	err error
}

func (e *endError) Error() string { return e.why }
func (e *endError) Unwrap() error { return e.err }

// lost says what became of the connection in place of the answer to a statement.
func lost(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return fmt.Sprintf("the server did not answer within %s", endTimeout)
	case errors.Is(err, ErrNoConnection), connectionLost(err):
		return "the connection to the server was lost"
	}
	return oneLine(err)
}

// failed is what to make of an error in place of an answer: a Result where nothing
// was sent for sure.
func failed(err error) (Result, error) {
	switch {
	case errors.Is(err, context.Canceled): // by the caller
		return Result{}, err
	case unsent(err):
		return Result{Outcome: NotSent, Why: lost(err) + ": try again"}, nil
	}
	return Result{}, &endError{lost(err), err}
}
