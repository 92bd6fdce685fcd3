package budget

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Scenario is a change to a budget: what if. The zero value is the base.
type Scenario struct {
	Name  string // "base", or the items that make it
	ops   []op
	asked bool // by ParseScenario, and it is not the base
}

// op is one change. It returns the complaint of a person who tried it.
type op func(p *plan) error

// plan is the budget that ops change: copies, never the File's own values.
type plan struct {
	server   ServerDecl
	keepFree int
	roles    []*Role
	poolers  []*PoolerDecl
	surge    map[string]bool
}

// ParseScenario reads scenario items: api+1, api=3, metrics=on, web.pool_size=10,
// pgb.instances=2, server.max_connections=80, surge=api, surge=all, or the name
// of a scenario of the file; several in one argument are separated by commas,
// and all of them apply together, in order. "base" is no change.
func ParseScenario(f *File, args []string) (Scenario, error) {
	if f == nil {
		f = &File{}
	}
	s := Scenario{Name: "base"}
	var names []string
	for _, arg := range args {
		ops, err := f.parseArg(arg)
		if err != nil {
			return Scenario{}, &FileError{Msg: err.Error()}
		}
		if len(ops) > 0 {
			names = append(names, strings.TrimSpace(arg))
		}
		s.ops = append(s.ops, ops...)
	}
	if len(names) > 0 {
		s.Name, s.asked = strings.Join(names, ","), true
	}
	if _, err := f.apply(s.ops); err != nil {
		return Scenario{}, &FileError{Msg: err.Error()}
	}
	return s, nil
}

// parseArg tries the whole argument as a name first: names may have commas.
func (f *File) parseArg(arg string) ([]op, error) {
	if ops, ok, err := f.named(arg); ok {
		return ops, err
	}
	var out []op
	for item := range strings.SplitSeq(arg, ",") {
		ops, err := f.parseItem(item)
		if err != nil {
			return nil, err
		}
		out = append(out, ops...)
	}
	return out, nil
}

// named looks a scenario of the file up.
func (f *File) named(name string) (ops []op, ok bool, err error) {
	name = strings.TrimSpace(name)
	for _, s := range f.Scenarios {
		if s.Name != name {
			continue
		}
		for _, item := range s.Items {
			one, err := f.parseChange(item)
			if err != nil {
				return nil, true, err
			}
			ops = append(ops, one)
		}
		return ops, true, nil
	}
	return nil, name == "base", nil
}

// parseItem reads one item: a change, or the name of a scenario.
func (f *File) parseItem(item string) ([]op, error) {
	if ops, ok, err := f.named(item); ok {
		return ops, err
	}
	one, err := f.parseChange(item)
	return []op{one}, err
}

var steps = regexp.MustCompile(`^(.+)([+-])(\d+)$`)

