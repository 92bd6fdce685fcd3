package demo

import (
	"context"
	"fmt"
)

// pagers page through the events: one with the OR cursor that reads from the
// oldest row each time, the other in the ways that are beside it.
func pagers() []client {
	bad := pod("slack", "127.0.0.23", nil, badPage)
	bad.start = []prepared{{"page", `SELECT id, created_at, kind, note FROM event
WHERE created_at > $1 OR (created_at = $1 AND id > $2)
ORDER BY created_at, id
LIMIT 50`}}
	others := pod("slack", "127.0.0.23", nil, otherPages)
	others.start = []prepared{
		{"bounded", `SELECT id, created_at, kind, note FROM event
WHERE created_at >= $1 AND (created_at > $1 OR (created_at = $1 AND id > $2))
ORDER BY created_at, id
LIMIT 50`},
		{"offset", `SELECT id, created_at, kind, note FROM event
ORDER BY created_at, id
LIMIT 50 OFFSET $1`},
		{"one", `SELECT id, kind, note FROM event WHERE created_at = $1`},
	}
	return []client{bad, others}
}

// cursor is a place in the newer half of the events; it moves a page a turn.
func cursor(turn int) (createdAt, id string) {
	n := eventRows/2 + turn*50%(eventRows/2-100)
	return eventCreatedAt(n), fmt.Sprint(n)
}

func badPage(ctx context.Context, p *player) error {
	createdAt, id := cursor(p.turns)
	if err := p.conn.ExecPrepared(ctx, "page", createdAt, id); err != nil {
		return err
	}
	return p.idle(ctx, 0.25)
}

func otherPages(ctx context.Context, p *player) error {
	createdAt, id := cursor(p.turns)
	if err := p.conn.ExecPrepared(ctx, "bounded", createdAt, id); err != nil {
		return err
	}
	if err := p.conn.ExecPrepared(ctx, "one", createdAt); err != nil {
		return err
	}
	if p.turns%8 == 0 {
		if err := p.conn.ExecPrepared(ctx, "offset", id); err != nil {
			return err
		}
	}
	return p.idle(ctx, 0.4)
}
