package bouncer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// reading is one instance with the pool shop@app of 2 servers on database prod.
func reading(change func(*Reading)) *Reading {
	r := &Reading{
		Target: "pgb:6432/pgbouncer", Version: "1.18.0", VersionNum: 11800,
		Pools:     []Pool{{Database: "shop", User: "app", Mode: "transaction"}},
		Databases: []Database{{Name: "shop", Host: "db1", Port: 5432, Database: "prod", PoolSize: 2}},
		Config:    map[string]string{"max_client_conn": "100"},
		Lists:     map[string]int{"used_clients": 3},
	}
	if change != nil {
		change(r)
	}
	return r
}

// server is an active server connection with its client, linked.
func server(r *Reading, pid, port int, app *string) {
	n := len(r.Servers)
	sp, cp := "s"+count(n), "c"+count(n)
	r.Servers = append(r.Servers, Socket{User: "app", Database: "shop", State: "active", Addr: "10.0.0.9", LocalPort: port, RemotePID: pid, Ptr: sp, Link: cp, App: app})
	r.Clients = append(r.Clients, Socket{User: "app", Database: "shop", State: "active", Addr: "10.0.0.1", Ptr: cp, Link: sp, App: app})
	r.Pools[0].SvActive++
	r.Pools[0].ClActive++
}

func waiter(r *Reading, s float64) {
	r.Pools[0].ClWaiting++
	r.Pools[0].MaxWaitS = max(r.Pools[0].MaxWaitS, s)
	r.Clients = append(r.Clients, Socket{User: "app", Database: "shop", State: "waiting", Addr: "unix", WaitS: s, App: ptr("werft:api"), Ptr: "w" + count(len(r.Clients))})
}

func snapshot(change func(*probes.Snapshot)) *probes.Snapshot {
	s := &probes.Snapshot{
		At: noon, Server: probes.Server{VersionNum: 160000, Database: "postgres"},
		Limits: probes.Limits{MaxConnections: 100, SuperuserReserved: 3, Roles: []probes.RoleLimit{{Name: "app", ConnLimit: -1}}},
	}
	if change != nil {
		change(s)
	}
	return s
}

func roleOf(app, _, _, addr string) string { return strings.TrimPrefix(app, "werft:") + "/" + addr }

