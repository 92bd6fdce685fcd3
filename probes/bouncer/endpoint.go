package bouncer

import (
	"fmt"
	"strings"
)

// endpoint is a PostgreSQL server as one instance names it.
type endpoint struct {
	instance int
	host     string
	port     int
}

// endpoints looks which servers the pools are on: single when each instance knows
// one only, which then is the snapshot's. Else it is found by its backends (join)
// or by its name.
func (j *judge) endpoints() {
	j.single = true
	for i, in := range j.in.Instances {
		if in.Reading == nil {
			continue
		}
		seen := map[endpoint]bool{}
		for _, p := range in.Reading.Pools {
			d := in.Reading.database(p.Database)
			if d == nil {
				continue
			}
			at := endpoint{i, d.Host, d.Port}
			seen[at] = true
			if d.Host != "" && strings.HasPrefix(j.target, fmt.Sprintf("%s:%d/", d.Host, d.Port)) {
				j.found[at] = true
			}
		}
		j.single = j.single && len(seen) < 2
	}
}

// ours says that a database of an instance is known to be on the snapshot's
// server. What that server has or refuses says nothing of the others.
func (j *judge) ours(i int, d *Database) bool {
	return j.single || d != nil && j.found[endpoint{i, d.Host, d.Port}]
}

// seen says that the snapshot shows the server of a pool as it is now.
func (j *judge) seen(v *PoolView) bool {
	return j.in.Snapshot != nil && j.in.ServerErr == nil && j.ours(v.Instance, j.in.Instances[v.Instance].Reading.database(v.Database))
}
