package probes

import (
	"context"
	"fmt"
)

// newLockReader reads over the sampler's work connection.
func newLockReader(s *Sampler) *lockReader {
	return &lockReader{
		run: s.Work, own: s.ownPIDs, timeout: s.opts.Timeout,
		name: func(db, role uint32) (string, string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.state.database(db), s.state.role(role)
		},
	}
}

// LocksOf reads every lock that a session holds or waits for, those of the
// parallel workers in pids too, with the names of what they are about: for when
// somebody opens the session. Rows and Names of the answer are set, in the order
// of the lock table; predicate locks (SIReadLock) have no mode.
func (s *Sampler) LocksOf(ctx context.Context, pids ...int) (*Locks, error) {
	rows, err := s.Work(ctx, s.opts.Timeout, "locks_of", storm, pids)
	if err != nil {
		return nil, fmt.Errorf("reading the locks of %v: %w", pids, err)
	}
	l := &Locks{Reading: ReadDetail, Took: rows.Took}
	for rows.Next() {
		if rows.Int(0) == 0 {
			if n := rows.Int(12); n >= storm {
				return nil, fmt.Errorf("reading the locks of %v: %w", pids, errStorm(n))
			}
			l.At, l.DetailAt = rows.Time(16), rows.Time(16)
			continue
		}
		l.Rows = append(l.Rows, lockRow(rows))
	}
	r := newLockReader(s) // with a cache of its own: the tick's is not for two at a time
	r.resolve(ctx, l, func(LockTag) bool { return true })
	return l, nil
}
