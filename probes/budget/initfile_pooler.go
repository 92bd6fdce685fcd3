package budget

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// SeenPooler is what the consoles of a pooler showed, for a draft.
type SeenPooler struct {
	probes.Pooler
	Instances int
	Consoles  []string      // connection strings as the file may hold them: without passwords
	Clients   []SeenClients // the most at once of each
	// Elsewhere are pools on other servers, by the server: no budget of this one.
	Elsewhere map[string][]string
	// Unsure are the servers of its pools where it is not known which is this one.
	Unsure []string
	Unused []string // databases without a pool
}

// SeenClients are clients of a pooler that are alike. Addr is "local" for a Unix
// socket.
type SeenClients struct {
	App, User, Database, Addr string
	N                         int
}

// beside is the live use without a file, of the sessions alone that are no
// pooler's own.
func beside(s *probes.Snapshot, poolers []SeenPooler) *live {
	l := &live{s: s, u: &Usage{Bound: s.Server.Masked, KeepFree: defaultKeepFree}}
	if len(poolers) == 0 {
		for _, g := range s.Groups {
			l.place(g)
		}
		return l
	}
	told := &live{s: s, f: &File{}, u: l.u}
	for _, p := range poolers {
		told.f.Poolers = append(told.f.Poolers, &PoolerDecl{Name: p.Name})
		told.poolers = append(told.poolers, p.Pooler)
	}
	told.rowsOf = told.sessions()
	for _, g := range s.Groups {
		if g.Kind != probes.KindClient && g.Kind != probes.KindMasked {
			continue // they take no slot
		}
		for _, p := range told.split(g) {
			if p.at.pooler == "" {
				l.place(p.Group)
			}
		}
	}
	return l
}

// RolesSeen counts the connections of each application by the name it would have
// in a draft, without those of the poolers.
func RolesSeen(s *probes.Snapshot, poolers ...SeenPooler) map[string]int {
	out := map[string]int{}
	for _, r := range beside(s, poolers).rows {
		out[r.Role] = r.Now
	}
	return out
}

// pooled drafts a pooler and the roles behind it.
func (d *draft) pooled(p SeenPooler) {
	out := draftPooler{name: d.nameOf(p.Name), sizes: []size{{"kind", "pgbouncer"}}, poolSizes: map[string]string{}}
	modes := map[string]int{}
	for _, q := range p.Pools {
		modes[q.Mode]++
		name := q.Database + "@" + q.User
		out.pools = append(out.pools, name)
		n := q.Size
		if n == 0 {
			n = bouncerPool
			out.notes = append(out.notes, fmt.Sprintf("GUESS: pool %s is unlimited, which no budget can hold; %d stands for it", name, n))
		}
		sizes := []size{sized("size", n)}
		if q.Reserve > 0 {
			sizes = append(sizes, sized("reserve", q.Reserve))
		}
		if q.Min > 0 {
			sizes = append(sizes, sized("min", min(q.Min, n)))
		}
		out.poolSizes[name] = "{ " + flow(sizes) + " }"
		if q.ServerDatabase != q.Database || q.ServerUser != q.User {
			out.notes = append(out.notes, fmt.Sprintf("%s is %s@%s on the server", name, q.ServerDatabase, q.ServerUser))
		}
	}
	d.notPooled(p)
	if len(out.pools) == 0 {
		d.left = append(d.left, p.Name+": a pooler that has no pool yet, left out; look again when it is used")
		return
	}
	mode := slices.MaxFunc(p.Pools, func(a, b probes.PoolerPool) int { return cmp.Compare(modes[a.Mode], modes[b.Mode]) }).Mode
	if mode != "" {
		out.sizes = append(out.sizes, size{"mode", quoted(mode)})
	}
	if len(modes) > 1 {
		out.notes = append(out.notes, "GUESS: "+mode+" mode, that of most of its pools; they differ")
	}
	out.sizes = append(out.sizes, sized("instances", max(1, p.Instances)))
	if p.MaxClients != nil {
		out.sizes = append(out.sizes, sized("max_client_conn", *p.MaxClients))
	}
	out.sizes = append(out.sizes, limits("max_db_connections", p.Pools, func(q probes.PoolerPool) (string, *int) { return q.Database, q.MostOfDatabase })...)
	out.sizes = append(out.sizes, limits("max_user_connections", p.Pools, func(q probes.PoolerPool) (string, *int) { return q.User, q.MostOfUser })...)
	if len(p.Unsure) > 0 {
		out.notes = append(out.notes, "GUESS: all its pools are on this server; they are on "+strings.Join(p.Unsure, ", ")+": take out those of others")
	}
	if len(p.Consoles) > 0 {
		all := make([]string, len(p.Consoles))
		for i, c := range p.Consoles {
			all[i] = quoted(c)
		}
		out.sizes = append(out.sizes, size{"console", "[" + joined(all) + "]"})
	}
	d.poolers = append(d.poolers, out)
	d.clients(out.name, p.Clients)
}

