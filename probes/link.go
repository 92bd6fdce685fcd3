package probes

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// link is one connection and its discipline: one statement at a time, each with
// a deadline of our own clock.
type link struct {
	slot     chan struct{} // holds one token: who has it may use pg
	pg       *pgconn.PgConn
	hello    hello
	prepared map[string]bool
	enc      *encodings
	socket   atomic.Pointer[net.Conn] // of pg, for shut
	systemID atomic.Pointer[string]
	pid      atomic.Int64 // of the backend behind pg; 0: none, or a pooler's business
}

func newLink(enc *encodings) *link {
	l := &link{slot: make(chan struct{}, 1), enc: enc}
	l.slot <- struct{}{}
	return l
}

// system is the server's system identifier, "" unknown.
func (l *link) system() string {
	if p := l.systemID.Load(); p != nil {
		return *p
	}
	return ""
}

// take gets the right to use the connection, until ctx ends.
func (l *link) take(ctx context.Context) error {
	select {
	case <-l.slot:
		return nil
	default:
	}
	select {
	case <-l.slot:
		return nil
	case <-ctx.Done():
		return &unsentError{fmt.Errorf("waiting for the connection: %w", ctx.Err())}
	}
}

func (l *link) give() { l.slot <- struct{}{} }

// up says whether the connection can be tried; the caller has taken it.
func (l *link) up() bool { return l.pg != nil && !l.pg.IsClosed() }

// alive is up for those who have not taken the link; it learns of a loss when a
// statement met it.
func (l *link) alive() bool { return l.socket.Load() != nil }

// adopt makes pg the connection; the caller has taken the link.
func (l *link) adopt(pg *pgconn.PgConn, h hello) {
	l.pg, l.hello, l.prepared = pg, h, map[string]bool{}
	c := pg.Conn()
	l.systemID.Store(&h.system)
	l.socket.Store(&c)
	l.pid.Store(0)
	if !h.pooled {
		l.pid.Store(int64(h.pid))
	}
}

// move takes the connection of another link; the caller has taken both.
func (l *link) move(from *link) {
	l.pg, l.hello, l.prepared = from.pg, from.hello, from.prepared
	l.socket.Store(from.socket.Swap(nil))
	l.pid.Store(from.pid.Swap(0))
	l.systemID.Store(from.systemID.Load())
	from.pg = nil
}

// drop closes the connection without waiting for anybody.
func (l *link) drop() {
	if l.pg == nil {
		return
	}
	pg := l.pg
	l.pg = nil
	l.socket.Store(nil)
	l.pid.Store(0)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = pg.Close(ctx)
}

// shut closes the connection at once, also under a statement that is running.
func (l *link) shut() {
	select {
	case <-l.slot:
		l.drop()
		l.give()
	default:
		if c := l.socket.Load(); c != nil {
			_ = (*c).Close()
		}
	}
}

// run sends sql/NAME and reads its whole answer, within a deadline that costs
// the connection when it passes. Arguments are numbers and slices of numbers
// only. The caller has taken the link.
func (l *link) run(ctx context.Context, timeout time.Duration, name string, args ...any) (*Rows, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return l.send(ctx, timeout, name, args...)
}

// send is run with the deadline of ctx; timeout is what a pooler's server is told.
func (l *link) send(ctx context.Context, timeout time.Duration, name string, args ...any) (*Rows, error) {
	values, err := literals(args)
	if err != nil {
		return nil, fmt.Errorf("statement %s: %w", name, err)
	}
	begin := time.Now()
	var rows *Rows
	if l.hello.pooled {
		rows, err = l.runPooled(ctx, timeout, name, values)
	} else {
		rows, err = l.runPrepared(ctx, name, values)
	}
	if err != nil {
		if l.pg.IsClosed() {
			l.socket.Store(nil)
			l.pid.Store(0)
		}
		return nil, err
	}
	rows.Took = time.Since(begin)
	rows.enc, rows.own = l.enc, l.hello.databaseOID
	return rows, nil
}

