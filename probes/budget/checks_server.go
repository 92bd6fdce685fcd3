package budget

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

func serverChecks() []check {
	return []check{
		{Rule{"role-limit-low", probes.Warn, "a login role's CONNECTION LIMIT is below the budgets of the roles that use it", "pg_roles.rolconnlimit; superusers are exempt, walsenders not counted"}, roleLimitLow},
		{Rule{"database-limit-low", probes.Warn, "a database's CONNECTION LIMIT is below the budgets of the roles that use it", "pg_database.datconnlimit; superusers are exempt"}, databaseLimitLow},
		{Rule{"app-is-superuser", probes.Warn, "an application logs in as superuser: it takes the operators' reserve too", "superuser_reserved_connections are open to every superuser"}, appIsSuperuser},
		{Rule{"app-takes-reserve", probes.Warn, "an application logs in as a member of pg_use_reserved_connections: it takes the operators' reserve", "PostgreSQL 16+, reserved_connections"}, appTakesReserve},
		{Rule{"running-over-cpus", probes.Warn, "more statements run than twice the CPUs", "the server's CPUs against active sessions that wait for no lock and no client"}, runningOverCPUs},
		{Rule{"connection-churn", probes.Warn, "sessions are opened, and closed again, at a rate that a pool would not have", "pg_stat_database.sessions, 14+: the differences of its readings"}, connectionChurn},
		{Rule{"file-differs", probes.Warn, "the server's limits are not those of the budget file", usableSource}, fileDiffers},
		{Rule{"no-operator-reserve", probes.Warn, "nobody but a superuser, or nobody at all, gets in when all slots are taken", usableSource}, noOperatorReserve},
		{Rule{"no-free-walsender", probes.Info, "no walsender slot is free: replicas, backups and the way in by replication=database wait", "max_wal_senders"}, noFreeWalsender},
	}
}

func appIsSuperuser(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		if r.Origin != Declared && r.Origin != Captured && r.Origin != Pooler {
			continue
		}
		for _, user := range slices.Sorted(maps.Keys(r.users)) {
			if !l.superuser(user) {
				continue
			}
			out = append(out, found("app-is-superuser", probes.Warn, r.Role,
				fmt.Sprintf("%s logs in as superuser %s (%s): it can take the reserved slots too", r.Role, user, plural(r.users[user], "connection")),
				"give it a login role without SUPERUSER", map[string]any{"user": user, "now": r.users[user]}))
		}
	}
	return out
}

// appTakesReserve: reserved_connections are kept from those it is not granted to,
// so what has the grant is not held by usable.
func appTakesReserve(l *live) []probes.Finding {
	if l.s.Limits.Reserved == 0 {
		return nil
	}
	var out []probes.Finding
	for _, r := range l.rows {
		if r.Origin != Declared && r.Origin != Captured && r.Origin != Pooler {
			continue
		}
		for _, user := range slices.Sorted(maps.Keys(r.users)) {
			if !slices.Contains(l.s.Limits.ReservedUsers, user) || l.superuser(user) {
				continue
			}
			out = append(out, found("app-takes-reserve", probes.Warn, r.Role,
				fmt.Sprintf("%s logs in as %s, which may use the reserved connections (%s)", r.Role, user, plural(r.users[user], "connection")),
				"revoke pg_use_reserved_connections from it: the reserve is for operators", map[string]any{"user": user, "now": r.users[user]}))
		}
	}
	return out
}

// allSuper: only superusers have been seen in a row.
func (l *live) allSuper(r *liveRow) bool {
	for user := range r.users {
		if !l.superuser(user) {
			return false
		}
	}
	return len(r.users) > 0
}

func (l *live) superuser(name string) bool {
	return slices.ContainsFunc(l.s.Limits.Roles, func(x probes.RoleLimit) bool { return x.Name == name && x.Superuser })
}

func runningOverCPUs(l *live) []probes.Finding {
	if l.u.Running == nil || l.u.CPUs == 0 || *l.u.Running <= 2*l.u.CPUs {
		return nil
	}
	most, n := "", 0
	for _, r := range l.rows {
		if val(r.Running) > n {
			most, n = r.Role, *r.Running
		}
	}
	return []probes.Finding{found("running-over-cpus", probes.Warn, "server",
		fmt.Sprintf("%d statements run on %s; %d of them are %s", *l.u.Running, plural(l.u.CPUs, "CPU"), n, most),
		"look at the longest statements; more connections would make each slower",
		map[string]any{"running": *l.u.Running, "cpus": l.u.CPUs})}
}

const (
	// churnPerS is many new sessions a second: pools that work open nearly none, and
	// each costs the server a process and a login.
	churnPerS = 3
	// churnForS is how long that must go on: two readings and no less.
	churnForS = 9
)

