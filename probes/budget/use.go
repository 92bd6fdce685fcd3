package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// live is a Usage in the making, with what the checks need besides.
type live struct {
	f    *File
	s    *probes.Snapshot
	u    *Usage
	plan *plan // the base, with the live server's limits; nil without a file
	rows []*liveRow
	// poolers are what consoles said; rowsOf the snapshot's sessions by group.
	poolers []probes.Pooler
	rowsOf  map[groupKey][]*probes.Session
	// walsenders are counted against max_wal_senders, not max_connections; -1
	// when masked rows hide them.
	walsenders int
}

// liveRow is one row with the groups behind it.
type liveRow struct {
	Row
	role     *Role    // of a Declared row
	sum      *RoleSum // of a Declared row
	groups   []probes.Group
	masked   bool
	natted   bool           // its addresses are not its pods
	users    map[string]int // sessions by login role
	dbs      map[string]int
	alsoIdle map[string]int // by address: idle connections outside the pool
	aside    int            // its backends that take no connection slot (walsenders, …)
	lent     int            // a pooler's server connections that bear the role's name
	unsure   int            // … of these, and in a pooler's row: those that may connect directly
}

// Use holds a snapshot against a budget. f may be nil: then every application
// has its own row and nothing is declared. The snapshot's limits win over the
// file's. Every client backend is counted in exactly one row; walsenders,
// parallel workers and the like have slots of their own and are in none.
// pgsonde's own connections count as idle operators.
//
// poolers are what their consoles said. With them, and with the snapshot's
// sessions, a pooler's server connections are told from sessions that connect
// directly, and their limits win over the file's too. No argument is changed.
func Use(f *File, s *probes.Snapshot, poolers ...probes.Pooler) *Usage {
	f = f.live(poolers)
	l := &live{f: f, s: s, poolers: poolers, u: &Usage{
		Bound: s.Server.Masked, KeepFree: f.keepFree(), CPUs: s.Server.CPUs, file: f, lim: s.Limits, poolers: poolers,
	}}
	l.rowsOf = l.sessions()
	l.limits()
	l.declare()
	for _, g := range led(s) {
		l.place(g)
	}
	l.own(len(s.Server.OwnPIDs))
	running := 0
	for _, r := range l.rows {
		r.fill(l.u.Bound)
		l.u.Used += r.Now
		if r.Running != nil {
			running += *r.Running
		}
		l.u.Bound = l.u.Bound || r.masked
	}
	if !l.u.Bound {
		l.u.Running = &running
	}
	l.u.Free = max(0, l.u.Usable-l.u.Used)
	l.u.walls = l.walls()
	l.u.Findings = l.findings()
	l.order()
	return l.u
}

// limits takes the server's own figures, and the file's where the server's are
// not known.
func (l *live) limits() {
	decl := ServerDecl{MaxConnections: 0}
	if l.f != nil {
		decl = l.f.Server
	}
	u := l.u
	if l.s.Limits.MaxConnections > 0 {
		decl, _ = decl.onServer(l.s.Limits)
	}
	u.MaxConnections, u.SuperuserReserved, u.Reserved, u.ProviderReserved = decl.MaxConnections, decl.SuperuserReserved, decl.Reserved, decl.ProviderReserved
	if u.CPUs == 0 {
		u.CPUs = decl.CPUs
	}
	// A provider's own sessions are counted like all others, and its share is no
	// wall: who is refused is up to the server.
	u.Usable = max(0, decl.usable()+decl.ProviderReserved)
	if l.f == nil {
		return
	}
	// The base always applies: Parse did it.
	if l.plan, _ = l.f.apply(nil); l.plan != nil {
		l.plan.server.MaxConnections, l.plan.server.SuperuserReserved = u.MaxConnections, u.SuperuserReserved
		l.plan.server.Reserved, l.plan.server.ProviderReserved, l.plan.server.CPUs = u.Reserved, u.ProviderReserved, u.CPUs
		u.Plan = l.plan.sum()
		u.Plan.Scenario, u.Plan.Fit, u.Plan.Cures = "base", l.plan.fits(), l.plan.cures(u.Plan)
	}
}

