package waits

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// Suspects are the sessions that may hold others up, from activity alone, for
// when the lock manager does not answer: in a transaction, idle in it or with
// a transaction id, and not waiting for a lock themselves; the oldest
// transaction first. It needs Snapshot.Sessions and sees nothing masked.
func Suspects(s *probes.Snapshot) []probes.Session {
	var out []probes.Session
	for _, x := range s.Sessions {
		if x.XactStart.IsZero() || x.WaitEventType == "Lock" || x.LeaderPID != 0 {
			continue
		}
		if strings.HasPrefix(x.State, "idle in transaction") || x.State == "active" && x.XID != "" {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b probes.Session) int {
		return cmp.Or(a.XactStart.Compare(b.XactStart), cmp.Compare(a.PID, b.PID))
	})
	return out
}
