package budget

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// sess is a session of user app in database app, old enough to have been there
// when the console was read.
func sess(pid int, app, state string) probes.Session {
	return probes.Session{
		PID: pid, Kind: probes.KindClient, Database: "app", User: "app", App: app, Addr: "10.0.0.1", Port: 4000 + pid,
		State: state, BackendStart: now.Add(-time.Minute), StateChange: now.Add(-time.Second),
	}
}

// grouped is the snapshot with those sessions and the groups that the server makes
// of them.
func grouped(ss ...probes.Session) *probes.Snapshot {
	s := snap()
	s.Sessions, s.SessionsTotal = ss, len(ss)
	for i := range ss {
		x := &ss[i]
		g := grp(1, x.App, x.Addr, x.State)
		g.Kind, g.User, g.Database, g.Act = x.Kind, x.User, x.Database, actOf(x)
		k := -1
		for n := range s.Groups {
			if keyOf(&s.Groups[n]) == keyOf(&g) {
				k = n
			}
		}
		if k < 0 {
			s.Groups = append(s.Groups, g)
		} else {
			s.Groups[k].N++
		}
	}
	return s
}

// reads is a console that lists these pids.
func reads(pids ...int) probes.Pooler {
	p := probes.Pooler{Name: "p", AgeS: 5, Whole: true}
	for _, pid := range pids {
		p.Servers = append(p.Servers, probes.PoolerServer{PID: pid, Port: 4000 + pid, Database: "app", User: "app"})
	}
	return p
}

// TestWhoseSession: with a console a pooler's connections are told from sessions
// that connect directly; what it does not prove stays unknown, and counts at the
// pooler.
func TestWhoseSession(t *testing.T) {
	file := mustParse(t, strings.TrimSuffix(pooled("app@app: { size: 2 }"), " }")+", d: { pool: 4 } }")
	change := func(s probes.Session, f func(*probes.Session)) probes.Session { f(&s); return s }
	young := change(sess(13, "w", "idle"), func(s *probes.Session) { s.BackendStart = now.Add(-5 * time.Second) })
	for _, tt := range []struct {
		name     string
		console  probes.Pooler
		sessions []probes.Session
		more     int // backends of the group that have no row of their own
		want     string
	}{
		{"its own", reads(11), []probes.Session{sess(11, "w", "active")}, 0, "pooler p 1, w 0"},
		{"past it", reads(11), []probes.Session{sess(11, "w", "idle"), sess(12, "w", "idle")}, 0, "pooler p 1, w 1 past"},
		{"younger than the reading", reads(), []probes.Session{young}, 0, "pooler p 1, w 0 unsure 1"},
		{"not all processes read", probes.Pooler{Name: "p"}, []probes.Session{sess(11, "w", "idle")}, 0, "pooler p 1, w 0 unsure 1"},
		{"by its port alone", probes.Pooler{Name: "p", Whole: true, Servers: []probes.PoolerServer{{Port: 4011, Database: "app", User: "app"}}}, []probes.Session{sess(11, "w", "idle")}, 0, "pooler p 1, w 0"},
		{"one of its connections logs in", probes.Pooler{Name: "p", Whole: true, Servers: []probes.PoolerServer{{Database: "app", User: "app"}}}, []probes.Session{sess(11, "w", "idle")}, 0, "pooler p 1, w 0 unsure 1"},
		{"a pid of another server", probes.Pooler{Name: "p", Whole: true, Servers: []probes.PoolerServer{{PID: 11, Port: 99, Database: "app", User: "other"}}}, []probes.Session{sess(11, "w", "idle")}, 0, "pooler p 0, w 1 past"},
		{"masked", reads(11), []probes.Session{
			change(sess(11, "w", ""), func(s *probes.Session) {
				s.Kind, s.Addr, s.Port, s.BackendStart = probes.KindMasked, "", 0, time.Time{}
			}),
			change(sess(12, "w", ""), func(s *probes.Session) {
				s.Kind, s.Addr, s.Port, s.BackendStart = probes.KindMasked, "", 0, time.Time{}
			}),
		}, 0, "pooler p 2, w 0 unsure 1"},
		{"no name, and not its own", reads(), []probes.Session{sess(11, "", "idle")}, 0, "pooler p 0, w 0, (unmatched) 1"},
		{"a tool through it", reads(11), []probes.Session{sess(11, "psql", "idle"), sess(12, "psql", "idle")}, 0, "pooler p 1, w 0, operators 1"},
		{"a role that should connect directly", reads(11), []probes.Session{sess(11, "d", "idle")}, 0, "pooler p 1, w 0, d 0 1 more through a pooler"},
		{"more than there are rows for", reads(11), []probes.Session{sess(11, "w", "idle"), sess(12, "w", "idle")}, 3, "pooler p 4, w 1 unsure 3 past"},
	} {
		s := grouped(tt.sessions...)
		s.Groups[0].N += tt.more
		u := Use(file, s, tt.console)
		var got []string
		for _, r := range u.Rows {
			text := fmt.Sprintf("%s %d", r.Role, r.Now)
			if strings.Contains(r.Note, "through p or past it") {
				text += " unsure " + strings.Fields(r.Note[strings.LastIndex(r.Note, ": ")+2:])[0]
			}
			if strings.Contains(r.Note, "1 more") {
				text += " " + r.Note
			}
			if r.Now > 0 && r.Via != "" {
				text += " past"
			}
			if r.Role == "w" || r.Role == "pooler p" || r.Now > 0 || strings.Contains(text, "more") {
				got = append(got, text)
			}
		}
		if !same(got, tt.want) || total(u) != u.Used || u.Used != len(tt.sessions)+tt.more {
			t.Errorf("%s: got %s, used %d, want %s", tt.name, strings.Join(got, ", "), u.Used, tt.want)
		}
		fires := false
		for _, f := range u.Findings {
			fires = fires || f.Rule == "pooler-bypassed"
			if f.Rule == "role-absent" && tt.name == "a role that should connect directly" {
				t.Errorf("%s: got %s", tt.name, f.Message)
			}
		}
		if fires != strings.Contains(tt.want, "past") {
			t.Errorf("%s: bypassed fires %v, findings %+v", tt.name, fires, u.Findings)
		}
	}
}

