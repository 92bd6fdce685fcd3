//go:build unix

package bouncer

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

func TestHealthyPoolIsSilent(t *testing.T) {
	g := newRig(t, nil, app(nil))
	g.spec = PoolerSpec{Name: "pgb", Mode: "transaction", MaxClientConn: 100, ClientCap: 50, Pools: []PoolSpec{{"shop", "app", 2, 0}}}
	for range 5 {
		g.exec(g.client(0, "app", "werft:api"), "select 1")
	}
	v := g.look()
	if len(v.Findings) != 0 {
		t.Errorf("got findings %+v, want none", v.Findings)
	}
	for _, r := range Rules() {
		silent(t, v, r.Name)
	}
	p := pool(v, "shop", "app")
	if p.ClientsIdle != 5 || p.ClientsActive != 0 || p.Size != 2 || p.Mode != "transaction" || p.Cause != NoCause {
		t.Errorf("got pool %+v, want 5 idle clients, size 2, no cause", p)
	}
	want := "api"
	if !g.names() {
		want = ""
	}
	if len(v.Roles) != 1 || v.Roles[0].Role != want || v.Roles[0].Idle != 5 {
		t.Errorf("got roles %+v, want %q with 5 idle clients", v.Roles, want)
	}
	if v.ClientsUsed == nil || *v.ClientsUsed != 6 || *v.ClientsMax != 100 { // with the console
		t.Errorf("got clients %v of %v, want 6 of 100", v.ClientsUsed, v.ClientsMax)
	}
}

func TestFullByLock(t *testing.T) {
	g := newRig(t, nil, app(nil))
	owner := pgtest.Connect(t, g.srv.DSN("postgres", "postgres")+" application_name=werft:migrate")
	if _, err := owner.Exec(t.Context(), "begin; lock table item"); err != nil {
		t.Fatal(err)
	}
	root := int(owner.PgConn().PID())
	for range 5 {
		g.send(0, "app", "werft:api", "update item set n = n + 1 where id = 1")
	}
	v := g.until("a full pool of lock waiters", func(v *View) bool {
		p := pool(v, "shop", "app")
		return p.ClientsWaiting == 3 && p.Use.Lock == 2 && len(p.Roots) > 0 && finding(v, rulePoolFull) != nil
	})
	p := pool(v, "shop", "app")
	if p.Cause != Full || p.Roots[0].PID != root || p.Roots[0].Victims != 2 || p.Roots[0].Role != "migrate" {
		t.Errorf("got cause %s, roots %+v, want full by 2 victims of pid %d of migrate", p.Cause, p.Roots, root)
	}
	f := says(t, v, rulePoolFull, "shop@app", "shop@app of pgbouncer: 3 clients wait", "behind pid "+strconv.Itoa(root)+" (migrate, idle in transaction", "2 of 2 servers taken: 2 waiting for a lock")
	if !strings.Contains(f.Action, strconv.Itoa(root)) {
		t.Errorf("got action %q, want the root's pid", f.Action)
	}
	silent(t, v, ruleNotFull, rulePaused)
	// A login that sees nothing of others knows that the pool is full, and no more.
	pgtest.Exec(t, g.srv.DSN("postgres", "postgres"), "create role nobody login")
	g.login("nobody")
	f = says(t, g.look(), rulePoolFull, "2 of 2 servers taken")
	if strings.Contains(f.Message, "lock") || !strings.Contains(f.Action, "pg_monitor") {
		t.Errorf("masked: got %q, %q, want the grant that is missing and no guess", f.Message, f.Action)
	}
	for _, c := range v.Clients {
		if c.Waiting == (c.Server != nil) || c.Role != "api" && c.AppKnown || !c.AppKnown && g.names() {
			t.Errorf("got client %+v, want it waiting or linked, of api", c)
		}
	}
}

