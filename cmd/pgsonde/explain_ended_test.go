package main

import (
	"context"
	"testing"
)

// What computes does not outlive a signal; what ends in time is waited for.
func TestUnlessEnded(t *testing.T) {
	t.Parallel()
	if v, ok := unlessEnded(t.Context(), func() int { return 7 }); v != 7 || !ok {
		t.Errorf("got %d, %t, want 7, true", v, ok)
	}
	ctx, cancel := context.WithCancel(t.Context())
	begun, release := make(chan bool), make(chan bool)
	defer close(release)
	go func() { <-begun; cancel() }()
	if v, ok := unlessEnded(ctx, func() int { close(begun); <-release; return 7 }); v != 0 || ok {
		t.Errorf("left to itself: got %d, %t, want 0, false", v, ok)
	}
	if v, ok := unlessEnded(ctx, func() int { return 7 }); v != 7 || !ok {
		t.Errorf("ends in time: got %d, %t, want 7, true", v, ok)
	}
}
