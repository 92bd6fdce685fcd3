package budget

import (
	"github.com/pgsonde/pgsonde/probes"
)

// Verdict is whether a budget fits its server.
type Verdict string

// Verdicts, best first.
const (
	OK         Verdict = "ok"
	Low        Verdict = "low"          // fits, but operators find less than keep_free
	OverAtPeak Verdict = "over-at-peak" // the steady part fits, the peak does not
	Over       Verdict = "over"         // does not even fit without jobs and surge
)

// Sum is a budget added up. Counts are server connections. It marshals to the
// document of `pgsonde budget check`.
type Sum struct {
	Scenario string  `json:"scenario"`
	Usable   int     `json:"usable"`
	KeepFree int     `json:"keep_free"`
	Kept     int     `json:"kept"`   // stays open: steady roles and pools when warm
	Steady   int     `json:"steady"` // caps of all that always runs
	Jobs     int     `json:"jobs"`
	Surge    int     `json:"surge"`
	Peak     int     `json:"peak"`   // steady + jobs + surge
	Left     int     `json:"left"`   // usable − peak; may be negative
	Manual   int     `json:"manual"` // listed, in no sum
	Verdict  Verdict `json:"verdict"`
	// Fit is how many replicas of a role fit beside everything else; of a role
	// that declares processes but no replicas, as "ROLE.processes".
	Fit      map[string]int   `json:"fit"`
	Roles    []RoleSum        `json:"roles"`
	Poolers  []PoolerSum      `json:"poolers"`
	Findings []probes.Finding `json:"findings"`
	// Cures are changes each of which alone makes it fit, cheapest first; none
	// when it fits. Where no single one does, the first says so.
	Cures []string `json:"cures"`

	MaxConnections int `json:"max_connections"`
}

// RoleSum is one role's part. Kept and Cap are of all its replicas and
// processes (of a job: of all that run at once).
type RoleSum struct {
	Role       string `json:"role"`
	Kind       string `json:"kind"`
	Runs       Runs   `json:"runs"`
	Via        string `json:"via,omitempty"` // then its caps are the pooler's clients
	Group      string `json:"group,omitempty"`
	Processes  int    `json:"processes"`
	Replicas   int    `json:"replicas"`
	PerProcess int    `json:"per_process"` // cap and extras of one process
	Kept       int    `json:"kept"`
	Cap        int    `json:"cap"`
	Surge      int    `json:"surge"`    // extra connections of one deploy of this role
	InSurge    bool   `json:"in_surge"` // the scenario deploys it
	PerReplica int    `json:"replica"`  // what one more replica costs
	keptPer    int    // kept of one process
	extras     int    // of one process
}

// PoolerSum is a pooler's part: its server side, and its clients against what
// it lets in.
type PoolerSum struct {
	Pooler      string `json:"pooler"`
	Kept        int    `json:"kept"`
	Cap         int    `json:"cap"` // server side
	Clients     int    `json:"clients"`
	MaxClients  int    `json:"max_clients"` // of all instances
	ClientsOver bool   `json:"clients_over"`
	Instances   int    `json:"instances"`
	Mode        string `json:"mode"` // session, transaction, statement
}

// Plan adds up the budget as the scenario changes it. The error says which
// change cannot be made; f must not be nil.
func Plan(f *File, sc Scenario) (*Sum, error) {
	p, err := f.apply(sc.ops)
	if err != nil {
		return nil, &FileError{Msg: err.Error()}
	}
	s := p.sum()
	if s.Scenario = sc.Name; s.Scenario == "" {
		s.Scenario = "base"
	}
	s.Fit, s.Cures = p.fits(), p.cures(s)
	s.Findings = append(planFindings(p, s), lintFindings(f, p)...)
	if sc.asked {
		s.Findings = append(s.Findings, withoutEffect(f, s)...)
	}
	sortFindings(s.Findings)
	return s, nil
}

// sum adds up a plan:
//
//	per process = cap of the kind + Σ extra
//	steady = Σ roles that always run, not via a pooler + Σ poolers' server side
//	jobs   = Σ ungrouped jobs × concurrency + Σ groups max(member × concurrency)
//	surge  = Σ per process × processes × surge replicas of the deployed roles
//	usable = max_connections − superuser_reserved − reserved − provider_reserved
func (p *plan) sum() *Sum {
	s := &Sum{
		Usable: p.server.usable(), MaxConnections: p.server.MaxConnections, KeepFree: p.keepFree,
		Roles: []RoleSum{}, Poolers: []PoolerSum{}, Findings: []probes.Finding{}, Cures: []string{}, // [] in JSON, not null
	}
	direct, clients := tally{}, map[string]*tally{}
	for _, b := range p.poolers {
		clients[b.Name] = &tally{}
	}
	for _, r := range p.roles {
		rs := p.roleSum(r)
		s.Roles = append(s.Roles, rs)
		t := &direct
		if rs.Via != "" {
			t = clients[rs.Via]
		}
		t.add(rs)
	}
	for _, b := range p.poolers {
		ps := b.sum()
		ps.Clients = clients[b.Name].peak()
		ps.ClientsOver = ps.Clients > ps.MaxClients
		s.Poolers = append(s.Poolers, ps)
		direct.kept, direct.steady = add(direct.kept, ps.Kept), add(direct.steady, ps.Cap)
	}
	s.Kept, s.Steady, s.Jobs, s.Surge = direct.kept, direct.steady, direct.allJobs(), direct.surge
	s.Manual, s.Peak = direct.manual, direct.peak()
	s.Left = s.Usable - s.Peak
	s.Verdict = verdict(s)
	return s
}