// notPooled says what of a pooler is not drafted.
func (d *draft) notPooled(p SeenPooler) {
	for _, server := range slices.Sorted(maps.Keys(p.Elsewhere)) {
		d.left = append(d.left, fmt.Sprintf("%s: %s on another server, %s, left out with their clients", p.Name, strings.Join(p.Elsewhere[server], ", "), server))
	}
	if len(p.Unused) > 0 {
		d.left = append(d.left, p.Name+": no pool yet of database "+strings.Join(p.Unused, ", ")+", left out; look again when it is used")
	}
}

// limits is a limit of PgBouncer's on the pools that share a name: one number where
// it is the same for all, else each; nil where there is none.
func limits(key string, pools []probes.PoolerPool, of func(probes.PoolerPool) (string, *int)) []size {
	own := map[string]int{}
	same := true
	for _, q := range pools {
		name, n := of(q)
		own[name] = val(n)
		_, first := of(pools[0])
		same = same && val(n) == val(first)
	}
	var each []size
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if own[name] > 0 {
			each = append(each, sized(quoted(name), own[name]))
		}
	}
	switch {
	case len(each) == 0:
		return nil
	case same:
		return []size{sized(key, own[slices.Sorted(maps.Keys(own))[0]])}
	}
	return []size{{key, "{ " + flow(each) + " }"}}
}

// clients drafts a role for each application behind a pooler: as many replicas as
// it has addresses, with the most that one of them has.
func (d *draft) clients(pooler string, all []SeenClients) {
	type role struct {
		name string
		who  Who
		addr map[string]int
		n    int
	}
	var roles []*role
	for _, c := range all {
		who := Who{App: c.App, User: c.User, Database: c.Database}.normal()
		name := withoutFile(who).Role
		i := slices.IndexFunc(roles, func(r *role) bool { return r.name == name })
		if i < 0 {
			i = len(roles)
			roles = append(roles, &role{name: name, who: who, addr: map[string]int{}})
		}
		roles[i].addr[c.Addr] += c.N
		roles[i].n += c.N
	}
	slices.SortFunc(roles, func(a, b *role) int { return cmp.Compare(a.name, b.name) })
	for _, r := range roles {
		most := 1
		for _, n := range r.addr {
			most = max(most, n)
		}
		short, captured := cutPrefix(r.name, d.match)
		out := draftRole{name: d.nameOf(short), notes: []string{
			fmt.Sprintf("seen: %s of %s from %s", plural(r.n, "client"), pooler, number(len(r.addr), "address", "addresses")),
		}}
		out.sizes = []size{sized("pool", most)}
		if len(r.addr) > 1 {
			out.sizes = append(out.sizes, sized("replicas", len(r.addr)))
		}
		out.sizes = append(out.sizes, size{"via", quoted(pooler)})
		switch named := r.who.App != "" && plainASCII(r.who.App) && !slices.Contains(driverNames(), r.who.App); {
		case d.sameApp(r.name), !captured && !named:
			d.left = append(d.left, fmt.Sprintf("%s: %s of %s, left out: no name tells them apart from others", r.name, plural(r.n, "client"), pooler))
			continue
		case !captured || out.name != short:
			out.sizes = append(out.sizes, size{"match", quoted(literal(r.who.App))})
		}
		d.seen = append(d.seen, r.name)
		d.roles = append(d.roles, out)
	}
}

// sameApp: a role of that application is there already.
func (d *draft) sameApp(name string) bool { return slices.Contains(d.seen, name) }