func TestCauses(t *testing.T) {
	full := func(r *Reading) {
		server(r, 11, 1011, ptr("werft:api"))
		server(r, 12, 1012, ptr("werft:api"))
		waiter(r, 6)
	}
	tests := []struct {
		name  string
		r     func(*Reading)
		snap  func(*probes.Snapshot)
		none  bool // no snapshot
		cause Cause
		why   []string
		rule  string // "" no finding
	}{
		{name: "nobody waits", cause: NoCause},
		{name: "idle clients are no wait", r: func(r *Reading) { r.Pools[0].ClActive = 500 }, cause: NoCause},
		{name: "full, no snapshot", none: true, r: full, cause: Full, why: []string{"2 of 2"}, rule: rulePoolFull},
		{name: "full for a moment", r: func(r *Reading) { full(r); r.Pools[0].MaxWaitS, r.Clients[2].WaitS = 0.2, 0.2 }, cause: Full},
		{
			name: "full, long queries", r: full, cause: Full, why: []string{"2 running a query (up to 90 s, pid 11 of api/10.0.0.1)"}, rule: rulePoolFull,
			snap: func(s *probes.Snapshot) {
				for _, pid := range []int{11, 12} {
					s.Sessions = append(s.Sessions, probes.Session{PID: pid, Port: 1000 + pid, State: "active", QueryStart: noon.Add(-90 * time.Second)})
				}
			},
		},
		{name: "full with the reserve", r: func(r *Reading) {
			full(r)
			server(r, 13, 1013, nil)
			r.Databases[0].Reserve = 1
		}, cause: Full, why: []string{"3 servers taken, 2 and 1 of the reserve"}, rule: rulePoolFull},
		{name: "paused", r: func(r *Reading) { waiter(r, 9); r.Databases[0].Paused = true }, cause: Paused, why: []string{"database shop is paused"}, rule: rulePaused},
		{
			name: "all paused", r: func(r *Reading) { waiter(r, 9); r.VersionNum, r.State = 11900, &State{Paused: true} },
			cause: Paused, why: []string{"whole pooler is paused"}, rule: rulePaused,
		},
		{
			name: "suspended", r: func(r *Reading) { waiter(r, 9); r.VersionNum, r.State = 12500, &State{Suspended: true} },
			cause: Paused, why: []string{"suspended"}, rule: rulePaused,
		},
		{name: "disabled", r: func(r *Reading) { waiter(r, 9); r.Databases[0].Disabled = true }, cause: Disabled, rule: ruleDisabled},
		{name: "opening", r: func(r *Reading) { waiter(r, 0.3); r.Pools[0].SvLogin = 1 }, cause: Opening},
		{name: "login hangs", r: func(r *Reading) { waiter(r, 4); r.Pools[0].SvLogin = 1 }, cause: LoginHangs, why: []string{"4.0 s"}, rule: ruleNotFull},
		{name: "login hangs in a full pool", r: func(r *Reading) { waiter(r, 4); server(r, 11, 1011, nil); r.Pools[0].SvLogin = 1 }, cause: LoginHangs, rule: ruleNotFull},
		{name: "a server is free", r: func(r *Reading) { waiter(r, 2); r.Pools[0].SvIdle = 1 }, cause: Opening},
		{name: "checked before use", r: func(r *Reading) { waiter(r, 2); r.Pools[0].SvTested = 2 }, cause: Opening},
		{
			name: "unlimited pool cannot open", r: func(r *Reading) {
				waiter(r, 2)
				r.Databases[0].PoolSize, r.Databases[0].MaxConnections = 0, 10
				server(r, 11, 1011, nil)
			},
			cause: CannotOpen, why: []string{"the login of app fails (password, pg_hba.conf, CONNECT revoked), the address is wrong, or another refusal: see the pooler's log; 1 server open, and PostgreSQL has free slots"}, rule: ruleNotFull,
		},
		{
			name: "server full", r: func(r *Reading) { waiter(r, 2) }, cause: ServerRefuses, why: []string{"97 of 97"}, rule: ruleNotFull,
			snap: func(s *probes.Snapshot) { s.Groups = []probes.Group{{Kind: probes.KindClient, User: "x", N: 97}} },
		},
		{
			name: "server full but for reserved slots that this user may take", r: func(r *Reading) { waiter(r, 2) }, cause: CannotOpen, rule: ruleNotFull,
			snap: func(s *probes.Snapshot) {
				s.Limits.Reserved, s.Limits.ReservedUsers = 5, []string{"app"}
				s.Groups = []probes.Group{{Kind: probes.KindClient, User: "x", N: 92}, {Kind: "walsender", N: 50}}
			},
		},
		{
			name: "forced user's limit", r: func(r *Reading) { waiter(r, 2); r.Databases[0].ForceUser = "owner" },
			cause: ServerRefuses, why: []string{"role owner has CONNECTION LIMIT 5 and 5"}, rule: ruleNotFull,
			snap: func(s *probes.Snapshot) {
				s.Limits.Roles = append(s.Limits.Roles, probes.RoleLimit{Name: "owner", ConnLimit: 5})
				s.Groups = []probes.Group{{Kind: probes.KindClient, User: "owner", N: 5}}
			},
		},
		{
			name: "database's limit under its own name", r: func(r *Reading) { waiter(r, 2) },
			cause: ServerRefuses, why: []string{"database prod has CONNECTION LIMIT 3"}, rule: ruleNotFull,
			snap: func(s *probes.Snapshot) {
				s.Limits.Databases = []probes.DatabaseLimit{{Name: "prod", ConnLimit: 3}, {Name: "shop", ConnLimit: 0}}
				s.Groups = []probes.Group{{Kind: probes.KindClient, User: "x", Database: "prod", N: 3}}
			},
		},
		{
			name: "max_user_connections by default", r: func(r *Reading) {
				waiter(r, 2)
				r.Config["max_user_connections"] = "3"
				r.Pools = append(r.Pools, Pool{Database: "books", User: "app", SvActive: 1, SvIdle: 2})
			}, cause: UserLimit, why: []string{"3 of max_user_connections 3", "books@app holds 3 (2 idle)"}, rule: ruleNotFull,
		},
		{
			name: "max_user_connections of the user", r: func(r *Reading) {
				waiter(r, 2)
				r.VersionNum = 12300
				r.Users = []User{{Name: "app", MaxConnections: ptr(4), Connections: ptr(4)}}
			}, cause: UserLimit, why: []string{"4 of max_user_connections 4"}, rule: ruleNotFull,
		},
		{
			name: "pool_size of the user", r: func(r *Reading) {
				server(r, 11, 1011, nil)
				waiter(r, 2)
				r.VersionNum, r.Users = 12300, []User{{Name: "app", PoolSize: ptr(1)}}
			}, cause: Full, why: []string{"1 of 1"}, rule: rulePoolFull,
		},
		{
			name: "pool_size of the user, wrong in 1.24", r: func(r *Reading) {
				server(r, 11, 1011, nil)
				waiter(r, 2)
				r.VersionNum, r.Users = 12401, []User{{Name: "app", PoolSize: ptr(1)}}
			}, cause: CannotOpen, rule: ruleNotFull,
		},
		{name: "only cancels wait", r: func(r *Reading) { r.Pools[0].ClWaitingCancel = ptr(2) }, cause: CancelsWaiting, rule: ruleCancels},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Instances: []Instance{{Reading: reading(tt.r)}}, Snapshot: snapshot(tt.snap), RoleOf: roleOf}
			if tt.none {
				in.Snapshot = nil
			}
			v := Judge(in)
			p := pool(v, "shop", "app")
			if p.Cause != tt.cause || (p.Why == "") != (tt.cause == NoCause) {
				t.Errorf("got cause %q (%s), want %q", p.Cause, p.Why, tt.cause)
			}
			for _, w := range tt.why {
				if !strings.Contains(p.Why, w) {
					t.Errorf("got why %q, want %q in it", p.Why, w)
				}
			}
			var rules []string
			for _, f := range v.Findings {
				rules = append(rules, f.Rule)
				// On 80 columns the line is cut: the cause comes before the figures.
				if at := strings.Index(f.Message, p.Why); (f.Rule == rulePoolFull || f.Rule == ruleNotFull) && (at < 0 || at > 45) {
					t.Errorf("got %q, want its cause before column 45", f.Message)
				}
				if f.Action == "" || f.Subject == "" || f.Evidence["pooler"] != "pgbouncer" || strings.Contains(f.Message, "\n") {
					t.Errorf("got finding %+v, want an action, a subject, evidence and one line", f)
				}
				if !slices.ContainsFunc(Rules(), func(r Rule) bool { return r.Name == f.Rule }) {
					t.Errorf("rule %s is not in Rules", f.Rule)
				}
			}
			want := []string{tt.rule}
			if tt.rule == "" {
				want = nil
			}
			if !slices.Equal(rules, want) {
				t.Errorf("got rules %v, want %v", rules, want)
			}
		})
	}
}

