package budget

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

const usableSource = "PostgreSQL docs, runtime-config-connection: max_connections, superuser_reserved_connections, reserved_connections"

func slotChecks() []check {
	return []check{
		{Rule{"slots-full", probes.Error, "every slot an ordinary role can have is taken: new connections fail", usableSource}, slotsFull},
		{Rule{"slots-hidden", probes.Error, "connections are refused for want of slots though few are visible: others are taken by clients that have not logged in", "53300 against pg_stat_activity, which before 18 does not show backends in authentication"}, slotsHidden},
		{Rule{"slots-low", probes.Warn, "fewer slots are free than operators are promised", usableSource}, slotsLow},
	}
}

func (l *live) bound() string {
	if l.u.Bound {
		return "at most "
	}
	return ""
}

func (l *live) slotsEvidence() map[string]any {
	return map[string]any{"used": l.u.Used, "usable": l.u.Usable, "keep_free": l.u.KeepFree}
}

// inReserve counts those that have slots that are reserved.
func (l *live) inReserve() string {
	if n := l.u.Used - l.u.Usable; n > 0 {
		return fmt.Sprintf(", and %s%d of the reserved", l.bound(), n)
	}
	return ""
}

func slotsFull(l *live) []probes.Finding {
	if l.u.MaxConnections == 0 || l.u.Used < l.u.Usable {
		return nil
	}
	return []probes.Finding{found("slots-full", l.certain(), "server",
		fmt.Sprintf("all %d usable slots are taken%s: new connections are refused (53300)", l.u.Usable, l.inReserve()),
		l.relief(), l.slotsEvidence())}
}

// slotsHidden: the server refused pgsonde's own second connection, and what it
// shows does not fill it.
func slotsHidden(l *live) []probes.Finding {
	if l.s.Refused == "" || l.u.Used >= l.u.Usable-1 {
		return nil
	}
	hidden := l.u.Usable - l.u.Used
	l.u.Hidden = &hidden
	return []probes.Finding{found("slots-hidden", probes.Error, "server",
		fmt.Sprintf("connections are refused (53300) though only %s%d of %d usable slots are visible: the others are clients that have not logged in, or a storm of reconnects",
			l.bound(), l.u.Used, l.u.Usable),
		"look at the process titles on its host (postgres: … authentication) and at the log for who connects; a shorter authentication_timeout frees them sooner",
		map[string]any{"used": l.u.Used, "usable": l.u.Usable, "server_said": l.s.Refused})}
}

func slotsLow(l *live) []probes.Finding {
	if l.u.MaxConnections == 0 || l.u.Used >= l.u.Usable || l.u.Used+l.u.KeepFree <= l.u.Usable {
		return nil
	}
	return []probes.Finding{found("slots-low", probes.Warn, "server",
		fmt.Sprintf("%s%d of %d usable slots are taken; operators should find %d free and find %d",
			l.bound(), l.u.Used, l.u.Usable, l.u.KeepFree, l.u.Free),
		l.relief(), l.slotsEvidence())}
}

// holdS is the age in seconds from which an idle transaction is a likelier
// cause of a full server than the pool sizes.
const holdS = 5

// relief says what frees slots: who holds them comes before any pool size, and
// a larger pool is never the first advice.
func (l *live) relief() string {
	worst, worstAge, idle := "", float64(holdS), 0
	waiting, overRole, overBy := 0, "", 0
	for _, r := range l.rows {
		for _, g := range r.groups {
			if strings.HasPrefix(g.State, "idle in transaction") && g.MaxInStateS >= worstAge {
				worst, worstAge, idle = r.Role, g.MaxInStateS, val(r.IdleInTx)
			}
		}
		waiting += val(r.LockWaiting)
		if by := r.Now - val(r.Cap); r.Over && r.Origin != BuiltIn && by > overBy {
			overRole, overBy = r.Role, by
		}
	}
	switch {
	case worst != "":
		return fmt.Sprintf("look at the holders first: %s has %d idle in transaction, the longest for %s; end that before any pool grows",
			worst, idle, age(worstAge))
	case waiting > 0:
		return fmt.Sprintf("look at the locks first: %s for one; end what blocks them before any pool grows", isWaiting(waiting))
	case overRole != "":
		return fmt.Sprintf("bring %s back to its budget: it has %d more than its cap", overRole, overBy)
	}
	return "close what idles, run fewer processes or smaller pools, or put a pooler in front; " + raisePrice
}

func isWaiting(n int) string {
	if n == 1 {
		return "1 session waits"
	}
	return fmt.Sprintf("%d sessions wait", n)
}

// raisePrice goes with every mention of max_connections.
const raisePrice = "raising max_connections needs a restart and memory for every slot"