// churning is how many sessions were opened up to the last reading while each
// reading found many new ones, and since when.
func churning(all []probes.Opened) (opened int64, since time.Time) {
	for i := len(all) - 1; i > 0; i-- {
		n, span := all[i].Sessions-all[i-1].Sessions, all[i].At.Sub(all[i-1].At).Seconds()
		if float64(n) < churnPerS*span {
			break
		}
		opened, since = opened+n, all[i-1].At
	}
	return opened, since
}

// connectionChurn finds sessions that come and go; those that a deploy opens
// stay. It names the roles all of whose connections are younger than the time
// that it goes on for.
func connectionChurn(l *live) []probes.Finding {
	opened, begin := churning(l.s.Opened)
	if opened == 0 {
		return nil
	}
	overS := l.s.Opened[len(l.s.Opened)-1].At.Sub(begin).Seconds()
	gone := opened
	for _, r := range l.rows {
		for _, g := range r.groups {
			if g.NewestStart.IsZero() || g.NewestStart.After(begin) {
				gone -= int64(g.N) // some of them may be older
			}
		}
	}
	if overS < churnForS || 2*gone <= opened {
		return nil
	}
	young := []string{}
	for _, r := range l.rows {
		old := slices.ContainsFunc(r.groups, func(g probes.Group) bool {
			return g.OldestStart.IsZero() || l.s.At.Sub(g.OldestStart).Seconds() > overS
		})
		if len(r.groups) > 0 && !old && r.Origin != BuiltIn {
			young = append(young, r.Role)
		}
	}
	who := ""
	if len(young) > 0 {
		who = "; all connections of " + strings.Join(young[:min(3, len(young))], ", ") + " are younger than that"
	}
	perS := float64(opened) / overS
	return []probes.Finding{since(found("connection-churn", probes.Warn, "server",
		fmt.Sprintf("%.0f new sessions a second over the last %s, %d of %d are gone again: each is a new process and a login%s", perS, age(overS), gone, opened, who),
		"let the applications keep their connections in a pool, or put a pooler in front",
		map[string]any{"per_s": perS, "over_s": overS, "opened": opened, "gone": gone, "young": young}), overS)}
}

// fileDiffers compares what the file says of the server with the server.
func fileDiffers(l *live) []probes.Finding {
	if l.f == nil || l.s.Limits.MaxConnections == 0 {
		return nil
	}
	lim, srv := l.s.Limits, l.s.Server
	lives := map[string]int{
		"max_connections": lim.MaxConnections, "superuser_reserved": lim.SuperuserReserved, "reserved": lim.Reserved,
	}
	if srv.CPUs > 0 {
		lives["cpus"] = srv.CPUs
	}
	if srv.VersionNum > 0 {
		lives["version"] = srv.VersionNum / 10000
	}
	var diffs []string
	ev := map[string]any{}
	for _, key := range l.f.Server.names() {
		said, ok := l.f.Server.declared[key]
		is, known := lives[key]
		if ok && known && said != is {
			diffs = append(diffs, fmt.Sprintf("%s is %d, the file says %d", key, is, said))
			ev[key] = map[string]any{"server": is, "file": said}
		}
	}
	if _, told := l.f.Server.onServer(lim); told {
		said := l.f.Server.ProviderReserved
		diffs = append(diffs, fmt.Sprintf("provider_reserved of %d cannot be of this server, which has %s, and is left out", said, plural(lim.MaxConnections, "slot")))
		ev["provider_reserved"] = map[string]any{"server": nil, "file": said}
	}
	if len(diffs) == 0 {
		return nil
	}
	return []probes.Finding{found("file-differs", probes.Warn, "server", strings.Join(diffs, "; "),
		"correct the file: the sums here use the server's figures", ev)}
}

func noOperatorReserve(l *live) []probes.Finding {
	lim := l.s.Limits
	switch {
	case lim.MaxConnections == 0:
		return nil
	case lim.SuperuserReserved == 0 && lim.Reserved == 0:
		return []probes.Finding{found("no-operator-reserve", probes.Warn, "server",
			"no slot is reserved: when all are taken, nobody gets in", "set superuser_reserved_connections to 3; it needs a restart", nil)}
	case l.s.Server.VersionNum >= 160000 && lim.Reserved == 0:
		return []probes.Finding{found("no-operator-reserve", probes.Info, "server",
			"reserved_connections is 0: when the slots are taken, only a superuser gets in",
			"set reserved_connections to 2 and grant pg_use_reserved_connections to the role operators use; it needs a restart", nil)}
	}
	return nil
}

// noFreeWalsender is silent where walsenders are switched off.
func noFreeWalsender(l *live) []probes.Finding {
	limit := l.s.Limits.MaxWalSenders
	if limit == 0 || l.walsenders < limit {
		return nil
	}
	return []probes.Finding{found("no-free-walsender", probes.Info, "server",
		fmt.Sprintf("all %s are taken", plural(limit, "walsender slot")),
		"more of them (max_wal_senders) need a restart; until then no new replica, base backup or replication=database login",
		map[string]any{"walsenders": l.walsenders, "max_wal_senders": limit})}
}