func TestRootsOfLockWaits(t *testing.T) {
	session := func(pid int, lock bool) probes.Session {
		s := probes.Session{PID: pid, Port: 1000 + pid, State: "active", App: "werft:api", User: "app", Database: "prod", QueryStart: noon.Add(-time.Second)}
		if lock {
			s.WaitEventType = "Lock"
		}
		return s
	}
	row := func(pid int, granted bool, mode probes.LockMode) probes.LockRow {
		return probes.LockRow{Tag: probes.LockTag{Type: "relation", Relation: 1}, PID: pid, Granted: granted, Mode: mode}
	}
	tests := []struct {
		name  string
		locks probes.Locks
		roots []int
	}{
		{"a chain", probes.Locks{Waits: []probes.LockWait{{PID: 11, Blockers: []int{12}}, {PID: 12, Blockers: []int{50, 50}}, {PID: 50, Blockers: []int{60}}}}, []int{60}},
		{"two roots", probes.Locks{Waits: []probes.LockWait{{PID: 11, Blockers: []int{60}}, {PID: 12, Blockers: []int{60, 70}}}}, []int{60, 70}},
		{"a prepared transaction", probes.Locks{Waits: []probes.LockWait{{PID: 11, Blockers: []int{0}}, {PID: 12, Blockers: []int{0}}}}, []int{0}},
		{"a cycle", probes.Locks{Waits: []probes.LockWait{{PID: 11, Blockers: []int{12}}, {PID: 12, Blockers: []int{11}}}}, nil},
		{"only the table", probes.Locks{Rows: []probes.LockRow{
			row(11, false, probes.AccessShareLock), row(12, false, probes.AccessShareLock),
			row(60, true, probes.AccessExclusiveLock), row(61, true, probes.AccessShareLock),
		}}, []int{60}},
		{"not read", probes.Locks{}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := reading(func(r *Reading) { server(r, 11, 1011, nil); server(r, 12, 1012, nil); waiter(r, 2) })
			v := Judge(Input{Instances: []Instance{{Reading: r}}, RoleOf: roleOf, Snapshot: snapshot(func(s *probes.Snapshot) {
				s.Locks, s.Sessions = &tt.locks, []probes.Session{session(11, true), session(12, true), session(60, false)}
			})})
			p := pool(v, "shop", "app")
			var got []int
			for _, r := range p.Roots {
				got = append(got, r.PID)
			}
			if !slices.Equal(got, tt.roots) || p.Use.Lock != 2 {
				t.Errorf("got roots %v of %d lock waiters, want %v of 2", got, p.Use.Lock, tt.roots)
			}
		})
	}
}