// declare makes the rows of the file, used or not.
func (l *live) declare() {
	if l.u.Plan == nil {
		return
	}
	for i, role := range l.f.Roles {
		r := l.row(Match{Role: role.Name, Origin: Declared})
		r.role, r.sum = role, &l.u.Plan.Roles[i]
		r.Runs, r.Via, r.Replicas = string(role.Runs), role.Via, new(role.Replicas)
		if role.Runs != RunsOff && role.Via == "" {
			r.Kept, r.Cap, r.Peak = new(r.sum.Kept), new(r.sum.Cap), new(r.sum.Cap)
			if role.Surge.Declared {
				r.Peak = new(add(r.sum.Cap, r.sum.Surge))
			}
		}
	}
	for i := range l.f.Poolers {
		ps := &l.u.Plan.Poolers[i]
		r := l.row(Match{Role: ps.Pooler, Origin: Pooler})
		r.Kept, r.Cap, r.Peak, r.Replicas = new(ps.Kept), new(ps.Cap), new(ps.Cap), new(ps.Instances)
	}
}

// row is the row of a match, made when it is new.
func (l *live) row(m Match) *liveRow {
	name := m.Role
	if m.Origin == Pooler {
		name = poolerPrefix + name
	}
	for _, r := range l.rows {
		if r.Role == name && r.Origin == m.Origin {
			return r
		}
	}
	r := &liveRow{
		Row:   Row{Role: name, Origin: m.Origin},
		users: map[string]int{}, dbs: map[string]int{}, alsoIdle: map[string]int{},
	}
	if name == roleOperators && l.f != nil {
		r.Cap = new(l.u.KeepFree)
	}
	l.rows = append(l.rows, r)
	return r
}

// place puts a group into its row.
func (l *live) place(g probes.Group) {
	switch g.Kind {
	case probes.KindClient, probes.KindMasked:
	case probes.KindMaskedSystem:
		l.walsenders = -1
		return
	default:
		if g.Kind == "walsender" && l.walsenders >= 0 {
			l.walsenders += g.N
		}
		l.placeAside(g)
		return
	}
	if g.State == "starting" && g.User == "" && g.App == "" {
		l.put(g, Match{Role: roleStarting, Origin: BuiltIn}) // 18+: still in authentication
		return
	}
	for _, p := range l.split(g) {
		m, lender, unsure := l.owner(&p)
		r := l.put(p.Group, m)
		if unsure {
			r.unsure += p.N
		}
		if lender.Role != "" {
			from := l.row(Match{Role: lender.Role, Origin: Declared})
			from.lent += p.N
			if unsure {
				from.unsure += p.N
			}
		}
	}
}

// put counts a group in the row of a match.
func (l *live) put(g probes.Group, m Match) *liveRow {
	r := l.row(m)
	r.groups = append(r.groups, g)
	r.Now += g.N
	r.users[g.User] += g.N
	r.dbs[g.Database] += g.N
	r.masked = r.masked || g.Kind == probes.KindMasked
	if m.Also && g.State == "idle" {
		r.alsoIdle[g.Addr] += g.N
	}
	return r
}

// placeAside notes backends that a role's match names by their kind.
func (l *live) placeAside(g probes.Group) {
	if l.f == nil {
		return
	}
	m := l.f.Match(Who{Kind: g.Kind, App: g.App, User: g.User, Database: g.Database, Addr: g.Addr})
	if m.Origin == Declared {
		l.row(m).aside += g.N
	}
}

// own counts pgsonde's connections. Between ticks they are idle.
func (l *live) own(n int) {
	if n == 0 {
		return
	}
	r := l.row(Match{Role: roleOperators, Origin: BuiltIn})
	r.Now += n
	r.groups = append(r.groups, probes.Group{Kind: probes.KindClient, State: "idle", N: n, MaxTxS: -1, WaitS: -1})
}

// fill works out the figures of a row from its groups. Where rows are masked
// nothing but the upper bound of now is known. A role behind a pooler is counted
// in the pooler's row; its own has those that are known to connect directly.
func (r *liveRow) fill(masked bool) {
	defer r.note()
	if r.Cap != nil {
		r.Over = r.Now > *r.Cap
	}
	r.masked = r.masked || masked && r.Now == 0
	if r.masked || r.Via != "" && r.Now == 0 {
		return
	}
	var busy, idle, inTx, running, waiting int
	oldest := -1.0
	pods := map[string]*Pod{}
	for _, g := range r.groups {
		isBusy := g.State != "idle"
		if isBusy {
			busy += g.N
			oldest = max(oldest, g.MaxTxS)
		} else {
			idle += g.N
		}
		if strings.HasPrefix(g.State, "idle in transaction") {
			inTx += g.N
		}
		switch g.Act {
		case "run", "other":
			running += g.N
		case "lock":
			waiting += g.N
		}
		if g.Addr == "" {
			continue
		}
		p := pods[g.Addr]
		if p == nil {
			p = &Pod{Addr: g.Addr}
			pods[g.Addr] = p
		}
		p.Now += g.N
		if isBusy {
			p.Busy += g.N
		}
	}
	r.Busy, r.Idle, r.IdleInTx, r.Running, r.LockWaiting = &busy, &idle, &inTx, &running, &waiting
	if oldest >= 0 {
		r.OldestTxS = &oldest
	}
	r.pods(pods)
}

