package demo

import (
	"context"
	"fmt"

	"github.com/pgsonde/pgsonde/probes/pgserver"
)

// The seconds of the cycle at which troubles begin and end; see the package's
// comment.
const (
	hotFrom, hotTo             = 0, 30
	passFrom, passTo           = 18, 40
	migrationFrom, migrationTo = 32, 60
	passAgain, passAgainTo     = 56, 74
)

// Addresses of the pods. Only Linux answers on all of them; elsewhere they all
// come from 127.0.0.1.
const (
	podA = "127.0.0.11"
	podB = "127.0.0.12"
)

// troubled are those who are in the troubles or need none but the small tables.
// With the readers they are 31 at the worst moment, of 37 that fit.
func troubled() []client {
	return append([]client{
		pod("api", podA, nil, hotHolder),
		pod("api", podA, nil, apiWork(0, 35)),
		pod("api", podA, nil, apiWork(0, 35.5)),
		pod("api", podA, []span{{0, 68}}, apiWork(0, 36)), // overflow
		pod("api", podA, []span{{0, 68}}, apiWork(0, 36.5)),
		pod("api-listen", podA, nil, listen),

		pod("api", podB, nil, apiWork(6, 38)),
		pod("api", podB, nil, apiWork(9, 40)),
		pod("api", podB, nil, apiWork(12, 42)),
		pod("api", podB, []span{{14, 31}, {43, 62}}, apiWork(14, 43)), // overflow
		pod("api", podB, []span{{17, 31}, {45, 62}}, apiWork(17, 45)),
		pod("api-listen", podB, nil, listen),

		pod("scheduler", "127.0.0.21", nil, schedulerPass),
		pod("scheduler", "127.0.0.21", nil, apiWork(20, 48)),
		pod("scheduler", "127.0.0.21", nil, lightWork),
		pod("reconciler", "127.0.0.22", nil, passHolder),
		pod("reconciler", "127.0.0.22", nil, passWaiter),
		pod("reconciler", "127.0.0.22", nil, apiWork(24, 52)),

		pod("metrics-exporter", "127.0.0.32", nil, exporter),
		pod("metrics-exporter", "127.0.0.32", nil, exporter),

		pod("migrate", "127.0.0.41", []span{{33, 66}}, migrate),
		pod("migrate", "127.0.0.42", []span{{38, 66}}, migrate),
	}, people()...)
}

// readers are those who read the large table.
func readers() []client {
	return append(append(pagers(), unmatched()...), pod("metrics", "127.0.0.31", nil, aggregates))
}

// pod is one connection of a role of werft.
func pod(role, addr string, when []span, turn func(context.Context, *player) error) client {
	who := pgserver.ConnOptions{User: "werft", Database: database, AppName: "werft:" + role, TCP: true, LocalAddr: addr}
	return client{who: who, when: when, turn: turn}
}

// people are psql sessions on the socket.
func people() []client {
	psql := func(user string, turn func(context.Context, *player) error) client {
		return client{who: pgserver.ConnOptions{User: user, Database: database, AppName: "psql"}, turn: turn}
	}
	return []client{psql("dana", longReader), psql("sam", lookAround)}
}

// unmatched are the connections of a tool that sends no application_name.
func unmatched() []client {
	etl := func(turn func(context.Context, *player) error) client {
		return client{who: pgserver.ConnOptions{User: "etl", Database: database, TCP: true, LocalAddr: "127.0.0.51"}, turn: turn}
	}
	return []client{etl(forgotten), etl(extract), etl(extract), etl(extract)}
}

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
