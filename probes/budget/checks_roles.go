package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

const formulaSource = "the budget file's arithmetic: cap × processes × replicas"

func roleChecks() []check {
	const activity = "pg_stat_activity against the budget file"
	return []check{
		{Rule{"pod-full", probes.Error, "all connections of one pod are busy: its callers wait for the pool", activity}, podFull},
		{Rule{"role-over-cap", probes.Error, "a role has more connections than its pools can open by the budget", formulaSource}, roleOverCap},
		{Rule{"names-hidden", probes.Warn, "declared roles are absent while one other name, or one login without a name, holds more than keep_free connections and at least half of what they keep", "libpq: application_name in a URL wins over the program's own"}, namesHidden},
		{Rule{"unmatched-sessions", probes.Warn, "connections of no known role are more than keep_free or a tenth of the slots", activity}, unmatchedSessions},
		{Rule{"role-undeclared", probes.Warn, "a role named by the match pattern is not in the budget", activity}, roleUndeclared},
		{Rule{"role-off-seen", probes.Warn, "a role that is declared off has connections", activity}, roleOffSeen},
		{Rule{"pooler-bypassed", probes.Warn, "a role that the budget puts behind a pooler connects to the server directly", "the console's SHOW SERVERS (remote_pid), or the pooler's match, against pg_stat_activity"}, bypassed},
		{Rule{"role-absent", probes.Warn, "a role that always runs and keeps connections has none", activity}, roleAbsent},
		{Rule{"pods-not-replicas", probes.Info, "a role has more or fewer addresses than replicas", activity}, podsNotReplicas},
		{Rule{"overflow-in-use", probes.Info, "a role has more connections than its pools keep", formulaSource}, overflowInUse},
	}
}

func podFull(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		if len(r.PodsFull) == 0 {
			continue
		}
		wait := ""
		if c := l.f.Contract(r.Role); c.ConnectWait > 0 {
			wait = fmt.Sprintf(", callers fail after %s", age(c.ConnectWait.Seconds()))
		}
		message, ev := fullPods(r)
		out = append(out, found("pod-full", probes.Error, r.Role, r.Role+": "+message+wait, l.podRelief(r), ev))
	}
	return out
}

// fullPods says which pods of a role are full, the first few by address, and what
// their connections do: an idle one is outside the pool.
func fullPods(r *liveRow) (string, map[string]any) {
	const most = 3
	var addrs []string
	var now, busy, limit int
	for _, p := range r.PodsFull {
		addrs = append(addrs, p.Addr)
		now, busy, limit = now+p.Now, busy+p.Busy, limit+p.Cap
	}
	ev := map[string]any{"pods": addrs, "busy": busy, "cap": limit}
	subject := "pod " + addrs[0] + " has all its"
	switch n := len(addrs); {
	case n == 1:
		ev["addr"] = addrs[0]
	case n <= most:
		subject = "pods " + strings.Join(addrs[:n-1], ", ") + " and " + addrs[n-1] + " have all their"
	default:
		subject = fmt.Sprintf("%d pods, %s first, have all their", n, addrs[0])
	}
	use := "all busy"
	if aside := now - busy; aside > 0 {
		use = fmt.Sprintf("%d busy and %d set aside", busy, aside)
	}
	if now > limit {
		subject = strings.TrimSuffix(strings.TrimSuffix(subject, " all its"), " all their")
		use = fmt.Sprintf("%d over the cap of %d, %s", now-limit, limit, use)
	}
	return fmt.Sprintf("%s %d connections open, %s", subject, now, use), ev
}

// podRelief says why the connections of a role are busy; the pool's size comes
// last.
func (l *live) podRelief(r *liveRow) string {
	switch {
	case val(r.IdleInTx) > 0:
		are := "are"
		if *r.IdleInTx == 1 {
			are = "is"
		}
		return fmt.Sprintf("%d of its connections %s idle in transaction: end the longest, and do no slow work inside a transaction; a larger pool would hide it",
			*r.IdleInTx, are)
	case val(r.LockWaiting) > 0:
		return fmt.Sprintf("%s for a lock: end what blocks them; a larger pool would only queue more", isWaiting(*r.LockWaiting))
	}
	if room := l.u.Free - l.u.KeepFree; room >= r.sum.PerReplica {
		return fmt.Sprintf("look at its longest statements; one more replica takes %s, %d are free", plural(r.sum.PerReplica, "slot"), l.u.Free)
	}
	return "look at its longest statements; the server has no room for one more replica"
}