func (l *link) runPrepared(ctx context.Context, name string, values []string) (*Rows, error) {
	if !l.prepared[name] {
		sql, err := statement(name, l.hello.versionNum)
		if err != nil {
			return nil, err
		}
		if _, err := l.pg.Prepare(ctx, "pgsonde_"+name, sql, nil); err != nil {
			return nil, &unsentError{err}
		}
		l.prepared[name] = true
	}
	params := make([][]byte, len(values))
	for i, v := range values {
		params[i] = []byte(v)
	}
	rows, err := collect(l.pg.ExecPrepared(ctx, "pgsonde_"+name, params, nil, nil))
	if code, _ := lastPgError(err); code == "26000" {
		l.prepared = map[string]bool{} // somebody in between discarded them
	}
	return rows, err
}

// runPooled sends one message that is a whole transaction: nothing of it stays
// behind in a server connection that belongs to somebody else a moment later.
func (l *link) runPooled(ctx context.Context, timeout time.Duration, name string, values []string) (*Rows, error) {
	sql, err := statement(name, l.hello.versionNum)
	if err != nil {
		return nil, err
	}
	ms := strconv.FormatInt(timeout.Milliseconds(), 10)
	text := "begin read only; set local statement_timeout = " + ms + "; set local lock_timeout = " + ms +
		"; set local search_path = ''; set local bytea_output = hex; " + inline(sql, values) + "; commit"
	multi := l.pg.Exec(ctx, text)
	var rows *Rows
	var firstErr error
	for multi.NextResult() {
		r, err := collect(multi.ResultReader())
		if err != nil && firstErr == nil {
			firstErr = err
		}
		if err == nil && len(r.cells) > 0 {
			rows = r
		}
	}
	if err := multi.Close(); err != nil && firstErr == nil {
		firstErr = err
	}
	if firstErr != nil {
		l.rollback()
		return nil, firstErr
	}
	if rows == nil {
		rows = &Rows{}
	}
	return rows, nil
}

// rollback ends the failed transaction that a message left open, so that the
// pooler gets its server connection back.
func (l *link) rollback() {
	if !l.up() || l.pg.TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.pg.Exec(ctx, "rollback").Close()
}

func collect(rr *pgconn.ResultReader) (*Rows, error) {
	res := rr.Read()
	if res.Err != nil {
		return nil, res.Err
	}
	r := &Rows{cells: res.Rows}
	for _, row := range res.Rows {
		for _, c := range row {
			r.Bytes += int64(len(c))
		}
	}
	return r, nil
}

// literals turns arguments into PostgreSQL's text format. Numbers only: they
// need no quoting and no encoding.
func literals(args []any) ([]string, error) {
	out := make([]string, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case int:
			out[i] = strconv.Itoa(v)
		case int64:
			out[i] = strconv.FormatInt(v, 10)
		case uint32:
			out[i] = strconv.FormatUint(uint64(v), 10)
		case []int:
			out[i] = "{" + joined(v, strconv.Itoa) + "}"
		case []uint32:
			out[i] = "{" + joined(v, func(n uint32) string { return strconv.FormatUint(uint64(n), 10) }) + "}"
		default:
			return nil, fmt.Errorf("argument %d: %T is not a number", i+1, a)
		}
	}
	return out, nil
}

func joined[T any](s []T, text func(T) string) string {
	parts := make([]string, len(s))
	for i, v := range s {
		parts[i] = text(v)
	}
	return strings.Join(parts, ",")
}

// inline puts numbers in the place of $1, $2, … for the simple protocol, the
// highest first so that $1 does not eat the start of $12.
func inline(sql string, values []string) string {
	for i := len(values); i > 0; i-- {
		sql = strings.ReplaceAll(sql, "$"+strconv.Itoa(i), "'"+values[i-1]+"'")
	}
	return sql
}
