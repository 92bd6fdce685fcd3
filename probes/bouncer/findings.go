package bouncer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

const (
	// noticeS is a wait that is worth a finding, seriousS one that callers feel:
	// most pools give up after some seconds.
	noticeS, seriousS = 1.0, 5.0
	// nearPercent of max_client_conn is near.
	nearPercent = 90
)

const actionRefused = "free connections on the server or raise that limit; the pool asks for no more than it is allowed"

func (j *judge) findings() {
	j.away()
	j.paused()
	for i := range j.v.Pools {
		j.waiting(&j.v.Pools[i])
	}
	j.clientsOver()
	j.serverSideOver()
	j.stranded()
	j.sessionState()
	j.fileDiffers()
	rank := []probes.Severity{probes.Error, probes.Warn, probes.Info}
	slices.SortStableFunc(j.v.Findings, func(a, b probes.Finding) int {
		return cmp.Compare(slices.Index(rank, a.Severity), slices.Index(rank, b.Severity))
	})
}

func (j *judge) add(f probes.Finding) {
	if f.Evidence == nil {
		f.Evidence = map[string]any{}
	}
	f.Evidence["pooler"] = j.v.Name
	j.v.Findings = append(j.v.Findings, f)
}

// at names an instance where there are several.
func (j *judge) at(i int) string {
	if len(j.v.Instances) < 2 {
		return quoted(j.v.Name)
	}
	return quoted(j.v.Name) + " at " + j.v.Instances[i].Target
}

func (j *judge) away() {
	for i, in := range j.v.Instances {
		if in.Err == "" {
			continue
		}
		j.add(probes.Finding{
			Rule: ruleUnreachable, Severity: probes.Warn, Subject: j.v.Name,
			Message:  fmt.Sprintf("the console of %s cannot be read: %s", j.at(i), in.Err),
			Action:   "see whether PgBouncer runs, and whether this user is in stats_users",
			Evidence: map[string]any{"target": in.Target},
		})
	}
}

// paused finds databases that are paused or disabled, and whole processes.
func (j *judge) paused() {
	for i, in := range j.in.Instances {
		r := in.Reading
		if r == nil {
			continue
		}
		if s := r.State; s != nil && (s.Paused || s.Suspended) {
			word := map[bool]string{true: "suspended", false: "paused"}[s.Suspended]
			j.stopped(i, "", rulePaused, "all of "+j.at(i)+" is "+word, "RESUME in the console, once whoever did it agrees")
		}
		for _, d := range r.Databases {
			what := "database " + quoted(d.Name) + " of " + j.at(i) + " is "
			if d.Paused {
				j.stopped(i, d.Name, rulePaused, what+"paused", "RESUME "+quoted(d.Name)+" in the console, once whoever paused it agrees")
			}
			if d.Disabled {
				j.stopped(i, d.Name, ruleDisabled, what+"disabled: new clients are refused", "ENABLE "+quoted(d.Name)+" in the console, once whoever disabled it agrees")
			}
		}
	}
}

// stopped adds the finding of a paused or disabled database, of all when
// database is "".
func (j *judge) stopped(i int, database, rule, message, action string) {
	waiting, longest := 0, 0.0
	for k := range j.v.Pools {
		if p := &j.v.Pools[k]; p.Instance == i && (database == "" || p.Database == database) {
			waiting += p.ClientsWaiting
			longest = max(longest, p.MaxWaitS)
		}
	}
	f := probes.Finding{
		Rule: rule, Severity: probes.Warn, Subject: cmp.Or(database, j.v.Name), Message: message, Action: action,
		Evidence: map[string]any{"target": j.v.Instances[i].Target, "clients_waiting": waiting},
	}
	if rule == ruleDisabled {
		f.Severity = probes.Error
	}
	if waiting > 0 {
		f.Severity, f.SinceS = probes.Error, &longest
		f.Message += "; " + plural(waiting, "client") + " " + wait(waiting) + ", the first for " + ago(longest)
	}
	j.add(f)
}

func wait(n int) string {
	if n == 1 {
		return "waits"
	}
	return "wait"
}

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
	waiters := map[string]int{}
	for i := range j.v.Clients {
		c := &j.v.Clients[i]
		if c.Waiting && c.Instance == p.Instance && c.Socket.Database == p.Database && c.Socket.User == p.User {
			waiters[c.Role]++
		}
	}
	e["waiting_roles"] = waiters
	return e
}

// clientsOver holds each instance's clients, and what the roles can open, against
// max_client_conn.
func (j *judge) clientsOver() {
	for i, in := range j.v.Instances {
		if in.ClientsUsed == nil || in.ClientsMax == nil || *in.ClientsMax <= 0 {
			continue
		}
		used, limit := *in.ClientsUsed, *in.ClientsMax
		if used*100 < limit*nearPercent {
			continue
		}
		f := probes.Finding{
			Rule: ruleClientsOver, Severity: probes.Warn, Subject: j.v.Name,
			Message:  fmt.Sprintf("%s has %d of max_client_conn %d clients", j.at(i), used, limit),
			Action:   "close idle clients or raise max_client_conn (and the process's file limit); the next is refused with \"no more connections allowed\"",
			Evidence: map[string]any{"target": in.Target, "clients": used, "max_client_conn": limit, "roles": j.topRoles(i)},
		}
		if used >= limit {
			f.Severity, f.Message = probes.Error, f.Message+": new clients are refused"
		}
		j.add(f)
	}
	j.clientLimits()
	can, limit := j.in.Spec.ClientCap, value(j.v.ClientsMax)
	if n := j.in.Spec.Instances; n > len(j.in.Instances) && len(j.in.Instances) > 0 {
		limit = limit / len(j.in.Instances) * n // the others are as the ones we read
	}
	if can > limit && limit > 0 {
		j.add(probes.Finding{
			Rule: ruleClientsOver, Severity: probes.Warn, Subject: j.v.Name,
			Message:  fmt.Sprintf("the roles of %s can open %d connections, and it lets in %d clients", quoted(j.v.Name), can, limit),
			Action:   "raise max_client_conn to at least that, or make the roles' pools smaller",
			Evidence: map[string]any{"cap": can, "max_client_conn": limit},
		})
	}
}