func roleOverCap(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		if !r.Over {
			continue
		}
		ev := map[string]any{"now": r.Now, "cap": *r.Cap}
		if r.Origin == Pooler {
			out = append(out, l.poolerOverCap(r, ev))
			continue
		}
		if r.Origin == BuiltIn {
			out = append(out, found("role-over-cap", probes.Info, r.Role,
				fmt.Sprintf("%s: %s%d connections; keep_free promises them %d", r.Role, l.bound(), r.Now, *r.Cap),
				"close idle tools, or raise keep_free in the budget", ev))
			continue
		}
		if r.deploys() {
			ev["peak"] = *r.Peak
			out = append(out, found("role-over-cap", probes.Warn, r.Role,
				fmt.Sprintf("%s: %s%d connections; its budget is %d, and %d while it is deployed", r.Role, l.bound(), r.Now, *r.Cap, *r.Peak),
				"let the deploy come to its end; if it stays, look for pods that should be gone", ev))
			continue
		}
		out = append(out, found("role-over-cap", l.certain(), r.Role,
			fmt.Sprintf("%s: %s%d connections; its budget is %d", r.Role, l.bound(), r.Now, *r.Cap),
			"look for more replicas or processes than declared, a leak, or pods that should be gone; else correct the budget", ev))
	}
	return out
}

// poolerOverCap: a pooler that opens more than its pools' sizes says that the file
// is not the pooler's; but where its connections are not told from others, those
// others may be what is too many.
func (l *live) poolerOverCap(r *liveRow, ev map[string]any) probes.Finding {
	if r.unsure > 0 && r.Now-r.unsure <= *r.Cap {
		ev["unsure"] = r.unsure
		return found("role-over-cap", probes.Warn, r.Role,
			fmt.Sprintf("%s: %s%d connections look like its own, its budget is %d; up to %d of them may connect directly", r.Role, l.bound(), r.Now, *r.Cap, r.unsure),
			"give its console, or its address or login as match: of the pooler, and they are told apart", ev)
	}
	return found("role-over-cap", l.certain(), r.Role,
		fmt.Sprintf("%s: %s%d connections; its budget is %d", r.Role, l.bound(), r.Now, *r.Cap),
		"look for more instances or pools than declared, or larger ones; else correct the budget", ev)
}

// deploys: a deploy under way explains what is over the cap, by its connections
// and by its addresses.
func (r *liveRow) deploys() bool {
	if r.role == nil || r.Peak == nil || r.Pods == nil || r.Now > *r.Peak {
		return false
	}
	extra := *r.Pods - *r.Replicas
	return extra > 0 && extra <= r.role.Surge.replicas(*r.Replicas)
}

func overflowInUse(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		if !r.overflowing() || r.Over {
			continue
		}
		out = append(out, found("overflow-in-use", probes.Info, r.Role,
			fmt.Sprintf("%s: %s%d connections, more than the %d its pools keep; %d is its cap", r.Role, l.bound(), r.Now, *r.Kept, *r.Cap),
			"nothing while it passes; if it stays, look at what its connections are busy with",
			map[string]any{"now": r.Now, "kept": *r.Kept, "cap": *r.Cap}))
	}
	return out
}

func unmatchedSessions(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		if l.f == nil || r.Origin != Unmatched || r.Now <= l.u.KeepFree && 10*r.Now <= l.u.Usable {
			continue
		}
		who, n := r.largestGroup()
		out = append(out, found("unmatched-sessions", probes.Warn, r.Role,
			fmt.Sprintf("%s%s of no known role; %d are %s", l.bound(), plural(r.Now, "connection"), n, who),
			"name them with application_name, or match them in the budget by user, db or addr",
			map[string]any{"now": r.Now, "users": r.users}))
	}
	return out
}

// largestGroup is the commonest (user, application name) of a row.
func (r *liveRow) largestGroup() (who string, n int) {
	type key struct{ user, app string }
	counts := map[key]int{}
	var best key
	for _, g := range r.groups {
		k := key{g.User, g.App}
		counts[k] += g.N
		if c := counts[k]; c > n || c == n && k.user+k.app < best.user+best.app {
			best, n = k, c
		}
	}
	return fmt.Sprintf("user=%s app=%q", best.user, best.app), n
}

func roleUndeclared(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		if l.f != nil && r.Origin == Captured {
			out = append(out, found("role-undeclared", probes.Warn, r.Role,
				fmt.Sprintf("%s: %s%s; the budget does not know this role", r.Role, l.bound(), plural(r.Now, "connection")),
				fmt.Sprintf("add %s to the budget, or stop it", r.Role), map[string]any{"now": r.Now}))
		}
	}
	return out
}

