package bouncer

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

const (
	// openingS is a wait in which a server connection is usually opened; PgBouncer
	// opens one at a time in each pool.
	openingS = 1.0
	// loginS is how long a login may take before it counts as hanging.
	loginS = 3.0
	// stateSince is the version that has SHOW STATE, without which a PAUSE of the
	// whole process cannot be seen.
	stateSince = 11900
)

// pool judges one pool of one instance.
func (j *judge) pool(i int, r *Reading, p *Pool, x *join) PoolView {
	key := poolKey{p.Database, p.User}
	v := PoolView{
		Instance: i, Database: p.Database, User: p.User, Mode: r.mode(p.Database, p.User),
		ClientsActive: p.ClActive, ClientsWaiting: p.ClWaiting, CancelsWaiting: value(p.ClWaitingCancel), MaxWaitS: p.MaxWaitS,
		Active: p.SvActive + value(p.SvActiveCancel) + value(p.SvBeingCanceled),
		Idle:   p.SvIdle, Used: p.SvUsed, Tested: p.SvTested, Login: p.SvLogin,
	}
	v.ServerDatabase, v.ServerUser = serverNames(r, p.Database, p.User)
	if n, ok := x.clients[key]; ok {
		v.ClientsActive, v.ClientsIdle = n.linked, n.idle
		v.MaxWaitS = max(v.MaxWaitS, n.maxWaitS)
	}
	if d := r.database(p.Database); d != nil {
		v.Disabled, v.Paused = d.Disabled, d.Paused
		v.Server, v.Ours = fmt.Sprintf("%s:%d", cmp.Or(d.Host, "socket"), d.Port), j.ours(i, d)
	}
	v.Size, v.Reserve, _ = r.sizes(p.Database, p.User)
	if r.State != nil {
		v.Paused = v.Paused || r.State.Paused || r.State.Suspended
	}
	for _, b := range x.pools[key] {
		v.Backends = append(v.Backends, *b)
	}
	v.Use, v.Roots = j.sumUse(x.pools[key])
	v.Cause, v.Why = j.cause(r, &v)
	if v.Servers() == 0 && !v.Paused && !v.Disabled {
		v.refused = j.refusal(&v)
		v.Refused, v.Away = v.refused.why, v.refused.why != "" && isAway(j.in.ServerErr)
	}
	return v
}

// cause says why clients wait, after launch_new_connection of PgBouncer's
// objects.c: what it looks at before it opens a server, in its order.
func (j *judge) cause(r *Reading, v *PoolView) (Cause, string) {
	switch {
	case v.ClientsWaiting == 0 && v.CancelsWaiting == 0:
		return NoCause, ""
	case v.Paused:
		return Paused, j.whyPaused(r, v)
	case v.Disabled:
		return Disabled, "database " + quoted(v.Database) + " is disabled"
	case v.ClientsWaiting == 0:
		return CancelsWaiting, plural(v.CancelsWaiting, "request") + " to cancel " + wait(v.CancelsWaiting) + " for a server connection"
	case v.Size > 0 && v.Active >= v.Size:
		return Full, j.whyFull(v)
	case v.Idle > 0 || v.Size > 0 && v.Servers() >= v.Size && v.Login == 0:
		return Opening, "a server connection is about to be handed over"
	}
	if why := databaseLimit(r, v); why != "" {
		return DatabaseLimit, why
	}
	if why := userLimit(r, v); why != "" {
		return UserLimit, why
	}
	switch v.refused = j.refusal(v); {
	case v.refused.why != "" && isAway(j.in.ServerErr):
		return ServerAway, v.refused.why
	case v.refused.why != "":
		return ServerRefuses, v.refused.why
	}
	switch {
	case v.Login > 0 && v.MaxWaitS >= loginS:
		return LoginHangs, "PostgreSQL does not answer a login, for up to " + ago(v.MaxWaitS)
	case v.Login > 0 || v.MaxWaitS < openingS:
		return Opening, "a server connection is being opened"
	}
	return CannotOpen, j.whyCannotOpen(r, v)
}

func (j *judge) whyPaused(r *Reading, v *PoolView) string {
	switch {
	case r.State != nil && r.State.Suspended:
		return "the whole pooler is suspended (SUSPEND)"
	case r.State != nil && r.State.Paused:
		return "the whole pooler is paused (PAUSE)"
	}
	return "database " + quoted(v.Database) + " is paused (PAUSE)"
}

// behind begins the cause where somebody holds the pool up.
const behind = "behind "

