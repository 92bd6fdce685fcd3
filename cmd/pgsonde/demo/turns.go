package demo

import (
	"context"
	"fmt"
)

// The seconds of the cycle at which troubles begin and end; see the package's
// comment.
const (
	hotFrom, hotTo             = 0, 30
	passFrom, passTo           = 18, 40
	migrationFrom, migrationTo = 32, 60
	passAgain, passAgainTo     = 56, 74
)

// hotHolder updates the hot row and leaves its transaction open: it "calls the
// payment service".
func hotHolder(ctx context.Context, p *player) error {
	if !p.in(span{hotFrom, hotFrom + 5}) {
		return apiWork(never, 35)(ctx, p)
	}
	if err := p.do(ctx, "BEGIN", hotUpdate); err != nil {
		return err
	}
	if err := p.idleUntil(ctx, hotTo); err != nil {
		return err
	}
	return p.do(ctx, "COMMIT")
}

const hotUpdate = "UPDATE account SET balance = balance + 1 WHERE id = 1"

// never is a second that no cycle has.
const never = cycle + 1

// apiWork serves requests. From the seconds given on they are those that want
// the hot row and the ledger, until the trouble is over.
func apiWork(hot, ledger float64) func(context.Context, *player) error {
	return func(ctx context.Context, p *player) error {
		switch {
		case p.in(span{hot, hotTo - 1}):
			if err := p.do(ctx, hotUpdate); err != nil {
				return err
			}
			return p.idle(ctx, 0.1)
		case p.in(span{ledger, migrationTo - 1}):
			err := p.do(ctx, "SELECT sum(amount) FROM ledger WHERE account_id = "+fmt.Sprint(p.turns%200+1))
			if err != nil {
				return err
			}
			return p.idle(ctx, 0.1)
		default:
			return lightWork(ctx, p)
		}
	}
}

// lightWork is a request like most: a transaction of a few short statements.
func lightWork(ctx context.Context, p *player) error {
	id := p.turns%150 + 40
	if err := p.do(ctx, "BEGIN", fmt.Sprintf("SELECT name, balance FROM account WHERE id = %d", id)); err != nil {
		return err
	}
	if err := p.idle(ctx, 0.15); err != nil { // the handler thinks
		return err
	}
	err := p.do(ctx, fmt.Sprintf("SELECT id, state FROM job WHERE queue = 'q%d' ORDER BY run_at LIMIT 20", id%5), "COMMIT")
	if err != nil {
		return err
	}
	return p.idle(ctx, 0.3+float64(id%7)/10)
}

func listen(ctx context.Context, p *player) error {
	if err := p.do(ctx, "LISTEN werft_events"); err != nil {
		return err
	}
	return p.idle(ctx, cycle)
}

// schedulerPass holds the session advisory lock of its pass, as declared.
func schedulerPass(ctx context.Context, p *player) error {
	if p.turns == 0 {
		return p.do(ctx, "SELECT pg_try_advisory_lock(4201)")
	}
	if err := p.do(ctx, "SELECT count(*) FROM job WHERE state = 'waiting' AND run_at < now()"); err != nil {
		return err
	}
	return p.idle(ctx, 1.5)
}

const passLock = "SELECT pg_advisory_xact_lock(7219)"

// passHolder is the reconciler's pass that takes long.
func passHolder(ctx context.Context, p *player) error {
	end := 0.0
	switch {
	case p.in(span{passFrom, passFrom + 4}):
		end = passTo
	case p.in(span{passAgain, passAgain + 4}):
		end = passAgainTo
	default:
		return lightWork(ctx, p)
	}
	if err := p.do(ctx, "BEGIN", passLock, "UPDATE job SET state = state WHERE id < 20"); err != nil {
		return err
	}
	if err := p.idleUntil(ctx, end); err != nil {
		return err
	}
	return p.do(ctx, "COMMIT")
}

// passWaiter is the one that waits for it.
func passWaiter(ctx context.Context, p *player) error {
	if !p.in(span{passFrom + 2, passTo - 1}) && !p.in(span{passAgain + 1, passAgainTo - 1}) {
		return lightWork(ctx, p)
	}
	return p.do(ctx, "BEGIN", passLock, "COMMIT")
}

// longReader is a person who reads in a transaction and leaves for coffee.
func longReader(ctx context.Context, p *player) error {
	if p.turns == 0 {
		return p.do(ctx, "SELECT count(*) FROM job WHERE state = 'waiting'")
	}
	if !p.in(span{migrationFrom, migrationFrom + 4}) {
		return p.idle(ctx, 0.5)
	}
	if err := p.do(ctx, "BEGIN", "SELECT count(*), sum(amount) FROM ledger"); err != nil {
		return err
	}
	if err := p.idleUntil(ctx, migrationTo); err != nil {
		return err
	}
	return p.do(ctx, "COMMIT")
}

// migrate queues its ALTER TABLE behind the reader, once a cycle.
func migrate(ctx context.Context, p *player) error {
	if p.turns > 0 {
		return p.idle(ctx, 0.5)
	}
	return p.do(ctx,
		"SELECT pg_advisory_lock(816)",
		"ALTER TABLE ledger ADD COLUMN IF NOT EXISTS settled boolean",
		"SELECT pg_advisory_unlock(816)")
}

// lookAround is a person who looks for what is wrong.
func lookAround(ctx context.Context, p *player) error {
	if err := p.do(ctx, "SELECT state, count(*) FROM pg_stat_activity GROUP BY 1"); err != nil {
		return err
	}
	return p.idle(ctx, 7)
}

// forgotten opens a transaction and forgets it for two cycles.
func forgotten(ctx context.Context, p *player) error {
	if err := p.do(ctx, "BEGIN", "SELECT max(id) FROM event"); err != nil {
		return err
	}
	if err := p.idle(ctx, 2*cycle); err != nil {
		return err
	}
	return p.do(ctx, "COMMIT")
}

func extract(ctx context.Context, p *player) error {
	if err := p.do(ctx, "SELECT kind, count(*) FROM event WHERE project_id = 7 GROUP BY kind"); err != nil {
		return err
	}
	return p.idle(ctx, 9)
}

func aggregates(ctx context.Context, p *player) error {
	if err := p.do(ctx, "SELECT project_id, count(*), max(created_at) FROM event GROUP BY project_id"); err != nil {
		return err
	}
	return p.idle(ctx, 6)
}

func exporter(ctx context.Context, p *player) error {
	err := p.do(ctx, "SELECT relname, n_live_tup, n_dead_tup FROM pg_stat_user_tables")
	if err != nil {
		return err
	}
	return p.idle(ctx, 4)
}
