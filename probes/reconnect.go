package probes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Waiting times between attempts. A server that restarts is back within a
// second; one that is full gets worse by impatience, unless somebody asked to
// fight for a slot.
const (
	retryMin     = 250 * time.Millisecond
	retryMax     = 2 * time.Second
	retryFullMin = time.Second
	retryFullMax = 10 * time.Second

	pushFor   = 10 * time.Second // Wait: so long every 10–25 ms, then every 100 ms
	pushEvery = 10 * time.Millisecond
	pushLater = 100 * time.Millisecond
)

// outage is the time since the server was last there.
type outage struct {
	since    time.Time
	attempts int
	delay    time.Duration
	next     time.Time
	state    string
	err      error
}

// failed notes an attempt that failed and when the next one is due.
func (o *outage) failed(now time.Time, state string, err error) {
	lo, hi := retryMin, retryMax
	if state == KindFull {
		lo, hi = retryFullMin, retryFullMax
	}
	o.attempts++
	o.delay = min(max(lo, o.delay*2), hi)
	o.next = now.Add(o.delay)
	o.state, o.err = state, err
}

func (o *outage) unavailable(now time.Time) *Unavailable {
	return &Unavailable{State: o.state, Since: o.since, Attempts: o.attempts, Err: o.err, RetryIn: max(0, o.next.Sub(now))}
}

// comeback paces the attempts to have the second connection again.
type comeback struct {
	next    time.Time
	delay   time.Duration
	running bool
	refused string            // why the last attempt found no slot; "" it did, or failed otherwise
	lost    map[int]time.Time // pids of connections we gave up on, and when
}

func (c *comeback) failed(now time.Time) {
	c.delay = min(max(retryFullMin, c.delay*2), retryFullMax)
	c.next = now.Add(c.delay)
}

// forgetAfter is how long a pid is remembered: some day it is somebody else's.
const forgetAfter = 2 * time.Minute

// lingers says whether the server still shows a connection we gave up on, and
// forgets those it does not.
func (c *comeback) lingers(present []int) bool {
	for pid, at := range c.lost {
		if !slices.Contains(present, pid) || time.Since(at) > forgetAfter {
			delete(c.lost, pid)
		}
	}
	return len(c.lost) > 0
}

// connectFirst makes the first connection, with Wait until it succeeds.
func (t *target) connectFirst(ctx context.Context) (*pgconn.PgConn, hello, error) {
	begin, said := time.Now(), ""
	for n := 1; ; n++ {
		pg, h, err := t.connect(ctx)
		if err == nil || !t.opts.Wait || !worthWaiting(err) || ctx.Err() != nil {
			return pg, h, err
		}
		if line := oneLine(err); line != said {
			said = line
			t.opts.Notify(fmt.Sprintf("%s; waiting for a slot (attempt %d)", line, n))
		}
		pause := pushEvery + rand.N(15*time.Millisecond)
		if time.Since(begin) > pushFor {
			pause = pushLater
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, hello{}, t.explain(err)
		}
	}
}

// worthWaiting says that the same attempt may succeed later.
func worthWaiting(err error) bool {
	var ce *ConnectError
	var dns *net.DNSError
	if !errors.As(err, &ce) || errors.As(err, &dns) && dns.IsNotFound {
		return false
	}
	switch ce.Kind {
	case KindFull, KindStarting, KindUnreachable, KindTimeout:
		return true
	}
	return false
}

// stateOf names what an error says about the server, for a person.
func stateOf(err error) string {
	code, msg := lastPgError(err)
	switch {
	case code == "57P03" && strings.Contains(msg, "starting up"):
		return KindStarting
	case code == "57P03" && strings.Contains(msg, "shutting down"):
		return "shutting down"
	case code == "57P03":
		return "in recovery"
	case code == "57P01", code == "57P02":
		return "restarting"
	case code == "53300":
		return KindFull
	case code == "57014":
		return KindTimeout
	case code != "":
		return KindRefused
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "restarting"
	case pgconn.Timeout(err), errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	}
	return KindUnreachable
}

// connectionLost says that an error is about the connection, not the statement.
func connectionLost(err error) bool {
	code, _ := lastPgError(err)
	switch {
	case strings.HasPrefix(code, "57P"), strings.HasPrefix(code, "08"):
		return true
	case code != "":
		return false
	}
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, net.ErrClosed)
}

// ensureWatch brings the watch connection back; the caller has taken the link.
// The work connection takes its place when that one is alive: then nothing new
// is asked of the server now.
func (s *Sampler) ensureWatch(ctx context.Context) error {
	if s.watch.up() {
		return nil
	}
	if s.moveWork() {
		return nil
	}
	now := time.Now()
	s.mu.Lock()
	o := s.outage
	if o != nil && now.Before(o.next) {
		defer s.mu.Unlock()
		return o.unavailable(now)
	}
	s.mu.Unlock()
	pg, h, err := s.target.connect(ctx)
	if err != nil {
		return s.away(ctx, err)
	}
	s.watch.adopt(pg, h)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.adopt(s.target, pg, h)
	s.slow.next = time.Time{}
	s.back.next = time.Time{}
	text := "reconnected"
	if o != nil {
		text = fmt.Sprintf("reconnected after %.1f s", time.Since(o.since).Seconds())
	}
	s.notes = append(s.notes, Note{Text: text})
	return nil
}

// moveWork makes the work connection the watch connection.
func (s *Sampler) moveWork() bool {
	if s.work == s.watch {
		return false
	}
	select {
	case <-s.work.slot:
	default:
		return false
	}
	defer s.work.give()
	if !s.work.up() {
		return false
	}
	s.watch.move(s.work)
	return true
}

// away notes a failed attempt. A caller that gave up by itself is no outage.
func (s *Sampler) away(ctx context.Context, err error) error {
	if ctx.Err() == context.Canceled {
		return ctx.Err()
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outage == nil {
		s.outage = &outage{since: now}
	}
	s.outage.failed(now, stateOf(err), err)
	return s.outage.unavailable(now)
}

// ensureWork brings the work connection back in the background: not while the
// server still shows the one we gave up on, so that there are never three.
func (s *Sampler) ensureWork(present []int) {
	if s.work == s.watch || s.work.alive() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lent || s.back.running || time.Now().Before(s.back.next) {
		return
	}
	if s.back.lingers(present) {
		return
	}
	s.back.running = true
	s.job(func(ctx context.Context) {
		defer func() {
			s.mu.Lock()
			s.back.running = false
			s.mu.Unlock()
		}()
		_ = s.connectWork(ctx) // a later tick tries again
	})
}
