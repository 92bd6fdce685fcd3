//go:build unix

package bouncertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Users of the console that every pooler has: one may only look, one may do
// everything.
const (
	StatsUser = "stats"
	AdminUser = "admin"
)

// socketPort names the socket's file; no port is taken without Options.TCP.
const socketPort = 6432

// Options of one PgBouncer. The zero value pools transactions of database and
// user postgres.
type Options struct {
	// Databases are the entries of [databases] without host and port, as
	// "app": "dbname=postgres pool_size=2". nil: postgres.
	Databases map[string]string
	// Users may log in, with these passwords ("" with auth_type trust, the
	// default); postgres always may.
	Users map[string]string
	// PerUser are the entries of [users], as "app": "pool_mode=session".
	PerUser map[string]string
	// Settings of [pgbouncer], over our own.
	Settings map[string]string
	TCP      bool // listen on a free port of 127.0.0.1 too
}

// Pooler is a running PgBouncer.
type Pooler struct {
	dir  string
	port int // of 127.0.0.1; 0 without TCP
	cmd  *exec.Cmd
	done chan struct{}
}

// ErrNotInstalled says that there is no pgbouncer to run.
var ErrNotInstalled = errors.New("pgbouncer is not installed")

// Program is the pgbouncer to run: PGSONDE_TEST_PGBOUNCER, else the one that is
// installed.
func Program() (string, error) {
	if p := os.Getenv("PGSONDE_TEST_PGBOUNCER"); p != "" {
		return p, nil
	}
	for _, p := range []string{"pgbouncer", "/usr/sbin/pgbouncer", "/usr/local/sbin/pgbouncer", "/opt/homebrew/bin/pgbouncer"} {
		if path, err := exec.LookPath(p); err == nil {
			return path, nil
		}
	}
	return "", ErrNotInstalled
}

// Need skips the test where there is no pgbouncer.
func Need(t testing.TB) {
	t.Helper()
	if _, err := Program(); err != nil {
		t.Skip(err)
	}
}

// Start is Launch for a test, which the pooler ends with; it is skipped where
// there is no pgbouncer.
func Start(t testing.TB, dsn string, o Options) *Pooler {
	t.Helper()
	Need(t)
	p, err := Launch(t.Context(), dsn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of PgBouncer:\n%s", p.Log())
		}
		p.Stop()
	})
	return p
}

// Launch runs a PgBouncer in front of the server of dsn, whose Unix socket is in
// a private folder: PgBouncer's own files go into it, and it runs as the folder's
// owner, since it refuses to run as root. The caller must Stop it; on Linux it
// ends with our process too.
func Launch(ctx context.Context, dsn string, o Options) (*Pooler, error) {
	program, err := Program()
	if err != nil {
		return nil, err
	}
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		p := &Pooler{}
		if p.dir, err = layFolder(cfg.Host, int(cfg.Port), o, &p.port); err != nil {
			return nil, fmt.Errorf("laying the pooler's folder: %w", err)
		}
		if err = p.launch(ctx, program); err == nil {
			return p, nil
		}
		p.Stop()
		if !o.TCP || try == 5 { // else the port may have been taken meanwhile
			return nil, fmt.Errorf("starting %s: %w\n%s", program, err, p.Log())
		}
	}
}