// pods fills in the pods, and those that are full: as many connections as the
// pod opens and none of them idle, but those whose name says that they are
// outside the pool. Addresses are not pods when one holds more than the whole
// role can or there are fewer of them than replicas: a node, a NAT or a pooler
// stands between.
func (r *liveRow) pods(pods map[string]*Pod) {
	n := len(pods)
	r.Pods = &n
	perPod, extras := 0, 0
	if r.role != nil && r.Cap != nil {
		perPod, extras = r.sum.PerReplica, mul(r.sum.extras, r.sum.Processes)
		r.natted = r.Now > 0 && n < *r.Replicas
	}
	for _, p := range pods {
		p.Cap = perPod
		r.AllPods = append(r.AllPods, *p)
		r.natted = r.natted || perPod > 0 && p.Now > *r.Cap
	}
	slices.SortFunc(r.AllPods, func(a, b Pod) int { return cmp.Compare(a.Addr, b.Addr) })
	if r.natted || perPod == 0 {
		return
	}
	for _, p := range r.AllPods {
		idle := p.Now - p.Busy
		if p.Busy > 0 && p.Now >= p.Cap && idle <= min(extras, r.alsoIdle[p.Addr]) {
			r.PodsFull = append(r.PodsFull, p)
		}
	}
}

// note says what a person should know beside the figures.
func (r *liveRow) note() {
	var notes []string
	say := func(when bool, format string, args ...any) {
		if when {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	if r.role != nil {
		say(r.role.Runs == RunsOff && r.Now > 0, "declared off, seen")
		sure := r.lent - r.unsure
		say(r.Via != "" && r.Now > 0, "%d past %s", r.Now, r.Via)
		say(r.Via != "" && r.lent == 0, "through %s", r.Via)
		say(r.Via != "" && sure > 0, "through %s, where %s its name", r.Via, bears(sure))
		say(r.unsure > 0, "through %s or past it: %s its name", r.Via, bears(r.unsure))
		say(r.Via == "" && sure > 0, "%d more through a pooler", sure)
		say(r.aside > 0, "%d more that take no slot", r.aside)
	}
	for i, p := range r.PodsFull {
		if i == 2 {
			say(true, "and %d more pods full", len(r.PodsFull)-i)
			break
		}
		say(true, "FULL %s %d/%d", p.Addr, p.Busy, p.Cap)
	}
	say(r.natted, "addr not per pod")
	say(r.Over && r.Origin != BuiltIn, "over its cap by %d", r.Now-val(r.Cap))
	say(!r.Over && r.overflowing(), "overflow in use")
	r.Note = strings.Join(notes, "; ")
}

func bears(n int) string {
	if n == 1 {
		return "1 bears"
	}
	return fmt.Sprintf("%d bear", n)
}

// overflowing: more than a pool keeps open, where it keeps any.
func (r *liveRow) overflowing() bool {
	return r.role != nil && r.Kept != nil && *r.Kept > 0 && *r.Kept < val(r.Cap) && r.Now > *r.Kept
}

func val(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}

// order sorts rows: the file's own in file order, captured by name, built-in,
// unmatched; and moves them into the usage.
func (l *live) order() {
	rank := []Origin{Declared, Pooler, Captured, BuiltIn, Unmatched}
	slices.SortStableFunc(l.rows, func(a, b *liveRow) int {
		if c := cmp.Compare(slices.Index(rank, a.Origin), slices.Index(rank, b.Origin)); c != 0 {
			return c
		}
		if a.Origin == Captured {
			return cmp.Compare(a.Role, b.Role)
		}
		return 0
	})
	for _, r := range l.rows {
		l.u.Rows = append(l.u.Rows, r.Row)
	}
}
