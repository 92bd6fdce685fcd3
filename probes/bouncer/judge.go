package bouncer

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/pgsonde/pgsonde/probes"
)

// Judge says what is going on in a pooler. It is pure, and silent about what it
// was not given: without a snapshot it does not guess at the server.
func Judge(in Input) *View {
	target := targetOf(in)
	if ofError(in.ServerErr).why != "" {
		in.Snapshot = nil
	}
	j := &judge{
		in: in, target: target, v: &View{Name: in.Spec.Name}, server: newBackends(in.Snapshot), joined: map[int]joinedServer{},
		found: map[endpoint]bool{}, mode: map[instancePool]string{}, waiters: map[instancePool]map[string]int{},
	}
	if j.v.Name == "" {
		j.v.Name = "pgbouncer"
	}
	j.endpoints()
	for i := range in.Instances {
		j.instance(i)
	}
	j.sums()
	j.roles()
	slices.SortStableFunc(j.v.Pools, func(a, b PoolView) int {
		return cmp.Or(cmp.Compare(b.MaxWaitS, a.MaxWaitS), cmp.Compare(b.ClientsWaiting, a.ClientsWaiting),
			cmp.Compare(a.Database, b.Database), cmp.Compare(a.User, b.User), cmp.Compare(a.Instance, b.Instance))
	})
	j.findings()
	return j.v
}

type judge struct {
	in     Input
	target string // of the server that was asked for, "" unknown
	v      *View
	server *backends
	joined map[int]joinedServer // by pid: server connections with a backend of the snapshot or not
	single bool                 // all pools are on one server
	found  map[endpoint]bool    // those that are the snapshot's

	mode    map[instancePool]string
	waiters map[instancePool]map[string]int // waiting clients by role
}

// instancePool names a pool of an instance.
type instancePool struct {
	instance int
	poolKey
}

// joinedServer is a server connection of one of the pools.
type joinedServer struct {
	instance int
	socket   *Socket
	backend  *Backend
	mode     string
}

// instance adds one process's pools and clients to the view.
func (j *judge) instance(i int) {
	in := j.in.Instances[i]
	iv := InstanceView{Target: in.Target}
	if in.Err != nil {
		iv.Err = oneLine(in.Err.Error())
	}
	r := in.Reading
	if r == nil {
		j.v.Instances = append(j.v.Instances, iv)
		return
	}
	if in.Err != nil {
		iv.OldS = max(0.001, in.At.Sub(r.At).Seconds())
	}
	iv.Target, iv.Version, iv.At, iv.Took, iv.Missing = r.Target, r.Version, r.At, r.Took, r.Missing
	if r.State != nil {
		iv.Paused, iv.Suspended = &r.State.Paused, &r.State.Suspended
	}
	if n, ok := r.Lists["used_clients"]; ok {
		iv.ClientsUsed = &n
	}
	if n, err := strconv.Atoi(r.Config["max_client_conn"]); err == nil {
		iv.ClientsMax = &n
	}
	j.v.Instances = append(j.v.Instances, iv)

	for _, p := range r.Pools {
		j.mode[instancePool{i, poolKey{p.Database, p.User}}] = r.mode(p.Database, p.User)
	}
	x := j.join(i, r)
	for k := range r.Pools {
		p := j.pool(i, r, &r.Pools[k], x)
		p.OldS = iv.OldS
		j.v.Pools = append(j.v.Pools, p)
	}
	for k := range r.Clients {
		j.v.Clients = append(j.v.Clients, j.client(i, &r.Clients[k], x))
	}
}

// join is one instance's connections, tied to one another and to the server.
type join struct {
	pools   map[poolKey][]*Backend
	byPtr   map[string]*Backend // servers
	clients map[poolKey]counts
}

type poolKey struct{ database, user string }

type counts struct {
	linked, idle, waiting int
	maxWaitS              float64
}