func same(got []string, want string) bool {
	for _, w := range strings.Split(want, ", ") {
		found := false
		for _, g := range got {
			found = found || g == w
		}
		if !found {
			return false
		}
	}
	return len(got) == len(strings.Split(want, ", "))
}

// TestUnsureIsNoError: a pooler's row is over its cap for certain only by what is
// known to be its own.
func TestUnsureIsNoError(t *testing.T) {
	file := mustParse(t, pooled("app@app: { size: 2 }"))
	over := func(u *Usage) (probes.Severity, string) {
		for _, f := range u.Findings {
			if f.Rule == "role-over-cap" {
				return f.Severity, f.Message
			}
		}
		return "", ""
	}
	three := grouped(sess(11, "w", "idle"), sess(12, "w", "idle"), sess(13, "w", "idle"))
	if sev, msg := over(Use(file, three)); sev != probes.Warn || !strings.Contains(msg, "up to 3 of them may connect directly") {
		t.Errorf("unknown: got %s %q, want a warning", sev, msg)
	}
	if sev, msg := over(Use(file, three, reads(11, 12, 13))); sev != probes.Error {
		t.Errorf("its own: got %s %q, want an error", sev, msg)
	}
	if sev, msg := over(Use(file, three, reads(11, 12))); sev != "" {
		t.Errorf("one past it: got %s %q, want none", sev, msg)
	}
}

