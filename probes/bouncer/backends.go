package bouncer

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// backends is the snapshot, looked at by pid.
type backends struct {
	snap     *probes.Snapshot
	sessions map[int]*probes.Session
	blockers map[int][]int
}

func newBackends(s *probes.Snapshot) *backends {
	b := &backends{snap: s, sessions: map[int]*probes.Session{}, blockers: map[int][]int{}}
	if s == nil {
		return b
	}
	if s.Locks != nil {
		for i := range s.Locks.Procs {
			b.sessions[s.Locks.Procs[i].PID] = &s.Locks.Procs[i]
		}
		b.blockers = blockers(s.Locks)
	}
	for i := range s.Sessions {
		b.sessions[s.Sessions[i].PID] = &s.Sessions[i]
	}
	return b
}

// blockers is whom each waiter waits for: the server's own answer, and where it
// was not asked, the holders of conflicting locks.
func blockers(l *probes.Locks) map[int][]int {
	out := make(map[int][]int, len(l.Waits))
	for _, w := range l.Waits {
		out[w.PID] = w.Blockers
	}
	held := map[probes.LockTag][]probes.LockRow{}
	for _, r := range l.Rows {
		if r.Granted {
			held[r.Tag] = append(held[r.Tag], r)
		}
	}
	for _, r := range l.Rows {
		if _, asked := out[r.PID]; r.Granted || asked {
			continue
		}
		var pids []int
		for _, h := range held[r.Tag] {
			if h.PID != r.PID && h.Mode.Bit()&r.Mode.Conflicts() != 0 {
				pids = append(pids, h.PID)
			}
		}
		out[r.PID] = pids
	}
	return out
}

func isUnix(addr string) bool { return strings.HasPrefix(addr, "unix") }

// of is the session at the other end of a server connection. The pid alone does
// not prove it: the pooler may talk to another server than the snapshot's. The
// port proves it; across an address translation user and database must do.
func (b *backends) of(s *Socket, database, user string) *probes.Session {
	p, ok := b.sessions[s.RemotePID]
	if !ok || s.RemotePID == 0 {
		return nil
	}
	if p.Port > 0 && p.Port == s.LocalPort {
		return p
	}
	if p.User == user && p.Database == database {
		return p
	}
	return nil
}

// describe fills in what the backend does.
func (b *backends) describe(x *Backend) {
	p := x.Session
	if p == nil {
		return
	}
	since := func(t time.Time) float64 {
		if t.IsZero() {
			return 0
		}
		return max(0, b.snap.At.Sub(t).Seconds())
	}
	switch {
	case p.WaitEventType == "Lock":
		x.Doing, x.ForS = DoingLock, since(p.QueryStart)
		x.Roots = b.roots(p.PID)
	case strings.HasPrefix(p.State, "idle in transaction"):
		x.Doing, x.ForS = DoingIdleInTx, since(p.XactStart)
	case p.State == "active" && p.WaitEventType == "Client":
		x.Doing, x.ForS = DoingClient, since(p.QueryStart)
	case p.State == "active", p.State == "fastpath function call":
		x.Doing, x.ForS = DoingQuery, since(p.QueryStart)
	case p.State == "idle":
		x.Doing, x.ForS = DoingIdle, since(p.StateChange)
	}
}

// roots are the pids at the ends of the chains that pid waits in, sorted; none
// when the blockers were not read, or when all of it is a cycle.
func (b *backends) roots(pid int) []int {
	var out []int
	seen := map[int]bool{pid: true}
	queue := slices.Clone(b.blockers[pid])
	for len(queue) > 0 {
		k := queue[0]
		queue = queue[1:]
		if seen[k] {
			continue
		}
		seen[k] = true
		if next := b.blockers[k]; len(next) > 0 {
			queue = append(queue, next...)
		} else {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// used counts client backends, all of them or those that fit; bound says that
// the login sees other roles' rows masked, so that it is an upper bound.
func (b *backends) used(fits func(probes.Group) bool) (n int, bound bool) {
	for _, g := range b.snap.Groups {
		if (g.Kind == probes.KindClient || g.Kind == probes.KindMasked) && fits(g) {
			n += g.N
			bound = bound || g.Kind == probes.KindMasked
		}
	}
	return n, bound
}

func (b *backends) role(user string) (probes.RoleLimit, bool) {
	i := slices.IndexFunc(b.snap.Limits.Roles, func(r probes.RoleLimit) bool { return r.Name == user })
	if i < 0 {
		return probes.RoleLimit{}, false
	}
	return b.snap.Limits.Roles[i], true
}

// sumUse counts what the backends of busy servers do, and whom they wait for.
func (j *judge) sumUse(all []*Backend) (u Use, roots []Root) {
	for _, b := range all {
		if b.Client == nil && b.State != "active" {
			continue
		}
		switch b.Doing {
		case DoingQuery:
			u.Running++
			if u.OldestQuery == nil || b.ForS > u.LongestQueryS {
				u.LongestQueryS, u.OldestQuery = b.ForS, b
			}
		case DoingLock:
			u.Lock++
		case DoingIdleInTx:
			u.IdleInTx++
			if u.OldestTx == nil || b.ForS > u.LongestTxS {
				u.LongestTxS, u.OldestTx = b.ForS, b
			}
		case DoingClient:
			u.Client++
		case DoingIdle:
			u.Idle++
		default:
			u.Unknown++
		}
		for _, pid := range b.Roots {
			k := slices.IndexFunc(roots, func(r Root) bool { return r.PID == pid })
			if k < 0 {
				k = len(roots)
				roots = append(roots, j.root(pid))
			}
			roots[k].Victims++
		}
	}
	slices.SortStableFunc(roots, func(a, b Root) int {
		return cmp.Or(cmp.Compare(b.Victims, a.Victims), cmp.Compare(a.PID, b.PID))
	})
	return u, roots
}

func (j *judge) root(pid int) Root {
	r := Root{PID: pid, Session: j.server.sessions[pid]}
	if pid == 0 {
		r.Session = nil
	}
	if r.Session != nil && j.in.RoleOf != nil {
		r.Role = j.in.RoleOf(r.Session.App, r.Session.User, r.Session.Database, r.Session.Addr)
	}
	return r
}
