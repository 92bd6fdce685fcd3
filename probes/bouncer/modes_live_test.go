//go:build unix

package bouncer

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestSessionMode: an idle client keeps its server there, so that a pool is full
// of clients that do nothing, and a plan of more clients than servers waits.
func TestSessionMode(t *testing.T) {
	g := newRig(t, nil, app(map[string]string{"pool_mode": "session"}))
	g.spec = PoolerSpec{Name: "pgb", Mode: "session", ClientCap: 2, Pools: []PoolSpec{{"shop", "app", 2, 0}}}
	for range 2 {
		g.exec(g.client(0, "app", "werft:api"), "select 1")
	}
	v := g.look()
	silent(t, v, ruleSessionPool, rulePoolFull)
	p := pool(v, "shop", "app")
	if p.Active != 2 || p.Use.Idle != 2 || p.Cause != NoCause {
		t.Errorf("got %+v, want two servers kept by idle clients, and no cause", p)
	}
	// One client more, which has said nothing yet: it will wait when it does.
	c := g.client(0, "app", "werft:late")
	g.spec.ClientCap = 3
	v = g.look()
	f := says(t, v, ruleSessionPool, "shop@app of pgb in session mode: 3 clients, at most 2 of them have a server")
	if f.Severity != probes.Warn || !strings.Contains(f.Action, "transaction mode") {
		t.Errorf("got %s, %q, want a warning that says what to use", f.Severity, f.Action)
	}
	byPlan := false
	for _, f := range v.Findings {
		byPlan = byPlan || f.Rule == ruleSessionPool && strings.Contains(f.Message, "pgb in session mode: its roles can open 3 connections, at most 2")
	}
	if !byPlan {
		t.Errorf("got findings %+v, want one about the plan too", v.Findings)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Exec(t.Context(), "select 1").ReadAll() // it waits until the test ends
	}()
	t.Cleanup(func() { c.Conn().Close(); <-done })
	v = g.until("a client that waits", func(v *View) bool { return finding(v, rulePoolFull) != nil })
	f = says(t, v, rulePoolFull, "2 of 2 servers taken: 2 idle, kept by a client that stays connected")
	if !strings.Contains(f.Action, "in session mode a client keeps its connection") {
		t.Errorf("got action %q, want it to speak of idle clients", f.Action)
	}
	for _, f := range v.Findings {
		if f.Rule == ruleSessionPool && f.Subject == "shop@app" {
			t.Errorf("got %q beside a pool that is full: it is said twice", f.Message)
		}
	}
}

// TestSessionModeOfTheOpenTransaction: the one transaction that is open is not what
// fills a pool of idle clients; in transaction mode it would be.
func TestSessionModeOfTheOpenTransaction(t *testing.T) {
	g := newRig(t, nil, app(map[string]string{"pool_mode": "session", "default_pool_size": "3"}))
	for range 2 {
		g.exec(g.client(0, "app", "werft:api"), "select 1")
	}
	g.exec(g.client(0, "app", "werft:worker"), "begin")
	g.send(0, "app", "werft:late", "select 1")
	v := g.until("a full pool", func(v *View) bool { return finding(v, rulePoolFull) != nil })
	f := says(t, v, rulePoolFull, "1 idle in transaction", "2 idle, kept by a client")
	if !strings.Contains(f.Action, "session mode") {
		t.Errorf("got action %q, want the idle clients, who are more", f.Action)
	}
	// Without a look at the backends the mode alone says what a taken server is.
	pgtest.Exec(t, g.srv.DSN("postgres", "postgres"), "create role nobody login")
	g.login("nobody")
	says(t, g.look(), rulePoolFull, "3 of 3 servers taken, each by one client until it disconnects (session mode)")
}