func TestFullByIdleInTransaction(t *testing.T) {
	g := newRig(t, nil, app(map[string]string{"default_pool_size": "1"}))
	holder := g.client(0, "app", "werft:worker")
	g.exec(holder, "begin")
	g.send(0, "app", "werft:api", "select 1")
	v := g.until("a pool full of idle in transaction", func(v *View) bool {
		return pool(v, "shop", "app").Use.IdleInTx == 1 && finding(v, rulePoolFull) != nil
	})
	f := says(t, v, rulePoolFull, "1 client waits", "1 idle in transaction")
	if !strings.Contains(f.Action, "open and idle") {
		t.Errorf("got action %q, want it to speak of the open transaction", f.Action)
	}
	p := pool(v, "shop", "app")
	if len(p.Backends) != 1 || p.Backends[0].Session == nil || p.Backends[0].Client == nil || p.Backends[0].Role != "worker" {
		t.Errorf("got backends %+v, want one of worker, joined", p.Backends)
	}
	g.exec(holder, "rollback")
	v = g.until("nobody waits", func(v *View) bool { return pool(v, "shop", "app").ClientsWaiting == 0 })
	silent(t, v, rulePoolFull, ruleNotFull)
}

func TestPausedAndDisabled(t *testing.T) {
	o := app(nil)
	o.Databases["books"] = "dbname=postgres"
	g := newRig(t, nil, o)
	g.exec(g.client(0, "app", "werft:api"), "select 1")
	silent(t, g.look(), rulePaused, ruleDisabled)
	g.admin("PAUSE shop", "DISABLE books")
	v := g.look()
	if f := says(t, v, rulePaused, "shop", "paused"); f.Severity != "warn" {
		t.Errorf("got %s, want warn while nobody waits", f.Severity)
	}
	says(t, v, ruleDisabled, "books", "disabled")
	g.send(0, "app", "werft:api", "select 1")
	v = g.until("a client of the paused database", func(v *View) bool { return pool(v, "shop", "app").MaxWaitS > 1.2 })
	if p := pool(v, "shop", "app"); p.Cause != Paused {
		t.Errorf("got cause %q (%s), want paused", p.Cause, p.Why)
	}
	if f := says(t, v, rulePaused, "1 client waits"); f.Severity != "error" {
		t.Errorf("got %s, want error", f.Severity)
	}
	silent(t, v, ruleNotFull, rulePoolFull)
	g.admin("RESUME shop", "ENABLE books")
	silent(t, g.look(), rulePaused, ruleDisabled)
}

// PAUSE of all is not told by a console before 1.19: the finding must not blame
// the server alone.
func TestPausedWhole(t *testing.T) {
	g := newRig(t, nil, app(nil))
	g.admin("PAUSE")
	g.send(0, "app", "werft:api", "select 1")
	v := g.until("a waiting client", func(v *View) bool { return pool(v, "shop", "app").MaxWaitS > 1.2 })
	if v.Instances[0].Paused != nil {
		says(t, v, rulePaused, "paused")
		silent(t, v, ruleNotFull)
		return
	}
	says(t, v, ruleNotFull, "paused the whole pooler")
}