// The pid alone does not tie a server connection to a backend.
func TestJoinWithTheBackend(t *testing.T) {
	tests := []struct {
		name string
		s    probes.Session
		want bool
	}{
		{"same port", probes.Session{PID: 11, Port: 1011, User: "x"}, true},
		{"translated port, same login", probes.Session{PID: 11, Port: 9, User: "app", Database: "prod"}, true},
		{"Unix socket", probes.Session{PID: 11, Port: -1, Addr: "local", User: "app", Database: "prod"}, true},
		{"another server's pid", probes.Session{PID: 11, Port: 9, User: "app", Database: "shop"}, false},
		{"other pid", probes.Session{PID: 12, Port: 1011, User: "app", Database: "prod"}, false},
	}
	for _, tt := range tests {
		r := reading(func(r *Reading) { server(r, 11, 1011, nil) })
		v := Judge(Input{Instances: []Instance{{Reading: r}}, Snapshot: snapshot(func(s *probes.Snapshot) { s.Sessions = []probes.Session{tt.s} })})
		if got := v.Pools[0].Backends[0].Session != nil; got != tt.want {
			t.Errorf("%s: got joined %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Before 1.18 the console has no names: a linked client has its backend's.
func TestRolesWithoutNames(t *testing.T) {
	r := reading(func(r *Reading) {
		server(r, 11, 1011, nil)
		r.Clients = append(r.Clients, Socket{User: "app", Database: "shop", State: "active", Addr: "unix"})
	})
	v := Judge(Input{Instances: []Instance{{Reading: r}}, RoleOf: roleOf, Snapshot: snapshot(func(s *probes.Snapshot) {
		s.Sessions = []probes.Session{{PID: 11, Port: 1011, App: "werft:api", State: "idle in transaction", XactStart: noon.Add(-time.Minute)}}
	})})
	if v.Clients[0].Role != "api/10.0.0.1" || v.Clients[0].App != "werft:api" || v.Clients[1].Role != "/local" || !v.Clients[0].AppKnown || v.Clients[1].AppKnown {
		t.Errorf("got %+v, want the backend's name for the linked client only", v.Clients)
	}
	if p := v.Pools[0]; p.Use.IdleInTx != 1 || p.Use.LongestTxS != 60 || p.ClientsActive != 1 || p.ClientsIdle != 1 {
		t.Errorf("got %+v, want one idle in transaction for 60 s, one linked client, one idle", p)
	}
}

// TestOtherServers: what the snapshot's server refuses is no cause of a pool on
// another one; of which it is, its backends tell, or its name.
func TestOtherServers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Reading, *probes.Snapshot)
		cause  Cause
	}{
		{"the one server there is", func(r *Reading, _ *probes.Snapshot) { r.Pools, r.Databases = r.Pools[1:], r.Databases[1:] }, ServerRefuses},
		{"neither is known", func(*Reading, *probes.Snapshot) {}, CannotOpen},
		{"ours is the other, by a backend", func(r *Reading, s *probes.Snapshot) {
			server(r, 11, 1011, nil)
			s.Sessions = []probes.Session{{PID: 11, Port: 1011, State: "idle"}}
		}, CannotOpen},
		{"ours by its name", func(_ *Reading, s *probes.Snapshot) { s.Server.Target = "db2:5432/postgres" }, ServerRefuses},
		{"ours is the other, by its name", func(_ *Reading, s *probes.Snapshot) { s.Server.Target = "db1:5432/postgres" }, CannotOpen},
		{"another port", func(_ *Reading, s *probes.Snapshot) { s.Server.Target = "db2:5433/postgres" }, CannotOpen},
	} {
		s := snapshot(func(s *probes.Snapshot) { s.Groups = []probes.Group{{Kind: probes.KindClient, User: "x", N: 97}} })
		r := reading(func(r *Reading) {
			r.Pools = append(r.Pools, Pool{Database: "far", User: "app", Mode: "transaction", ClWaiting: 1, MaxWaitS: 4})
			r.Databases = append(r.Databases, Database{Name: "far", Host: "db2", Port: 5432, PoolSize: 2})
			tt.change(r, s)
		})
		v := Judge(Input{Instances: []Instance{{Reading: r}}, Snapshot: s})
		p := pool(v, "far", "app")
		if p.Cause != tt.cause || tt.cause == CannotOpen && strings.Contains(p.Why, "free slots") {
			t.Errorf("%s: got cause %q (%s), want %q", tt.name, p.Cause, p.Why, tt.cause)
		}
	}
}

func TestRoleThatMayNotLogIn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*probes.Snapshot)
		want   string
	}{
		{"no such role", func(s *probes.Snapshot) { s.Limits.Roles[0].Name = "other" }, "PostgreSQL has no role app"},
		{"nologin", func(s *probes.Snapshot) { s.Limits.Roles[0].Name, s.Limits.NoLogin = "other", []string{"app"} }, "role app may not log in: it is NOLOGIN"},
		{"roles not read", func(s *probes.Snapshot) { s.Limits.Roles = nil }, ""},
		{"no such database", func(s *probes.Snapshot) { s.Limits.Databases = []probes.DatabaseLimit{{Name: "shop", ConnLimit: -1}} }, "database prod takes no connections"},
		{"both there", func(s *probes.Snapshot) { s.Limits.Databases = []probes.DatabaseLimit{{Name: "prod", ConnLimit: -1}} }, ""},
	} {
		v := Judge(Input{Instances: []Instance{{Reading: reading(func(r *Reading) { waiter(r, 2) })}}, Snapshot: snapshot(tt.change)})
		p := pool(v, "shop", "app")
		if tt.want == "" && p.Cause != CannotOpen || tt.want != "" && (p.Cause != ServerRefuses || !strings.Contains(p.Why, tt.want)) {
			t.Errorf("%s: got cause %q (%s), want %q", tt.name, p.Cause, p.Why, tt.want)
		}
	}
}

