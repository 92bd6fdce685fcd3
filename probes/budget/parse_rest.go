package budget

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

func poolerKeys() []string {
	return []string{
		"kind", "mode", "instances", "max_client_conn", "max_db_connections", "max_user_connections",
		"default_pool_size", "reserve_pool_size", "min_pool_size", "pools", "console", "match",
	}
}

func (r *reader) poolers(f *File, n *yaml.Node) {
	for _, e := range r.entries(n, "poolers") {
		if r.name(e, "pooler") {
			f.Poolers = append(f.Poolers, r.pooler(e))
		}
	}
}

// newPooler has the defaults of a pooler kind: PgBouncer pool 20, reserve 0,
// 100 clients, no other limit (PgBouncer doc/config.md); Supavisor pool 15,
// 1000 clients (supavisor tenant.ex).
func newPooler(kind string) (p *PoolerDecl, size int, ok bool) {
	p = &PoolerDecl{Kind: kind, Mode: "session", Instances: 1}
	switch kind {
	case "pgbouncer":
		p.MaxClientConn, size = 100, 20
	case "supavisor":
		p.MaxClientConn, size, p.Mode = 1000, 15, "transaction"
	default:
		return nil, 0, false
	}
	return p, size, true
}

// fields are the whole numbers of a pooler by key.
func (p *PoolerDecl) fields() map[string]*int {
	return map[string]*int{
		"instances": &p.Instances, "max_client_conn": &p.MaxClientConn,
		"max_db_connections": &p.MaxDBConnections, "max_user_connections": &p.MaxUserConnections,
	}
}

func (r *reader) pooler(e entry) *PoolerDecl {
	what := "pooler " + e.key
	entries := r.entries(e.val, what)
	kindName := "pgbouncer"
	for _, x := range entries {
		if x.key == "kind" {
			kindName, _ = r.text(x.val, what+": kind")
		}
	}
	p, size, ok := newPooler(kindName)
	if !ok {
		r.errorf(e.line, "%s: no kind %q%s", what, kindName, didYouMean(kindName, []string{"pgbouncer", "supavisor"}))
		return &PoolerDecl{Name: e.key, Line: e.line}
	}
	p.Name, p.Line = e.key, e.line
	def := Pool{Size: size}
	var pools *yaml.Node
	for _, x := range entries {
		if x.key == "pools" {
			pools = x.val
		} else {
			r.poolerKey(p, &def, x, what)
		}
	}
	r.pools(p, def, pools, what)
	if len(p.Pools) == 0 {
		r.errorf(e.line, "%s has no pools; name each as database@user: { size: %d }", what, size)
	}
	return p
}

// ownLimits are those of one database or user each that a key can give as well as
// one for all; nil of any other key.
func (p *PoolerDecl) ownLimits(key string) *map[string]int {
	switch key {
	case "max_db_connections":
		return &p.mostOfDB
	case "max_user_connections":
		return &p.mostOfUser
	}
	return nil
}

// eachOwn reads { shop: 5, log: 3 }.
func (r *reader) eachOwn(own *map[string]int, x entry, what string) {
	for _, e := range r.entries(x.val, what) {
		if n, ok := r.number(e.val, what+" of "+e.key, 0, maxClients); ok {
			*own = with(*own, e.key, n)
		}
	}
}

func (r *reader) poolerKey(p *PoolerDecl, def *Pool, x entry, what string) {
	what += ": " + x.key
	poolDefaults := map[string]*int{
		"default_pool_size": &def.Size, "reserve_pool_size": &def.Reserve, "min_pool_size": &def.Min,
	}
	field, ok := p.fields()[x.key]
	if !ok {
		field, ok = poolDefaults[x.key]
	}
	switch own := p.ownLimits(x.key); {
	case own != nil && x.val.Kind == yaml.MappingNode:
		r.eachOwn(own, x, what)
	case ok:
		lo := 0
		if x.key == "instances" || x.key == "max_client_conn" || x.key == "default_pool_size" {
			lo = 1
		}
		if n, ok := r.number(x.val, what, lo, maxClients); ok {
			*field = n
		}
	case x.key == "kind":
	case x.key == "mode":
		p.Mode, _ = r.text(x.val, what)
		if modes := []string{"session", "transaction", "statement"}; !slices.Contains(modes, p.Mode) {
			r.errorf(x.line, "%s is %q%s", what, p.Mode, didYouMean(p.Mode, modes))
		}
	case x.key == "console":
		for _, item := range list(x.val) {
			if dsn, ok := r.text(item, what); ok {
				p.Consoles = append(p.Consoles, dsn)
			}
		}
	case x.key == "match":
		p.match = r.rules(x.val, what)
	default:
		r.unknown(x, "pooler "+p.Name, poolerKeys())
	}
}

