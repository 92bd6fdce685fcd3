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
	RuleCircle   = "lock-circle"
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
		{RuleCircle, probes.Info, "sessions wait for each other in a circle that closes through a queue, which the server reorders"},
		{RulePinned, probes.Error, "lock waits and their holder take all slots of a role's cap"},
		{RulePrepared, probes.Error, "a prepared transaction holds a lock that others wait for"},
		{RuleSafe, probes.Info, "a DEFERRABLE transaction waits for others to end"},
	}
}

// Keep drops the trees whose longest wait is known and shorter than least, and
// counts them in Hidden.
func (f *Forest) Keep(least time.Duration) {
	short := func(t *Tree) bool {
		drop := t != nil && t.Longest >= 0 && t.Longest < least
		if drop {
			f.Hidden++
		}
		return drop
	}
	f.Trees = slices.DeleteFunc(f.Trees, short)
	f.Cycles = slices.DeleteFunc(f.Cycles, func(c Cycle) bool { return short(c.Tree) })
}

// Findings says what is wrong in a forest, worst first. caps are the roles'
// caps; a role without one is unlimited.
func Findings(f *Forest, caps map[string]int) []probes.Finding {
	var out []probes.Finding
	for _, t := range f.Trees {
		out = append(out, f.treeFindings(t, caps)...)
	}
	for _, c := range f.Cycles {
		out = append(out, f.circleFindings(c, caps)...)
	}
	for _, s := range f.SafeSnapshots {
		out = append(out, probes.Finding{
			Rule: RuleSafe, Severity: probes.Info, Subject: s.Waiter.Key.String(), SinceS: seconds(s.Wait),
			Message:  fmt.Sprintf("%s waits for a safe snapshot until %s end%s", s.Waiter.Key, count(len(s.Blockers)), third(len(s.Blockers))),
			Action:   s.Best.Text,
			Evidence: map[string]any{"blockers": len(s.Blockers)},
		})
	}
	slices.SortStableFunc(out, worseFirst)
	return out
}

func worseFirst(a, b probes.Finding) int {
	rank := map[probes.Severity]int{probes.Error: 0, probes.Warn: 1, probes.Info: 2}
	return rank[a.Severity] - rank[b.Severity]
}

// Severity is that of the worst finding about t, a tree of Drawn.
func (f *Forest) Severity(t *Tree, caps map[string]int) probes.Severity {
	if c := f.Circle(t); c != nil {
		return slices.MinFunc(f.circleFindings(*c, caps), worseFirst).Severity
	}
	return slices.MinFunc(f.treeFindings(t, caps), worseFirst).Severity
}

// circleFindings are of a circle and of the tree that it heads, if it heads one: that
// others wait is said by the circle, until they have waited for long.
func (f *Forest) circleFindings(c Cycle, caps map[string]int) []probes.Finding {
	out := []probes.Finding{f.circle(c)}
	if c.Tree == nil {
		return out
	}
	for _, x := range f.treeFindings(c.Tree, caps) {
		if x.Severity == probes.Error {
			out = append(out, x)
		}
	}
	return out
}

func (f *Forest) treeFindings(t *Tree, caps map[string]int) []probes.Finding {
	severity := probes.Warn
	if t.Waited() >= LongWait {
		severity = probes.Error
	}
	rule, who := RuleTree, "session "+t.Root.Key.String()
	if t.Root.Role != "" {
		who += " (" + t.Root.Role + ")"
	}
	if t.Root.Key.Prepared() {
		rule, severity, who = RulePrepared, probes.Error, "prepared transaction "+t.Root.GID
	}
	how := third(t.Victims) + " behind "
	if f.Circle(t) != nil {
		how = third(t.Victims) + " in the circle of "
	}
	since, longest := seconds(t.Longest), ""
	if since != nil {
		longest = ", the longest " + age(t.Longest)
	}
	if t.Renewed() {
		longest += ", blocked at most " + age(t.Blocked)
	}
	out := []probes.Finding{{
		Rule: rule, Severity: severity, Subject: t.Root.Key.String(), SinceS: since,
		Message:  fmt.Sprintf("%s wait%s%s%s", count(t.Victims), how, who, longest),
		Action:   t.Best.Text,
		Evidence: map[string]any{"victims": t.Victims, "slots_pinned": t.Slots, "pinned_by_role": t.ByRole, "backend_id": t.Root.BackendID()},
	}}
	for _, role := range slices.Sorted(maps.Keys(t.ByRole)) {
		if n := t.ByRole[role]; caps[role] > 0 && n >= caps[role] {
			out = append(out, probes.Finding{
				Rule: RulePinned, Severity: probes.Error, Subject: role, SinceS: since,
				Message:  pinned(n, caps[role], role) + " pinned by the lock tree of " + t.Root.Key.String(),
				Action:   t.Best.Text,
				Evidence: map[string]any{"pinned": n, "cap": caps[role], "root": t.Root.Key.PID},
			})
		}
	}
	return out
}

// Renewed reports whether one may have been blocked for longer than the longest wait
// has lasted, as those who queue for a row are.
func (t *Tree) Renewed() bool { return t.Blocked >= t.Longest+time.Second }

func (f *Forest) circle(c Cycle) probes.Finding {
	members := make([]string, len(c.Members))
	for i, k := range c.Members {
		members[i] = f.Name(k)
	}
	x := probes.Finding{
		Rule: RuleDeadlock, Severity: probes.Warn, Subject: members[0],
		Message:  fmt.Sprintf("%s wait for each other in a circle: %s", count(len(members)), c.Words(f)),
		Action:   "the server ends one of them at deadlock_timeout; the application must retry it",
		Evidence: map[string]any{"members": members},
	}
	if !c.Hard {
		x.Rule, x.Severity = RuleCircle, probes.Info
		x.Message += ", through a queue"
		x.Action = "nothing: the server reorders the queue at deadlock_timeout"
	}
	return x
}

// Words names the members in the order of waiting, the first few of many.
func (c *Cycle) Words(f *Forest) string {
	const most = 6
	var s string
	for i, k := range c.Members {
		if i == most {
			return s + fmt.Sprintf(" and %d more", len(c.Members)-most)
		}
		if i > 0 {
			s += ", "
		}
		s += f.Name(k)
	}
	return s
}

// seconds of a duration, nil when it is unknown.
func seconds(d time.Duration) *float64 {
	if d < 0 {
		return nil
	}
	s := d.Seconds()
	return &s
}

// third is the ending of a verb for n sessions.
func third(n int) string {
	if n == 1 {
		return "s"
	}
	return ""
}

// pinned is "all 24 slots of api are", or how many more than its cap.
func pinned(n, limit int, role string) string {
	if n > limit {
		return fmt.Sprintf("%d connections of %s, %s, are", n, role, probes.Over(n, limit, "cap"))
	}
	return fmt.Sprintf("all %d slots of %s are", limit, role)
}