func verdict(s *Sum) Verdict {
	switch {
	case s.Steady > s.Usable:
		return Over
	case s.Peak > s.Usable:
		return OverAtPeak
	case s.Peak+s.KeepFree > s.Usable:
		return Low
	}
	return OK
}

// tally adds up what connects to one place: the server, or one pooler.
type tally struct {
	kept, steady, jobs, surge, manual int
	groups                            map[string]int
}

func (t *tally) add(r RoleSum) {
	switch r.Runs {
	case RunsAlways:
		t.kept, t.steady = add(t.kept, r.Kept), add(t.steady, r.Cap)
		if r.InSurge {
			t.surge = add(t.surge, r.Surge)
		}
	case RunsManual:
		t.manual = add(t.manual, r.Cap)
	case RunsJob:
		if r.Group == "" {
			t.jobs = add(t.jobs, r.Cap)
			return
		}
		if t.groups == nil {
			t.groups = map[string]int{}
		}
		t.groups[r.Group] = max(t.groups[r.Group], r.Cap)
	}
}

func (t *tally) allJobs() int {
	n := t.jobs
	for _, g := range t.groups {
		n = add(n, g)
	}
	return n
}

func (t *tally) peak() int { return add(t.steady, t.allJobs(), t.surge) }

// roleSum works out one role. Parse and apply have checked its sizes.
func (p *plan) roleSum(r *Role) RoleSum {
	kept, limit, _ := r.kind.sizes(r.Params)
	s := RoleSum{
		Role: r.Name, Kind: r.Kind, Runs: r.Runs, Via: r.Via, Group: r.Group,
		Processes: r.Processes, Replicas: r.Replicas,
	}
	for _, e := range r.Extra {
		s.extras = add(s.extras, e.N)
	}
	s.PerProcess, s.keptPer = add(limit, s.extras), add(kept, s.extras)
	s.PerReplica = mul(s.PerProcess, s.Processes)
	copies := s.Replicas
	if !r.ownsConcurrency() { // 1 unless it is a job, or started by hand
		copies = mul(copies, r.Concurrency)
	}
	s.Kept, s.Cap = mul(s.keptPer, s.Processes, copies), mul(s.PerReplica, copies)
	if r.Runs == RunsAlways {
		s.Surge = mul(s.PerReplica, r.Surge.replicas(s.Replicas))
		s.InSurge = p.surge[r.Name]
	}
	return s
}

// ownsConcurrency: the kind has a parameter of that name (Sidekiq, Celery),
// which the key then means; such a job counts once for each replica.
func (r *Role) ownsConcurrency() bool {
	_, ok := r.kind.param("concurrency")
	return ok
}

// sum works out a pooler's server side: for each instance the pools' sizes and
// reserves, of one database at most max_db_connections and of one user at most
// max_user_connections. Where both limits cut, the smaller of the two sums is
// an upper bound, which is what a budget needs.
func (b *PoolerDecl) sum() PoolerSum {
	s := PoolerSum{
		Pooler: b.Name, Instances: b.Instances, Mode: b.Mode, MaxClients: mul(b.MaxClientConn, b.Instances),
		Kept: mul(b.cut(func(p Pool) int { return p.Min }), b.Instances),
		Cap:  mul(b.cut(func(p Pool) int { return add(p.Size, p.Reserve) }), b.Instances),
	}
	s.Kept = min(s.Kept, s.Cap)
	return s
}

func (b *PoolerDecl) cut(size func(Pool) int) int {
	ofDB := func(name string) int { return limitOf(b.mostOfDB, name, b.MaxDBConnections) }
	ofUser := func(name string) int { return limitOf(b.mostOfUser, name, b.MaxUserConnections) }
	byDB, byUser := map[string]int{}, map[string]int{}
	for _, p := range b.Pools {
		n := within(within(size(p), ofDB(p.Database)), ofUser(p.User))
		byDB[p.Database], byUser[p.User] = add(byDB[p.Database], n), add(byUser[p.User], n)
	}
	return min(sumCut(byDB, ofDB), sumCut(byUser, ofUser))
}

// limitOf is a name's own limit where it is told, else that of all.
func limitOf(told map[string]int, name string, all int) int {
	if n, ok := told[name]; ok {
		return n
	}
	return all
}

// within is n within a limit; 0 is no limit.
func within(n, limit int) int {
	if limit > 0 {
		return min(n, limit)
	}
	return n
}

// sumCut adds up with each within its limit.
func sumCut(ns map[string]int, limit func(string) int) int {
	out := 0
	for name, n := range ns {
		out = add(out, within(n, limit(name)))
	}
	return out
}

// fits says for each role that always runs on the server how many replicas
// would leave keep_free. A role that declares several processes and no replicas
// is counted in processes.
func (p *plan) fits() map[string]int {
	out := map[string]int{}
	for _, r := range p.roles {
		if r.Runs != RunsAlways || r.Via != "" {
			continue
		}
		key, field := r.Name, &r.Replicas
		if !r.replicasGiven && r.Processes > 1 {
			key, field = r.Name+".processes", &r.Processes
		}
		out[key] = p.largest(r, field)
	}
	return out
}

// largest is the largest value of a size of role r, its replicas or processes,
// that still fits, at least 0. The sum is monotone in every size.
func (p *plan) largest(r *Role, size *int) int {
	declared := *size
	defer func() { *size = declared }()
	*size = 0
	rest := p.sum()
	lo, hi := 0, maxSize+1 // lo fits or is 0, hi does not
	for hi-lo > 1 {
		*size = (lo + hi) / 2
		mine := p.roleSum(r)
		if mine.InSurge {
			mine.Cap = add(mine.Cap, mine.Surge)
		}
		if add(rest.Peak, mine.Cap, rest.KeepFree) <= rest.Usable {
			lo = *size
		} else {
			hi = *size
		}
	}
	return lo
}
