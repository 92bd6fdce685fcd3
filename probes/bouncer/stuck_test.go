package bouncer

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

// threePools are shop@app and log@other that wait, and books@app without a client,
// all on one server.
func threePools(change func(*Reading)) *Reading {
	return reading(func(r *Reading) {
		waiter(r, 6)
		r.Databases = append(r.Databases,
			Database{Name: "log", Host: "db1", Port: 5432, Database: "prod", PoolSize: 2},
			Database{Name: "books", Host: "db1", Port: 5432, Database: "prod", PoolSize: 2})
		r.Pools = append(r.Pools, Pool{Database: "log", User: "other", ClWaiting: 2, MaxWaitS: 2}, Pool{Database: "books", User: "app"})
		if change != nil {
			change(r)
		}
	})
}

// TestOneCauseIsOneFinding: pools that cannot open a server for one and the same
// reason are named in one finding, and those of other reasons have their own.
func TestOneCauseIsOneFinding(t *testing.T) {
	down := &probes.ConnectError{Kind: probes.KindUnreachable, Target: "db1:5432/prod", Msg: "connection refused", Err: errors.New("refused")}
	roles := func(s *probes.Snapshot) {
		s.Limits.Roles = []probes.RoleLimit{{Name: "app", ConnLimit: -1}, {Name: "other", ConnLimit: -1}}
	}
	full := func(s *probes.Snapshot) {
		roles(s)
		s.Groups = []probes.Group{{Kind: probes.KindClient, User: "x", N: 97}}
	}
	tests := []struct {
		name  string
		rs    []*Reading
		snap  func(*probes.Snapshot)
		err   error
		none  bool // no snapshot
		rule  string
		parts [][]string // of each message
	}{
		{
			"down",
			[]*Reading{threePools(nil)},
			nil, down, false, ruleNotFull,
			[][]string{{"3 pools of pgb: 3 clients wait 6.0 s: PostgreSQL cannot be reached", "refused: shop@app, log@other, books@app"}},
		},
		{"full", []*Reading{threePools(nil)}, full, nil, false, ruleNotFull, [][]string{{"3 pools of pgb", "PostgreSQL is full: 97 of 97", "books@app"}}},
		{"nobody waits", []*Reading{threePools(func(r *Reading) {
			r.Pools[0].ClWaiting, r.Pools[1].ClWaiting, r.Clients = 0, 0, nil
		})}, full, nil, false, ruleNotFull, [][]string{{"3 pools of pgb cannot open a server: PostgreSQL is full", "who comes gets an error at once: shop@app, log@other, books@app"}}},
		{
			"no server was asked",
			[]*Reading{threePools(nil)},
			nil, nil, true, ruleNotFull,
			[][]string{{"2 pools of pgb", "PostgreSQL refuses new connections or cannot be reached", "shop@app, log@other"}},
		},
		{
			"nobody was asked, of two servers",
			[]*Reading{threePools(func(r *Reading) { r.Databases[1].Host = "db2" })},
			nil, nil, true, ruleNotFull,
			[][]string{{"shop@app of pgb"}, {"log@other of pgb"}},
		},
		{
			"a role's limit",
			[]*Reading{threePools(func(r *Reading) { r.Pools[1].User = "app" })},
			func(s *probes.Snapshot) { s.Limits.Roles[0].ConnLimit = 0 }, nil, false, ruleNotFull,
			[][]string{{"3 pools of pgb", "role app has CONNECTION LIMIT 0"}},
		},
		{"a role's limit, and another role that may", []*Reading{threePools(func(r *Reading) { r.VersionNum, r.State = 11900, &State{Active: true} })}, func(s *probes.Snapshot) {
			roles(s)
			s.Limits.Roles[0].ConnLimit = 0
		}, nil, false, ruleNotFull, [][]string{{"2 pools of pgb", "role app has CONNECTION LIMIT 0", "shop@app, books@app"}, {"log@other of pgb", "the login of other fails"}}},
		{"logins of one role", []*Reading{threePools(func(r *Reading) {
			r.VersionNum, r.State, r.Pools[1].User = 11900, &State{Active: true}, "app"
		})}, roles, nil, false, ruleNotFull, [][]string{{"2 pools of pgb", "the login of app fails", "shop@app, log@app"}}},
		{
			"a pause that is not told",
			[]*Reading{threePools(nil)},
			roles, nil, false, ruleNotFull,
			[][]string{{"2 pools of pgb", "the logins of app, other fail", "somebody paused the whole pooler", "shop@app, log@other"}},
		},
		{
			"two instances",
			[]*Reading{threePools(nil), threePools(nil)},
			nil, down, false, ruleNotFull,
			[][]string{{"6 pools of pgb 1, pgb 2: 6 clients wait", "shop@app of pgb 1", "and 1 more"}},
		},
		{"a limit of PgBouncer's", []*Reading{threePools(func(r *Reading) {
			r.Pools[1] = Pool{Database: "shop", User: "other", ClWaiting: 2, MaxWaitS: 3}
			r.Databases[0].MaxConnections, r.Databases[0].Connections = 1, 1
		})}, roles, nil, false, ruleNotFull, [][]string{{"2 pools of pgb", "database shop has 1 of max_db_connections 1 connections", "shop@app, shop@other"}}},
		{
			"databases paused",
			[]*Reading{threePools(func(r *Reading) { r.Databases[0].Paused, r.Databases[1].Paused = true, true })},
			roles, nil, false, rulePaused,
			[][]string{{"databases shop, log of pgb are paused; 3 clients wait 6.0 s: shop@app, log@other"}},
		},
		{
			"all paused",
			[]*Reading{threePools(func(r *Reading) { r.VersionNum, r.State = 11900, &State{Paused: true} })},
			roles, nil, false, rulePaused,
			[][]string{{"all of pgb is paused; 3 clients wait 6.0 s: shop@app, log@other"}},
		},
		{"two processes paused", []*Reading{
			threePools(func(r *Reading) { r.VersionNum, r.State = 11900, &State{Paused: true} }),
			reading(func(r *Reading) { r.VersionNum, r.State = 11900, &State{Paused: true} }),
		}, roles, nil, false, rulePaused, [][]string{{"all of pgb 1 and all of pgb 2 are paused; 3 clients wait"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Spec: PoolerSpec{Name: "pgb"}, Snapshot: snapshot(tt.snap), ServerErr: tt.err}
			if tt.none {
				in.Snapshot = nil
			}
			for _, r := range tt.rs {
				in.Instances = append(in.Instances, Instance{Reading: r})
			}
			all := Judge(in).Findings
			if len(all) != len(tt.parts) {
				t.Fatalf("got %d findings, want %d: %+v", len(all), len(tt.parts), all)
			}
			for i, parts := range tt.parts {
				f := all[i]
				if f.Rule != tt.rule || f.Action == "" || f.SinceS == nil && strings.Contains(f.Message, "wait ") {
					t.Errorf("got %+v, want %s with an action and its age", f, tt.rule)
				}
				for _, p := range parts {
					if !strings.Contains(f.Message, p) {
						t.Errorf("got %q, want %q in it", f.Message, p)
					}
				}
			}
		})
	}
}

