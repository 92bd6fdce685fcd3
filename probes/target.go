package probes

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// target is where and how to connect, for both connections.
type target struct {
	mu sync.Mutex // guards the route; it is copied out for an attempt
	route
}

// connect makes one connection. What it learned on the way serves the next one,
// also when it failed: nobody is asked for a password twice.
func (t *target) connect(ctx context.Context) (*pgconn.PgConn, hello, error) {
	r := t.copy()
	pg, h, err := r.connect(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.route = r
	return pg, h, err
}

func (t *target) copy() route {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.route
}

// route is what is known about the way to the server: a pooler that refuses
// settings, the TLS mode that worked, the password. It is copied freely: its
// configuration is replaced, never changed.
type route struct {
	cfg      *pgconn.Config
	opts     Options
	plain    bool // no settings at start-up: a pooler refuses them
	guarded  bool // timeouts already at start-up: the role's own would end our first statement
	asked    bool // the password was asked
	pinned   bool
	password bool   // known from the start
	passfile string // why .pgpass is not used; "" none
	ignored  []string
}

// newTarget reads the connection settings; the error is a *ConnectError.
func newTarget(o Options) (*target, error) {
	config := func(err error) error {
		return &ConnectError{Kind: KindConfig, Msg: oneLine(err), Err: err, Hint: "see psql's manual for the form: postgres://USER@HOST:PORT/DATABASE or host=… user=… dbname=…"}
	}
	d, err := parseDSN(o)
	if err != nil {
		return nil, config(err)
	}
	t := &target{route: route{opts: o, ignored: d.ignored}}
	driver := d.driver
	if !d.password {
		if t.passfile = passfileProblem(o, d.passfile); t.passfile != "" {
			driver = withPassfile(driver, os.DevNull)
		}
	}
	cfg, err := pgconn.ParseConfig(driver)
	if err != nil {
		return nil, config(err)
	}
	if cfg.ConnectTimeout <= 0 {
		cfg.ConnectTimeout = d.alive.connTimeout
	}
	d.alive.connTimeout = cfg.ConnectTimeout
	cfg.DialFunc = d.alive.dial
	cfg.MaxProtocolMessageBodyLen = 256 << 20
	cfg.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, CancelRequestDelay: 0, DeadlineDelay: time.Second}
	}
	if d.hostaddr != "" {
		cfg.LookupFunc = lookupFixed(cfg, strings.Split(d.hostaddr, ","))
	}
	cfg.RuntimeParams = map[string]string{"application_name": o.AppName, "client_encoding": "SQL_ASCII", "options": cfg.RuntimeParams["options"]}
	if cfg.RuntimeParams["options"] == "" {
		delete(cfg.RuntimeParams, "options")
	}
	t.cfg, t.password = cfg, cfg.Password != ""
	return t, nil
}

// lookupFixed answers each host with the address at its place in hostaddr.
func lookupFixed(cfg *pgconn.Config, addrs []string) pgconn.LookupFunc {
	hosts := []string{cfg.Host}
	for _, f := range cfg.Fallbacks {
		if f.Host != hosts[len(hosts)-1] {
			hosts = append(hosts, f.Host)
		}
	}
	return func(ctx context.Context, host string) ([]string, error) {
		for i, h := range hosts {
			if h == host && i < len(addrs) && addrs[i] != "" {
				return []string{addrs[i]}, nil
			}
		}
		return net.DefaultResolver.LookupHost(ctx, host)
	}
}

// config is the driver's configuration of the next attempt.
func (t *route) config() *pgconn.Config {
	c := t.cfg.Copy()
	if t.plain {
		delete(c.RuntimeParams, "options")
		return c
	}
	c.RuntimeParams["search_path"] = ""
	c.RuntimeParams["jit"] = "off"
	c.RuntimeParams["max_parallel_workers_per_gather"] = "0"
	c.RuntimeParams["bytea_output"] = "hex"
	if t.guarded {
		for _, s := range ownTimeouts(t.opts.Timeout) {
			c.RuntimeParams[s.key] = s.value
		}
	}
	return c
}