func TestServerSide(t *testing.T) {
	add := func(r *Reading, d Database, user string, sv int) {
		r.Databases = append(r.Databases, d)
		r.Pools = append(r.Pools, Pool{Database: d.Name, User: user, SvIdle: sv, Mode: "transaction"})
	}
	tests := []struct {
		name        string
		r           func(*Reading)
		cap, usable *int
		fires       bool
	}{
		{"small", nil, ptr(2), ptr(97), false},
		{"over", func(r *Reading) { r.Databases[0].PoolSize, r.Databases[0].Reserve = 90, 8 }, ptr(98), ptr(97), true},
		{"over, but max_db_connections holds it", func(r *Reading) { r.Databases[0].PoolSize, r.Databases[0].MaxConnections = 500, 40 }, ptr(40), ptr(97), false},
		{"unlimited", func(r *Reading) { r.Databases[0].PoolSize = 0 }, nil, ptr(97), true},
		{"unlimited, but max_db_connections", func(r *Reading) { r.Databases[0].PoolSize, r.Databases[0].MaxConnections = 0, 40 }, ptr(40), ptr(97), false},
		{"a pool per user", func(r *Reading) {
			r.Databases[0].PoolSize = 50
			r.Pools = append(r.Pools, Pool{Database: "shop", User: "other"})
		}, ptr(100), ptr(97), true},
		{"a database of another server", func(r *Reading) {
			server(r, 11, 1011, nil)
			add(r, Database{Name: "far", Host: "db2", Port: 5432, PoolSize: 500}, "app", 3)
		}, ptr(2), ptr(97), false},
		{"two servers, neither known", func(r *Reading) {
			add(r, Database{Name: "far", Host: "db2", Port: 5432, PoolSize: 500}, "app", 3)
		}, nil, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := Judge(Input{Instances: []Instance{{Reading: reading(tt.r)}}, Snapshot: snapshot(func(s *probes.Snapshot) {
				s.Sessions = []probes.Session{{PID: 11, Port: 1011, State: "idle"}}
			})})
			same := func(a, b *int) bool { return (a == nil) == (b == nil) && value(a) == value(b) }
			if !same(v.Servers.Cap, tt.cap) || !same(v.Servers.Usable, tt.usable) || (finding(v, ruleServerSide) != nil) != tt.fires {
				t.Errorf("got cap %d, usable %d, finding %v, want %d, %d, %v", value(v.Servers.Cap), value(v.Servers.Usable),
					finding(v, ruleServerSide), value(tt.cap), value(tt.usable), tt.fires)
			}
		})
	}
}

