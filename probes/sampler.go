package probes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Sampler reads one server, a Snapshot a tick. It holds at most two
// connections, brings them back by itself, and never reads twice at once. Its
// methods may be called from several goroutines.
type Sampler struct {
	opts   Options
	target *target
	enc    *encodings

	flight chan struct{} // a token: who has it ticks
	watch  *link         // activity, kills
	work   *link         // locks, catalogs; the same link with one connection

	life   context.Context // ends with Close
	end    context.CancelFunc
	jobs   errgroup.Group
	gate   sync.Mutex // guards closed: no job starts once Close waits for them
	closed bool

	// readLocks reads the lock manager; nil: nobody does.
	readLocks func(context.Context, LockAsk) (*Locks, error)

	mu     sync.Mutex // guards all below
	state  serverState
	outage *outage
	notes  []Note // for the next snapshot
	seq    int64
	cost   time.Duration // of the last tick
	slow   slowClock
	opened openedClock
	locks  lockPanel
	back   comeback // of the work connection

	lent      bool // the work connection's place is: see Lend
	borrowing bool // … and has been taken
	borrowed  int  // the borrower's backend; 0 none, or a pooler's business
}

// LockAsk says what a tick knows that matters to a reading of the lock manager.
type LockAsk struct {
	At      time.Time // the server's clock
	Waiting int       // sessions that wait for a heavyweight lock or a safe snapshot; as far as they are not masked
	Masked  bool      // other roles' waits are invisible in activity
	Detail  bool      // Want.Locks
}

// Open connects and reads who answers, the names and the limits. The first
// connection must succeed (with Wait: sooner or later); the second is tried
// again while the sampler runs. The error is a *ConnectError.
func Open(ctx context.Context, o Options) (*Sampler, error) {
	o = o.withDefaults()
	t, err := newTarget(o)
	if err != nil {
		return nil, err
	}
	s := &Sampler{opts: o, target: t, enc: &encodings{}, flight: make(chan struct{}, 1)}
	s.flight <- struct{}{}
	s.watch = newLink(s.enc)
	s.work = s.watch
	if o.Connections == 2 {
		s.work = newLink(s.enc)
	}
	pg, h, err := t.connectFirst(ctx)
	if err != nil {
		return nil, err
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.watch.adopt(pg, h)
	s.state.adopt(t, pg, h)
	if t.passfile != "" {
		s.notes = append(s.notes, Note{Text: t.passfile})
	}
	s.readLocks = newLockReader(s).read
	var second errgroup.Group
	if s.work != s.watch {
		second.Go(func() error { return s.connectWork(ctx) })
	}
	s.refresh(ctx) // meanwhile, over whichever connection is there
	if err := second.Wait(); err != nil {
		s.note("one connection only: " + oneLine(err))
	}
	return s, nil
}

// connectWork makes the work connection, if it is not there.
func (s *Sampler) connectWork(ctx context.Context) error {
	if err := s.work.take(ctx); err != nil {
		return err
	}
	defer s.release(s.work)
	s.mu.Lock()
	lent := s.lent
	s.mu.Unlock()
	if s.work.up() || lent {
		return nil
	}
	pg, h, err := s.target.connect(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.back.refused = refusal(err)
	if err != nil {
		s.back.failed(time.Now())
		return err
	}
	s.work.adopt(pg, h)
	s.back.delay = 0
	return nil
}

// Facts says who answers and what the server lets in, as last read.
func (s *Sampler) Facts() (Server, Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.server, s.state.limits
}

// Interval is how long to wait between ticks when the user asked for base: a
// server that answers slowly is asked more rarely.
func (s *Sampler) Interval(base time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(base, 10*s.cost)
}

// Close ends the connections at once, whatever they are doing.
func (s *Sampler) Close() {
	s.gate.Lock()
	s.closed = true
	s.gate.Unlock()
	s.end()
	for _, l := range []*link{s.watch, s.work} {
		l.shut()
	}
	_ = s.jobs.Wait()
}

// Work runs sql/NAME on the work connection with a deadline of its own.
// Arguments are int, int64, uint32, []int or []uint32. It waits for the
// connection while another statement runs there, and never delays a tick when
// there are two connections; with one it takes turns with the ticks. It does not
// reconnect: ErrNoConnection says that the connection is away.
func (s *Sampler) Work(ctx context.Context, timeout time.Duration, name string, args ...any) (*Rows, error) {
	if !s.work.alive() {
		return s.on(ctx, s.watch, timeout, name, args)
	}
	if s.work != s.watch {
		return s.onWork(ctx, timeout, name, args)
	}
	return s.on(ctx, s.work, timeout, name, args)
}

// Watch runs sql/NAME on the watch connection, which a lock storm does not
// block: kills, the text of one query. As Work otherwise.
func (s *Sampler) Watch(ctx context.Context, timeout time.Duration, name string, args ...any) (*Rows, error) {
	return s.on(ctx, s.watch, timeout, name, args)
}

// ErrNoConnection says that a statement was not sent: the connection is away
// and the sampler is about to bring it back.
var ErrNoConnection = errors.New("no connection to the server")

// ErrGone says that a backend is not there any more.
var ErrGone = errors.New("no such backend any more")

// ErrMasked says that the login may not read what another role's session runs.
var ErrMasked = errors.New("hidden from this login, which lacks pg_read_all_stats")

func (s *Sampler) on(ctx context.Context, l *link, timeout time.Duration, name string, args []any) (*Rows, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stop := context.AfterFunc(s.life, cancel)
	defer stop()
	if err := l.take(ctx); err != nil {
		return nil, err
	}
	defer s.release(l)
	if !l.up() {
		return nil, ErrNoConnection
	}
	rows, err := l.run(ctx, timeout, name, args...)
	if err != nil && !l.up() {
		s.gaveUp(l.hello)
	}
	return rows, err
}

// workPatience is how long the work connection is kept for an answer that nobody
// waits for any more. A lock storm holds up every statement that needs the lock
// manager, and every new connection, for half a minute: to give the connection
// up would leave the next statement to the watch connection, and blind that too.
const workPatience = 2 * time.Minute

// onWork is on for the work connection: after the timeout the statement goes on
// by itself, and the connection is there again when it has ended.
func (s *Sampler) onWork(ctx context.Context, timeout time.Duration, name string, args []any) (*Rows, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	stop := context.AfterFunc(s.life, cancel)
	defer stop()
	l := s.work
	if err := l.take(ctx); err != nil {
		return nil, err
	}
	var rows *Rows
	err, ran := ErrNoConnection, false
	done := s.job(func(life context.Context) {
		ran = true
		defer s.release(l)
		if !l.up() {
			return
		}
		life, cancel := context.WithTimeout(life, max(timeout, workPatience))
		defer cancel()
		if rows, err = l.send(life, timeout, name, args...); err != nil && !l.up() {
			s.gaveUp(l.hello)
		}
	})
	select {
	case <-done:
		if !ran { // Close was faster
			s.release(l)
		}
		return rows, err
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for an answer: %w", ctx.Err())
	}
}

// note keeps a fact for the next snapshot.
func (s *Sampler) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, Note{At: s.state.at, Text: text})
}

// release gives a link back, or up: what was connected while Close ran.
func (s *Sampler) release(l *link) {
	if s.life.Err() != nil {
		l.drop()
	}
	l.give()
}

// job runs f in the background until Close; done is closed when it returned.
func (s *Sampler) job(f func(context.Context)) (done chan struct{}) {
	done = make(chan struct{})
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		close(done)
		return done
	}
	s.jobs.Go(func() error {
		defer close(done)
		f(s.life)
		return nil
	})
	return done
}
