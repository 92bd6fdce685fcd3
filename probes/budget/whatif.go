package budget

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// Size is a number of the budget that may be changed to see what follows.
type Size struct {
	Name  string // replicas, processes, a parameter of the pool's kind; of a pooler instances, DATABASE@USER.size
	Value int    // as declared, or the default
	Least int    // the smallest value that makes sense
}

// Change gives a size of a role or pooler another value.
type Change struct {
	Owner, Size string
	Value       int
}

// RoleSizes are the sizes of a declared role, replicas first, then those of its
// pool, then the processes; nil when there is no such role.
func (f *File) RoleSizes(role string) []Size {
	r := f.Role(role)
	if r == nil {
		return nil
	}
	out := []Size{{"replicas", r.Replicas, 0}}
	for _, p := range r.kind.params {
		v, given := r.Params[p.name]
		if !given {
			v = p.def
		}
		if p.flag || v < 0 && !given || !given && p.name == "min" {
			continue // on or off, or "as much as the other one"
		}
		out = append(out, Size{p.name, v, max(0, p.lo)})
	}
	return append(out, Size{"processes", r.Processes, 1})
}

// PoolerSizes are the sizes of a declared pooler.
func (f *File) PoolerSizes(pooler string) []Size {
	p := f.Pooler(pooler)
	if p == nil {
		return nil
	}
	out := []Size{{"instances", p.Instances, 1}}
	for _, q := range p.Pools {
		out = append(out, Size{q.Name + ".size", q.Size, 1})
	}
	return append(out, Size{"max_client_conn", p.MaxClientConn, 1})
}

// WhatIf adds up the budget with other sizes, at the limits of a live server
// when lim has some. surge names the roles that are being deployed. The error
// says which change cannot be made.
func WhatIf(f *File, lim probes.Limits, changes []Change, surge []string) (*Sum, error) {
	var ops []op
	var names []string
	for _, c := range changes {
		ops = append(ops, func(p *plan) error { return p.change(c) })
		names = append(names, fmt.Sprintf("%s.%s=%d", c.Owner, c.Size, c.Value))
	}
	ops = append(ops, func(p *plan) error {
		p.live(lim)
		for _, name := range surge {
			p.surge[name] = true
		}
		return nil
	})
	for _, name := range surge {
		names = append(names, "surge="+name)
	}
	return Plan(f, Scenario{Name: strings.Join(names, ","), ops: ops})
}

func (p *plan) change(c Change) error {
	value := strconv.Itoa(c.Value)
	if i := slices.IndexFunc(p.roles, func(r *Role) bool { return r.Name == c.Owner }); i >= 0 {
		return p.roles[i].set(c.Size, value)
	}
	if i := slices.IndexFunc(p.poolers, func(b *PoolerDecl) bool { return b.Name == c.Owner }); i >= 0 {
		return p.poolers[i].set(c.Size, value)
	}
	return fmt.Errorf("neither a role nor a pooler is named %q", c.Owner)
}

// live takes a server's own limits.
func (p *plan) live(lim probes.Limits) {
	if lim.MaxConnections > 0 {
		p.server, _ = p.server.onServer(lim)
	}
}

// NeedsSession says what session state a role of the file asks for: LISTEN, and
// session advisory locks.
func (r *Role) NeedsSession() (listen, advisory bool) {
	for _, e := range r.Extra {
		listen = listen || e.N > 0 && slices.Contains([]string{"listen", "notifications", "notify"}, e.Name)
	}
	return listen, slices.Contains(r.Expect, "advisory")
}

// ClientRole names the role of a pooler's client. A name that only says which
// pooler it is gives none.
func (f *File) ClientRole(app, user, db, addr string) string {
	m := f.Match(Who{App: app, User: user, Database: db, Addr: addr})
	if m.Origin == Pooler {
		return roleUnmatched
	}
	return m.Role
}