// clientLimits holds the clients of databases and users against limits of their
// own, which 1.24 brought.
func (j *judge) clientLimits() {
	for i, in := range j.in.Instances {
		if in.Reading == nil {
			continue
		}
		near := func(what, name string, used, limit *int) {
			if used == nil || value(limit) <= 0 || *used*100 < *limit*nearPercent {
				return
			}
			f := probes.Finding{
				Rule: ruleClientsOver, Severity: probes.Warn, Subject: name,
				Message:  fmt.Sprintf("%s %s of %s has %d of the %d clients it may have", what, quoted(name), j.at(i), *used, *limit),
				Action:   "close idle clients or raise its max_" + map[string]string{"database": "db", "user": "user"}[what] + "_client_connections",
				Evidence: map[string]any{"target": in.Reading.Target, "clients": *used, "limit": *limit},
			}
			if *used >= *limit {
				f.Severity, f.Message = probes.Error, f.Message+": new clients are refused"
			}
			j.add(f)
		}
		for _, d := range in.Reading.Databases {
			near("database", d.Name, d.Clients, d.MaxClients)
		}
		for _, u := range in.Reading.Users {
			near("user", u.Name, u.Clients, u.MaxClients)
		}
	}
}

// topRoles counts the clients of an instance by role.
func (j *judge) topRoles(i int) map[string]int {
	out := map[string]int{}
	for k := range j.v.Clients {
		if c := &j.v.Clients[k]; c.Instance == i {
			out[c.Role]++
		}
	}
	return out
}

func (j *judge) serverSideOver() {
	s := j.v.Servers
	if s.Usable == nil {
		return
	}
	unlimited := s.Cap == nil && len(j.v.Pools) > 0
	if !unlimited && (s.Cap == nil || *s.Cap <= *s.Usable) {
		return
	}
	can := "any number of"
	if !unlimited {
		can = count(*s.Cap)
	}
	f := probes.Finding{
		Rule: ruleServerSide, Severity: probes.Warn, Subject: j.v.Name,
		Message: fmt.Sprintf("the pools of %s (%s) can open %s server connections, and the server has %d; now %d, %d of them idle",
			quoted(j.v.Name), plural(len(j.v.Instances), "instance"), can, *s.Usable, s.Now, s.Idle),
		Action:   "lower default_pool_size or set max_db_connections, counted over all instances; many users mean many pools",
		Evidence: map[string]any{"cap": s.Cap, "usable": *s.Usable, "now": s.Now, "idle": s.Idle, "instances": len(j.v.Instances)},
	}
	if used, _ := j.server.used(func(probes.Group) bool { return true }); used >= *s.Usable && s.Now > 0 {
		f.Severity = probes.Error
		f.Message += "; the server is full"
	}
	j.add(f)
}

// fileDiffers holds what the file declares against what the pooler says.
func (j *judge) fileDiffers() {
	spec := j.in.Spec
	var diffs []string
	differ := func(what string, file, live any) {
		if d := fmt.Sprintf("%s is %v, the file says %v", what, live, file); !slices.Contains(diffs, d) {
			diffs = append(diffs, d)
		}
	}
	for _, in := range j.v.Instances {
		if in.ClientsMax != nil && spec.MaxClientConn > 0 && *in.ClientsMax != spec.MaxClientConn {
			differ("max_client_conn", spec.MaxClientConn, *in.ClientsMax)
		}
	}
	for i := range j.v.Pools {
		p := &j.v.Pools[i]
		for _, want := range spec.Pools {
			if want.Database != p.Database || want.User != p.User {
				continue
			}
			if want.Size != p.Size {
				differ("pool_size of "+p.name(), want.Size, p.Size)
			}
			if spec.Mode != "" && p.Mode != "" && spec.Mode != p.Mode {
				differ("mode of "+p.name(), spec.Mode, p.Mode)
			}
		}
	}
	if len(diffs) == 0 {
		return
	}
	more := ""
	if len(diffs) > 3 {
		more = fmt.Sprintf(" and %d more", len(diffs)-3)
	}
	j.add(probes.Finding{
		Rule: ruleFileDiffers, Severity: probes.Warn, Subject: j.v.Name,
		Message: quoted(j.v.Name) + ": " + strings.Join(diffs[:min(3, len(diffs))], "; ") + more, Action: "correct the budget file or the pooler: the sums are of the file",
		Evidence: map[string]any{"differences": diffs},
	})
}
