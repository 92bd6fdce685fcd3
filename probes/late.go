package probes

import (
	"context"
	"time"
)

// lockWait is how long a tick waits for the lock manager. A reading that takes
// longer goes on without it; meanwhile the last one is shown with its age.
const lockWait = 200 * time.Millisecond

// locksSince is the first server whose lock table says since when a lock is
// waited for; server_version_num.
const locksSince = 140000

func tooOldForLocks(s Server) string {
	return "who waits for whom can be read since PostgreSQL 14, and this is " + s.Version
}

// lockPanel is the newest reading of the lock manager and the one that runs.
type lockPanel struct {
	last    *Locks
	err     error
	running chan struct{}
}

// lookAtLocks puts a reading of the lock manager into snap: the new one when it
// is there in time, else the last one, which says by itself how old it is.
func (s *Sampler) lookAtLocks(ctx context.Context, snap *Snapshot, ask LockAsk) {
	if s.readLocks == nil {
		return
	}
	if snap.Server.VersionNum < locksSince {
		if ask.Waiting > 0 || ask.Detail {
			snap.Locks = &Locks{At: snap.At, Reading: ReadIdle, Waiting: ask.Waiting, Late: tooOldForLocks(snap.Server)}
		}
		return
	}
	s.mu.Lock()
	running := s.locks.running
	if running == nil {
		running = s.job(func(life context.Context) {
			l, err := s.readLocks(life, ask)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.locks.running, s.locks.err = nil, err
			if err == nil {
				s.locks.last = l
			}
		})
		s.locks.running = running
	}
	wait := lockWait
	if ask.Detail && s.locks.last == nil { // a one-shot command has nothing else to show
		wait = s.opts.Timeout
	}
	s.mu.Unlock()
	t := time.NewTimer(wait)
	defer t.Stop()
	late, lack := "", ""
	select {
	case <-running:
	case <-ctx.Done():
		late = "the lock manager has not answered yet"
	case <-t.C:
		late = "the lock manager has not answered yet"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if late == "" && s.locks.err != nil {
		late, lack = oneLine(s.locks.err), lacks(s.locks.err)
	}
	snap.Locks = s.locks.last
	if late == "" {
		return
	}
	old := Locks{}
	if s.locks.last != nil {
		old = *s.locks.last
	}
	old.Late, old.Lacks = late, lack
	snap.Locks = &old
}
