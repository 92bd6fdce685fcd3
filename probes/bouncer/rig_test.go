//go:build unix

package bouncer

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer/bouncertest"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// rig is a server, the poolers in front of it, and what reads both.
type rig struct {
	t        *testing.T
	srv      *pgserver.Server
	poolers  []*bouncertest.Pooler
	consoles []*Console
	sampler  *probes.Sampler
	spec     PoolerSpec
}

// newRig starts a server and a pooler per element of o.
func newRig(t *testing.T, set map[string]string, o ...bouncertest.Options) *rig {
	t.Helper()
	bouncertest.Need(t)
	in := pgtest.Any(t)
	g := &rig{t: t, srv: pgtest.Start(t, in, pgserver.Options{Settings: set})}
	pgtest.Exec(t, g.srv.DSN("postgres", "postgres"), "create role app login", "create role other login",
		"create table item (id int primary key, n int)", "insert into item values (1, 0), (2, 0)", "grant all on item to app, other")
	for _, opts := range o {
		p := bouncertest.Start(t, g.srv.DSN("postgres", "postgres"), opts)
		c, err := Open(t.Context(), Options{DSN: p.Console()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		g.poolers, g.consoles = append(g.poolers, p), append(g.consoles, c)
	}
	s, err := probes.Open(t.Context(), probes.Options{DSN: g.srv.DSN("postgres", "postgres")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	g.sampler = s
	return g
}

// app is a pooler whose users app and other share the database.
func app(settings map[string]string) bouncertest.Options {
	return bouncertest.Options{
		Databases: map[string]string{"shop": "dbname=postgres"},
		Users:     map[string]string{"app": "", "other": ""}, Settings: settings,
	}
}

// client connects through pooler i and says nothing yet.
func (g *rig) client(i int, user, name string) *pgconn.PgConn {
	g.t.Helper()
	cfg, err := pgconn.ParseConfig(g.poolers[i].DSN(user, "shop"))
	if err != nil {
		g.t.Fatal(err)
	}
	cfg.RuntimeParams["application_name"] = name
	c, err := pgconn.ConnectConfig(g.t.Context(), cfg)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Conn().Close() })
	return c
}

func (g *rig) exec(c *pgconn.PgConn, sql string) {
	g.t.Helper()
	if _, err := c.Exec(g.t.Context(), sql).ReadAll(); err != nil {
		g.t.Fatalf("%s: %v", sql, err)
	}
}

// send connects through pooler i and sends sql without waiting for its answer.
// Nor is the end of the login waited for: a paused pooler may hold that too.
func (g *rig) send(i int, user, name, sql string) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	dsn := g.poolers[i].DSN(user, "shop") + " application_name=" + name
	go func() {
		defer close(done)
		c, err := pgconn.Connect(ctx, dsn)
		if err != nil {
			return // refused, or the test is over
		}
		_, _ = c.Exec(ctx, sql).ReadAll() // it ends with the test
		c.Conn().Close()
	}()
	g.t.Cleanup(func() { cancel(); <-done })
}

// look judges what all consoles and the server say now.
func (g *rig) look() *View {
	g.t.Helper()
	snap, err := g.sampler.Tick(g.t.Context(), probes.Want{Sessions: true, Locks: true})
	if err != nil {
		g.t.Fatal(err)
	}
	in := Input{Snapshot: snap, Spec: g.spec, RoleOf: func(app, _, _, _ string) string { return strings.TrimPrefix(app, "werft:") }}
	for _, c := range g.consoles {
		r, err := c.Read(g.t.Context())
		in.Instances = append(in.Instances, Instance{Target: c.Target(), Reading: r, Err: err})
	}
	rows, err := g.sampler.Work(g.t.Context(), 5*time.Second, AdvisoryStatement)
	if err != nil {
		g.t.Fatal(err)
	}
	in.Advisory = AdvisoryLocks(rows)
	return spoken.real(Judge(in))
}

// until looks again and again until ok, and fails after a while with the last
// view.
func (g *rig) until(what string, ok func(*View) bool) *View {
	g.t.Helper()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		v := g.look()
		if ok(v) {
			return v
		}
		if time.Now().After(end) {
			g.t.Fatalf("never came: %s; pools %+v\nfindings %+v", what, v.Pools, v.Findings)
		}
	}
}

// reopen opens a new sampler: limits are read on its slow clock.
func (g *rig) reopen() {
	g.t.Helper()
	g.login("postgres")
}

// login looks at the server as another login from here on.
func (g *rig) login(user string) {
	g.t.Helper()
	g.sampler.Close()
	s, err := probes.Open(g.t.Context(), probes.Options{DSN: g.srv.DSN(user, "postgres"), Connections: 1})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(s.Close)
	g.sampler = s
}

// admin sends commands to the first pooler's console.
func (g *rig) admin(commands ...string) {
	g.t.Helper()
	if err := g.poolers[0].Admin(g.t.Context(), commands...); err != nil {
		g.t.Fatal(err)
	}
}

func restart(t *testing.T, p *bouncertest.Pooler) {
	t.Helper()
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// names says whether the console tells its clients' names.
func (g *rig) names() bool { return g.consoles[0].hello.num >= 11800 }
