package demo

import (
	"context"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"
)

// client is one connection of the play: who opens it, when it is open, and
// what it does over and over.
type client struct {
	who   pgserver.ConnOptions
	when  []span // nil: always
	start []prepared
	turn  func(ctx context.Context, p *player) error
}

// prepared is a statement that a client prepares when it has connected.
type prepared struct{ name, sql string }

// player is a client on the stage.
type player struct {
	stage
	conn  *pgserver.Conn
	turns int // since it connected
}

const (
	reconnectAfter = 2 * time.Second       // as pools do after a lost connection
	retryAfter     = 1 * time.Second       // as applications do after an error
	awayStep       = 50 * time.Millisecond // while a connection is not needed
)

// run keeps the client on the stage until ctx ends.
func (c client) run(ctx context.Context, s *pgserver.Server, st stage) {
	for ctx.Err() == nil {
		if c.when != nil && !st.inAny(c.when) {
			sleep(ctx, awayStep) // the loop looks at ctx
			continue
		}
		conn, err := s.Open(ctx, c.who)
		if err != nil { // the server restarts, or is full
			sleep(ctx, reconnectAfter/4)
			continue
		}
		lost := c.play(ctx, &player{stage: st, conn: conn})
		conn.Close()
		if lost {
			sleep(ctx, reconnectAfter)
		}
	}
}

// play takes turns on one connection; it says whether that was lost.
func (c client) play(ctx context.Context, p *player) (lost bool) {
	for _, s := range c.start {
		if err := p.conn.Prepare(ctx, s.name, s.sql); err != nil {
			return true
		}
	}
	for ctx.Err() == nil && (c.when == nil || p.inAny(c.when)) {
		err := c.turn(ctx, p)
		p.turns++
		if err == nil {
			continue
		}
		if ctx.Err() != nil || !p.conn.Alive() || p.conn.Check() != nil {
			return true
		}
		// An operator cancelled the statement, say: the application logs it, rolls
		// back and goes on.
		if p.conn.Exec(ctx, "ROLLBACK; SELECT pg_advisory_unlock_all()") != nil {
			return true
		}
		sleep(ctx, retryAfter)
	}
	return false
}

// do runs statements one after the other.
func (p *player) do(ctx context.Context, sql ...string) error {
	for _, q := range sql {
		if err := p.conn.Exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// idle does nothing on the connection for a while of the play's seconds, but
// notices when it is lost, as a pool or a listener does.
func (p *player) idle(ctx context.Context, seconds float64) error {
	for left := p.seconds(seconds); left > 0; {
		step := min(left, 500*time.Millisecond)
		if err := sleep(ctx, step); err != nil {
			return err
		}
		left -= step
		if err := p.conn.Check(); err != nil {
			return err
		}
	}
	return nil
}

// idleUntil idles up to a second of this cycle.
func (p *player) idleUntil(ctx context.Context, second float64) error {
	return p.idle(ctx, float64(p.until(second))/float64(p.second))
}