func (j *judge) join(i int, r *Reading) *join {
	x := &join{pools: map[poolKey][]*Backend{}, byPtr: map[string]*Backend{}, clients: map[poolKey]counts{}}
	client := make(map[string]*Socket, len(r.Clients))
	for k := range r.Clients {
		c := &r.Clients[k]
		client[c.Ptr] = c
		n := x.clients[poolKey{c.Database, c.User}]
		switch {
		case c.State == stateWaiting:
			n.waiting++
			n.maxWaitS = max(n.maxWaitS, c.WaitS)
		case c.Link != "":
			n.linked++
		default:
			n.idle++
		}
		x.clients[poolKey{c.Database, c.User}] = n
	}
	for k := range r.Servers {
		s := &r.Servers[k]
		database, user := serverNames(r, s.Database, s.User)
		b := &Backend{PID: s.RemotePID, State: s.State, Session: j.server.of(s, database, user)}
		if d := r.database(s.Database); d != nil && b.Session != nil {
			j.found[endpoint{i, d.Host, d.Port}] = true
		}
		if s.Link != "" {
			b.Client = client[s.Link]
		}
		j.server.describe(b)
		b.Role = j.roleOfBackend(b, s)
		key := poolKey{s.Database, s.User}
		x.pools[key] = append(x.pools[key], b)
		x.byPtr[s.Ptr] = b
		if old, twice := j.joined[s.RemotePID]; s.RemotePID > 0 && (!twice || old.backend.Session == nil) {
			j.joined[s.RemotePID] = joinedServer{i, s, b, j.mode[instancePool{i, key}]}
		}
	}
	return x
}

// serverNames are the database and user that a pool's servers log in as.
func serverNames(r *Reading, database, user string) (string, string) {
	if d := r.database(database); d != nil {
		if d.Database != "" {
			database = d.Database
		}
		if d.ForceUser != "" {
			user = d.ForceUser
		}
	}
	return database, user
}

func (r *Reading) database(name string) *Database {
	i := slices.IndexFunc(r.Databases, func(d Database) bool { return d.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Databases[i]
}

func (r *Reading) user(name string) *User {
	i := slices.IndexFunc(r.Users, func(u User) bool { return u.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Users[i]
}

// roleOfBackend is the role of the client that has the server now, else of the
// last one that had it.
func (j *judge) roleOfBackend(b *Backend, s *Socket) string {
	switch {
	case j.in.RoleOf == nil:
		return ""
	case b.Client != nil:
		return j.roleOfClient(b.Client, b)
	case s.App != nil:
		return j.in.RoleOf(*s.App, s.User, s.Database, "")
	case b.Session != nil:
		return j.in.RoleOf(b.Session.App, s.User, s.Database, "")
	}
	return ""
}

func (j *judge) roleOfClient(c *Socket, b *Backend) string {
	if j.in.RoleOf == nil {
		return ""
	}
	return j.in.RoleOf(appOf(c, b), c.User, c.Database, addrOf(c))
}

// appOf is the client's application_name. Before 1.18 the console does not tell
// it; PgBouncer gives it to the backend when it links the two.
func appOf(c *Socket, b *Backend) string {
	switch {
	case c.App != nil:
		return *c.App
	case b != nil && b.Session != nil:
		return b.Session.App
	}
	return ""
}

// addrOf is the client's address as package probes writes it.
func addrOf(c *Socket) string {
	if isUnix(c.Addr) {
		return "local"
	}
	return c.Addr
}

func (j *judge) client(i int, c *Socket, x *join) ClientView {
	v := ClientView{Instance: i, Socket: c, Waiting: c.State == stateWaiting}
	if c.Link != "" {
		v.Server = x.byPtr[c.Link]
	}
	if v.Waiting {
		v.WaitS = c.WaitS
	}
	v.App, v.Role = appOf(c, v.Server), j.roleOfClient(c, v.Server)
	if v.Waiting {
		at := instancePool{i, poolKey{c.Database, c.User}}
		if j.waiters[at] == nil {
			j.waiters[at] = map[string]int{}
		}
		j.waiters[at][v.Role]++
	}
	v.AppKnown = c.App != nil || v.Server != nil && v.Server.Session != nil
	return v
}

func (j *judge) roles() {
	at := map[string]int{}
	for i := range j.v.Clients {
		c := &j.v.Clients[i]
		k, ok := at[c.Role]
		if !ok {
			k = len(j.v.Roles)
			at[c.Role] = k
			j.v.Roles = append(j.v.Roles, RoleView{Role: c.Role})
		}
		r := &j.v.Roles[k]
		r.Clients++
		switch {
		case c.Waiting:
			r.Waiting++
			r.MaxWaitS = max(r.MaxWaitS, c.WaitS)
		case c.Server != nil:
			r.Linked++
			if c.Server.Doing == DoingLock {
				r.Lock++
			}
			if c.Server.Doing == DoingIdleInTx {
				r.IdleInTx++
			}
		default:
			r.Idle++
		}
	}
	slices.SortStableFunc(j.v.Roles, func(a, b RoleView) int {
		return cmp.Or(cmp.Compare(b.Clients, a.Clients), cmp.Compare(a.Role, b.Role))
	})
}

// usable is the server's own, nil when it is not known.
func usable(s *probes.Snapshot) *int {
	if s == nil || s.Limits.MaxConnections == 0 {
		return nil
	}
	n := s.Limits.Usable()
	return &n
}
