package probes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// ErrOneConnection says that there is no second connection to lend.
var ErrOneConnection = errors.New("--connections 1 leaves no connection for another session")

// ErrLent says that the second connection is lent already.
var ErrLent = errors.New("the second connection is lent already")

// lendWait is how long Lend waits for the server to let go of the connection.
const lendWait = time.Second

// Loan is the place of the work connection, lent to a session of another
// package that settles things for itself (explain). Meanwhile the sampler reads
// everything over the watch connection, so that there are never more than two.
type Loan struct {
	// Config reaches the server of the sampler with its login, the password that
	// was asked for included. One session at a time may be made of it.
	Config *pgx.ConnConfig

	s *Sampler
}

// Lend ends the work connection and hands out its place. It returns once the
// server has let go of the connection. The error is ErrOneConnection, ErrLent or
// that of ctx.
func (s *Sampler) Lend(ctx context.Context) (*Loan, error) {
	if s.work == s.watch {
		return nil, ErrOneConnection
	}
	if err := s.work.take(ctx); err != nil {
		return nil, err
	}
	defer s.release(s.work)
	config, err := s.lendConfig()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lent {
		return nil, ErrLent
	}
	s.lent = true
	if !s.work.leave(lendWait) && s.work.hello.pid != 0 && !s.work.hello.pooled {
		s.lose(s.work.hello.pid)
	}
	return &Loan{s: s, Config: config}, nil
}

// lendConfig is the configuration of the borrower's session: it speaks UTF-8,
// has none of the sampler's settings, and its backend is known as our own.
func (s *Sampler) lendConfig() (*pgx.ConnConfig, error) {
	c, err := pgx.ParseConfig("") // only so that pgx takes it
	if err != nil {
		return nil, fmt.Errorf("reading the connection settings: %w", err)
	}
	r := s.target.copy()
	c.Config = *r.cfg.Copy()
	c.RuntimeParams["client_encoding"] = "UTF8"
	pooled := s.watch.pid.Load() == 0
	c.AfterConnect = func(_ context.Context, pg *pgconn.PgConn) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.borrowing, s.borrowed = true, 0; !pooled {
			s.borrowed = int(pg.PID())
		}
		return nil
	}
	return c, nil
}

// Return gives the place back once the borrower's session has ended. The work
// connection comes back with a later tick, when the server no longer shows the
// session.
func (l *Loan) Return() {
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.borrowed != 0 {
		s.lose(s.borrowed)
	}
	s.lent, s.borrowing, s.borrowed = false, false, 0
}

// lose remembers a backend that the server may still hold; s.mu is held.
func (s *Sampler) lose(pid int) {
	if s.back.lost == nil {
		s.back.lost = map[int]time.Time{}
	}
	s.back.lost[pid] = time.Now()
}

// leave ends the connection as the protocol has it and waits until the server
// has let go of it; false when it did not in time. The caller has taken the link.
func (l *link) leave(wait time.Duration) bool {
	if !l.up() {
		l.drop()
		return true
	}
	hc, err := l.pg.Hijack()
	l.pg = nil
	l.socket.Store(nil)
	l.pid.Store(0)
	if err != nil {
		return false
	}
	defer func() { _ = hc.Conn.Close() }()
	_ = hc.Conn.SetDeadline(time.Now().Add(wait))
	hc.Frontend.Send(&pgproto3.Terminate{})
	if err := hc.Frontend.Flush(); err != nil {
		return false
	}
	// The backend gives its slot back before the socket closes behind it.
	_, err = io.Copy(io.Discard, hc.Conn)
	return err == nil
}
