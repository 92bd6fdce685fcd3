package budget

import (
	"maps"
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

// live is the file with what the poolers' consoles say in place of what it says
// of them: sizes of the pools, clients of a process, the mode. The file itself is
// not changed.
func (f *File) live(poolers []probes.Pooler) *File {
	if f == nil || !slices.ContainsFunc(poolers, func(x probes.Pooler) bool { return f.Pooler(x.Name) != nil }) {
		return f
	}
	out := *f
	out.Poolers = nil
	for _, p := range f.Poolers {
		c := *p
		c.Pools = slices.Clone(p.Pools)
		c.mostOfDB, c.mostOfUser = maps.Clone(p.mostOfDB), maps.Clone(p.mostOfUser)
		for i := range poolers {
			if poolers[i].Name == p.Name {
				c.learn(&poolers[i])
			}
		}
		out.Poolers = append(out.Poolers, &c)
	}
	return &out
}

// with is a map, made when there is none yet, with one more in it.
func with(m map[string]int, key string, n int) map[string]int {
	if m == nil {
		m = map[string]int{}
	}
	m[key] = n
	return m
}

// learn takes what a pooler's consoles say.
func (p *PoolerDecl) learn(x *probes.Pooler) {
	if x.MaxClients != nil {
		p.MaxClientConn = min(*x.MaxClients, maxClients)
	}
	modes := map[string]bool{}
	for i := range p.Pools {
		k := slices.IndexFunc(x.Pools, func(q probes.PoolerPool) bool {
			return q.Database == p.Pools[i].Database && q.User == p.Pools[i].User
		})
		if k < 0 {
			modes[p.Mode] = true
			continue
		}
		q := &x.Pools[k]
		if q.Size > 0 {
			p.Pools[i].Size, p.Pools[i].Reserve = min(q.Size, maxSize), min(q.Reserve, maxSize)
			p.Pools[i].Min = min(p.Pools[i].Min, p.Pools[i].Size)
		}
		if q.MostOfDatabase != nil {
			p.mostOfDB = with(p.mostOfDB, q.Database, *q.MostOfDatabase)
		}
		if q.MostOfUser != nil {
			p.mostOfUser = with(p.mostOfUser, q.User, *q.MostOfUser)
		}
		modes[q.Mode] = true
	}
	if len(modes) == 1 { // else the file's stands for what cannot be said in one word
		for mode := range modes {
			if mode != "" {
				p.Mode = mode
			}
		}
	}
}
