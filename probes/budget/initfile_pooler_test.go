package budget

import (
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// TestInitFromPoolers: the pooler's own sessions are no role's, its clients are
// roles behind it, and what cannot be told apart is said.
func TestInitFromPoolers(t *testing.T) {
	session := func(pid int, app string) probes.Session {
		return probes.Session{PID: pid, Kind: probes.KindClient, Database: "app", User: "app", App: app, Addr: "10.0.0.9", State: "idle", BackendStart: now.Add(-time.Hour)}
	}
	s := snap(grp(3, "w:web", "10.0.0.9", "idle"), grp(1, "w:cron", "10.0.0.9", "idle"))
	s.Sessions = []probes.Session{session(1, "w:web"), session(2, "w:web"), session(3, "w:web"), session(4, "w:cron")}
	limit := 200
	p := SeenPooler{
		Pooler: probes.Pooler{
			Name: "pgb", Whole: true, MaxClients: &limit,
			Servers: []probes.PoolerServer{{PID: 1, Database: "app", User: "app"}, {PID: 2, Database: "app", User: "app"}},
			Pools: []probes.PoolerPool{
				{Database: "shop", User: "app", ServerDatabase: "app", ServerUser: "app", Size: 5, Reserve: 2, Min: 1, Mode: "transaction", MostOfDatabase: new(9), MostOfUser: new(30)},
				{Database: "log", User: "app", ServerDatabase: "log", ServerUser: "app", Mode: "session", MostOfDatabase: new(4), MostOfUser: new(30)},
				{Database: "app", User: "app", ServerDatabase: "app", ServerUser: "app", Size: 3, Mode: "transaction", MostOfDatabase: new(0), MostOfUser: new(30)},
			},
		},
		Instances: 2, Elsewhere: map[string][]string{"db2:5432": {"far@app"}}, Unused: []string{"later"}, Unsure: []string{"a:1", "b:2"}, Consoles: []string{"host=a port=6432", "host=b port=6432"},
		Clients: []SeenClients{
			{App: "w:api - 10.0.0.1:4711", User: "app", Database: "shop", Addr: "10.0.0.1", N: 6},
			{App: "w:api", User: "app", Database: "shop", Addr: "10.0.0.2", N: 4},
			{App: "w:web", User: "app", Database: "shop", Addr: "10.0.0.3", N: 7},
			{User: "app", Database: "shop", Addr: "local", N: 2},
		},
	}
	text, err := InitFromSnapshot(s, RolesSeen(s, p), p)
	f, sum := drafted(t, text, err)
	if got := rolesOf(sum); got != "cron 1, web 1, api 12" || f.Capture != "w:{role}" {
		t.Errorf("roles %q, match %q", got, f.Capture)
	}
	for _, want := range []string{
		`"shop@app": { size: 5, reserve: 2, min: 1 }`, "mode: transaction, instances: 2, max_client_conn: 200, max_db_connections: { log: 4, shop: 9 }, max_user_connections: 30", `console: ["host=a port=6432", "host=b port=6432"]`,
		"GUESS: transaction mode, that of most of its pools", "GUESS: pool log@app is unlimited", "shop@app is app@app on the server", "pgb: far@app on another server, db2:5432, left out", "pgb: no pool yet of database later, left out", "GUESS: all its pools are on this server; they are on a:1, b:2",
		"# w:web: 7 clients of pgb, left out", "# app@shop: 2 clients of pgb, left out", "api: { pool: 6, replicas: 2, via: pgb }",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	p.Pools = nil
	none, err := InitFromSnapshot(s, nil, p)
	if drafted(t, none, err); !strings.Contains(none, "pgb: a pooler that has no pool yet") || strings.Contains(none, "via:") {
		t.Errorf("without pools:\n%s", none)
	}
	if t.Failed() {
		t.Log(text)
	}
}
