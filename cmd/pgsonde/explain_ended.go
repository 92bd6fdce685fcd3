package main

import (
	"context"
	"time"
)

// endedGrace is how long a judgement may go on after a signal: what waits for the
// server stops by itself well within it.
const endedGrace = 500 * time.Millisecond

// unlessEnded runs f and returns what it does. An f that computes for longer than
// endedGrace after the context's end is left to itself, for the process is about to
// end; it reports false then.
func unlessEnded[T any](ctx context.Context, f func() T) (T, bool) {
	done := make(chan T, 1)
	go func() { done <- f() }()
	select {
	case v := <-done:
		return v, true
	case <-ctx.Done():
	}
	select {
	case v := <-done:
		return v, true
	case <-time.After(endedGrace):
	}
	var none T
	return none, false
}
