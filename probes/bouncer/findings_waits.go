package bouncer

import (
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// waiting makes the finding of a pool whose clients wait. Paused and disabled
// ones have theirs already.
func (j *judge) waiting(p *PoolView) {
	if p.OldS > 0 {
		return // who waited then says nothing of now
	}
	switch p.Cause {
	case NoCause:
		if p.Refused != "" {
			j.stick(p, p.refused.action)
		}
		return
	case Paused, Disabled, Opening:
		return
	case CancelsWaiting:
		p.Action = j.cancelAction(p)
		j.add(probes.Finding{
			Rule: ruleCancels, Severity: probes.Info, Subject: p.Database,
			Message: p.name() + " of " + j.at(p.Instance) + ": " + p.Why,
			Action:  p.Action, Evidence: j.poolEvidence(p),
		})
		return
	case Full:
	default:
		j.stick(p, j.action(p))
		return
	}
	if p.MaxWaitS < noticeS {
		return
	}
	comes := ": "
	if strings.HasPrefix(p.Why, behind) {
		comes = " "
	}
	p.Action = j.action(p)
	j.add(felt(probes.Finding{
		Rule: rulePoolFull, Subject: p.Database + "@" + p.User,
		Message: p.name() + " of " + j.at(p.Instance) + ": " + waits(p.ClientsWaiting, p.MaxWaitS) + comes + p.Why,
		Action:  p.Action, Evidence: j.poolEvidence(p),
	}, p.MaxWaitS))
}

// felt grades a finding by how long clients wait.
func felt(f probes.Finding, longest float64) probes.Finding {
	f.Severity, f.SinceS = probes.Warn, &longest
	if longest >= seriousS {
		f.Severity = probes.Error
	}
	return f
}

// waits is "3 clients wait 6.0 s".
func waits(n int, longest float64) string {
	return plural(n, "client") + " " + wait(n) + " " + ago(longest)
}

// cancelAction says what holds cancels up: they may use as many connections again
// as the pool has, so fewer than that means that none can be opened.
func (j *judge) cancelAction(p *PoolView) string {
	if r := j.refusal(p); r.why != "" {
		return "what they should cancel runs on: " + r.why
	}
	if p.Size > 0 && p.Servers() < 2*p.Size {
		return "what they should cancel runs on: see PgBouncer's log for why no server connection can be opened"
	}
	return "what they should cancel runs on; look for clients that cancel in numbers"
}

// action says what to do about a pool that waits.
func (j *judge) action(p *PoolView) string {
	switch p.Cause {
	case DatabaseLimit, UserLimit:
		return "raise the limit the pools share, or make the others smaller: each user and database is a pool"
	case ServerRefuses, ServerAway:
		return p.refused.action
	case LoginHangs:
		return "see why PostgreSQL does not answer: connect to it directly from the pooler's host"
	case CannotOpen:
		if p.Servers() == 0 && j.pauseHidden(p.Instance) {
			return "read PgBouncer's log for \"server login failed\" and for \"PAUSE command issued\""
		}
		return "read PgBouncer's log for \"server login failed\" and connect from its host as " + quoted(p.ServerUser)
	}
	if a := p.fullAction(); a != "" {
		return a
	}
	switch s := j.in.Snapshot; {
	case s == nil:
		return "see what its servers do before it is made larger: name the PostgreSQL server too"
	case s.Server.Masked:
		return "see what its servers do before it is made larger: this login cannot, grant it pg_monitor"
	}
	return "see what its servers do before it is made larger"
}

// fullAction says what to do about servers that are seen to be taken: by whom they
// all wait for, else by what most of them do; "" when none is seen.
func (p *PoolView) fullAction() string {
	const session = "in session mode a client keeps its connection while it is connected: let idle ones disconnect, or use transaction mode"
	u := p.Use
	switch most := max(u.Lock, u.IdleInTx, u.Running); {
	case u.Lock > 0 && len(p.Roots) > 0:
		return p.lockAction()
	case u.Lock > 0 && u.Lock >= u.IdleInTx:
		return "look who holds the locks" + p.others()
	case p.Mode == sessionMode && u.Idle > 0 && u.Idle >= most:
		return session
	case u.IdleInTx > 0 && u.IdleInTx >= u.Running:
		return "end the transactions that are open and idle, " + u.OldestTx.name() + " first; a larger pool would only hide them"
	case u.Running > 0:
		return "shorten or move the long queries, " + u.OldestQuery.name() + " first; a pool beyond the CPUs only queues there"
	case p.Mode == sessionMode:
		return session
	}
	return ""
}

// lockAction names the root with the most victims. That a larger pool would not
// help is true only where nothing else has a server.
func (p *PoolView) lockAction() string {
	r := p.Roots[0]
	if r.Victims == p.Active {
		return "look at " + r.name() + ": " + plural(r.Victims, "server") + " " + wait(r.Victims) + " for it; a larger pool would wait too"
	}
	out := "look at " + r.name() + ": " + count(r.Victims) + " of " + plural(p.Active, "server") + " " + wait(r.Victims) + " for it"
	if len(p.Roots) > 1 {
		more := p.Roots[1]
		out += ", " + count(more.Victims) + " for " + more.name()
	}
	return out + p.others()
}

// others are who else has servers, the oldest of each kind by name.
func (p *PoolView) others() string {
	if p.Use.Lock >= p.Active {
		return "; a larger pool would wait too"
	}
	var who []string
	if b := p.Use.OldestTx; b != nil {
		who = append(who, b.name()+" (idle in transaction)")
	}
	if b := p.Use.OldestQuery; b != nil {
		who = append(who, b.name()+" (running)")
	}
	if len(who) == 0 {
		return ""
	}
	return "; then at " + strings.Join(who, " and ")
}

func (j *judge) poolEvidence(p *PoolView) map[string]any {
	e := map[string]any{
		"target": j.v.Instances[p.Instance].Target, "database": p.Database, "user": p.User, "mode": p.Mode, "cause": string(p.Cause),
		"clients_waiting": p.ClientsWaiting, "cancels_waiting": p.CancelsWaiting, "servers": p.Servers(), "servers_active": p.Active, "pool_size": p.Size, "reserve": p.Reserve,
		"max_wait_s": p.MaxWaitS,
	}
	if j.in.Snapshot != nil {
		e["backends"] = map[string]any{
			"running": p.Use.Running, "lock_waiting": p.Use.Lock, "idle_in_transaction": p.Use.IdleInTx,
			"client": p.Use.Client, "idle": p.Use.Idle, "unknown": p.Use.Unknown,
		}
		roots := []int{}
		for _, r := range p.Roots {
			roots = append(roots, r.PID)
		}
		e["root_pids"] = roots
	}
	waiters := j.waiters[instancePool{p.Instance, poolKey{p.Database, p.User}}]
	if waiters == nil {
		waiters = map[string]int{}
	}
	e["waiting_roles"] = waiters
	return e
}
