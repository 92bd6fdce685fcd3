package budget

import (
	"fmt"
	"slices"
	"strings"
)

// cure is the cheapest of the changes that would make a sum fit, in one line.
// max_connections is never one of them, and never named without its price.
func cure(ways []string) string {
	return strings.Join(ways[:min(3, len(ways))], ", or ") + "; " + raisePrice
}

// fitsAll: operators find keep_free at the peak too.
func (p *plan) fitsAll() bool {
	s := p.sum()
	return add(s.Peak, s.KeepFree) <= s.Usable
}

// cures lists changes each of which alone makes the sum fit: fewer copies of the
// role that takes most, smaller sizes of its pool, jobs one at a time, no surge,
// a pooler in front of it. Where none does, it says by how much all must shrink.
func (p *plan) cures(s *Sum) []string {
	ways := []string{}
	if s.Verdict == OK {
		return ways
	}
	i, part := p.largestRole(s)
	if k := largestPooler(s); k >= 0 && s.Poolers[k].Cap > part {
		ways = p.smallerPooler(p.poolers[k])
	}
	if i >= 0 {
		ways = append(ways, p.smaller(p.roles[i])...)
	}
	if way := p.oneJobAtATime(); way != "" {
		ways = append(ways, way)
	}
	if way := p.withoutSurge(); way != "" {
		ways = append(ways, way)
	}
	if i >= 0 {
		if way := p.pooled(p.roles[i], s.Roles[i]); way != "" {
			ways = append(ways, way)
		}
	}
	if len(ways) == 0 {
		ways = []string{fmt.Sprintf("smaller pools or fewer copies of several roles, together %s fewer",
			plural(s.Peak+s.KeepFree-s.Usable, "connection"))}
		if len(p.poolers) == 0 {
			ways = append(ways, "a pooler in front of them")
		}
	}
	return ways
}

// largestRole is the index of the role with the largest part of the peak, and the
// part; -1 none.
func (p *plan) largestRole(s *Sum) (at, best int) {
	at = -1
	for i, r := range s.Roles {
		part := r.Cap
		if r.InSurge {
			part = add(part, r.Surge)
		}
		if r.Via == "" && (r.Runs == RunsAlways || r.Runs == RunsJob) && part > best {
			best, at = part, i
		}
	}
	return at, best
}

// largestPooler is the index of the pooler with the largest server side; -1 none.
func largestPooler(s *Sum) int {
	at := -1
	for i, b := range s.Poolers {
		if at < 0 || b.Cap > s.Poolers[at].Cap {
			at = i
		}
	}
	return at
}

// smallerPooler lists the sizes of a pooler that, made smaller, make all fit.
func (p *plan) smallerPooler(b *PoolerDecl) []string {
	var out []string
	part := func() int { return b.sum().Cap }
	largest := &b.Pools[0] // Parse sees to it that there is one
	for i := range b.Pools {
		if q := &b.Pools[i]; q.Size > largest.Size {
			largest = q
		}
	}
	if n := p.most(part, &largest.Size, 1, nil); n > 0 {
		out = append(out, fmt.Sprintf("size of %s of %s at most %d (now %d)", largest.Name, b.Name, n, largest.Size))
	}
	if n := p.most(part, &b.Instances, 1, nil); n > 0 {
		out = append(out, fmt.Sprintf("at most %s of %s (now %d)", number(n, "instance", "instances"), b.Name, b.Instances))
	}
	return out
}