// TestModeOverrides: each pool is judged by its own mode: the user's over the
// database's over the default. A lock that stays is its client's own where that
// keeps the connection, and left behind where it does not.
func TestModeOverrides(t *testing.T) {
	o := app(nil)
	o.Databases["shop"] = "dbname=postgres"
	o.Databases["kept"] = "dbname=postgres pool_mode=session"
	o.Databases["single"] = "dbname=postgres pool_mode=statement"
	o.PerUser = map[string]string{"other": "pool_mode=session"}
	g := newRig(t, nil, o)
	g.spec = PoolerSpec{Name: "pgb", Mode: "transaction", Needs: []SessionNeed{{Role: "kept", Advisory: true}, {Role: "other", Advisory: true}, {Role: "single", Advisory: true}, {Role: "lost", Advisory: true}}}
	connect := func(user, database string) *pgconn.PgConn {
		c, err := pgconn.Connect(t.Context(), g.poolers[0].DSN(user, database)+" application_name=werft:"+map[string]string{"shop/app": "lost", "kept/app": "kept", "single/app": "single", "shop/other": "other"}[database+"/"+user])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Conn().Close() })
		return c
	}
	for i, at := range [][2]string{{"app", "shop"}, {"app", "kept"}, {"app", "single"}, {"other", "shop"}} {
		g.exec(connect(at[0], at[1]), "select pg_advisory_lock("+string(rune('1'+i))+")")
	}
	v := g.until("locks left behind", func(v *View) bool { return len(strandedKeys(v)) == 2 })
	for key, mode := range map[string]string{"shop app": "transaction", "kept app": "session", "single app": "statement", "shop other": "session"} {
		db, user, _ := strings.Cut(key, " ")
		if got := pool(v, db, user).Mode; got != mode {
			t.Errorf("%s: got mode %q, want %s", key, got, mode)
		}
	}
	if got := strings.Join(strandedKeys(v), " "); got != "1 3" && got != "3 1" {
		t.Errorf("got stranded locks %s, want those of transaction and statement mode, 1 and 3", got)
	}
	for _, f := range v.Findings {
		keys, _ := f.Evidence["keys"].([]string)
		if f.Rule == ruleStranded && (strings.Contains(f.Action, "pg_advisory_xact_lock") != (keys[0] == "1")) {
			t.Errorf("lock %s: got action %q, want a transaction's lock offered where there are transactions", keys[0], f.Action)
		}
	}
	if g.names() {
		needs := map[string]bool{}
		for _, f := range v.Findings {
			if f.Rule == ruleSessionState {
				needs[f.Subject] = true
			}
		}
		if len(needs) != 2 || !needs["lost"] || !needs["single"] {
			t.Errorf("got %v in want of a session, want lost and single", needs)
		}
	}
	// As the budget is told: declared pools that nobody has used have their mode too.
	r := v.Instances[0]
	read, err := g.consoles[0].Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spec := PoolerSpec{Name: "pgb", Pools: []PoolSpec{{"kept", "other", 1, 0}, {"single", "other", 1, 0}, {"kept", "postgres", 1, 0}, {"single", "postgres", 1, 0}, {"shop", "postgres", 1, 0}}}
	told := Told{Spec: spec, Instances: []Instance{{Target: r.Target, Reading: read, At: time.Now()}}}.Pooler(time.Now())
	want := map[string]string{"kept other": "session", "single other": "session", "kept postgres": "session", "single postgres": "statement", "shop postgres": "transaction"}
	for _, p := range told.Pools {
		if mode, ok := want[p.Database+" "+p.User]; ok && p.Mode != mode {
			t.Errorf("%s@%s: got mode %q, want %s", p.Database, p.User, p.Mode, mode)
		}
		delete(want, p.Database+" "+p.User)
	}
	if len(want) > 0 {
		t.Errorf("not told: %v", want)
	}
}

func strandedKeys(v *View) []string {
	var out []string
	for _, f := range v.Findings {
		if f.Rule == ruleStranded {
			keys, _ := f.Evidence["keys"].([]string)
			out = append(out, keys...)
		}
	}
	return out
}
