package budget

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// graceS is how much later than its limit a statement may be seen before the
// limit cannot have been in force.
const graceS = 2

func contractChecks() []check {
	const other = "no SQL shows another session's settings: a breach shows that the contract is not in force there"
	return []check{
		{Rule{"statement-over-contract", probes.Warn, "a statement is older than its role's statement_timeout", other}, statementOverContract},
		{Rule{"idle-in-transaction-over-contract", probes.Warn, "a transaction idles longer than its role's contract", other}, idleOverContract},
		{Rule{"idle-session-timeout-below-pool", probes.Warn, "the server closes idle sessions before the pool does: the pool hands out dead ones", "PostgreSQL 14+ idle_session_timeout (57P05); the pools' idle limits"}, idleSessionTimeout},
		{Rule{"ghost-backends", probes.Warn, "connections are older than the pool lets any live: pods that should be gone", "the pools' maximum lifetimes"}, ghostBackends},
	}
}

// judged says whether a row's sessions are held to a contract.
func (r *liveRow) judged() bool { return r.Origin == Declared }

func statementOverContract(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		limit := l.f.Contract(r.Role).StatementTimeout.Seconds()
		if !r.judged() || limit == 0 || slices.Contains(r.role.Expect, "long-statements") {
			continue
		}
		worst := worstGroup(r, func(g probes.Group) float64 {
			if g.State != "active" {
				return -1
			}
			return g.MaxQueryS
		})
		if worst == nil || worst.MaxQueryS <= limit+graceS {
			continue
		}
		out = append(out, since(found("statement-over-contract", probes.Warn, r.Role,
			fmt.Sprintf("%s: a statement runs for %s; its contract is %s, so statement_timeout is not in force there",
				r.Role, age(worst.MaxQueryS), age(limit)),
			l.likelyCause("statement_timeout", worst),
			map[string]any{"query_s": worst.MaxQueryS, "contract_s": limit, "user": worst.User, "database": worst.Database}),
			worst.MaxQueryS-limit))
	}
	return out
}

func idleOverContract(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		limit := l.f.Contract(r.Role).IdleInTransaction.Seconds()
		if !r.judged() || limit == 0 || slices.Contains(r.role.Expect, "idle-in-transaction") {
			continue
		}
		worst := worstGroup(r, func(g probes.Group) float64 {
			if !strings.HasPrefix(g.State, "idle in transaction") {
				return -1
			}
			return g.MaxInStateS
		})
		if worst == nil || worst.MaxInStateS <= limit+graceS {
			continue
		}
		out = append(out, since(found("idle-in-transaction-over-contract", probes.Warn, r.Role,
			fmt.Sprintf("%s: a transaction idles for %s; its contract is %s, so the timeout is not in force there",
				r.Role, age(worst.MaxInStateS), age(limit)),
			l.likelyCause("idle_in_transaction_session_timeout", worst),
			map[string]any{"idle_s": worst.MaxInStateS, "contract_s": limit, "user": worst.User, "database": worst.Database}),
			worst.MaxInStateS-limit))
	}
	return out
}

func worstGroup(r *liveRow, by func(probes.Group) float64) *probes.Group {
	var out *probes.Group
	for i := range r.groups {
		if v := by(r.groups[i]); v >= 0 && (out == nil || v > by(*out)) {
			out = &r.groups[i]
		}
	}
	return out
}

// likelyCause names what sets a setting for the sessions of a group: the most
// specific default, or that there is none.
func (l *live) likelyCause(name string, g *probes.Group) string {
	v, from := l.setting(name, g.User, g.Database)
	switch {
	case from != "":
		return fmt.Sprintf("%s gives %s=%s; correct it, or the client sets its own: see the session", from, name, v)
	case v != "" && v != "0":
		return fmt.Sprintf("the server's %s is %s and the client overrides it: see the session and its connection string", name, v)
	}
	return fmt.Sprintf("neither role %s nor its database sets %s: set it in the client, or by ALTER ROLE … SET", g.User, name)
}