// smaller lists the sizes of a role that, made smaller, make all fit: the most
// each may be.
func (p *plan) smaller(r *Role) []string {
	var out []string
	part := func() int { return p.roleSum(r).Cap }
	counted := func(size *int, one, many string) {
		if n := p.most(part, size, 1, nil); n > 0 {
			out = append(out, fmt.Sprintf("at most %s of %s (now %d)", number(n, one, many), r.Name, *size))
		}
	}
	counted(&r.Processes, "process", "processes")
	counted(&r.Replicas, "replica", "replicas")
	if r.Runs == RunsJob && !r.ownsConcurrency() {
		counted(&r.Concurrency, "run at once", "runs at once")
	}
	for _, prm := range burstFirst(r.kind.params) {
		now, given := r.Params[prm.name]
		if !given {
			now = prm.def
		}
		if prm.flag || now < 0 || prm.name == "cpus" {
			continue
		}
		try := now
		n := p.most(part, &try, prm.lo, func() { r.Params[prm.name] = try })
		if delete(r.Params, prm.name); given {
			r.Params[prm.name] = now
		}
		if n >= 0 {
			out = append(out, fmt.Sprintf("%s of %s at most %d (now %d)", prm.name, r.Name, n, now))
		}
	}
	return out
}

// burstFirst puts what is open in bursts only before what is kept.
func burstFirst(params []param) []param {
	burst := func(p param) int {
		if p.name == "max_overflow" {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(params), func(a, b param) int { return burst(a) - burst(b) })
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// leastPart: a change that leaves a role less than a third of what it has is no
// cure anybody would choose.
const leastPart = 3

// most is the largest value below the present one, at least lo, of a size with
// which all fits; -1 when there is none. part is what its owner takes, set is told
// of each value that is tried. The sum is monotone in every size.
func (p *plan) most(part func() int, size *int, lo int, set func()) int {
	was, before := *size, part()
	defer func() { *size = was }()
	// Sizes that are too small for another of the same pool (a max below its min)
	// are impossible: those count as fitting until the search is over.
	try := func(n int) bool {
		*size = n
		if set != nil {
			set()
		}
		return !p.possible() || p.fitsAll()
	}
	if lo >= was || !try(lo) {
		return -1
	}
	hi := was // does not fit
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; try(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	if try(lo); !p.possible() || mul(part(), leastPart) < before {
		return -1
	}
	return lo
}

// possible: every pool's sizes go together.
func (p *plan) possible() bool {
	return !slices.ContainsFunc(p.roles, func(r *Role) bool {
		_, _, err := r.kind.sizes(r.Params)
		return err != nil
	})
}

// oneJobAtATime says what jobs that may overlap would take in a group.
func (p *plan) oneJobAtATime() string {
	was := make([]string, len(p.roles))
	jobs := 0
	for i, r := range p.roles {
		if was[i] = r.Group; r.Runs == RunsJob {
			jobs++
			r.Group = "one at a time"
		}
	}
	fits, now := p.fitsAll(), p.sum().Jobs
	for i, r := range p.roles {
		r.Group = was[i]
	}
	if before := p.sum().Jobs; jobs > 1 && fits && now < before {
		return fmt.Sprintf("the jobs one at a time (group), %d in place of %d", now, before)
	}
	return ""
}

// withoutSurge: deploys that stop a copy before they start one.
func (p *plan) withoutSurge() string {
	surge := p.surge
	p.surge = map[string]bool{}
	fits := p.fitsAll()
	if p.surge = surge; fits && p.sum().Surge > 0 {
		return "deploys that stop before they start (surge: 0)"
	}
	return ""
}

// bouncerPool is PgBouncer's default_pool_size.
const bouncerPool = 20

// pooled: the role behind a pooler of the file, or behind one that PgBouncer's
// defaults give it.
func (p *plan) pooled(r *Role, rs RoleSum) string {
	via, cost := "", bouncerPool
	if len(p.poolers) > 0 {
		via, cost = p.poolers[0].Name, 0 // which is in the sum already
	}
	part := rs.Cap
	if rs.InSurge {
		part = add(part, rs.Surge)
	}
	s := p.sumWithout(r)
	if add(s.Peak, cost, s.KeepFree) > s.Usable || cost >= part {
		return ""
	}
	if via != "" {
		return fmt.Sprintf("%s through %s", r.Name, via)
	}
	return fmt.Sprintf("a pooler in front of %s, %d server connections in place of %d", r.Name, cost, part)
}

// sumWithout is the sum without one role.
func (p *plan) sumWithout(r *Role) *Sum {
	runs := r.Runs
	r.Runs = RunsOff
	defer func() { r.Runs = runs }()
	return p.sum()
}