// parseChange reads a change.
func (f *File) parseChange(item string) (op, error) {
	item = strings.TrimSpace(item)
	if key, value, ok := strings.Cut(item, "="); ok {
		return f.parseAssignment(strings.TrimSpace(key), strings.TrimSpace(value))
	}
	if m := steps.FindStringSubmatch(item); m != nil {
		n, err := wholeNumber(m[3], item, 0, maxSize)
		if err != nil {
			return nil, err
		}
		if m[2] == "-" {
			n = -n
		}
		return f.replicasOp(m[1], item, func(now int) int { return now + n })
	}
	var names []string
	for _, s := range f.Scenarios {
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("%q is no scenario of this file and no change like api+1, api=2 or api.pool=10%s", item, didYouMean(item, names))
}

func (f *File) parseAssignment(key, value string) (op, error) {
	switch key {
	case "surge":
		return f.surgeOp(value)
	case "keep_free":
		n, err := wholeNumber(value, key, 0, maxSize)
		return func(p *plan) error { p.keepFree = n; return nil }, err
	}
	if f.Role(key) == nil {
		for i := range key {
			if key[i] != '.' {
				continue
			}
			if set := f.ownerOp(key[:i], key[i+1:], value); set != nil {
				return set, nil
			}
		}
	}
	if on, ok := truth(value); ok {
		return f.switchOp(key, on)
	}
	n, err := wholeNumber(value, key, 0, maxSize)
	if err != nil {
		return nil, err
	}
	return f.replicasOp(key, key+"="+value, func(int) int { return n })
}

func (f *File) roleNames() []string {
	var out []string
	for _, r := range f.Roles {
		out = append(out, r.Name)
	}
	return out
}

func (f *File) noRole(name string) error {
	return fmt.Errorf("no role %q in this file%s", name, didYouMean(name, f.roleNames()))
}

func (f *File) surgeOp(name string) (op, error) {
	role := f.Role(name)
	switch {
	case name == "all":
		return func(p *plan) error {
			for _, r := range p.roles {
				p.surge[r.Name] = true
			}
			return nil
		}, nil
	case role == nil:
		return nil, f.noRole(name)
	case role.Runs == RunsJob || role.Runs == RunsManual:
		return nil, fmt.Errorf("surge=%s: %s runs as a %s; a surge is of roles that always run", name, name, role.Runs)
	}
	return func(p *plan) error { p.surge[name] = true; return nil }, nil
}

func (f *File) switchOp(name string, on bool) (op, error) {
	if f.Role(name) == nil {
		return nil, f.noRole(name)
	}
	return func(p *plan) error {
		r := p.role(name)
		switch {
		case !on:
			r.Runs = RunsOff
		case r.Runs == RunsOff && (r.Group != "" || r.atOnce):
			r.Runs = RunsJob // only a job has them
		case r.Runs == RunsOff || r.Runs == RunsManual:
			r.Runs = RunsAlways
		}
		return nil
	}, nil
}

func (f *File) replicasOp(name, item string, change func(now int) int) (op, error) {
	if f.Role(name) == nil {
		return nil, f.noRole(name)
	}
	return func(p *plan) error {
		r := p.role(name)
		n := change(r.Replicas)
		if n < 0 {
			return fmt.Errorf("%s leaves %d replicas of %s", item, n, name)
		}
		r.Replicas, r.replicasGiven = n, true
		return nil
	}, nil
}

// ownerOp is the change of owner.key, nil when there is no such owner.
func (f *File) ownerOp(owner, key, value string) op {
	switch {
	case f.Role(owner) != nil:
		return func(p *plan) error { return p.role(owner).set(key, value) }
	case f.Pooler(owner) != nil:
		return func(p *plan) error { return p.pooler(owner).set(key, value) }
	case owner == "server":
		return func(p *plan) error { return p.server.set(key, value) }
	}
	return nil
}

func (p *plan) role(name string) *Role {
	return p.roles[slices.IndexFunc(p.roles, func(r *Role) bool { return r.Name == name })]
}

func (p *plan) pooler(name string) *PoolerDecl {
	return p.poolers[slices.IndexFunc(p.poolers, func(r *PoolerDecl) bool { return r.Name == name })]
}

// apply makes the changed budget.
func (f *File) apply(ops []op) (*plan, error) {
	p := &plan{server: f.Server, keepFree: f.KeepFree, surge: map[string]bool{}}
	p.server.declared = maps.Clone(f.Server.declared)
	for _, r := range f.Roles {
		c := *r
		c.Params, c.Extra = maps.Clone(r.Params), slices.Clone(r.Extra)
		p.roles = append(p.roles, &c)
	}
	for _, b := range f.Poolers {
		c := *b
		c.Pools = slices.Clone(b.Pools)
		p.poolers = append(p.poolers, &c)
	}
	for _, change := range ops {
		if err := change(p); err != nil {
			return nil, err
		}
	}
	for _, r := range p.roles {
		if _, _, err := r.kind.sizes(r.Params); err != nil {
			return nil, fmt.Errorf("role %s: %w", r.Name, err)
		}
	}
	if p.server.usable() < 0 {
		return nil, fmt.Errorf("server keeps more slots than its max_connections %d", p.server.MaxConnections)
	}
	return p, nil
}

// set changes a size of a role.
func (r *Role) set(key, value string) error {
	what := r.Name + "." + key
	if p, ok := r.kind.param(key); ok {
		v, err := r.kind.parse(p, what, value)
		if err != nil {
			return err
		}
		r.Params[p.name] = v
		return nil
	}
	if key == "surge" {
		s, err := parseSurge(value, what)
		r.Surge = s
		return cmp.Or(err, r.idleChange(what))
	}
	if name, ok := strings.CutPrefix(key, "extra."); ok {
		n, err := wholeNumber(value, what, 0, maxSize)
		i := slices.IndexFunc(r.Extra, func(e Extra) bool { return e.Name == name })
		if i < 0 {
			r.Extra, i = append(r.Extra, Extra{Name: name}), len(r.Extra)
		}
		r.Extra[i].N = n
		return err
	}
	field, lo := (*int)(nil), 1
	switch key {
	case "processes":
		field = &r.Processes
	case "replicas":
		field, lo, r.replicasGiven = &r.Replicas, 0, true
	case "concurrency":
		field, r.atOnce = &r.Concurrency, true
	default:
		known := append(r.kind.paramNames(), "processes", "replicas", "concurrency", "surge")
		return fmt.Errorf("role %s of kind %s has no size %q%s", r.Name, r.Kind, key, didYouMean(key, known))
	}
	n, err := wholeNumber(value, what, lo, maxSize)
	*field = n
	return cmp.Or(err, r.idleChange(what))
}

// idleChange: what was set can have no effect on how the role runs.
func (r *Role) idleChange(what string) error {
	if idle := r.idleKeys(); len(idle) > 0 {
		return fmt.Errorf("%s: %s runs %s; %s", what, r.Name, r.Runs, idle[0])
	}
	return nil
}

// set changes a size of a pooler: its own, or POOL.size, .reserve, .min.
func (p *PoolerDecl) set(key, value string) error {
	what := p.Name + "." + key
	field, lo := p.fields()[key], 0
	if field == nil {
		if at := strings.LastIndex(key, "."); at > 0 {
			i := slices.IndexFunc(p.Pools, func(q Pool) bool { return q.Name == key[:at] })
			if i >= 0 {
				field = map[string]*int{"size": &p.Pools[i].Size, "reserve": &p.Pools[i].Reserve, "min": &p.Pools[i].Min}[key[at+1:]]
			}
		}
	}
	if field == nil {
		return fmt.Errorf("pooler %s has no size %q%s", p.Name, key, didYouMean(key, slices.Sorted(maps.Keys(p.fields()))))
	}
	if key == "instances" || key == "max_client_conn" {
		lo = 1
	}
	n, err := wholeNumber(value, what, lo, maxClients)
	*field = n
	return err
}

// set changes a figure of the server.
func (s *ServerDecl) set(key, value string) error {
	field := s.fields()[key]
	if field == nil {
		return fmt.Errorf("server has no %q%s", key, didYouMean(key, s.names()))
	}
	n, err := wholeNumber(value, "server."+key, 0, maxSize)
	*field, s.declared[key] = n, n
	return err
}

// String is the surge as the file writes it.
func (s Surge) String() string {
	if s.Percent {
		return strconv.Itoa(s.N) + "%"
	}
	return strconv.Itoa(s.N)
}