// TestOneCauseOfSeveralPoolers: a server that is down is one finding of all
// poolers before it.
func TestOneCauseOfSeveralPoolers(t *testing.T) {
	down := &probes.ConnectError{Kind: probes.KindUnreachable, Target: "db1:5432/prod", Msg: "connection refused"}
	view := func(name string) *View {
		return Judge(Input{Spec: PoolerSpec{Name: name}, Instances: []Instance{{Reading: threePools(nil)}}, ServerErr: down})
	}
	all := Together([]*View{view("a"), view("b")})
	if len(all) != 1 || !strings.Contains(all[0].Message, "6 pools of a, b: 6 clients wait") || !strings.Contains(all[0].Message, "shop@app of a") || all[0].Subject != "a, b" {
		t.Errorf("got %+v, want one of both", all)
	}
	pools, _ := all[0].Evidence["pools"].([]string)
	if len(pools) != 6 || !slices.Contains(pools, "books@app of b") {
		t.Errorf("got pools %q, want all six", pools)
	}
	alone := func(name string) *View {
		return Judge(Input{Spec: PoolerSpec{Name: name}, Instances: []Instance{{Reading: threePools(nil)}}})
	}
	if all = Together([]*View{alone("a"), alone("b")}); len(all) != 2 {
		t.Errorf("got %+v, want one of each: the servers behind them may be different ones", all)
	}
}

