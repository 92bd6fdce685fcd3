package probes

import (
	"context"
	"time"
)

// BeforeLockStatement calls f before each statement of the lock reader from now
// on, so that a test can change the server between two of one tick.
func BeforeLockStatement(s *Sampler, f func(statement string)) {
	r := newLockReader(s)
	run := r.run
	r.run = func(ctx context.Context, timeout time.Duration, name string, args ...any) (*Rows, error) {
		f(name)
		return run(ctx, timeout, name, args...)
	}
	s.readLocks = r.read
}

// PretendVersion makes the sampler take the server for another version.
func PretendVersion(s *Sampler, num int, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.server.VersionNum, s.state.server.Version = num, version
}
