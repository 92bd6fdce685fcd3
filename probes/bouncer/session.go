package bouncer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// stranded finds session advisory locks on idle server connections of pools that
// hand a connection to another client after each transaction.
func (j *judge) stranded() {
	byPID := map[int][]AdvisoryLock{}
	var order []int
	for _, a := range j.in.Advisory {
		s, ok := j.joined[a.PID]
		if !ok || s.mode == sessionMode || !s.is(a) {
			continue
		}
		if byPID[a.PID] == nil {
			order = append(order, a.PID)
		}
		byPID[a.PID] = append(byPID[a.PID], a)
	}
	for _, pid := range order {
		j.add(j.strandedOn(byPID[pid], j.joined[pid]))
	}
}

// is says that the lock's backend is the one behind this server connection, and
// not one of the same pid on another server.
func (s joinedServer) is(a AdvisoryLock) bool {
	if a.Port > 0 && s.socket.LocalPort > 0 && !isUnix(s.socket.Addr) {
		return a.Port == s.socket.LocalPort
	}
	return s.backend.Session == nil || a.BackendStart.IsZero() || s.backend.Session.BackendStart.Equal(a.BackendStart)
}

func (j *judge) strandedOn(locks []AdvisoryLock, s joinedServer) probes.Finding {
	a := locks[0]
	var keys []string
	for _, l := range locks {
		keys = append(keys, l.Key())
	}
	var victims []int
	for pid, blockers := range j.server.blockers {
		if slices.Contains(blockers, a.PID) {
			victims = append(victims, pid)
		}
	}
	slices.Sort(victims)
	what := "session advisory lock "
	if len(keys) > 1 {
		what = plural(len(keys), "session advisory lock") + ": "
	}
	f := probes.Finding{
		Rule: ruleStranded, Severity: probes.Warn, Subject: "pid " + count(a.PID),
		Message: fmt.Sprintf("%s%s left on pid %d", what, strings.Join(keys[:min(3, len(keys))], ", "), a.PID),
		Action: fmt.Sprintf("select pg_terminate_backend(%d); then %s; else it stays until the pooler closes the connection (%s)",
			a.PID, insteadOf(s.mode), j.closes(s.instance)),
		Evidence: map[string]any{
			"pid": a.PID, "backend_id": probes.BackendID(a.PID, a.BackendStart), "keys": keys, "mode": a.Mode,
			"database": s.socket.Database, "user": s.socket.User, "target": j.v.Instances[s.instance].Target, "blocks": victims,
			"last_application_name": a.App,
		},
	}
	if a.IdleS >= 0 {
		idle := a.IdleS
		f.SinceS = &idle
	}
	if len(victims) > 0 {
		f.Severity = probes.Error
		f.Message += " blocks " + plural(len(victims), "session")
	}
	f.Message += fmt.Sprintf(": an idle server of %s@%s of %s; the name %s there is only the last client's",
		quoted(s.socket.Database), quoted(s.socket.User), j.at(s.instance), quoted(a.App))
	return f
}

// insteadOf is what a client of such a pool can use in place of a session lock.
func insteadOf(mode string) string {
	if mode == "statement" { // a transaction there is one statement
		return "take such locks through a pool in session mode"
	}
	return "use pg_advisory_xact_lock"
}

// closes says when the pooler closes an idle server connection by itself.
func (j *judge) closes(i int) string {
	c := j.in.Instances[i].Reading.Config
	idle, life := c["server_idle_timeout"], c["server_lifetime"]
	if idle == "" || life == "" {
		return "server_idle_timeout, server_lifetime"
	}
	return "server_idle_timeout " + oneLine(idle) + " s when unused, server_lifetime " + oneLine(life) + " s"
}

const sessionMode = "session"

// sessionsShort finds a pool in session mode with more clients than it will ever
// have servers: those beyond wait when they send something. One that does so
// already has its finding.
func (j *judge) sessionsShort(p *PoolView) {
	most := p.Size + p.Reserve
	if p.Mode != sessionMode || p.OldS > 0 || p.Size == 0 || p.Clients() <= most || p.ClientsWaiting > 0 {
		return
	}
	p.Action = cmp.Or(p.Action, actionSession)
	j.add(probes.Finding{
		Rule: ruleSessionPool, Severity: probes.Warn, Subject: p.Database + "@" + p.User,
		Message: fmt.Sprintf("%s of %s in session mode: %s, at most %d of them have a server; others wait until one disconnects",
			p.name(), j.at(p.Instance), plural(p.Clients(), "client"), most),
		Action:   actionSession,
		Evidence: map[string]any{"target": j.v.Instances[p.Instance].Target, "clients": p.Clients(), "pool_size": p.Size, "reserve": p.Reserve},
	})
}

const actionSession = "use transaction mode where the roles need no session state, or make their pools smaller than the pooler's"

// planShort holds what the roles can open against the servers of the declared
// pools, when all of them are in session mode.
func (j *judge) planShort() {
	spec, most := j.in.Spec, 0
	if spec.ClientCap == 0 || len(spec.Pools) == 0 || len(j.in.Instances) < spec.Instances {
		return
	}
	for _, in := range j.in.Instances {
		if in.Reading == nil || in.Err != nil {
			return
		}
		for _, p := range spec.Pools {
			size, reserve, known := in.Reading.sizes(p.Database, p.User)
			if !known || size == 0 || in.Reading.mode(p.Database, p.User) != sessionMode {
				return
			}
			most += size + reserve
		}
	}
	if spec.ClientCap <= most {
		return
	}
	j.add(probes.Finding{
		Rule: ruleSessionPool, Severity: probes.Warn, Subject: j.v.Name,
		Message: fmt.Sprintf("%s in session mode: its roles can open %d connections, at most %d of them have a server; others wait until one disconnects",
			quoted(j.v.Name), spec.ClientCap, most),
		Action: actionSession, Evidence: map[string]any{"clients": spec.ClientCap, "cap": most},
	})
}

// sessionState finds roles that need a session of their own and do not get one.
func (j *judge) sessionState() {
	for _, n := range j.in.Spec.Needs {
		modes := j.modes(n.Role)
		modes = slices.DeleteFunc(modes, func(m string) bool { return m == sessionMode })
		needs := n.list()
		if len(modes) == 0 || len(needs) == 0 {
			continue
		}
		j.add(probes.Finding{
			Rule: ruleSessionState, Severity: probes.Warn, Subject: n.Role,
			Message:  fmt.Sprintf("%s needs %s; %s in %s mode keeps none", quoted(n.Role), strings.Join(needs, " and "), quoted(j.v.Name), modes[0]),
			Action:   "connect it to PostgreSQL directly, or through a pool in session mode",
			Evidence: map[string]any{"needs": needs, "modes": modes},
		})
	}
}

func (n SessionNeed) list() []string {
	var out []string
	if n.Listen {
		out = append(out, "LISTEN")
	}
	if n.Advisory {
		out = append(out, "session advisory locks")
	}
	if n.Cursors {
		out = append(out, "cursors that outlive a transaction")
	}
	return out
}