func TestServerRefuses(t *testing.T) {
	tests := []struct {
		name  string
		set   map[string]string
		sql   string
		hogs  bool // others take every slot that is left
		words []string
		do    string // in the action
	}{
		{"max_connections", map[string]string{"max_connections": "12", "superuser_reserved_connections": "3"}, "select 1", true, []string{"PostgreSQL is full", "of 9"}, "free connections"},
		{"role limit", nil, "alter role app connection limit 1", false, []string{"role app has CONNECTION LIMIT 1"}, "the role's CONNECTION LIMIT"},
		{"database limit", nil, "alter database postgres connection limit 1", false, []string{"database postgres has CONNECTION LIMIT 1"}, "the database's CONNECTION LIMIT"},
		{"no login", nil, "alter role app nologin", false, []string{"role app may not log in: it is NOLOGIN"}, "alter role app login"},
		{"no role", nil, "alter role app rename to gone", false, []string{"PostgreSQL has no role app"}, "create the role"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newRig(t, tt.set, app(map[string]string{"default_pool_size": "4"}))
			// The pool has had a server: before the first, clients fail at once.
			g.exec(g.client(0, "app", "werft:api"), "select 1")
			pgtest.Exec(t, g.srv.DSN("postgres", "postgres"), tt.sql)
			g.reopen()
			for tt.hogs {
				c, err := pgconn.Connect(t.Context(), g.srv.DSN("other", "postgres"))
				if err != nil {
					break
				}
				t.Cleanup(func() { c.Conn().Close() })
			}
			for range 4 {
				g.send(0, "app", "werft:api", "select pg_sleep(60)")
			}
			v := g.until("clients that wait for a refused server", func(v *View) bool {
				p := pool(v, "shop", "app")
				return p.ClientsWaiting > 0 && finding(v, ruleNotFull) != nil && (p.Cause == ServerRefuses || p.Cause == CannotOpen)
			})
			if f := says(t, v, ruleNotFull, tt.words...); !strings.Contains(f.Action, tt.do) {
				t.Errorf("got action %q, want %q in it", f.Action, tt.do)
			}
			silent(t, v, rulePoolFull)
		})
	}
}

func TestDatabaseTakesNoConnections(t *testing.T) {
	o := app(map[string]string{"default_pool_size": "4"})
	o.Databases["shop"] = "dbname=books"
	g := newRig(t, nil, o)
	super := g.srv.DSN("postgres", "postgres")
	pgtest.Exec(t, super, "create database books")
	g.send(0, "app", "werft:api", "select pg_sleep(600)")
	g.reopen()
	v := g.until("a server connection", func(v *View) bool { return pool(v, "shop", "app").Active == 1 })
	silent(t, v, ruleNotFull)
	pgtest.Exec(t, super, "alter database books allow_connections false")
	g.reopen()
	g.send(0, "app", "werft:api", "select 1")
	v = g.until("a client that waits", func(v *View) bool { return finding(v, ruleNotFull) != nil })
	says(t, v, ruleNotFull, "database books takes no connections")
}

// Before its first server connection a pool does not let its clients wait.
func TestServerRefusesTheFirst(t *testing.T) {
	g := newRig(t, nil, app(nil))
	pgtest.Exec(t, g.srv.DSN("postgres", "postgres"), "alter role app connection limit 0")
	g.reopen()
	g.send(0, "app", "werft:api", "select 1")
	v := g.until("a pool that cannot open", func(v *View) bool { return finding(v, ruleNotFull) != nil })
	says(t, v, ruleNotFull, "cannot open a server", "at once", "CONNECTION LIMIT 0")
}

func TestSharedDatabaseLimit(t *testing.T) {
	o := app(map[string]string{"default_pool_size": "3"})
	o.Databases["shop"] = "dbname=postgres max_db_connections=2"
	g := newRig(t, nil, o)
	for range 2 {
		g.exec(g.client(0, "other", "werft:report"), "begin")
	}
	g.send(0, "app", "werft:api", "select 1")
	v := g.until("a wait for the shared limit", func(v *View) bool { return finding(v, ruleNotFull) != nil })
	if p := pool(v, "shop", "app"); p.Cause != DatabaseLimit {
		t.Errorf("got cause %q (%s), want %s", p.Cause, p.Why, DatabaseLimit)
	}
	says(t, v, ruleNotFull, "max_db_connections 2", "shop@other holds 2")
}

