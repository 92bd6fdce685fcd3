package bouncer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// sums adds up the instances.
func (j *judge) sums() {
	v := j.v
	v.Processes = max(len(v.Instances), j.in.Spec.Instances)
	for k, i := range v.Instances {
		if j.in.Instances[k].Reading != nil {
			v.Read++
			v.OldS = max(v.OldS, i.OldS)
		}
		v.ClientsUsed = plus(v.ClientsUsed, i.ClientsUsed)
		v.ClientsMax = plus(v.ClientsMax, i.ClientsMax)
	}
	for i := range v.Pools {
		p := &v.Pools[i]
		v.Servers.Now += p.Servers()
		v.Servers.Active += p.Active
		v.Servers.Idle += p.Idle + p.Used + p.Tested
	}
	v.Servers.Cap = j.serverCap()
	if j.single || len(j.found) > 0 {
		v.Servers.Usable = usable(j.in.Snapshot)
	}
}

func plus(sum, n *int) *int {
	if n == nil {
		return sum
	}
	s := value(sum) + *n
	return &s
}

// serverCap is the most that the pools which exist can open on the snapshot's
// server; nil when one of them is unlimited, or none is known to be there. max_user_connections is left out,
// so it may be less.
func (j *judge) serverCap() *int {
	total, known := 0, false
	for i, in := range j.in.Instances {
		if in.Reading == nil {
			continue
		}
		for k := range in.Reading.Databases {
			d := &in.Reading.Databases[k]
			if !j.ours(i, d) {
				continue
			}
			n, limited := j.databaseCap(i, d)
			if !limited {
				return nil
			}
			total, known = total+n, true
		}
	}
	if !known {
		return nil
	}
	return &total
}

func (j *judge) databaseCap(i int, d *Database) (n int, limited bool) {
	limited = true
	for k := range j.v.Pools {
		p := &j.v.Pools[k]
		if p.Instance != i || p.Database != d.Name {
			continue
		}
		if p.Size == 0 {
			limited = false
		}
		n += p.Size + p.Reserve
	}
	if d.MaxConnections > 0 {
		if !limited {
			return d.MaxConnections, true
		}
		return min(n, d.MaxConnections), true
	}
	return n, limited
}

// Together is the findings of all poolers of a reading: those of each; of what
// hits the pools of several of them, one for each cause; and that several can open
// more connections than the server has, though each alone cannot.
func Together(views []*View) []probes.Finding {
	out := []probes.Finding{}
	var hit []stuck
	for _, v := range views {
		out = append(out, v.own...)
		hit = append(hit, v.stuck...)
	}
	out = append(out, together(hit)...)
	if f := tooManyTogether(views); f != nil {
		out = append(out, *f)
	}
	worstFirst(out)
	return out
}

func tooManyTogether(views []*View) *probes.Finding {
	var names []string
	var usable *int
	total, now := 0, 0
	for _, v := range views {
		s := v.Servers
		if s.Usable == nil || s.Cap == nil || *s.Cap > *s.Usable {
			continue // another server's, or it has a finding of its own
		}
		usable = s.Usable
		names = append(names, quoted(v.Name))
		total += *s.Cap
		now += s.Now
	}
	if len(names) < 2 || total <= *usable {
		return nil
	}
	return &probes.Finding{
		Rule: ruleServerSide, Severity: probes.Warn, Subject: strings.Join(names, ", "),
		Message:  fmt.Sprintf("the pools of %s together can open %d server connections, and the server has %d; now %d", strings.Join(names, ", "), total, *usable, now),
		Action:   "lower default_pool_size or set max_db_connections, counted over all poolers of the server",
		Evidence: map[string]any{"cap": total, "usable": *usable, "now": now, "poolers": names},
	}
}

// modes are the pool modes that are in use, "transaction" first: what a role
// through this pooler has to live with.
func (j *judge) modes(role string) []string {
	var out []string
	add := func(mode string) {
		if mode != "" && !slices.Contains(out, mode) {
			out = append(out, mode)
		}
	}
	for i := range j.v.Clients {
		c := &j.v.Clients[i]
		if c.Role != role {
			continue
		}
		add(j.mode[instancePool{c.Instance, poolKey{c.Socket.Database, c.Socket.User}}])
	}
	if len(out) > 0 {
		return out
	}
	for _, in := range j.in.Instances { // it has no client now: what its pools would be
		for _, p := range j.in.Spec.Pools {
			if in.Reading != nil {
				add(in.Reading.mode(p.Database, p.User))
			}
		}
	}
	if len(out) == 0 {
		add(j.in.Spec.Mode)
	}
	return out
}
