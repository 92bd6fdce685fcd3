package budget

import (
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

// led are the snapshot's groups in which a session that waits for a lock through its
// parallel workers alone is one that waits: activity shows it waiting for them.
func led(s *probes.Snapshot) []probes.Group {
	l := s.Locks
	if l == nil || l.Late != "" {
		return s.Groups
	}
	waits := map[int]bool{}
	for i := range l.Procs {
		if p := &l.Procs[i]; p.Kind == "parallel worker" && p.WaitEventType == "Lock" {
			waits[p.LeaderPID] = true
		}
	}
	if len(waits) == 0 {
		return s.Groups
	}
	out := slices.Clone(s.Groups)
	for i := range l.Procs {
		p := &l.Procs[i]
		if !waits[p.PID] {
			continue
		}
		at := slices.IndexFunc(out, func(g probes.Group) bool {
			return g.N > 0 && (g.Act == "run" || g.Act == "other") && g.Kind == p.Kind && g.State == p.State &&
				g.Database == p.Database && g.User == p.User && g.App == p.App && g.Addr == p.Addr
		})
		if at < 0 {
			continue // it waits for a lock itself, or has gone on
		}
		one := out[at]
		one.N, one.Act = 1, "lock"
		out[at].N--
		out = append(out, one)
	}
	return slices.DeleteFunc(out, func(g probes.Group) bool { return g.N == 0 })
}