func TestMaxClientConn(t *testing.T) {
	g := newRig(t, nil, app(map[string]string{"max_client_conn": "10"}))
	g.spec = PoolerSpec{Name: "pgb", ClientCap: 24, MaxClientConn: 100}
	for range 6 {
		g.client(0, "app", "werft:api")
	}
	v := g.look()
	says(t, v, ruleClientsOver, "24", "10")
	says(t, v, ruleFileDiffers, "max_client_conn is 10, the budget has 100")
	g.spec = PoolerSpec{}
	silent(t, g.look(), ruleClientsOver, ruleFileDiffers)
	for range 2 {
		g.client(0, "app", "werft:api")
	}
	if f := says(t, g.look(), ruleClientsOver, "9 of max_client_conn 10"); f.Severity != "warn" {
		t.Errorf("got %s, want warn", f.Severity)
	}
	g.client(0, "app", "werft:api")
	// The console still answers, and so does a new one: its users are let in.
	if f := says(t, g.look(), ruleClientsOver, "10 of max_client_conn 10", "refused"); f.Severity != "error" {
		t.Errorf("got %s, want error", f.Severity)
	}
}

func TestStrandedAdvisoryLock(t *testing.T) {
	g := newRig(t, nil, app(map[string]string{"default_pool_size": "1"}), app(nil))
	g.spec = PoolerSpec{Name: "pgb", Mode: "transaction", Needs: []SessionNeed{{Role: "locker", Advisory: true}, {Role: "none"}}}
	locker := g.client(0, "app", "werft:locker")
	g.exec(locker, "select pg_advisory_lock(-42)")
	g.exec(locker, "select pg_advisory_lock(7, -9)")
	g.exec(g.client(0, "app", "werft:innocent"), "select 1")
	v := g.until("a stranded lock", func(v *View) bool { return finding(v, ruleStranded) != nil })
	f := says(t, v, ruleStranded, "2 session advisory locks", "-42", "(7, -9)", "shop@app", "werft:innocent", "last client")
	says(t, v, ruleSessionState, "locker", "session advisory locks", "transaction mode")
	if f.Severity != "warn" || f.SinceS == nil {
		t.Errorf("got %+v, want a warning with its age while nobody is blocked", f)
	}
	// A client of the other instance wants it, and nobody can give it back.
	g.send(1, "app", "werft:api", "select pg_advisory_lock(-42)")
	v = g.until("a victim", func(v *View) bool { f := finding(v, ruleStranded); return f != nil && f.Severity == "error" })
	f = says(t, v, ruleStranded, "blocks 1 session")
	pid, _ := f.Evidence["pid"].(int)
	pgtest.Exec(t, g.srv.DSN("postgres", "postgres"), "select pg_terminate_backend("+strconv.Itoa(pid)+")")
	g.until("the lock is gone", func(v *View) bool {
		f := finding(v, ruleStranded)
		return f == nil || f.Evidence["pid"] != pid
	})
}

// In session mode the lock is its client's own, and nothing is wrong.
func TestAdvisoryLockOfASession(t *testing.T) {
	g := newRig(t, nil, app(map[string]string{"pool_mode": "session"}))
	g.spec = PoolerSpec{Mode: "session", Needs: []SessionNeed{{Role: "locker", Advisory: true}}}
	locker := g.client(0, "app", "werft:locker")
	g.exec(locker, "select pg_advisory_lock(1)")
	v := g.look()
	silent(t, v, ruleStranded, ruleSessionState)
	if p := pool(v, "shop", "app"); p.Mode != "session" || p.Use.Idle != 1 {
		t.Errorf("got %+v, want one idle session", p)
	}
}