// TestFullIsSaidOnce: that the pools are too large for the server stays a warning
// where its being full has a finding.
func TestFullIsSaidOnce(t *testing.T) {
	for waits, want := range map[int]probes.Severity{0: probes.Error, 1: probes.Warn} {
		r := reading(func(r *Reading) {
			r.Databases[0].PoolSize = 200
			server(r, 11, 1011, nil)
			for range waits {
				waiter(r, 6)
			}
		})
		v := Judge(Input{Instances: []Instance{{Reading: r}}, Snapshot: snapshot(func(s *probes.Snapshot) {
			s.Groups = []probes.Group{{Kind: probes.KindClient, User: "x", N: 97}}
		})})
		if f := finding(v, ruleServerSide); f == nil || f.Severity != want || (finding(v, ruleNotFull) != nil) != (waits > 0) {
			t.Errorf("%d waiting: got %+v, want %s", waits, v.Findings, want)
		}
	}
}

// TestOverTheLimit: use over a limit is said so that it reads true.
func TestOverTheLimit(t *testing.T) {
	waits := func(r *Reading) { waiter(r, 6) }
	for _, tt := range []struct {
		name string
		r    func(*Reading)
		snap func(*probes.Snapshot)
		want string
	}{
		{"clients", func(r *Reading) { r.Lists["used_clients"] = 101 }, nil, "pgbouncer has 101 clients, 1 over the max_client_conn of 100: new clients"},
		{"clients of a database", func(r *Reading) { r.Databases[0].MaxClients, r.Databases[0].Clients = ptr(10), ptr(12) }, nil, "has 12 clients, 2 over the limit of 10: new"},
		{"the server", waits, func(s *probes.Snapshot) { s.Groups = []probes.Group{{Kind: probes.KindClient, User: "x", N: 99}} }, "PostgreSQL is full: 99 connections taken, 2 over the limit of 97"},
		{"a database", func(r *Reading) { waits(r); r.Databases[0].MaxConnections, r.Databases[0].Connections = 2, 3 }, nil, "database shop has 3 connections, 1 over the max_db_connections of 2"},
		{"a user", func(r *Reading) {
			waits(r)
			r.Users = []User{{Name: "app", MaxConnections: ptr(2), Connections: ptr(3)}}
		}, nil, "user app has 3 connections, 1 over the max_user_connections of 2"},
		{"a pool made smaller", func(r *Reading) { waits(r); r.Pools[0].SvActive = 3 }, nil, "3 servers taken, 1 over the pool_size of 2"},
		{"a pool and its reserve", func(r *Reading) { waits(r); r.Pools[0].SvActive, r.Databases[0].Reserve = 4, 1 }, nil, "4 servers taken, 1 over the pool and its reserve of 3"},
		{"in the reserve", func(r *Reading) { waits(r); r.Pools[0].SvActive, r.Databases[0].Reserve = 3, 1 }, nil, "3 servers taken, 2 and 1 of the reserve"},
	} {
		v := Judge(Input{Instances: []Instance{{Reading: reading(tt.r)}}, Snapshot: snapshot(tt.snap)})
		if len(v.Findings) != 1 || !strings.Contains(v.Findings[0].Message, tt.want) {
			t.Errorf("%s: got %+v, want %q in it", tt.name, v.Findings, tt.want)
		}
	}
}

// TestPoolsKnowWhatToDo: each pool of a finding has what to do.
func TestPoolsKnowWhatToDo(t *testing.T) {
	down := &probes.ConnectError{Kind: probes.KindUnreachable, Target: "db1:5432/prod", Msg: "connection refused"}
	v := Judge(Input{Instances: []Instance{{Reading: threePools(nil)}}, ServerErr: down})
	for _, p := range v.Pools {
		if p.Action != "see whether PostgreSQL runs, listens there and is let through" {
			t.Errorf("%s: got action %q, want that of its finding", p.name(), p.Action)
		}
	}
}