// layFolder makes the folder with its configuration inside the server's.
func layFolder(serverDir string, serverPort int, o Options, port *int) (string, error) {
	fi, err := os.Stat(serverDir)
	if err != nil {
		return "", fmt.Errorf("the server must be on a Unix socket: %w", err)
	}
	owner := fi.Sys().(*syscall.Stat_t)
	dir, err := os.MkdirTemp(serverDir, "b")
	if err != nil {
		return "", err
	}
	set := map[string]string{
		"listen_port": strconv.Itoa(socketPort), "unix_socket_dir": dir, "unix_socket_mode": "0700",
		"logfile": filepath.Join(dir, "log"), "auth_type": "trust", "auth_file": filepath.Join(dir, "users"),
		"stats_users": StatsUser, "admin_users": AdminUser,
		"pool_mode": "transaction", "default_pool_size": "2", "server_login_retry": "1", "ignore_startup_parameters": "extra_float_digits",
	}
	if o.TCP {
		if *port, err = freePort(); err != nil {
			return "", err
		}
		set["listen_addr"], set["listen_port"] = "127.0.0.1", strconv.Itoa(*port)
	}
	maps.Copy(set, o.Settings)
	users := map[string]string{"postgres": "", StatsUser: "", AdminUser: ""}
	maps.Copy(users, o.Users)
	databases := o.Databases
	if databases == nil {
		databases = map[string]string{"postgres": "dbname=postgres"}
	}
	var ini, list strings.Builder
	ini.WriteString("[databases]\n")
	for _, name := range slices.Sorted(maps.Keys(databases)) {
		at := fmt.Sprintf("host=%s port=%d ", serverDir, serverPort)
		if strings.Contains(databases[name], "host=") {
			at = ""
		}
		fmt.Fprintf(&ini, "%s = %s%s\n", name, at, databases[name])
	}
	if len(o.PerUser) > 0 {
		ini.WriteString("[users]\n")
	}
	for _, u := range slices.Sorted(maps.Keys(o.PerUser)) {
		fmt.Fprintf(&ini, "%s = %s\n", u, o.PerUser[u])
	}
	ini.WriteString("[pgbouncer]\n")
	for _, k := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(&ini, "%s = %s\n", k, set[k])
	}
	for _, u := range slices.Sorted(maps.Keys(users)) {
		fmt.Fprintf(&list, "%q %q\n", u, users[u])
	}
	for name, text := range map[string]string{"ini": ini.String(), "users": list.String(), "log": ""} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
		if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
			return "", err
		}
	}
	return dir, os.Chown(dir, int(owner.Uid), int(owner.Gid))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// launch starts the process and waits until it listens.
func (p *Pooler) launch(ctx context.Context, program string) error {
	fi, err := os.Stat(p.dir)
	if err != nil {
		return err
	}
	owner := fi.Sys().(*syscall.Stat_t)
	cmd := exec.Command(program, "-q", filepath.Join(p.dir, "ini"))
	cmd.Dir, cmd.Env = p.dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
	dieWithUs(cmd.SysProcAttr)
	p.cmd, p.done = cmd, make(chan struct{})
	started := make(chan error)
	go func() {
		// Linux sends the death signal when the thread that forked ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
		close(p.done)
	}()
	if err := <-started; err != nil {
		return err
	}
	return p.waitReady(ctx)
}

func (p *Pooler) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		if c, err := net.Dial("unix", p.socket()); err == nil {
			c.Close()
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("it does not listen: %w", ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (p *Pooler) listenPort() int {
	if p.port != 0 {
		return p.port
	}
	return socketPort
}

func (p *Pooler) socket() string {
	return filepath.Join(p.dir, ".s.PGSQL."+strconv.Itoa(p.listenPort()))
}

// DSN connects a client over the Unix socket.
func (p *Pooler) DSN(user, database string) string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable", p.dir, p.listenPort(), user, database)
}

// Console is the console for the user that may only look.
func (p *Pooler) Console() string { return p.DSN(StatsUser, "pgbouncer") }

// Admin sends console commands such as "PAUSE app" as the user that may.
func (p *Pooler) Admin(ctx context.Context, commands ...string) error {
	c, err := pgconn.Connect(ctx, p.DSN(AdminUser, "pgbouncer"))
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	for _, cmd := range commands {
		if _, err := c.Exec(ctx, cmd).ReadAll(); err != nil {
			return fmt.Errorf("%s: %w", cmd, err)
		}
	}
	return nil
}

// Log is all it logged.
func (p *Pooler) Log() string {
	b, err := os.ReadFile(filepath.Join(p.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// PID is the process's id.
func (p *Pooler) PID() int { return p.cmd.Process.Pid }

// Stop ends the process at once, its clients and server connections with it.
// Calling it again does nothing.
func (p *Pooler) Stop() {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	_ = p.cmd.Process.Kill() // no error but that it has ended
	<-p.done
}

// Restart ends the process and starts it again on the same socket and port.
func (p *Pooler) Restart(ctx context.Context) error {
	p.Stop()
	_ = os.Remove(p.socket()) // a version may leave it behind, and not start over it
	return p.launch(ctx, p.cmd.Path)
}
