package budget

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// Room says whether one more replica of a role fits: what is left of the budget
// then, what it takes, and how much is free now. Behind a pooler it is about the
// pooler's clients, else about the server's slots.
type Room struct {
	Takes int // connections of one replica
	Left  int // of the peak, or of the pooler's clients, with one more
	Keep  int // that operators should find
	Free  int // now; -1 where a pooler does not say
	Via   string
	// Servers: what is left are servers of a pooler in session mode, where each
	// client keeps one.
	Servers bool
	// Wall is a CONNECTION LIMIT that is in the way though slots are left, "" none.
	Wall string
}

// OK says that it fits and leaves operators their slots.
func (r Room) OK() bool {
	return r.Wall == "" && r.Left >= r.Keep && (r.Free < 0 || r.Free >= r.Takes)
}

// RoomFor judges one more replica of a role of the file that always runs; false
// for all others.
func (u *Usage) RoomFor(role string) (Room, bool) { return u.RoomIn(u.Plan, role) }

// RoomIn is RoomFor with another sum than the base, of WhatIf: what that has more
// than the base counts as taken.
func (u *Usage) RoomIn(s *Sum, role string) (Room, bool) {
	if s == nil || u.Plan == nil {
		return Room{}, false
	}
	i := slices.IndexFunc(s.Roles, func(r RoleSum) bool { return r.Role == role })
	if i < 0 || s.Roles[i].Runs != RunsAlways || s.Roles[i].PerReplica == 0 {
		return Room{}, false
	}
	r := &s.Roles[i]
	if r.Via != "" {
		return u.roomVia(s, r), true
	}
	room := Room{
		Takes: r.PerReplica, Left: s.Left - r.PerReplica, Keep: s.KeepFree,
		Free: max(0, u.FreeAfter(s)),
	}
	for _, w := range u.walls {
		if slices.Contains(w.roles, role) && w.planned(s)+r.PerReplica > w.limit {
			room.Wall = w.text()
		}
	}
	return room, true
}

// FreeAfter is how many slots are free once the server is as a sum of WhatIf: what
// the sum has more than the base is taken, and what is open now beyond a size that
// was made smaller is closed. Below zero that many cannot be opened now.
func (u *Usage) FreeAfter(s *Sum) int {
	less, freed := 0, 0
	shrink := func(row string, was, is int) {
		if is >= was {
			return
		}
		less += was - is
		if i := slices.IndexFunc(u.Rows, func(r Row) bool { return r.Role == row }); i >= 0 {
			freed += max(0, u.Rows[i].Now-is)
		}
	}
	for i := range s.Roles {
		if r := &s.Roles[i]; r.Via == "" && r.Runs == RunsAlways {
			shrink(r.Role, u.Plan.Roles[i].Cap, r.Cap)
		}
	}
	for i := range s.Poolers {
		shrink(poolerPrefix+s.Poolers[i].Pooler, u.Plan.Poolers[i].Cap, s.Poolers[i].Cap)
	}
	return u.Usable - u.Used + freed - max(0, s.Peak-u.Plan.Peak+less)
}

// Outside counts the connections that no sum of the budget has: those of no role
// that it knows.
func (u *Usage) Outside() int {
	n := 0
	for _, r := range u.Rows {
		if r.Origin == Unmatched || r.Origin == Captured {
			n += r.Now
		}
	}
	return n
}

// roomVia is about the clients of a pooler, and in session mode about its servers.
func (u *Usage) roomVia(s *Sum, r *RoleSum) Room {
	of := func(s *Sum) *PoolerSum {
		return &s.Poolers[slices.IndexFunc(s.Poolers, func(p PoolerSum) bool { return p.Pooler == r.Via })]
	}
	p, base := of(s), of(u.Plan)
	room := Room{Takes: r.PerReplica, Left: p.MaxClients - p.Clients - r.PerReplica, Free: -1, Via: r.Via}
	if left := p.Cap - p.Clients - r.PerReplica; p.Mode == sessionMode && left < room.Left {
		room.Left, room.Servers = left, true
	}
	for i := range u.poolers {
		if x := &u.poolers[i]; x.Name == r.Via && x.Clients != nil && x.MostNow != nil {
			room.Free = max(0, *x.MostNow-*x.Clients+p.MaxClients-base.MaxClients-max(0, p.Clients-base.Clients))
		}
	}
	return room
}

// WhatIf adds up the budget with other sizes, at the limits of the server and of
// the poolers that were read. The error says which change cannot be made.
func (u *Usage) WhatIf(changes []Change, surge []string) (*Sum, error) {
	return WhatIf(u.file, u.lim, changes, surge)
}

// Budget is the file with the poolers' live figures in it; nil without a file.
func (u *Usage) Budget() *File { return u.file }

const sessionMode = "session"

// wall is a CONNECTION LIMIT and what the budget plans under it.
type wall struct {
	what, name string // "login role", app
	limit      int
	roles      []string // declared roles that connect directly
	poolers    []string // rows of poolers
	pooled     int      // … and what their pools may open under it
}