func TestServerSideOfSeveralInstances(t *testing.T) {
	o := app(map[string]string{"default_pool_size": "4", "reserve_pool_size": "1"})
	g := newRig(t, map[string]string{"max_connections": "12", "superuser_reserved_connections": "3"}, o, o)
	g.spec = PoolerSpec{Name: "pgb"}
	g.exec(g.client(0, "app", "werft:api"), "select 1")
	v := g.look()
	if v.Servers.Cap == nil || *v.Servers.Cap != 5 || v.Servers.Usable == nil || *v.Servers.Usable != 9 {
		t.Errorf("got %+v, want 5 of 9", v.Servers)
	}
	silent(t, v, ruleServerSide)
	g.exec(g.client(1, "app", "werft:api"), "select 1")
	v = g.look()
	says(t, v, ruleServerSide, "pgb can open 10", "has 9", "now 2, 2 of them idle", "2 instances")
	if len(v.Pools) != 2 || len(v.Instances) != 2 || v.Servers.Now != 2 {
		t.Errorf("got %d pools, %d instances, %d servers, want 2 of each", len(v.Pools), len(v.Instances), v.Servers.Now)
	}
	g.poolers[1].Stop()
	v = g.look()
	says(t, v, ruleUnreachable, g.consoles[1].Target(), "pgb 2")
	restart(t, g.poolers[1])
	silent(t, g.look(), ruleUnreachable)
}

// A request to cancel needs a server connection of its own. Where PostgreSQL lets
// the pooler open none, it waits, and what it was to cancel runs on.
func TestCancelsWait(t *testing.T) {
	g := newRig(t, nil, app(map[string]string{"server_login_retry": "60", "query_wait_timeout": "1"}))
	busy := g.client(0, "app", "werft:api")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = busy.Exec(ctx, "select pg_sleep(600)").ReadAll() // until the test ends
	}()
	t.Cleanup(func() { cancel(); <-done })
	v := g.until("a busy server", func(v *View) bool { return pool(v, "shop", "app").Active == 1 })
	silent(t, v, ruleCancels)
	if g.consoles[0].hello.num < 11600 {
		spoken.Cannot(t, ruleCancels, "SHOW POOLS does not tell cancels before 1.16")
	}
	pgtest.Exec(t, g.srv.DSN("postgres", "postgres"), "alter role app nologin")
	g.send(0, "app", "werft:web", "select 1")
	g.until("a login that failed", func(v *View) bool {
		return strings.Contains(g.poolers[0].Log(), "not permitted to log in") && pool(v, "shop", "app").ClientsWaiting == 0
	})
	go func() { _ = busy.CancelRequest(ctx) }() // it is answered when it is delivered
	v = g.until("a cancel that waits", func(v *View) bool {
		p := pool(v, "shop", "app")
		return p.CancelsWaiting == 1 && p.ClientsWaiting == 0
	})
	f := says(t, v, ruleCancels, "1 request to cancel waits")
	if p := pool(v, "shop", "app"); p.Cause != CancelsWaiting || f.Evidence["cancels_waiting"] != 1 {
		t.Errorf("got cause %q, evidence %v, want one cancel that waits", p.Cause, f.Evidence)
	}
	silent(t, v, rulePoolFull, ruleNotFull)
}

func TestHostileNames(t *testing.T) {
	g := newRig(t, nil, app(map[string]string{"default_pool_size": "1"}))
	name := "x\x1b[2J\nDROP \u202e"
	c := g.client(0, "app", name)
	v := g.look()
	if g.names() && (len(v.Clients) != 1 || v.Clients[0].App != name) {
		t.Errorf("got clients %+v, want the name as it was sent", v.Clients)
	}
	g.exec(c, "select pg_advisory_lock(5)")
	g.client(0, "app", name+"2")
	v = g.until("a stranded lock", func(v *View) bool { return finding(v, ruleStranded) != nil })
	for _, f := range v.Findings {
		if strings.ContainsFunc(f.Message+f.Action, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' || r == '\ufffd' }) {
			t.Errorf("got %q, want a printable line", f.Message)
		}
	}
}

func TestRulesAreDocumented(t *testing.T) {
	var names []string
	for _, r := range Rules() {
		if r.Meaning == "" || r.Severity == "" || slices.Contains(names, r.Name) {
			t.Errorf("rule %+v: it needs a name of its own, a meaning and a severity", r)
		}
		names = append(names, r.Name)
	}
}
