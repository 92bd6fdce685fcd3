package bouncer

import (
	"fmt"

	"github.com/pgsonde/pgsonde/probes"
)

const actionRefused = "free connections on the server or raise that limit; the pool asks for no more than it is allowed"

// waiting makes the finding of a pool whose clients wait. Paused and disabled
// ones have theirs already.
func (j *judge) waiting(p *PoolView) {
	rule := ruleNotFull
	switch p.Cause {
	case NoCause:
		if p.Refused != "" {
			j.add(probes.Finding{
				Rule: ruleNotFull, Severity: probes.Warn, Subject: p.Database + "@" + p.User,
				Message: fmt.Sprintf("pool %s of %s has no server connection and cannot open one, its clients get an error at once: %s",
					p.name(), j.at(p.Instance), p.Refused),
				Action: actionRefused, Evidence: j.poolEvidence(p),
			})
		}
		return
	case Paused, Disabled, Opening:
		return
	case CancelsWaiting:
		j.add(probes.Finding{
			Rule: ruleCancels, Severity: probes.Info, Subject: p.Database,
			Message: "pool " + p.name() + " of " + j.at(p.Instance) + ": " + p.Why,
			Action:  "they use the pool's connections too; look for clients that cancel in numbers", Evidence: j.poolEvidence(p),
		})
		return
	case Full:
		rule = rulePoolFull
	}
	if p.MaxWaitS < noticeS {
		return
	}
	longest := p.MaxWaitS
	f := probes.Finding{
		Rule: rule, Severity: probes.Warn, Subject: p.Database + "@" + p.User, SinceS: &longest,
		Message: fmt.Sprintf("pool %s of %s: %s %s, the first for %s: %s", p.name(), j.at(p.Instance),
			plural(p.ClientsWaiting, "client"), wait(p.ClientsWaiting), ago(longest), p.Why),
		Action: j.action(p), Evidence: j.poolEvidence(p),
	}
	if longest >= seriousS {
		f.Severity = probes.Error
	}
	j.add(f)
}

// action says what to do about a pool that waits.
func (j *judge) action(p *PoolView) string {
	switch p.Cause {
	case DatabaseLimit, UserLimit:
		return "the pools share one limit: raise it, or make the others smaller (each user and database is a pool of its own)"
	case ServerRefuses:
		return actionRefused
	case LoginHangs:
		return "see why PostgreSQL does not answer: connect to it directly from the pooler's host"
	case CannotOpen:
		if p.Servers() == 0 && j.pauseHidden(p.Instance) {
			return "read PgBouncer's log for \"server login failed\" and for \"PAUSE command issued\""
		}
		return "read PgBouncer's log for \"server login failed\" and connect from its host as " + quoted(p.ServerUser)
	}
	u := p.Use
	switch {
	case u.Lock > 0 && len(p.Roots) > 0:
		return "look at " + p.Roots[0].text(j.in.Snapshot) + ": " + count(p.Roots[0].Victims) + " of the pool's connections wait for it; a larger pool would wait too"
	case u.Lock > 0 && u.Lock >= u.IdleInTx:
		return "find who holds the locks; a larger pool would wait too"
	case u.IdleInTx > 0 && u.IdleInTx >= u.Running:
		return "the clients hold a transaction open while they do something else: end it sooner; a larger pool hides it only"
	case p.Mode == "session" && u.Idle > 0:
		return "in session mode an idle client keeps its connection: close them, or use transaction mode"
	case u.Running > 0:
		return "shorten or move the long queries; then compare the pool's size with the server's CPU cores before raising it"
	}
	return "see what the pool's backends do before the pool is made larger"
}

func (j *judge) poolEvidence(p *PoolView) map[string]any {
	e := map[string]any{
		"target": j.v.Instances[p.Instance].Target, "database": p.Database, "user": p.User, "mode": p.Mode, "cause": string(p.Cause),
		"clients_waiting": p.ClientsWaiting, "servers": p.Servers(), "servers_active": p.Active, "pool_size": p.Size, "reserve": p.Reserve,
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
