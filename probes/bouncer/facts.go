package bouncer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// Pooler is what the consoles say of the pooler's server connections and limits,
// for the budget. now is our clock when the snapshot was read that they are held
// against.
func (t Told) Pooler(now time.Time) probes.Pooler {
	out := probes.Pooler{Name: t.Spec.Name, Whole: len(t.Instances) >= max(1, t.Spec.Instances)}
	for _, in := range t.Instances {
		r := in.Reading
		out.Whole = out.Whole && r != nil && in.Err == nil && !r.lacks("SHOW SERVERS")
		if r == nil {
			continue
		}
		out.AgeS = max(out.AgeS, now.Sub(r.At).Seconds())
		for k := range r.Servers {
			s := &r.Servers[k]
			x := probes.PoolerServer{PID: s.RemotePID}
			x.Database, x.User = serverNames(r, s.Database, s.User)
			if !isUnix(s.Addr) {
				x.Port = s.LocalPort
			}
			out.Servers = append(out.Servers, x)
		}
		if in.Err != nil {
			continue // limits and clients of old are no limits of now
		}
		if n, err := strconv.Atoi(r.Config["max_client_conn"]); err == nil && n > 0 {
			out.MostNow = plus(out.MostNow, &n)
			if out.MaxClients == nil || n < *out.MaxClients {
				out.MaxClients = &n
			}
		}
		if n, ok := r.Lists["used_clients"]; ok {
			out.Clients = plus(out.Clients, &n)
		}
		t.pools(r, &out)
	}
	if len(t.Instances) < t.Spec.Instances {
		out.MostNow, out.Clients = nil, nil // those of some processes say nothing of all
	}
	return out
}

// pools adds a process's pools, and the declared ones that nobody has used yet.
// Where processes differ the smaller pool counts.
func (t Told) pools(r *Reading, out *probes.Pooler) {
	add := func(database, user string) {
		size, reserve, known := r.sizes(database, user)
		if !known {
			return
		}
		i := slices.IndexFunc(out.Pools, func(p probes.PoolerPool) bool { return p.Database == database && p.User == user })
		if i < 0 {
			p := probes.PoolerPool{Database: database, User: user, Size: size, Reserve: reserve, Mode: r.mode(database, user)}
			if d := r.database(database); d != nil {
				p.Min = value(d.MinPoolSize)
			}
			p.ServerDatabase, p.ServerUser = serverNames(r, database, user)
			p.MostOfDatabase, p.MostOfUser = r.most(database, user)
			out.Pools = append(out.Pools, p)
			return
		}
		if p := &out.Pools[i]; size > 0 && (p.Size == 0 || size < p.Size) {
			p.Size, p.Reserve = size, reserve
		}
	}
	for i := range r.Pools {
		add(r.Pools[i].Database, r.Pools[i].User)
	}
	for _, p := range t.Spec.Pools {
		add(p.Database, p.User)
	}
}

// most are the limits that a pool shares with others of its database and user.
func (r *Reading) most(database, user string) (ofDatabase, ofUser *int) {
	if d := r.database(database); d != nil {
		ofDatabase = &d.MaxConnections
	}
	if u := r.user(user); u != nil && u.MaxConnections != nil {
		ofUser = u.MaxConnections
	} else if n, err := strconv.Atoi(r.Config["max_user_connections"]); err == nil && n > 0 {
		ofUser = &n
	}
	return ofDatabase, ofUser
}

// lacks says that a command was refused.
func (r *Reading) lacks(command string) bool {
	return slices.ContainsFunc(r.Missing, func(m string) bool { return strings.HasPrefix(m, command+":") })
}

// sizes are a pool's own: the user's over the database's. Those of a database
// that PgBouncer has not met yet are not known.
func (r *Reading) sizes(database, user string) (size, reserve int, known bool) {
	d := r.database(database)
	if d == nil {
		return 0, 0, false
	}
	size, reserve = d.PoolSize, d.Reserve
	// 1.24 shows one user's pool_size at the others too.
	if u := r.user(user); u != nil && r.VersionNum/100 != 124 {
		if u.PoolSize != nil {
			size = *u.PoolSize
		}
		if u.Reserve != nil {
			reserve = *u.Reserve
		}
	}
	return size, reserve, true
}

// mode is how a pool lends its servers: as SHOW POOLS says it, and where nobody
// has used the pool yet as it will be: the user's over the database's over the
// default (connection_pool_mode in PgBouncer's objects.c).
func (r *Reading) mode(database, user string) string {
	for i := range r.Pools {
		if p := &r.Pools[i]; p.Database == database && p.User == user && p.Mode != "" {
			return p.Mode
		}
	}
	var ofUser, ofDatabase string
	if u := r.user(user); u != nil {
		ofUser = u.Mode
	}
	if d := r.database(database); d != nil {
		ofDatabase = d.Mode
	}
	return cmp.Or(ofUser, ofDatabase, r.Config["pool_mode"])
}