// whyFull says who has the servers: who holds them up first, since that is what
// is to be ended.
func (j *judge) whyFull(v *PoolView) string {
	taken := probes.OutOf(v.Active, v.Size, "servers taken", "pool_size")
	switch extra := v.Active - v.Size; {
	case extra > 0 && extra <= v.Reserve:
		taken = count(v.Active) + " servers taken, " + count(v.Size) + " and " + count(extra) + " of the reserve"
	case v.Reserve > 0 && extra > 0:
		taken = probes.OutOf(v.Active, v.Size+v.Reserve, "servers taken", "pool and its reserve")
	}
	if j.in.Snapshot == nil || len(v.Backends) == 0 || v.Use.Unknown >= v.Active {
		if v.Mode == sessionMode {
			taken += ", each by one client until it disconnects (session mode)"
		}
		return taken
	}
	taken += ": " + v.Use.text(v.Mode)
	if v.Use.Lock == 0 || len(v.Roots) == 0 {
		return taken
	}
	var roots []string
	for _, r := range v.Roots[:min(3, len(v.Roots))] {
		roots = append(roots, r.text(j.in.Snapshot))
	}
	out := behind + strings.Join(roots, ", ")
	if more := len(v.Roots) - len(roots); more > 0 {
		out += " and " + count(more) + " more"
	}
	return out + "; " + taken
}

// whyCannotOpen is the likely cause first, then the figures.
func (j *judge) whyCannotOpen(r *Reading, v *PoolView) string {
	limit := ""
	if u := r.user(v.User); j.seen(v) && (u == nil || u.MaxConnections == nil) {
		limit = sharers(r, func(p Pool) bool { return p.User == v.User && p.Database != v.Database })
	}
	if limit != "" {
		limit = ", a max_user_connections of " + quoted(v.User) + ", which the console does not tell, is reached (" + strings.TrimPrefix(limit, ": ") + ")"
	}
	out := j.likely(v, []string{v.ServerUser}, limit)
	switch n := v.Servers(); {
	case v.Size > 0 && n > v.Size:
		out += "; " + probes.OutOf(n, v.Size, "servers open", "pool_size")
	case v.Size > 0:
		out += "; " + plural(n, "server") + " open of " + count(v.Size)
	default:
		out += "; " + plural(n, "server") + " open"
	}
	if j.seen(v) {
		out += ", and PostgreSQL has free slots"
	}
	return out
}

// likely is why the logins of these users fail, as far as it can be guessed from
// one of their pools; limit is one more guess.
func (j *judge) likely(v *PoolView, users []string, limit string) string {
	out := "PostgreSQL refuses new connections or cannot be reached"
	if j.seen(v) {
		fails := "the login of " + quoted(users[0]) + " fails"
		if len(users) > 1 {
			fails = "the logins of " + strings.Join(quotedAll(users), ", ") + " fail"
		}
		out = fails + " (password, pg_hba.conf, CONNECT revoked), the address is wrong" + limit + ", or another refusal: see the pooler's log"
	}
	if v.Servers() == 0 && j.pauseHidden(v.Instance) {
		out += ", or somebody paused the whole pooler, which the console does not tell before 1.19"
	}
	return out
}

// pauseHidden says that a PAUSE of the whole process would not be seen.
func (j *judge) pauseHidden(i int) bool {
	r := j.in.Instances[i].Reading
	return r.State == nil && r.VersionNum < stateSince
}

// databaseLimit says that max_db_connections is reached, and by whom.
func databaseLimit(r *Reading, v *PoolView) string {
	d := r.database(v.Database)
	if d == nil || d.MaxConnections <= 0 || d.Connections < d.MaxConnections {
		return ""
	}
	out := "database " + quoted(v.Database) + " has " + ofLimit(d.Connections, d.MaxConnections, "max_db_connections", "connections")
	return out + sharers(r, func(p Pool) bool { return p.Database == v.Database && p.User != v.User })
}

// userLimit says that max_user_connections is reached. Before 1.23 only its
// default is known.
func userLimit(r *Reading, v *PoolView) string {
	limit, _ := strconv.Atoi(r.Config["max_user_connections"])
	var used int
	for _, p := range r.Pools {
		if p.User == v.User {
			used += p.Servers()
		}
	}
	if u := r.user(v.User); u != nil {
		if u.MaxConnections != nil {
			limit = *u.MaxConnections
		}
		if u.Connections != nil {
			used = *u.Connections
		}
	}
	if limit <= 0 || used < limit {
		return ""
	}
	out := "user " + quoted(v.User) + " has " + ofLimit(used, limit, "max_user_connections", "connections")
	return out + sharers(r, func(p Pool) bool { return p.User == v.User && p.Database != v.Database })
}

// ofLimit is "9 of max_client_conn 10 clients", or what is over it.
func ofLimit(n, limit int, name, noun string) string {
	if n > limit {
		return probes.OutOf(n, limit, noun, name)
	}
	return count(n) + " of " + name + " " + count(limit) + " " + noun
}

// sharers lists other pools that hold connections under the same limit.
func sharers(r *Reading, share func(Pool) bool) string {
	var out []string
	for _, p := range r.Pools {
		if n := p.Servers(); n > 0 && share(p) {
			s := quoted(p.Database) + "@" + quoted(p.User) + " holds " + count(n)
			if idle := p.SvIdle + p.SvUsed; idle > 0 {
				s += " (" + count(idle) + " idle)"
			}
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return ""
	}
	if len(out) > 3 {
		out = append(out[:3], count(len(out)-3)+" pools more")
	}
	return ": " + strings.Join(out, ", ")
}