// ownTimeouts limits what the server does for us when our own clock failed to.
// Who waits for somebody's DDL on a catalog had better come back later.
func ownTimeouts(statement time.Duration) []keyword {
	ms := strconv.FormatInt((statement + time.Second).Milliseconds(), 10)
	return []keyword{
		{"statement_timeout", ms},
		{"lock_timeout", "500"},
		{"idle_in_transaction_session_timeout", "10000"},
	}
}

// pin keeps to the TLS mode that worked, so that a full server is not asked
// twice an attempt and a later attempt does not quietly lose its encryption.
func (t *route) pin(pg *pgconn.PgConn) {
	if t.pinned {
		return
	}
	t.pinned = true
	_, encrypted := pg.Conn().(*tls.Conn)
	all := append([]*pgconn.FallbackConfig{{Host: t.cfg.Host, Port: t.cfg.Port, TLSConfig: t.cfg.TLSConfig}}, t.cfg.Fallbacks...)
	var keep []*pgconn.FallbackConfig
	for _, f := range all {
		unix := strings.HasPrefix(f.Host, "/")
		if unix || (f.TLSConfig != nil) == encrypted {
			keep = append(keep, f)
		}
	}
	if len(keep) == 0 {
		return
	}
	t.cfg = t.cfg.Copy()
	t.cfg.Host, t.cfg.Port, t.cfg.TLSConfig = keep[0].Host, keep[0].Port, keep[0].TLSConfig
	t.cfg.Fallbacks = keep[1:]
}

// name is where we connect to, without password: socket path or host:port, and
// the database.
func (t *route) name() string {
	db := t.cfg.Database
	if db == "" {
		db = t.cfg.User
	}
	var hosts []string
	add := func(host string, port uint16) {
		h := net.JoinHostPort(host, strconv.Itoa(int(port)))
		if strings.HasPrefix(host, "/") {
			h = host + ":" + strconv.Itoa(int(port))
		}
		if len(hosts) == 0 || hosts[len(hosts)-1] != h {
			hosts = append(hosts, h)
		}
	}
	add(t.cfg.Host, t.cfg.Port)
	for _, f := range t.cfg.Fallbacks {
		add(f.Host, f.Port)
	}
	return strings.Join(hosts, ",") + "/" + db
}

// passfileProblem says why libpq would not read the password file: others may
// read it too. "" when there is none or it is fine.
func passfileProblem(o Options, path string) string {
	if runtime.GOOS == "windows" {
		return ""
	}
	if path == "" {
		path = o.Getenv("PGPASSFILE")
	}
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		path = filepath.Join(home, ".pgpass")
	}
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || st.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return fmt.Sprintf("%s has mode %04o and is not used: chmod 0600 it", path, st.Mode().Perm())
}

// withPassfile adds passfile= to a connection string of either form.
func withPassfile(driver, path string) string {
	if strings.HasPrefix(driver, "postgres") && strings.Contains(driver, "://") {
		sep := "?"
		if strings.Contains(driver, "?") {
			sep = "&"
		}
		return driver + sep + "passfile=" + escapeURL(path)
	}
	return driver + " passfile='" + path + "'"
}

// overPlainTCP says that the connection is not encrypted and leaves the host.
func overPlainTCP(pg *pgconn.PgConn) bool {
	if _, ok := pg.Conn().(*tls.Conn); ok {
		return false
	}
	a, ok := pg.Conn().RemoteAddr().(*net.TCPAddr)
	return ok && !a.IP.IsLoopback()
}

// onThisHost says that the server runs where we run, as far as the connection
// tells: a socket or the loopback interface (which a tunnel may hide behind).
func onThisHost(pg *pgconn.PgConn) bool {
	switch a := pg.Conn().RemoteAddr().(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	}
	return false
}
