package pgserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// ConnOptions say who connects, and from where.
type ConnOptions struct {
	User      string // "" is postgres
	Database  string // "" is postgres
	AppName   string // application_name; "" sends none
	TCP       bool   // over 127.0.0.1 with the server's password, not the socket
	LocalAddr string // with TCP: the address to come from, as "127.0.0.2"; Linux alone has them all
}

// Conn is one client connection: what an application's driver holds. One call
// at a time, Close too; to end a call that runs, end its ctx.
type Conn struct {
	pg *pgconn.PgConn
}

// connectTimeout bounds a connection attempt to a server on this machine.
const connectTimeout = 10 * time.Second

// Open connects to the server.
func (s *Server) Open(ctx context.Context, o ConnOptions) (*Conn, error) {
	user, database := cmp.Or(o.User, "postgres"), cmp.Or(o.Database, "postgres")
	dsn := s.DSN(user, database)
	if o.TCP {
		if dsn = s.TCPDSN(user, database); dsn == "" {
			return nil, errors.New("the server was started without TCP")
		}
	}
	cfg, err := pgconn.ParseConfig(dsn + " " + s.shieldDSN())
	if err != nil {
		return nil, fmt.Errorf("connecting to the throw-away server: %w", err)
	}
	cfg.Fallbacks = nil
	cfg.RuntimeParams = map[string]string{} // and not what PGOPTIONS, PGTZ, PGAPPNAME say
	if o.AppName != "" {
		cfg.RuntimeParams["application_name"] = o.AppName
	}
	if o.TCP && o.LocalAddr != "" {
		cfg.DialFunc = dialFrom(o.LocalAddr)
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	pg, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err // says what and where already
	}
	return &Conn{pg: pg}, nil
}

// shieldDSN keeps the caller's own environment (PGSERVICE and the like) out of a
// connection to this server: pgconn reads it under every DSN.
func (s *Server) shieldDSN() string {
	return "service=pgsonde servicefile=" + quoteDSN(filepath.Join(s.dir, serviceName)) +
		" channel_binding=prefer target_session_attrs=any"
}

// serviceName is the file in the server's folder that holds an empty service.
const serviceName = "service.conf"

// dialFrom binds the local address, or dials without where the system does not
// have it: macOS answers on 127.0.0.1 alone.
func dialFrom(local string) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(local)}}
		c, err := d.DialContext(ctx, network, addr)
		if errors.Is(err, syscall.EADDRNOTAVAIL) {
			d.LocalAddr = nil
			return d.DialContext(ctx, network, addr)
		}
		return c, err
	}
}

// PID is the backend's process id.
func (c *Conn) PID() int { return int(c.pg.PID()) }

// Alive is false once the connection is known to be lost: a terminated backend
// shows at the next call.
func (c *Conn) Alive() bool { return !c.pg.IsClosed() }

// Check looks, without asking the server anything, whether it has ended the
// connection: an idle one is told so and would otherwise show it at its next
// call only.
func (c *Conn) Check() error {
	//lint:ignore SA1019 Ping is a statement: it would show in pg_stat_activity as this session's last
	return c.pg.CheckConn()
}

// Exec runs one or more statements and reads what they answer to its end. When
// ctx ends first the connection is lost with it.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	return c.pg.Exec(ctx, sql).Close()
}

// Prepare makes a named prepared statement.
func (c *Conn) Prepare(ctx context.Context, name, sql string) error {
	_, err := c.pg.Prepare(ctx, name, sql, nil)
	return err
}

// ExecPrepared runs a prepared statement with values in text form and reads its
// rows to the end.
func (c *Conn) ExecPrepared(ctx context.Context, name string, values ...string) error {
	args := make([][]byte, len(values))
	for i, v := range values {
		args[i] = []byte(v)
	}
	_, err := c.pg.ExecPrepared(ctx, name, args, nil, nil).Close()
	return err
}

// QueryText runs one statement with values in text form and answers with its
// rows' values in text form, NULL as "".
func (c *Conn) QueryText(ctx context.Context, sql string, values ...string) ([][]string, error) {
	args := make([][]byte, len(values))
	for i, v := range values {
		args[i] = []byte(v)
	}
	res := c.pg.ExecParams(ctx, sql, args, nil, nil, nil).Read()
	if res.Err != nil {
		return nil, res.Err
	}
	rows := make([][]string, len(res.Rows))
	for i, r := range res.Rows {
		rows[i] = make([]string, len(r))
		for j, v := range r {
			rows[i][j] = string(v)
		}
	}
	return rows, nil
}

// closeTimeout bounds the farewell to a server that may be gone.
const closeTimeout = time.Second

// Close says good-bye and closes the connection. After a call that was ended by
// its ctx it waits for the cancel request, so that no goroutine is left.
func (c *Conn) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	c.pg.Close(ctx) // the connection is closed whatever it says
	select {
	case <-c.pg.CleanupDone():
	case <-ctx.Done():
	}
}