func roleOffSeen(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		if r.role != nil && r.role.Runs == RunsOff && r.Now+r.lent > 0 {
			out = append(out, found("role-off-seen", probes.Warn, r.Role,
				fmt.Sprintf("%s: %s%s; it is declared off", r.Role, l.bound(), plural(r.Now+r.lent, "connection")),
				"switch it off where it runs, or on in the budget", map[string]any{"now": r.Now + r.lent}))
		}
	}
	return out
}

// absent: always runs on the server, keeps connections, and has none. Masked
// rows show no address, so a role that is matched by one cannot be judged.
func (l *live) absent(r *liveRow) bool {
	return r.role != nil && r.role.Runs == RunsAlways && r.Now+r.lent == 0 && val(r.Kept) > 0 &&
		!(l.s.Server.Masked && slices.ContainsFunc(r.role.match, func(m rule) bool { return m.addrLocal || m.addr.IsValid() }))
}

func roleAbsent(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		if l.absent(r) {
			out = append(out, found("role-absent", probes.Warn, r.Role,
				fmt.Sprintf("%s: no connection; its pools keep %d", r.Role, *r.Kept),
				"see whether it is down, connects elsewhere, or under another application_name",
				map[string]any{"kept": *r.Kept}))
		}
	}
	return out
}

// namesHidden: a URL's application_name makes all roles one, and so does none at
// all where they share a login. The one name must hold half of what the absent
// roles keep, for that to be they, and more than keep_free: as many may be
// anybody's tools.
func namesHidden(l *live) []probes.Finding {
	if l.f == nil || l.f.capture == nil {
		return nil
	}
	var absent []string
	kept := 0
	for _, r := range l.rows {
		if l.absent(r) && r.role.match == nil {
			absent, kept = append(absent, r.Role), kept+*r.Kept
		}
	}
	if len(absent) == 0 {
		return nil
	}
	byName := map[nameless]int{}
	someNamed := false
	for _, r := range l.rows {
		switch r.Origin {
		case Unmatched, Captured:
			for _, g := range r.groups {
				k := nameless{app: g.App}
				if g.App == "" {
					if l.superuser(g.User) {
						continue // operators and their tools
					}
					k.user, k.database = g.User, g.Database
				}
				byName[k] += g.N
			}
		}
		someNamed = someNamed || r.Origin == Captured || r.role != nil && r.role.match == nil && r.Now+r.lent > 0
	}
	var most nameless
	n := 0
	for k, m := range byName {
		if m > n || m == n && k.before(most) {
			most, n = k, m
		}
	}
	if n <= l.u.KeepFree || 2*n < kept {
		return nil
	}
	none := strings.Join(absent, ", ") + " " + have(len(absent)) + " none"
	if most.app != "" {
		return []probes.Finding{found("names-hidden", probes.Warn, most.app,
			fmt.Sprintf("application_name %q holds %d connections while %s", most.app, n, none),
			"take application_name out of the connection URL: it replaces the name each role gives itself",
			map[string]any{"app": most.app, "now": n, "absent": absent})}
	}
	f := found("names-hidden", probes.Info, most.user,
		fmt.Sprintf("%d connections of user %s to %s give no application_name while %s", n, most.user, most.database, none),
		"let each role set application_name in its connection string; user and database do not tell these apart",
		map[string]any{"app": "", "user": most.user, "database": most.database, "now": n, "absent": absent})
	if someNamed { // so that naming is the custom here
		f.Severity = probes.Warn
	}
	return []probes.Finding{f}
}

// nameless are sessions that no role's name tells apart: all of one name, or of a
// user and database without one.
type nameless struct{ app, user, database string }

func (a nameless) before(b nameless) bool {
	return cmp.Or(strings.Compare(a.app, b.app), strings.Compare(a.user, b.user), strings.Compare(a.database, b.database)) < 0
}

func have(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

func podsNotReplicas(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		if r.role == nil || r.role.Runs != RunsAlways || r.Cap == nil || r.Pods == nil || r.Now == 0 || *r.Pods == *r.Replicas {
			continue
		}
		action := "a deploy under way, or pods that should be gone: see their oldest backends"
		if *r.Pods < *r.Replicas {
			action = "see whether pods are down; or addresses here are nodes or a NAT, then pods cannot be told apart"
		}
		addresses := fmt.Sprintf("%d addresses", *r.Pods)
		if *r.Pods == 1 {
			addresses = "1 address"
		}
		out = append(out, found("pods-not-replicas", probes.Info, r.Role,
			fmt.Sprintf("%s: %s; the budget has %s", r.Role, addresses, plural(*r.Replicas, "replica")),
			action, map[string]any{"pods": *r.Pods, "replicas": *r.Replicas}))
	}
	return out
}
