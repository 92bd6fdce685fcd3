package bouncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// show is one command and what becomes of its answer.
type show struct {
	sql      string
	since    int  // VersionNum
	required bool // without it there is no reading
	into     func(r *Reading, t *table)
}

// commands are all that is ever sent to a console.
func commands() []show {
	return []show{
		{"SHOW POOLS", 0, true, (*Reading).pools},
		{"SHOW DATABASES", 0, true, (*Reading).databases},
		{"SHOW CLIENTS", 0, false, (*Reading).clients},
		{"SHOW SERVERS", 0, false, (*Reading).servers},
		{"SHOW USERS", 0, false, (*Reading).users},
		{"SHOW CONFIG", 0, false, (*Reading).config},
		{"SHOW STATS", 0, false, (*Reading).stats},
		{"SHOW LISTS", 0, false, (*Reading).lists},
		{"SHOW STATE", 11900, false, (*Reading).state},
	}
}

// Read reads the console once, connecting first when the connection is away. An
// error to connect is a *probes.ConnectError. After any other error too the next
// Read connects anew.
func (c *Console) Read(ctx context.Context) (*Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	defer c.give()
	if c.life.Err() != nil {
		return nil, errClosed
	}
	kept := c.pg != nil && !c.pg.IsClosed()
	r, err := c.read(ctx)
	if err != nil && kept && c.pg == nil && ctx.Err() == nil {
		// PgBouncer was restarted since the last reading: that costs one retry only.
		r, err = c.read(ctx)
	}
	return r, err
}

var errClosed = errors.New("reading PgBouncer's console: it was closed")

func (c *Console) read(ctx context.Context) (*Reading, error) {
	if c.pg == nil || c.pg.IsClosed() {
		c.drop()
		if err := c.connect(ctx); err != nil {
			return nil, err
		}
	}
	begin := time.Now()
	r := &Reading{At: begin, Target: c.Target(), Version: c.hello.version, VersionNum: c.hello.num}
	for _, cmd := range commands() {
		if r.VersionNum != 0 && r.VersionNum < cmd.since {
			continue
		}
		t, err := c.ask(ctx, cmd.sql)
		var refused *pgconn.PgError
		switch {
		case err == nil:
			cmd.into(r, t)
			r.Missing = append(r.Missing, t.missing...)
		case !cmd.required && errors.As(err, &refused) && !c.pg.IsClosed():
			r.Missing = append(r.Missing, cmd.sql+": "+oneLine(refused.Message))
		default:
			c.drop()
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				err = fmt.Errorf("no answer within %v", c.opts.Timeout)
			}
			return nil, fmt.Errorf("reading %s from PgBouncer at %s: %w", cmd.sql, r.Target, err)
		}
	}
	r.Took = time.Since(begin)
	return r, nil
}

// ask sends one command in the simple protocol: the console knows no other.
func (c *Console) ask(ctx context.Context, sql string) (*table, error) {
	results, err := c.pg.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, errors.New("an answer without rows")
	}
	return newTable(sql[len("SHOW "):], results[0]), nil
}
