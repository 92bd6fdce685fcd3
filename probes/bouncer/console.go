package bouncer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/probes"
)

const (
	defaultTimeout = 5 * time.Second
	consoleName    = "pgbouncer" // the database that is the console
)

// Options says which console to read.
type Options struct {
	// DSN is a URL or keyword string; its database is pgbouncer and its port 6432
	// unless it names others.
	DSN string
	// Timeout bounds connecting and one whole Read, on our clock; 0 means 5 s.
	Timeout time.Duration
	// Password is asked once, when the console wants one and none is known from
	// the DSN, the environment or .pgpass; nil: never asked.
	Password func(prompt string) (string, error)
}

// Console is a connection to a PgBouncer's admin console that comes back by
// itself. Its methods may be called from several goroutines; readings do not
// overlap.
type Console struct {
	opts  Options
	cfg   *pgconn.Config
	asked bool
	life  context.Context // until Close
	end   context.CancelFunc
	slot  chan struct{} // holds one token: who has it may use what follows
	pg    *pgconn.PgConn
	hello hello
}

// hello is what the console said of itself.
type hello struct {
	version string
	num     int
}

// Open connects. The error is a *probes.ConnectError of one line, with a hint.
func Open(ctx context.Context, o Options) (*Console, error) {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	cfg, err := consoleConfig(o)
	if err != nil {
		return nil, &probes.ConnectError{
			Kind: probes.KindConfig, Msg: oneLine(err.Error()), Err: err,
			Hint: "a console is host=… port=6432 user=… or postgres://USER@HOST:6432/pgbouncer",
		}
	}
	c := &Console{opts: o, cfg: cfg, slot: make(chan struct{}, 1)}
	c.life, c.end = context.WithCancel(context.Background())
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if err := c.connect(ctx); err != nil {
		c.end()
		return nil, err
	}
	c.asked = true // from here on there may be a screen where a prompt has no place
	c.slot <- struct{}{}
	return c, nil
}

// Target is where the console is, without password.
func (c *Console) Target() string { return target(c.cfg) }

// Close ends the connection, also under a Read that is running.
func (c *Console) Close() {
	c.end()
	<-c.slot
	c.drop()
	c.give()
}

func (c *Console) take(ctx context.Context) error {
	select {
	case <-c.slot:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the console: %w", ctx.Err())
	}
}

func (c *Console) give() { c.slot <- struct{}{} }

// drop ends the connection without waiting for the pooler.
func (c *Console) drop() {
	if c.pg == nil {
		return
	}
	pg := c.pg
	c.pg = nil
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = pg.Close(ctx) // it is closed either way
}

// consoleConfig reads the DSN. Of the environment only what says where and who
// counts: settings of other programs (PGOPTIONS, PGTARGETSESSIONATTRS, …) would
// be sent to the console, which refuses them.
func consoleConfig(o Options) (*pgconn.Config, error) {
	cfg, err := pgconn.ParseConfig(withDefaults(o.DSN))
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams = map[string]string{"application_name": "pgsonde", "client_encoding": "UTF8"}
	cfg.ValidateConnect, cfg.AfterConnect = nil, nil
	cfg.OnNotice, cfg.OnNotification = nil, nil
	cfg.MaxProtocolMessageBodyLen = 16 << 20
	return cfg, nil
}

// consolePort is PgBouncer's own default of listen_port.
const consolePort = "6432"

// withDefaults names the console's database and port where the DSN names none:
// those of the environment are the server's. A service may have its own port.
func withDefaults(dsn string) string {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		defaults := "dbname=" + consoleName + " " // a later dbname wins
		if !serviceWord.MatchString(dsn) {
			defaults += "port=" + consolePort + " "
		}
		return defaults + dsn
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	if strings.Trim(u.Path, "/") == "" && !u.Query().Has("dbname") {
		u.Path = "/" + consoleName
	}
	q := u.Query()
	if u.Port() == "" && !q.Has("port") && !q.Has("service") && !strings.Contains(u.Host, ",") {
		q.Set("port", consolePort)
		u.RawQuery = q.Encode()
	}
	return u.String()
}

var serviceWord = regexp.MustCompile(`(?:^|\s)service\s*=`)

// connect connects once, and again if a password was asked for and given.
func (c *Console) connect(ctx context.Context) error {
	err := c.connectOnce(ctx)
	var ce *probes.ConnectError
	if !errors.As(err, &ce) || !wantsPassword(ce) || c.cfg.Password != "" {
		return err
	}
	if c.asked || c.opts.Password == nil {
		ce.Hint = hintPassword
		return err
	}
	c.asked = true
	pw, perr := c.opts.Password(fmt.Sprintf("Password of %s for PgBouncer's console at %s: ", c.cfg.User, c.Target()))
	if perr != nil || pw == "" {
		ce.Hint = hintPassword
		return err
	}
	c.cfg.Password = pw
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.opts.Timeout)
	defer cancel()
	return c.connectOnce(ctx)
}

func (c *Console) connectOnce(ctx context.Context) error {
	cfg := c.cfg.Copy()
	// After a time-out the driver would dial again to ask for a cancel. The
	// console has nothing to cancel, and the connection would take a client's slot.
	var connected atomic.Bool
	dial := cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if connected.Load() {
			return nil, errNoCancel
		}
		return dial(ctx, network, addr)
	}
	pg, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return c.connectError(err)
	}
	connected.Store(true)
	said := pg.ParameterStatus("server_version")
	version, ok := strings.CutSuffix(said, "/bouncer")
	if !ok {
		closeQuietly(pg)
		return c.notConsole(said)
	}
	c.pg, c.hello = pg, hello{version: version, num: versionNum(version)}
	return nil
}

var errNoCancel = errors.New("the console is not asked to cancel")

func closeQuietly(pg *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = pg.Close(ctx) // it is closed either way
}

// versionNum is 11801 for "1.18.1" and 12500 for "1.25.0dev"; 0 for what it
// cannot read.
func versionNum(v string) int {
	var major, minor, patch int
	if n, _ := fmt.Sscanf(v, "%d.%d.%d", &major, &minor, &patch); n < 2 || max(minor, patch) > 99 || min(major, minor, patch) < 0 {
		return 0
	}
	return major*10000 + minor*100 + patch
}

// target is host:port/database or the socket's folder, port and database.
func target(cfg *pgconn.Config) string {
	at := net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
	if strings.HasPrefix(cfg.Host, "/") {
		at = cfg.Host + ":" + strconv.Itoa(int(cfg.Port))
	}
	return at + "/" + cfg.Database
}