func TestSessionNeeds(t *testing.T) {
	tests := []struct {
		name       string
		need       SessionNeed
		live, file string // pool modes; "" unknown
		fires      bool
	}{
		{"listen, transaction", SessionNeed{Role: "api/10.0.0.1", Listen: true}, "transaction", "", true},
		{"listen, statement", SessionNeed{Role: "api/10.0.0.1", Listen: true}, "statement", "session", true},
		{"listen, session", SessionNeed{Role: "api/10.0.0.1", Listen: true}, "session", "transaction", false},
		{"not connected, the file says transaction", SessionNeed{Role: "batch", Advisory: true}, "session", "transaction", true},
		{"not connected, the file says nothing", SessionNeed{Role: "batch", Cursors: true}, "transaction", "", false},
		{"needs nothing", SessionNeed{Role: "api/10.0.0.1"}, "transaction", "", false},
	}
	for _, tt := range tests {
		r := reading(func(r *Reading) { server(r, 11, 1011, ptr("werft:api")); r.Pools[0].Mode = tt.live })
		v := Judge(Input{Instances: []Instance{{Reading: r}}, RoleOf: roleOf, Spec: PoolerSpec{Mode: tt.file, Needs: []SessionNeed{tt.need}}})
		if f := finding(v, ruleSessionState); (f != nil) != tt.fires {
			t.Errorf("%s: got %+v, want a finding %v", tt.name, f, tt.fires)
		}
	}
}

func TestStrandedOnlyOnOurBackends(t *testing.T) {
	lock := AdvisoryLock{PID: 11, Port: 1011, ClassID: 1, ObjID: 2, ObjSubID: 1, IdleS: 5}
	tests := []struct {
		name  string
		lock  func(*AdvisoryLock)
		mode  string
		fires bool
	}{
		{"ours", nil, "transaction", true},
		{"session mode", nil, "session", false},
		{"another backend", func(a *AdvisoryLock) { a.PID = 12 }, "transaction", false},
		{"another server's pid", func(a *AdvisoryLock) { a.Port = 9 }, "transaction", false},
	}
	for _, tt := range tests {
		a := lock
		if tt.lock != nil {
			tt.lock(&a)
		}
		r := reading(func(r *Reading) { server(r, 11, 1011, nil); r.Pools[0].Mode = tt.mode })
		v := Judge(Input{Instances: []Instance{{Reading: r}}, Advisory: []AdvisoryLock{a}})
		f := finding(v, ruleStranded)
		if (f != nil) != tt.fires {
			t.Errorf("%s: got %+v, want a finding %v", tt.name, f, tt.fires)
		}
		if f != nil && !strings.Contains(f.Message, "4294967298") {
			t.Errorf("got %q, want the key as one bigint", f.Message)
		}
	}
}

