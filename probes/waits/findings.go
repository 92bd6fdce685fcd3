package waits

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// Names of the rules.
const (
	RuleTree     = "lock-tree"
	RuleDeadlock = "deadlock"
	RulePinned   = "slots-pinned"
	RulePrepared = "prepared-transaction-blocks"
	RuleSafe     = "safe-snapshot-wait"
)

// LongWait is when a lock wait counts as an error: a person notices, and the
// statement timeouts of most services are near.
const LongWait = 10 * time.Second

// Rule documents one rule.
type Rule struct {
	Name     string
	Severity probes.Severity
	Meaning  string // one line
}

// Rules lists what Findings can name.
func Rules() []Rule {
	return []Rule{
		{RuleTree, probes.Error, "sessions have waited for a lock for 10 s or more (warn: less)"},
		{RuleDeadlock, probes.Warn, "sessions wait for each other in a circle; the server ends one at deadlock_timeout"},
		{RulePinned, probes.Error, "lock waits and their holder take all slots of a role's cap"},
		{RulePrepared, probes.Error, "a prepared transaction holds a lock that others wait for"},
		{RuleSafe, probes.Info, "a DEFERRABLE transaction waits for others to end"},
	}
}

// Keep drops the trees whose longest wait is shorter than least.
func (f *Forest) Keep(least time.Duration) {
	f.Trees = slices.DeleteFunc(f.Trees, func(t *Tree) bool { return t.Longest < least })
}

// Findings says what is wrong in a forest, worst first. caps are the roles'
// caps; a role without one is unlimited.
func Findings(f *Forest, caps map[string]int) []probes.Finding {
	var out []probes.Finding
	for _, t := range f.Trees {
		out = append(out, f.treeFindings(t, caps)...)
	}
	for _, c := range f.Cycles {
		if c.Hard {
			out = append(out, f.deadlock(c))
		}
	}
	for _, s := range f.SafeSnapshots {
		out = append(out, probes.Finding{
			Rule: RuleSafe, Severity: probes.Info, Subject: s.Waiter.Key.String(),
			Message:  fmt.Sprintf("%s waits for a safe snapshot until %s end", s.Waiter.Key, count(len(s.Blockers))),
			Action:   "nothing, or end the read-write SERIALIZABLE transactions before it",
			Evidence: map[string]any{"blockers": len(s.Blockers)},
		})
	}
	rank := map[probes.Severity]int{probes.Error: 0, probes.Warn: 1, probes.Info: 2}
	slices.SortStableFunc(out, func(a, b probes.Finding) int { return rank[a.Severity] - rank[b.Severity] })
	return out
}

func (f *Forest) treeFindings(t *Tree, caps map[string]int) []probes.Finding {
	severity := probes.Warn
	if t.Longest >= LongWait {
		severity = probes.Error
	}
	rule, who := RuleTree, "session "+t.Root.Key.String()
	if t.Root.Role != "" {
		who += " (" + t.Root.Role + ")"
	}
	if t.Root.Key.Prepared() {
		rule, severity, who = RulePrepared, probes.Error, "prepared transaction "+t.Root.GID
	}
	longest := t.Longest.Seconds()
	since := &longest
	if t.Longest < 0 {
		since = nil
	}
	out := []probes.Finding{{
		Rule: rule, Severity: severity, Subject: t.Root.Key.String(), SinceS: since,
		Message:  fmt.Sprintf("%s wait behind %s, the longest %s", count(t.Victims), who, age(t.Longest)),
		Action:   t.Best.Text,
		Evidence: map[string]any{"victims": t.Victims, "slots_pinned": t.Slots, "pinned_by_role": t.ByRole, "backend_id": t.Root.BackendID()},
	}}
	for _, role := range slices.Sorted(maps.Keys(t.ByRole)) {
		if n := t.ByRole[role]; caps[role] > 0 && n >= caps[role] {
			out = append(out, probes.Finding{
				Rule: RulePinned, Severity: probes.Error, Subject: role, SinceS: since,
				Message:  fmt.Sprintf("all %d slots of %s are pinned by the lock tree of %s", caps[role], role, t.Root.Key),
				Action:   t.Best.Text,
				Evidence: map[string]any{"pinned": n, "cap": caps[role], "root": t.Root.Key.PID},
			})
		}
	}
	return out
}

func (f *Forest) deadlock(c Cycle) probes.Finding {
	members := make([]string, len(c.Members))
	for i, k := range c.Members {
		members[i] = k.String()
	}
	return probes.Finding{
		Rule: RuleDeadlock, Severity: probes.Warn, Subject: members[0],
		Message:  fmt.Sprintf("%s wait for each other in a circle", count(len(members))),
		Action:   "the server ends one of them at deadlock_timeout; the application must retry it",
		Evidence: map[string]any{"members": members},
	}
}
