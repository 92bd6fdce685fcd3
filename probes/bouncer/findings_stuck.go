package bouncer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// stuck is a pool that cannot open a server.
type stuck struct {
	j     *judge
	cause string // the same for all pools that one cause hits
	pool  *PoolView
	ripe  bool // worth a finding by itself
}

// stick notes a pool that cannot open a server, and what to do about it.
func (j *judge) stick(p *PoolView, action string) {
	p.Action = action
	j.v.stuck = append(j.v.stuck, stuck{j, j.causeOf(p), p, p.ClientsWaiting == 0 || p.MaxWaitS >= noticeS})
}

// causeOf names what hits a pool. What PostgreSQL says holds for all poolers; the
// rest for those pools of one that share a server, and a login or a limit.
func (j *judge) causeOf(p *PoolView) string {
	if p.refused.why != "" {
		return p.refused.why
	}
	mine := fmt.Sprintf("%q %q ", j.v.Name, p.Cause)
	switch p.Cause {
	case DatabaseLimit:
		return mine + fmt.Sprintf("%d %q", p.Instance, p.Database)
	case UserLimit:
		return mine + fmt.Sprintf("%d %q", p.Instance, p.User)
	}
	if d := j.in.Instances[p.Instance].Reading.database(p.Database); d != nil {
		mine += fmt.Sprintf("%q %d ", d.Host, d.Port)
	}
	if p.Cause == CannotOpen && j.seen(p) && (p.Servers() > 0 || !j.pauseHidden(p.Instance)) {
		mine += fmt.Sprintf("%q", p.ServerUser) // others may log in
	}
	return mine
}

// together makes a finding for each cause.
func together(all []stuck) []probes.Finding {
	var order []string
	by := map[string][]stuck{}
	for _, s := range all {
		if by[s.cause] == nil {
			order = append(order, s.cause)
		}
		by[s.cause] = append(by[s.cause], s)
	}
	var out []probes.Finding
	for _, cause := range order {
		hit := by[cause]
		if !slices.ContainsFunc(hit, func(s stuck) bool { return s.ripe }) {
			continue
		}
		slices.SortStableFunc(hit, func(a, b stuck) int {
			return cmp.Or(cmp.Compare(b.pool.MaxWaitS, a.pool.MaxWaitS), cmp.Compare(b.pool.ClientsWaiting, a.pool.ClientsWaiting))
		})
		out = append(out, stuckFinding(hit))
	}
	return out
}

// stuckFinding is that of all pools that one cause hits, the longest wait first.
func stuckFinding(hit []stuck) probes.Finding {
	first, j := hit[0].pool, hit[0].j
	f := probes.Finding{Rule: ruleNotFull, Action: first.Action, Subject: first.Database + "@" + first.User, Evidence: j.poolEvidence(first)}
	f.Evidence["pooler"], f.Evidence["server_full"] = j.v.Name, first.refused.full
	waiting, clients := 0, 0
	var names, at, poolers []string
	for _, s := range hit {
		waiting, clients = waiting+s.pool.ClientsWaiting, clients+s.pool.Clients()
		at, poolers = addNew(at, s.j.at(s.pool.Instance)), addNew(poolers, s.j.v.Name)
	}
	for _, s := range hit {
		name := s.pool.name()
		if len(at) > 1 {
			name += " of " + s.j.at(s.pool.Instance)
		}
		names = append(names, name)
	}
	f.Evidence["pools"] = names
	who, which := first.name(), ""
	if len(hit) > 1 {
		who, which = plural(len(hit), "pool"), ": "+few(names)
		f.Subject = strings.Join(quotedAll(poolers), ", ")
		sumEvidence(f.Evidence, hit, poolers)
	}
	who += " of " + few(at)
	if waiting > 0 {
		f.Message = who + ": " + waits(waiting, first.MaxWaitS) + ": " + why(hit) + which
		return felt(f, first.MaxWaitS)
	}
	then := map[bool]string{true: "its clients get an error at once", false: "their clients get an error at once"}[len(hit) == 1]
	if clients == 0 { // thrown out, or there is none
		then = "it has no client now: who comes gets an error at once"
		if len(hit) > 1 {
			then = "they have no client now: who comes gets an error at once"
		}
	}
	f.Severity = probes.Warn
	f.Message = who + " cannot open a server: " + why(hit) + "; " + then + which
	return f
}

// why is the cause in words, of all of them.
func why(hit []stuck) string {
	first, j := hit[0].pool, hit[0].j
	switch {
	case first.refused.why != "":
		return first.refused.why
	case first.Cause == CannotOpen && len(hit) > 1:
		var users []string
		for _, s := range hit {
			users = addNew(users, s.pool.ServerUser)
		}
		return j.likely(first, users, "")
	}
	return first.Why
}

// sumEvidence gives the sums of all pools in place of the first one's figures;
// database, user and target stay those of the longest wait.
func sumEvidence(e map[string]any, hit []stuck, poolers []string) {
	var waiting, cancels, servers, active int
	roles := map[string]int{}
	for _, s := range hit {
		p := s.pool
		waiting, cancels, servers, active = waiting+p.ClientsWaiting, cancels+p.CancelsWaiting, servers+p.Servers(), active+p.Active
		for role, n := range s.j.waiters[instancePool{p.Instance, poolKey{p.Database, p.User}}] {
			roles[role] += n
		}
	}
	maps.Copy(e, map[string]any{
		"pooler": strings.Join(poolers, ", "), "clients_waiting": waiting, "cancels_waiting": cancels,
		"servers": servers, "servers_active": active, "waiting_roles": roles,
	})
	for _, ofOne := range []string{"pool_size", "reserve", "mode", "backends", "root_pids"} {
		delete(e, ofOne)
	}
}

func addNew(all []string, s string) []string {
	if slices.Contains(all, s) {
		return all
	}
	return append(all, s)
}