// setting is the default of a setting for a user in a database, with where it
// comes from: role in database, role, database, all (PostgreSQL applies the
// most specific), else the server's with an empty from.
func (l *live) setting(name, user, db string) (value, from string) {
	best := -1
	value = l.s.Limits.Settings[name]
	for _, s := range l.s.Limits.RoleSettings {
		if s.Name != name || s.Role != "" && s.Role != user || s.Database != "" && s.Database != db {
			continue
		}
		rank, where := 0, "ALTER ROLE ALL"
		switch {
		case s.Role != "" && s.Database != "":
			rank, where = 3, "ALTER ROLE "+s.Role+" IN DATABASE "+s.Database
		case s.Role != "":
			rank, where = 2, "ALTER ROLE "+s.Role
		case s.Database != "":
			rank, where = 1, "ALTER DATABASE "+s.Database
		}
		if rank > best {
			best, value, from = rank, s.Value, where
		}
	}
	return value, from
}

// serverDuration reads a time as PostgreSQL prints or stores it; a bare number
// is in milliseconds.
func serverDuration(s string) time.Duration {
	if d, ok := parseDuration(strings.TrimSpace(s)); ok {
		return d
	}
	n, err := wholeNumber(strings.TrimSpace(s), "", 0, math.MaxInt32)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}

// never is a pool limit that does not exist.
const never = math.MaxInt32

// idleSessionTimeout compares the server's limit with the age at which the pool
// itself closes idle connections.
func idleSessionTimeout(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		if !r.judged() || r.Now == 0 {
			continue
		}
		c := l.f.Contract(r.Role)
		idle := float64(r.role.kind.idleS)
		if c.PoolIdle > 0 {
			idle = c.PoolIdle.Seconds()
		}
		if c.PoolLifetime > 0 && (idle == 0 || idle > c.PoolLifetime.Seconds()) {
			idle = c.PoolLifetime.Seconds()
		}
		if idle == 0 {
			continue
		}
		limit, from := l.idleLimit(r)
		if limit == 0 || limit > idle {
			continue
		}
		if from == "" {
			from = "the server"
		}
		says := "never closes idle connections"
		if idle < never {
			says = "closes idle connections after " + age(idle)
		}
		out = append(out, found("idle-session-timeout-below-pool", probes.Warn, r.Role,
			fmt.Sprintf("%s: %s closes idle sessions after %s, its pool %s: it will hand out dead ones (57P05)", r.Role, from, age(limit), says),
			"let the pool close first (idle or recycle limit below the server's), or test connections before use",
			map[string]any{"idle_session_timeout_s": limit, "from": from}))
	}
	return out
}

// idleLimit is the shortest idle_session_timeout of a row's sessions in
// seconds, and where it is set; 0 none.
func (l *live) idleLimit(r *liveRow) (limit float64, from string) {
	for _, g := range r.groups {
		text, where := l.setting("idle_session_timeout", g.User, g.Database)
		if s := serverDuration(text).Seconds(); s > 0 && (limit == 0 || s < limit) {
			limit, from = s, where
		}
	}
	return limit, from
}

// ghostBackends finds connections that the pool should have closed by age. A
// quarter more and a minute are allowed for jitter and for statements that were
// under way. Extras live outside the pool, so a role that has some and gives
// them no name of their own cannot be judged.
func ghostBackends(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		if !r.judged() || r.role.Runs == RunsJob || r.sum.extras > 0 && len(r.role.also) == 0 {
			continue
		}
		life := float64(r.role.kind.lifeS)
		if c := l.f.Contract(r.Role); c.PoolLifetime > 0 {
			life = c.PoolLifetime.Seconds()
		}
		if life == 0 {
			continue
		}
		worst := worstGroup(r, func(g probes.Group) float64 {
			who := Who{Kind: g.Kind, App: g.App, User: g.User, Database: g.Database, Addr: g.Addr}
			if g.OldestStart.IsZero() || l.f.Match(who).Also {
				return -1
			}
			return l.s.At.Sub(g.OldestStart).Seconds()
		})
		if worst == nil {
			continue
		}
		old := l.s.At.Sub(worst.OldestStart).Seconds()
		if old <= 1.25*life+60 {
			continue
		}
		out = append(out, since(found("ghost-backends", probes.Warn, r.Role,
			fmt.Sprintf("%s: a connection from %s is %s old; its pool closes them after %s", r.Role, orUnknown(worst.Addr), age(old), age(life)),
			"see whether that pod still exists: its connections may outlive it until TCP keepalive ends them",
			map[string]any{"addr": worst.Addr, "age_s": old, "lifetime_s": life}), old-life))
	}
	return out
}

func orUnknown(s string) string {
	if s == "" {
		return "an unknown address"
	}
	return s
}