// Several instances: sums over all, the name of the one that is meant, and an old
// reading when a console is away.
func TestInstances(t *testing.T) {
	one, two := reading(func(r *Reading) { r.Lists["used_clients"] = 99 }), reading(func(r *Reading) { r.Target = "two:6432/pgbouncer" })
	in := Input{Instances: []Instance{{Reading: one}, {Reading: two, Err: errClosed}, {Target: "three:6432/pgbouncer", Err: errClosed}}, Spec: PoolerSpec{Name: "pgb"}}
	v := Judge(in)
	if *v.ClientsUsed != 102 || *v.ClientsMax != 200 || len(v.Pools) != 2 || len(v.Instances) != 3 {
		t.Errorf("got clients %d of %d, %d pools, want 102 of 200, 2", *v.ClientsUsed, *v.ClientsMax, len(v.Pools))
	}
	says(t, v, ruleClientsOver, "pgb 1 has", "99 of max_client_conn 100")
	n := 0
	for _, f := range v.Findings {
		if f.Rule == ruleUnreachable {
			n++
		}
	}
	if n != 2 {
		t.Errorf("got %d findings of consoles that are away, want 2", n)
	}
	if v := Judge(Input{}); len(v.Findings) != 0 || v.ClientsUsed != nil || v.Servers.Usable != nil {
		t.Errorf("got %+v for nothing, want nothing", v)
	}
}

func TestWorstFirst(t *testing.T) {
	r := reading(func(r *Reading) {
		r.Pools = append(r.Pools, Pool{Database: "a", User: "app"}, Pool{Database: "z", User: "app", ClWaiting: 1, MaxWaitS: 9, SvActive: 2})
		r.Databases = append(r.Databases, Database{Name: "z", PoolSize: 2}, Database{Name: "p", Paused: true})
	})
	v := Judge(Input{Instances: []Instance{{Reading: r}}})
	if v.Pools[0].Database != "z" || v.Findings[0].Severity != probes.Error || v.Findings[len(v.Findings)-1].Rule != rulePaused {
		t.Errorf("got pool %s, findings %+v, want z and the error first", v.Pools[0].Database, v.Findings)
	}
}

func TestTogether(t *testing.T) {
	view := func(name string, limit int) *View {
		r := reading(func(r *Reading) { r.Databases[0].PoolSize = limit })
		return Judge(Input{Instances: []Instance{{Reading: r}}, Snapshot: snapshot(nil), Spec: PoolerSpec{Name: name}})
	}
	if fs := Together([]*View{view("a", 60), view("b", 38)}); len(fs) != 1 || !strings.Contains(fs[0].Message, "98") || fs[0].Rule != ruleServerSide {
		t.Errorf("got %+v, want one finding of 98 connections", fs)
	}
	for _, vs := range [][]*View{nil, {view("a", 97)}, {view("a", 60), view("b", 37)}} {
		if fs := Together(vs); len(fs) != 0 {
			t.Errorf("got %+v, want none", fs)
		}
	}
	if fs := Together([]*View{view("a", 98), view("b", 1)}); len(fs) != 1 || fs[0].Subject != "a" {
		t.Errorf("got %+v, want only that one of them is too large", fs)
	}
}

// Since 1.24 databases and users have limits of their own.
func TestClientLimitsOfDatabaseAndUser(t *testing.T) {
	r := reading(func(r *Reading) {
		r.Databases[0].MaxClients, r.Databases[0].Clients = ptr(10), ptr(10)
		r.Users = []User{{Name: "app", MaxClients: ptr(10), Clients: ptr(9)}, {Name: "free", MaxClients: ptr(0), Clients: ptr(9)}, {Name: "calm", MaxClients: ptr(10), Clients: ptr(8)}}
	})
	v := Judge(Input{Instances: []Instance{{Reading: r}}})
	var got []string
	for _, f := range v.Findings {
		got = append(got, string(f.Severity)+" "+f.Subject)
	}
	if want := []string{"error shop", "warn app"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLongWaitsAreErrors(t *testing.T) {
	for wait, want := range map[float64]probes.Severity{0.9: "", 1: probes.Warn, 4.9: probes.Warn, 5: probes.Error} {
		v := Judge(Input{Instances: []Instance{{Reading: reading(func(r *Reading) {
			server(r, 11, 1011, nil)
			server(r, 12, 1012, nil)
			waiter(r, wait)
		})}}})
		var got probes.Severity
		if f := finding(v, rulePoolFull); f != nil {
			got = f.Severity
			if *f.SinceS != wait {
				t.Errorf("got since %v, want %v", *f.SinceS, wait)
			}
		}
		if got != want {
			t.Errorf("%v s: got %q, want %q", wait, got, want)
		}
	}
}