func (w *wall) text() string {
	return fmt.Sprintf("%s %s has CONNECTION LIMIT %d", w.what, w.name, w.limit)
}

// planned is the most that may be open at once under the limit: jobs of a group
// are not open together.
func (w *wall) planned(s *Sum) int {
	var t tally
	for _, r := range s.Roles {
		if r.Via == "" && slices.Contains(w.roles, r.Role) {
			r.InSurge = false
			t.add(r)
		}
	}
	return add(t.peak(), w.pooled)
}

// walls are the CONNECTION LIMITs of login roles and databases that something of
// the budget connects under. They do not hold for superusers.
func (l *live) walls() []wall {
	if l.u.Plan == nil {
		return nil
	}
	var out []wall
	for _, x := range l.s.Limits.Roles {
		if x.ConnLimit >= 0 && !x.Superuser {
			out = append(out, l.wall("login role", x.Name, x.ConnLimit,
				func(r *liveRow) map[string]int { return r.users }, func(m rule) *pattern { return m.user },
				func(p probes.PoolerPool) string { return p.ServerUser }))
		}
	}
	for _, x := range l.s.Limits.Databases {
		if x.ConnLimit >= 0 {
			out = append(out, l.wall("database", x.Name, x.ConnLimit,
				func(r *liveRow) map[string]int { return r.dbs }, func(m rule) *pattern { return m.db },
				func(p probes.PoolerPool) string { return p.ServerDatabase }))
		}
	}
	return slices.DeleteFunc(out, func(w wall) bool { return len(w.roles)+len(w.poolers) == 0 })
}

// wall gathers who connects under one limit. A role does when most of its
// sessions do (a stray one proves nothing), or while it has none, when its match
// says so; a pooler by its pools.
func (l *live) wall(what, name string, limit int, seen func(*liveRow) map[string]int, field func(rule) *pattern, of func(probes.PoolerPool) string) wall {
	w := wall{what: what, name: name, limit: limit}
	for _, r := range l.rows {
		switch {
		case r.Origin == Declared && r.Cap != nil && r.Runs != string(RunsManual) && !l.allSuper(r):
			mine := 2*seen(r)[name] > r.Now
			if len(seen(r)) == 0 {
				mine = slices.ContainsFunc(r.role.match, func(m rule) bool { p := field(m); return p != nil && p.text == name })
			}
			if mine {
				w.roles = append(w.roles, r.Role)
			}
		case r.Origin == Pooler && r.Cap != nil:
			if n := l.pooledUnder(r, name, seen(r), of); n > 0 {
				w.poolers, w.pooled = append(w.poolers, r.Role), add(w.pooled, n)
			}
		}
	}
	return w
}

// pooledUnder is what the pools of a pooler may open as one login, or in one
// database. The console says what they are on the server. Without it they are
// called as clients call them, unless all that was seen goes by one other name.
func (l *live) pooledUnder(r *liveRow, name string, seen map[string]int, of func(probes.PoolerPool) string) int {
	for _, b := range l.plan.poolers {
		if poolerPrefix+b.Name != r.Role {
			continue
		}
		sub := *b
		sub.Pools = slices.DeleteFunc(slices.Clone(b.Pools), func(p Pool) bool {
			at := l.onServer(b.Name, p)
			if len(seen) == 1 && seen[of(at)] == 0 && !l.told(b.Name) {
				return seen[name] == 0
			}
			return of(at) != name || l.superuser(at.ServerUser)
		})
		return sub.sum().Cap
	}
	return 0
}

// told says that a pooler's consoles were read.
func (l *live) told(pooler string) bool {
	return slices.ContainsFunc(l.poolers, func(x probes.Pooler) bool { return x.Name == pooler })
}

// onServer is what a declared pool is called on the server.
func (l *live) onServer(pooler string, p Pool) probes.PoolerPool {
	for i := range l.poolers {
		if l.poolers[i].Name != pooler {
			continue
		}
		for _, q := range l.poolers[i].Pools {
			if q.Database == p.Database && q.User == p.User {
				return q
			}
		}
	}
	return probes.PoolerPool{Database: p.Database, User: p.User, ServerDatabase: p.Database, ServerUser: p.User}
}

// limitsLow finds limits below what is planned under them.
func (l *live) limitsLow(rule, what string) []probes.Finding {
	var out []probes.Finding
	for i := range l.u.walls {
		w := &l.u.walls[i]
		sum := w.planned(l.u.Plan)
		if w.what != what || sum <= w.limit {
			continue
		}
		who := slices.Concat(w.roles, w.poolers)
		out = append(out, found(rule, probes.Warn, w.name,
			fmt.Sprintf("%s; %s may open %d", w.text(), strings.Join(who, ", "), sum),
			fmt.Sprintf("raise the limit to %d, or make the pools smaller", sum),
			map[string]any{"limit": w.limit, "cap": sum, "roles": who}))
	}
	return out
}

func roleLimitLow(l *live) []probes.Finding { return l.limitsLow("role-limit-low", "login role") }

func databaseLimitLow(l *live) []probes.Finding { return l.limitsLow("database-limit-low", "database") }