// TestLivePoolerWins: what the console says of a pooler goes before the file, in
// the sum, in what fits and in what if.
func TestLivePoolerWins(t *testing.T) {
	file := mustParse(t, "poolers: { p: { mode: transaction, max_client_conn: 100, pools: { app@app: { size: 20 } } } }\nroles: { w: { pool: 10, replicas: 2, via: p } }")
	read := reads()
	read.MaxClients, read.MostNow, read.Clients = new(40), new(40), new(35)
	read.Pools = []probes.PoolerPool{{Database: "app", User: "app", Size: 5, Reserve: 1, Mode: "session", ServerDatabase: "app", ServerUser: "app"}}
	for _, tt := range []struct {
		name    string
		read    []probes.Pooler
		room    Room
		cap     int
		fits    bool
		max     int
		session bool
	}{
		{"by the file", nil, Room{Takes: 10, Left: 70, Free: -1, Via: "p"}, 20, true, 100, false},
		{"by the console", []probes.Pooler{read}, Room{Takes: 10, Left: 6 - 20 - 10, Free: 5, Via: "p", Servers: true}, 6, false, 40, true},
	} {
		u := Use(file, snap(), tt.read...)
		room, ok := u.RoomFor("w")
		if !ok || room != tt.room || room.OK() != tt.fits {
			t.Errorf("%s: room %+v %v, want %+v", tt.name, room, room.OK(), tt.room)
		}
		if r := row(t, u, "pooler p"); val(r.Cap) != tt.cap || u.Plan.Poolers[0].MaxClients != tt.max {
			t.Errorf("%s: cap %d, clients %d, want %d, %d", tt.name, val(r.Cap), u.Plan.Poolers[0].MaxClients, tt.cap, tt.max)
		}
		if same, err := u.WhatIf(nil, nil); err != nil || same.Peak != u.Plan.Peak || same.Poolers[0] != u.Plan.Poolers[0] {
			t.Errorf("%s: what if nothing changes: %+v %v, want the base", tt.name, same, err)
		}
		more, err := u.WhatIf([]Change{{"w", "replicas", 3}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := u.RoomIn(more, "w"); again.Left != tt.room.Left-10 || tt.room.Free >= 0 && again.Free != 0 {
			t.Errorf("%s: after one more: %+v", tt.name, again)
		}
		got := false
		for _, f := range u.Findings {
			got = got || f.Rule == "session-pool-short"
		}
		if got != tt.session {
			t.Errorf("%s: session-pool-short %v, want %v", tt.name, got, tt.session)
		}
	}
	if file.Poolers[0].MaxClientConn != 100 || file.Poolers[0].Pools[0].Size != 20 {
		t.Error("the file was changed")
	}
}

// TestRoomUnderALimit: slots are left, and the login role may not have them.
func TestRoomUnderALimit(t *testing.T) {
	file := mustParse(t, "match: \"{role}\"\nroles: { a: { pool: 8, replicas: 2 } }")
	s := snap(grp(16, "a", "1.1.1.1", "idle"))
	if room, _ := Use(file, s).RoomFor("a"); !room.OK() {
		t.Errorf("no limit: got %+v, want room", room)
	}
	limitsOf(23, false)(s)
	if room, _ := Use(file, s).RoomFor("a"); room.OK() || !strings.Contains(room.Wall, "CONNECTION LIMIT 23") {
		t.Errorf("23 for 24: got %+v, want the limit", room)
	}
	limitsOf(24, false)(s)
	if room, _ := Use(file, s).RoomFor("a"); !room.OK() {
		t.Errorf("24 for 24: got %+v, want room", room)
	}
	// Others fill the server: the budget has room, the server has not.
	s.Groups = append(s.Groups, grp(75, "", "1.1.1.9", "idle"))
	limitsOf(-1, false)(s)
	u := Use(file, s)
	if room, _ := u.RoomFor("a"); room.OK() || room.Left < 0 || room.Free != 6 {
		t.Errorf("a full server: got %+v, want 6 free and no room", room)
	}
	if u.Outside() != 75 {
		t.Errorf("got %d outside the budget, want 75", u.Outside())
	}
	// A replica less closes its 8; two of them, smaller, close 6 and open none.
	for change, want := range map[Change]int{{"a", "replicas", 1}: 14, {"a", "pool", 5}: 12, {"a", "pool", 9}: 4} {
		s, err := u.WhatIf([]Change{change}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.FreeAfter(s); got != want {
			t.Errorf("%+v: got %d free, want %d", change, got, want)
		}
	}
}

// TestLiveLimitsOfAPooler: max_db_connections and max_user_connections of the
// consoles cut what the pools of the file may open together.
func TestLiveLimitsOfAPooler(t *testing.T) {
	file := mustParse(t, "poolers: { p: { mode: transaction, pools: { d@u: { size: 10 }, d@v: { size: 10 }, e@u: { size: 10 } } } }")
	pool := func(db, user string, ofDB, ofUser *int) probes.PoolerPool {
		return probes.PoolerPool{Database: db, User: user, ServerDatabase: db, ServerUser: user, Size: 10, Mode: "transaction", MostOfDatabase: ofDB, MostOfUser: ofUser}
	}
	for _, tt := range []struct {
		name         string
		ofDB, ofUser *int
		want         int
	}{
		{"not told", nil, nil, 30},
		{"no limit", new(0), new(0), 30},
		{"of the database", new(1), nil, 11},
		{"of the user", nil, new(3), 13},
	} {
		u := Use(file, snap(), probes.Pooler{Name: "p", Pools: []probes.PoolerPool{pool("d", "u", tt.ofDB, tt.ofUser), pool("d", "v", tt.ofDB, nil), pool("e", "u", nil, tt.ofUser)}})
		if got := val(row(t, u, "pooler p").Cap); got != tt.want || u.Plan.Poolers[0].Cap != tt.want {
			t.Errorf("%s: cap %d, planned %d, want %d", tt.name, got, u.Plan.Poolers[0].Cap, tt.want)
		}
	}
}