func (r *reader) pools(p *PoolerDecl, def Pool, n *yaml.Node, what string) {
	for _, e := range r.entries(n, what+": pools") {
		pool := def
		pool.Name = e.key
		at := strings.LastIndex(e.key, "@")
		if at < 1 || at == len(e.key)-1 {
			r.errorf(e.line, "%s: pool %q must be named database@user", what, e.key)
			continue
		}
		pool.Database, pool.User = e.key[:at], e.key[at+1:]
		fields := map[string]*int{"size": &pool.Size, "reserve": &pool.Reserve, "min": &pool.Min}
		for _, x := range r.entries(e.val, what+": pool "+e.key) {
			field, ok := fields[x.key]
			if !ok {
				r.unknown(x, "pool "+e.key, []string{"size", "reserve", "min"})
				continue
			}
			lo := 0
			if x.key == "size" {
				lo = 1
			}
			if v, ok := r.number(x.val, "pool "+e.key+": "+x.key, lo, maxSize); ok {
				*field = v
			}
		}
		p.Pools = append(p.Pools, pool)
	}
}

// fields are the times of a contract by key.
func (c *Contract) fields() map[string]*time.Duration {
	return map[string]*time.Duration{
		"connect_wait": &c.ConnectWait, "statement_timeout": &c.StatementTimeout, "lock_timeout": &c.LockTimeout,
		"query_timeout": &c.QueryTimeout, "client_timeout": &c.ClientTimeout,
		"idle_in_transaction": &c.IdleInTransaction, "transaction_timeout": &c.TransactionTime,
		"deadline": &c.Deadline, "pool_idle": &c.PoolIdle, "pool_lifetime": &c.PoolLifetime,
	}
}

// override takes over what o declares.
func (c *Contract) override(o Contract) {
	from := o.fields()
	for key, to := range c.fields() {
		if *from[key] > 0 {
			*to = *from[key]
		}
	}
}

func (r *reader) settings(f *File, n *yaml.Node) {
	names := []string{"default"}
	for _, role := range f.Roles {
		names = append(names, role.Name)
	}
	for _, e := range r.entries(n, "settings") {
		if !slices.Contains(names, e.key) {
			r.errorf(e.line, "settings for %q, which is no role of this file%s", e.key, didYouMean(e.key, names))
			continue
		}
		c := Contract{Role: e.key, Line: e.line}
		fields := c.fields()
		for _, x := range r.entries(e.val, "settings of "+e.key) {
			field, ok := fields[x.key]
			if !ok {
				var known []string
				for k := range fields {
					known = append(known, k)
				}
				slices.Sort(known)
				r.unknown(x, "settings of "+e.key, known)
				continue
			}
			if d, ok := r.duration(x.val, "settings of "+e.key+": "+x.key); ok {
				*field = d
			}
		}
		f.Settings = append(f.Settings, c)
	}
}

// scenarios reads the named scenarios; each must be one that Plan can take.
func (r *reader) scenarios(f *File, n *yaml.Node) {
	for _, e := range r.entries(n, "scenarios") {
		if len(f.Scenarios) == maxRoles {
			r.errorf(e.line, "more than %d scenarios", maxRoles)
			return
		}
		if e.key == "base" || e.key == "" {
			r.errorf(e.line, "a scenario cannot be named %q", e.key)
			continue
		}
		s := NamedScenario{Name: e.key, Line: e.line}
		var ops []op
		before := len(r.errs)
		for _, item := range list(e.val) {
			text, ok := r.text(item, fmt.Sprintf("an item of scenario %q", e.key))
			if !ok {
				continue
			}
			change, err := f.parseChange(text)
			if err != nil {
				r.errorf(lineOf(item), "scenario %q: %s", e.key, err)
				continue
			}
			s.Items, ops = append(s.Items, text), append(ops, change)
		}
		if len(r.errs) == before && len(ops) == 0 {
			r.errorf(e.line, "scenario %q changes nothing; write [api+1], [surge=all] or the like", e.key)
		}
		if len(r.errs) == before {
			if _, err := f.apply(ops); err != nil {
				r.errorf(e.line, "scenario %q: %s", e.key, err)
			}
		}
		f.Scenarios = append(f.Scenarios, s)
	}
}
