package budget

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// checkCase is a snapshot and whether the rule may speak.
type checkCase struct {
	name, file string
	s          *probes.Snapshot
	fires      bool
	message    string // part of it, when it fires
}

// edit changes a snapshot and returns it.
func edit(s *probes.Snapshot, change func(*probes.Snapshot)) *probes.Snapshot {
	change(s)
	return s
}

func aged(g probes.Group, query, inState float64) probes.Group {
	g.MaxQueryS, g.MaxInStateS = query, inState
	if query > 0 {
		g.MaxTxS = query
	}
	return g
}

func waiting(g probes.Group, wait float64) probes.Group {
	g.WaitS = wait
	return g
}

func born(g probes.Group, ago time.Duration) probes.Group {
	g.OldestStart = now.Add(-ago)
	return g
}

func limitsOf(conn int, super bool) func(*probes.Snapshot) {
	return func(s *probes.Snapshot) {
		s.Limits.Roles = []probes.RoleLimit{{Name: "app", ConnLimit: conn, Superuser: super}}
		s.Limits.Databases = []probes.DatabaseLimit{{Name: "app", ConnLimit: conn}}
	}
}

func reserved(user string) func(*probes.Snapshot) {
	return func(s *probes.Snapshot) { s.Limits.Reserved, s.Limits.ReservedUsers = 2, []string{user} }
}

func refuse(s *probes.Snapshot) { s.Refused = "sorry, too many clients already" }

// churn is a reading every five seconds up to now, each with so many sessions
// opened since the one before.
func churn(opened ...int64) func(*probes.Snapshot) {
	return func(s *probes.Snapshot) {
		s.Opened = []probes.Opened{{At: now.Add(time.Duration(-5*len(opened)) * time.Second), Sessions: 1000}}
		for _, n := range opened {
			last := s.Opened[len(s.Opened)-1]
			s.Opened = append(s.Opened, probes.Opened{At: last.At.Add(5 * time.Second), Sessions: last.Sessions + n})
		}
	}
}

const one = "match: \"{role}\"\nkeep_free: 3\nroles: { a: { min: 4, max: 8, replicas: 2 } }\n"

const surged = "match: \"{role}\"\nkeep_free: 3\nroles: { a: { min: 4, max: 8, replicas: 2, surge: 1 } }\n"

// pooled is a file of a pooler with these pools, and a role behind it.
func pooled(pools string) string {
	return "match: \"{role}\"\npoolers: { p: { mode: transaction, pools: { " + pools + " } } }\nroles: { w: { pool: 1, via: p } }"
}

const bypass = "match: \"{role}\"\npoolers: { p: { mode: transaction, match: { addr: 10.0.0.9 }, pools: { app@app: {} } } }\nroles: { w: { pool: 1, via: p } }"

func as(g probes.Group, user string) probes.Group {
	g.User = user
	return g
}

func masked(g probes.Group) probes.Group {
	g.Kind, g.OldestStart, g.NewestStart = probes.KindMasked, time.Time{}, time.Time{}
	return g
}

// TestNamelessIsNoWarningWhereNobodyIsNamed: on a server whose clients set no name
// it is a remark that roles cannot be told apart, where others do it is a warning.
func TestNamelessIsNoWarningWhereNobodyIsNamed(t *testing.T) {
	f := mustParse(t, "match: \"w:{role}\"\nroles: { a: { pool: 4 }, b: { pool: 4 } }")
	for _, tt := range []struct {
		named int
		want  probes.Severity
	}{{0, probes.Info}, {2, probes.Warn}} {
		groups := []probes.Group{grp(8, "", "", "idle")}
		if tt.named > 0 {
			groups = append(groups, grp(tt.named, "w:a", "", "idle"))
		}
		n := 0
		for _, x := range Use(f, snap(groups...)).Findings {
			if x.Rule == "names-hidden" {
				n++
				if x.Severity != tt.want {
					t.Errorf("%d named: got %s, want %s", tt.named, x.Severity, tt.want)
				}
			}
		}
		if n != 1 {
			t.Errorf("%d named: got %d findings, want one", tt.named, n)
		}
	}
}

func checkCases() map[string][]checkCase {
	idle := func(n int) probes.Group { return grp(n, "a", "1.1.1.1", "idle") }
	both := func(n int) []probes.Group { return []probes.Group{idle(n), grp(n, "a", "1.1.1.2", "idle")} }
	started := func(n int, oldest, newest time.Duration) probes.Group {
		g := born(grp(n, "a", "", "idle"), oldest)
		g.NewestStart = now.Add(-newest)
		return g
	}
	young := func(n int) probes.Group { return started(n, time.Second, time.Second) }
	old := func(n int) probes.Group { return started(n, time.Hour, time.Minute) }
	grown := func(n int) probes.Group { return started(n, time.Hour, time.Second) }
	const providers = "match: \"{role}\"\nserver: { max_connections: 100, provider_reserved: 40 }\nroles: { a: { pool: 10 } }\n"
	small := func(s *probes.Snapshot) { s.Limits.MaxConnections = 20 }
	timed := one + "settings: { default: { lock_timeout: 5s, transaction_timeout: 60s, deadline: 2min } }\n"
	timedJob := "match: \"{role}\"\nroles: { j: { pool: 1, runs: job } }\nsettings: { j: { deadline: 10min } }\n"
	contract := one + "settings: { default: { statement_timeout: 10s, idle_in_transaction: 30s, connect_wait: 5s } }\n"
	return map[string][]checkCase{
		"slots-full": {
			{"all taken", one, snap(grp(97, "x", "", "idle")), true, "all 97 usable slots"},
			{"more kept by a provider than there is", providers, edit(snap(grp(5, "a", "", "idle")), small), false, ""},
			{"one free", one, snap(grp(96, "x", "", "idle")), false, ""},
			{"without a file", "", snap(grp(98, "x", "", "idle")), true, "and 1 of the reserved"},
		},
		"slots-hidden": {
			{"refused with few visible", one, edit(snap(grp(20, "x", "", "idle")), refuse), true, "only 20 of 97 usable slots are visible"},
			{"refused and full", one, edit(snap(grp(97, "x", "", "idle")), refuse), false, ""},
			{"not refused", one, snap(grp(20, "x", "", "idle")), false, ""},
		},
		"connection-churn": {
			{"30 a second", one, edit(snap(young(2)), churn(150, 150, 150)), true, "30 new sessions a second over the last 15 s, 448 of 450 are gone again: each is a new process and a login; all connections of a are younger"},
			{"6 a second", one, edit(snap(), churn(30, 30)), true, "6 new sessions a second over the last 10 s, 60 of 60 are gone again"},
			{"since it began", one, edit(snap(), churn(0, 1, 30, 30)), true, "over the last 10 s"},
			{"beside large pools", one, edit(snap(old(90), young(2)), churn(30, 30)), true, "58 of 60 are gone again"},
			{"in the same group as a large pool", one, edit(snap(grown(90)), churn(30, 30, 30, 30, 30, 30, 30)), true, "6 new sessions a second over the last 35 s, 120 of 210 are gone again"},
			{"once", one, edit(snap(), churn(0, 30)), false, ""},
			{"over", one, edit(snap(), churn(150, 150, 150, 1)), false, ""},
			{"a deploy", one, edit(snap(young(110)), churn(40, 40, 20)), false, ""},
			{"a deploy and its probes", one, edit(snap(young(50)), churn(30, 30, 30)), false, ""},
			{"masked", one, edit(snap(masked(grp(100, "a", "", "idle"))), churn(40, 40, 20)), false, ""},
			{"a pool", one, edit(snap(young(2)), churn(1, 1, 1)), false, ""},
			{"one reading", one, edit(snap(), churn()), false, ""},
			{"not known", one, snap(), false, ""},
		},
		"slots-low": {
			{"two free of three", one, snap(grp(95, "x", "", "idle")), true, "should find 3 free and find 2"},
			{"three free", one, snap(grp(94, "x", "", "idle")), false, ""},
			{"full is another rule's", one, snap(grp(97, "x", "", "idle")), false, ""},
			{"own connections count", one, edit(snap(grp(94, "x", "", "idle")), func(s *probes.Snapshot) { s.Server.OwnPIDs = []int{1} }), true, ""},
		},
		"pod-full": {
			{"full", contract, snap(grp(8, "a", "1.1.1.1", "active"), grp(1, "a", "1.1.1.2", "idle")), true, "all busy, callers fail after 5 s"},
			{"two", contract, snap(grp(8, "a", "1.1.1.1", "active"), grp(8, "a", "1.1.1.2", "active")), true, "a: pods 1.1.1.1 and 1.1.1.2 have all their 16 connections open, all busy, callers fail after 5 s"},
			{"more than it opens", contract, snap(grp(9, "a", "1.1.1.1", "active"), grp(1, "a", "1.1.1.2", "idle")), true, "has 9 connections open, 1 over the cap of 8, all busy"},
			{"one idle", contract, snap(grp(7, "a", "1.1.1.1", "active"), idle(1), grp(1, "a", "1.1.1.2", "idle")), false, ""},
		},
		"role-over-cap": {
			{"17 of 16", one, snap(both(8)[0], grp(9, "a", "1.1.1.2", "idle")), true, "17 connections; its budget is 16"},
			{"16 of 16", one, snap(both(8)...), false, ""},
			{"operators", one, snap(grp(4, "psql", "local", "idle")), true, "keep_free promises them 3"},
			{"a deploy with its surge", surged, snap(append(both(8), grp(8, "a", "1.1.1.3", "idle"))...), true, "24 connections; its budget is 16, and 24 while it is deployed"},
			{"more than a deploy", surged, snap(append(both(8), grp(9, "a", "1.1.1.3", "idle"))...), true, "25 connections; its budget is 16"},
			{"over without another pod", surged, snap(both(8)[0], grp(9, "a", "1.1.1.2", "idle")), true, "17 connections; its budget is 16"},
		},
		"overflow-in-use": {
			{"9 > 8 kept", one, snap(both(4)[0], grp(5, "a", "1.1.1.2", "idle")), true, "more than the 8"},
			{"8 kept", one, snap(both(4)...), false, ""},
			{"a pool that keeps none", "match: \"{role}\"\nroles: { a: { kind: sqlx } }", snap(idle(3)), false, ""},
			{"over is another rule's", one, snap(idle(20)), false, ""},
		},
		"unmatched-sessions": {
			{"4 > keep_free", "match: \"w:{role}\"", snap(grp(4, "other", "", "idle")), true, `4 are user=app app="other"`},
			{"3", "match: \"w:{role}\"", snap(grp(3, "other", "", "idle")), false, ""},
			{"more than a tenth", "match: \"w:{role}\"\nkeep_free: 50", snap(grp(10, "other", "", "idle")), true, ""},
			{"without a file", "", snap(grp(40, "", "", "idle")), false, ""},
		},
		"role-undeclared": {
			{"captured", one, snap(grp(1, "b", "", "idle")), true, "b: 1 connection; the budget"},
			{"declared", one, snap(both(1)...), false, ""},
			{"without a file", "", snap(idle(1)), false, ""},
		},
		"role-off-seen": {
			{"seen", "match: \"{role}\"\nroles: { a: { pool: 1, runs: off } }", snap(idle(2)), true, "2 connections; it is declared off"},
			{"not seen", "match: \"{role}\"\nroles: { a: { pool: 1, runs: off } }", snap(), false, ""},
		},
		"role-absent": {
			{"absent", one, snap(), true, "its pools keep 8"},
			{"there", one, snap(both(1)...), false, ""},
			{"a job", "match: \"{role}\"\nroles: { a: { pool: 1, runs: job } }", snap(), false, ""},
			{"keeps none", "match: \"{role}\"\nroles: { a: { kind: sqlx } }", snap(), false, ""},
			{"scaled to zero", "match: \"{role}\"\nroles: { a: { pool: 1, replicas: 0 } }", snap(), false, ""},
			{"masked, but named", one, edit(snap(), func(s *probes.Snapshot) { s.Server.Masked = true }), true, ""},
			{"masked, by address", "roles: { a: { pool: 1, match: { addr: 10.0.0.0/8 } } }", edit(snap(), func(s *probes.Snapshot) { s.Server.Masked = true }), false, ""},
		},
		"names-hidden": {
			{"one name holds all", "match: \"w:{role}\"\nroles: { a: { pool: 4 }, b: { pool: 4 } }", snap(grp(8, "backend", "", "idle")), true, `"backend" holds 8 connections while a, b have none`},
			{"one absent", "match: \"w:{role}\"\nroles: { a: { pool: 4 }, b: { pool: 4 } }", snap(grp(4, "w:all", "", "idle"), grp(4, "w:b", "", "idle")), true, "while a has none"},
			{"no name at all", "match: \"w:{role}\"\nroles: { a: { pool: 4 }, b: { pool: 4 } }", snap(grp(8, "", "", "idle")), true, "8 connections of user app to app give no application_name while a, b have none"},
			{"no name, as few as may be anybody's", "match: \"w:{role}\"\nroles: { a: { pool: 2 }, b: { pool: 2 } }", snap(grp(3, "", "", "idle")), false, ""},
			{"no name, told apart by their users", "match: \"w:{role}\"\nroles: { a: { pool: 4 }, b: { pool: 4 } }", snap(as(grp(3, "", "", "idle"), "x"), as(grp(3, "", "", "idle"), "y"), as(grp(3, "", "", "idle"), "z")), false, ""},
			{"no name, operators", "match: \"w:{role}\"\nroles: { a: { pool: 4 }, b: { pool: 4 } }", edit(snap(grp(8, "", "", "idle")), limitsOf(-1, true)), false, ""},
			{"no name, matched by their user", "match: \"w:{role}\"\nroles: { a: { pool: 8, match: { user: app } } }", snap(grp(8, "", "", "idle")), false, ""},
			{"no name, and nobody absent", "match: \"w:{role}\"\nroles: { a: { pool: 4 } }", snap(grp(4, "w:a", "", "idle"), grp(9, "", "", "idle")), false, ""},
			{"as few as may be anybody's", "match: \"w:{role}\"\nroles: { a: { pool: 2 }, b: { pool: 2 } }", snap(grp(3, "backend", "", "idle")), false, ""},
			{"more than keep_free", "match: \"w:{role}\"\nroles: { a: { pool: 2 }, b: { pool: 2 } }", snap(grp(4, "backend", "", "idle")), true, "holds 4"},
			{"less than half of what they keep", "match: \"w:{role}\"\nroles: { a: { pool: 5 }, b: { pool: 6 } }", snap(grp(5, "backend", "", "idle")), false, ""},
			{"too few", "match: \"w:{role}\"\nroles: { a: { pool: 4 }, b: { pool: 4 } }", snap(grp(3, "backend", "", "idle")), false, ""},
			{"nobody absent", "match: \"w:{role}\"\nroles: { a: { pool: 4 } }", snap(grp(4, "w:a", "", "idle"), grp(9, "backend", "", "idle")), false, ""},
		},
		"pods-not-replicas": {
			{"three of two", one, snap(idle(1), grp(1, "a", "1.1.1.2", "idle"), grp(1, "a", "1.1.1.3", "idle")), true, "3 addresses; the budget has 2 replicas"},
			{"two of two", one, snap(both(1)...), false, ""},
			{"absent is another rule's", one, snap(), false, ""},
		},
		"statement-over-contract": {
			{"13 s of 10", contract, snap(aged(grp(1, "a", "", "active"), 13, 13)), true, "runs for 13 s; its contract is 10 s"},
			{"within the grace", contract, snap(aged(grp(1, "a", "", "active"), 11, 11)), false, ""},
			{"idle since long", contract, snap(aged(grp(1, "a", "", "idle"), -1, 900)), false, ""},
			{"no contract", one, snap(aged(grp(1, "a", "", "active"), 900, 900)), false, ""},
			{"an operator's", contract, snap(aged(grp(1, "psql", "", "active"), 900, 900)), false, ""},
			{"expected", strings.Replace(contract, "replicas: 2", "replicas: 2, expect: long-statements", 1), snap(aged(grp(1, "a", "", "active"), 900, 900)), false, ""},
		},
		"idle-in-transaction-over-contract": {
			{"95 s of 30", contract, snap(aged(grp(1, "a", "", "idle in transaction"), -1, 95)), true, "idles for 95 s; its contract is 30 s"},
			{"aborted too", contract, snap(aged(grp(1, "a", "", "idle in transaction (aborted)"), -1, 95)), true, ""},
			{"31 s", contract, snap(aged(grp(1, "a", "", "idle in transaction"), -1, 31)), false, ""},
			{"only idle", contract, snap(aged(grp(1, "a", "", "idle"), -1, 95)), false, ""},
		},
		"idle-session-timeout-below-pool": {
			{"5 min of hikari's 10", "match: \"{role}\"\nroles: { a: { kind: hikari } }", edit(snap(idle(1)), func(s *probes.Snapshot) { s.Limits.Settings["idle_session_timeout"] = "5min" }), true, "closes idle connections after 10 min"},
			{"10 min and more", "match: \"{role}\"\nroles: { a: { kind: hikari } }", edit(snap(idle(1)), func(s *probes.Snapshot) { s.Limits.Settings["idle_session_timeout"] = "11min" }), false, ""},
			{"never closes", "match: \"{role}\"\nroles: { a: { kind: sqlalchemy } }", edit(snap(idle(1)), func(s *probes.Snapshot) {
				s.Limits.RoleSettings = []probes.RoleSetting{{Role: "app", Name: "idle_session_timeout", Value: "3600000"}}
			}), true, "ALTER ROLE app closes idle sessions after 60 min, its pool never"},
			{"recycled in time", "match: \"{role}\"\nroles: { a: { kind: sqlalchemy } }\nsettings: { a: { pool_lifetime: 30min } }", edit(snap(idle(1)), func(s *probes.Snapshot) { s.Limits.Settings["idle_session_timeout"] = "1h" }), false, ""},
			{"another's default", "match: \"{role}\"\nroles: { a: { kind: sqlalchemy } }", edit(snap(idle(1)), func(s *probes.Snapshot) {
				s.Limits.RoleSettings = []probes.RoleSetting{{Role: "other", Name: "idle_session_timeout", Value: "1000"}}
			}), false, ""},
			{"off", "match: \"{role}\"\nroles: { a: { kind: sqlalchemy } }", snap(idle(1)), false, ""},
		},
		"ghost-backends": {
			{"1 h of 30 min", "match: \"{role}\"\nroles: { a: { kind: hikari } }", snap(born(idle(1), time.Hour)), true, "from 1.1.1.1 is 60 min old; its pool closes them after 30 min"},
			{"within the jitter", "match: \"{role}\"\nroles: { a: { kind: hikari } }", snap(born(idle(1), 35*time.Minute)), false, ""},
			{"no lifetime known", one, snap(born(idle(1), 999*time.Hour)), false, ""},
			{"extras have none", "match: \"{role}\"\nroles: { a: { kind: hikari, extra: { listen: 1 } } }", snap(born(idle(1), time.Hour)), false, ""},
			{"named extras are told apart", "match: \"{role}\"\nroles: { a: { kind: hikari, extra: { listen: 1 }, also: l } }", snap(born(idle(1), time.Minute), born(grp(1, "l", "1.1.1.1", "idle"), 9*time.Hour)), false, ""},
		},
		"role-limit-low": {
			{"15 for 16", one, edit(snap(both(1)...), limitsOf(15, false)), true, "CONNECTION LIMIT 15; a may open 16"},
			{"16 for 16", one, edit(snap(both(1)...), limitsOf(16, false)), false, ""},
			{"unlimited", one, edit(snap(both(1)...), limitsOf(-1, false)), false, ""},
			{"superusers are exempt", one, edit(snap(both(1)...), limitsOf(1, true)), false, ""},
			{"two roles share it", "match: \"{role}\"\nroles: { a: { pool: 10 }, b: { pool: 8 } }", edit(snap(idle(1), grp(1, "b", "", "idle")), limitsOf(17, false)), true, "a, b may open 18"},
			{"two roles fit it", "match: \"{role}\"\nroles: { a: { pool: 10 }, b: { pool: 8 } }", edit(snap(idle(1), grp(1, "b", "", "idle")), limitsOf(18, false)), false, ""},
			{"walsenders are not counted", one, edit(snap(append(both(1), probes.Group{Kind: "walsender", User: "app", App: "a", N: 9})...), limitsOf(16, false)), false, ""},
			{"by the match, not seen yet", "roles: { a: { pool: 9, match: { user: app } } }", edit(snap(), limitsOf(8, false)), true, ""},
			{"one stray session of another login", one, edit(snap(append(both(2), as(grp(1, "a", "1.1.1.1", "idle"), "dana"))...), limitsOf(15, false)), true, "a may open 16"},
			{"as many of two logins: whose is not known", one, edit(snap(idle(2), as(grp(2, "a", "1.1.1.2", "idle"), "dana")), limitsOf(15, false)), false, ""},
			{"jobs of a group are not open together", "match: \"{role}\"\nroles: { a: { pool: 4, runs: job, group: g }, b: { pool: 6, runs: job, group: g } }", edit(snap(idle(1), grp(1, "b", "", "idle")), limitsOf(6, false)), false, ""},
			{"the larger job of a group", "match: \"{role}\"\nroles: { a: { pool: 4, runs: job, group: g }, b: { pool: 6, runs: job, group: g } }", edit(snap(idle(1), grp(1, "b", "", "idle")), limitsOf(5, false)), true, "a, b may open 6"},
			{"what runs by hand is in no sum", "match: \"{role}\"\nroles: { a: { pool: 9, runs: manual } }", edit(snap(idle(1)), limitsOf(8, false)), false, ""},
			{"a pooler that has no connection yet", pooled("shop@app: { size: 9 }"), edit(snap(), limitsOf(8, false)), true, "pooler p may open 9"},
			{"a pooler and a role that connects directly", strings.TrimSuffix(pooled("shop@app: { size: 9 }"), " }") + ", b: { pool: 4 } }", edit(snap(grp(1, "b", "", "idle")), limitsOf(12, false)), true, "b, pooler p may open 13"},
			{"of a pooler only the pools of that login", pooled("shop@app: { size: 4 }, shop@other: { size: 9 }"), edit(snap(), limitsOf(4, false)), false, ""},
			{"… beside another that has connections", pooled("shop@app: { size: 9 }, shop@other: { size: 9 }"), edit(snap(grp(3, "w", "", "idle"), as(grp(3, "w", "", "idle"), "other")), limitsOf(8, false)), true, "pooler p may open 9"},
			{"a pooler whose login is another than its clients'", pooled("shop@web: { size: 9 }"), edit(snap(grp(3, "w", "", "idle")), limitsOf(8, false)), true, "pooler p may open 9"},
		},
		"database-limit-low": {
			{"15 for 16", one, edit(snap(both(1)...), limitsOf(15, false)), true, "database app has CONNECTION LIMIT 15"},
			{"16 for 16", one, edit(snap(both(1)...), limitsOf(16, false)), false, ""},
			{"superusers are exempt", one, edit(snap(both(1)...), limitsOf(1, true)), false, ""},
			{"a pooler that has no connection yet", pooled("app@web: { size: 9 }"), edit(snap(), limitsOf(8, false)), true, "pooler p may open 9"},
			{"a pooler whose database has another name", pooled("shop@app: { size: 9 }"), edit(snap(grp(3, "w", "", "idle")), limitsOf(8, false)), true, "database app has CONNECTION LIMIT 8; pooler p may open 9"},
			{"a pooler of another database", pooled("books@web: { size: 9 }"), edit(snap(), limitsOf(8, false)), false, ""},
		},
		"app-is-superuser": {
			{"declared", one, edit(snap(both(1)...), limitsOf(-1, true)), true, "logs in as superuser app (2 connections)"},
			{"without a file", "", edit(snap(idle(1)), limitsOf(-1, true)), true, ""},
			{"operators may", one, edit(snap(grp(1, "psql", "", "idle")), limitsOf(-1, true)), false, ""},
			{"ordinary", one, edit(snap(both(1)...), limitsOf(-1, false)), false, ""},
		},
		"app-takes-reserve": {
			{"granted", one, edit(snap(both(1)...), reserved("app")), true, "a logs in as app, which may use the reserved connections (2 connections)"},
			{"another has the grant", one, edit(snap(both(1)...), reserved("ops")), false, ""},
			{"operators may", one, edit(snap(grp(1, "psql", "", "idle")), reserved("app")), false, ""},
			{"nothing is reserved", one, edit(snap(both(1)...), func(s *probes.Snapshot) { s.Limits.ReservedUsers = []string{"app"} }), false, ""},
			{"superusers are another rule's", one, edit(edit(snap(both(1)...), limitsOf(-1, true)), reserved("app")), false, ""},
		},
		"running-over-cpus": {
			{"9 on 4", one, snap(grp(9, "a", "", "active")), true, "9 statements run on 4 CPUs; 9 of them are a"},
			{"8 on 4", one, snap(grp(8, "a", "", "active")), false, ""},
			{"waiting", one, snap(grp(9, "a", "", "active/lock")), false, ""},
			{"CPUs unknown", one, edit(snap(grp(90, "a", "", "active")), func(s *probes.Snapshot) { s.Server.CPUs = 0 }), false, ""},
		},
		"file-differs": {
			{"80, file 100", "server: { max_connections: 100 }", edit(snap(), func(s *probes.Snapshot) { s.Limits.MaxConnections = 80 }), true, "max_connections is 80, the file says 100"},
			{"same", "server: { max_connections: 100, superuser_reserved: 3, version: 16, cpus: 4 }", snap(), false, ""},
			{"not said", one, edit(snap(), func(s *probes.Snapshot) { s.Limits.MaxConnections = 80 }), false, ""},
			{"more kept by a provider than there is", providers, edit(snap(grp(5, "a", "", "idle")), small), true, "max_connections is 20, the file says 100; provider_reserved of 40 cannot be of this server, which has 20 slots, and is left out"},
			{"kept by a provider", "server: { provider_reserved: 10 }", snap(), false, ""},
			{"version", "server: { version: 15 }", snap(), true, "version is 16, the file says 15"},
		},
		"no-operator-reserve": {
			{"16 without", one, snap(), true, "only a superuser gets in"},
			{"16 with", one, edit(snap(), func(s *probes.Snapshot) { s.Limits.Reserved = 2 }), false, ""},
			{"15 cannot", one, edit(snap(), func(s *probes.Snapshot) { s.Server.VersionNum = 150018 }), false, ""},
			{"none at all", one, edit(snap(), func(s *probes.Snapshot) { s.Limits.SuperuserReserved = 0 }), true, "nobody gets in"},
		},
		"no-free-walsender": {
			{"10 of 10", one, snap(probes.Group{Kind: "walsender", N: 10}), true, "all 10 walsender slots are taken"},
			{"9 of 10", one, snap(probes.Group{Kind: "walsender", N: 9}), false, ""},
			{"hidden by masking", one, snap(probes.Group{Kind: probes.KindMaskedSystem, N: 1}, probes.Group{Kind: "walsender", N: 10}), false, ""},
			{"switched off", one, edit(snap(), func(s *probes.Snapshot) { s.Limits.MaxWalSenders = 0 }), false, ""},
		},
		"steady-over-usable": {
			{"live server is smaller", one, edit(snap(), func(s *probes.Snapshot) { s.Limits.MaxConnections = 15 }), true, "may open 16 connections; 12 slots"},
			{"fits", one, snap(), false, ""},
			{"more kept by a provider than there is", providers, edit(snap(), small), false, ""},
		},
		"peak-over-usable": {
			{"jobs", one + "  \n", snap(), false, ""},
			{"jobs on top", "match: \"{role}\"\nroles: { a: { pool: 60 }, j: { pool: 40, runs: job } }", snap(), true, "60 always, 40 by jobs"},
		},
		"peak-low": {
			{"2 left", "roles: { a: { pool: 95 } }", snap(), true, "2 slots are left of 97"},
			{"3 left", "roles: { a: { pool: 94 } }", snap(), false, ""},
		},
		"pooler-clients-over": {
			{"180 > 100", "poolers: { p: { pools: { d@u: {} } } }\nroles: { w: { pool: 180, via: p } }", snap(), true, "180 clients > 100"},
			{"100", "poolers: { p: { pools: { d@u: {} } } }\nroles: { w: { pool: 100, via: p } }", snap(), false, ""},
		},
		"pooler-server-over": {
			{"98 > 97", "poolers: { p: { pools: { d@u: { size: 98 } } } }", snap(), true, "may open 98 server connections"},
			{"97", "poolers: { p: { pools: { d@u: { size: 97 } } } }", snap(), false, ""},
		},
		"needs-session-state": {
			{"LISTEN", "poolers: { p: { mode: transaction, pools: { d@u: {} } } }\nroles: { w: { pool: 1, via: p, extra: { listen: 1 } } }", snap(), true, "LISTEN (listen)"},
			{"no state", "poolers: { p: { mode: transaction, pools: { d@u: {} } } }\nroles: { w: { pool: 1, via: p } }", snap(), false, ""},
		},
		"session-pool-short": {
			{"21 clients, 20 servers", "poolers: { p: { mode: session, pools: { d@u: {} } } }\nroles: { w: { pool: 21, via: p } }", snap(), true, "21 clients > its 20 servers"},
			{"session is PgBouncer's own default", "poolers: { p: { pools: { d@u: {} } } }\nroles: { w: { pool: 21, via: p } }", snap(), true, "session mode"},
			{"as many", "poolers: { p: { mode: session, pools: { d@u: {} } } }\nroles: { w: { pool: 20, via: p } }", snap(), false, ""},
			{"transaction mode", "poolers: { p: { mode: transaction, pools: { d@u: {} } } }\nroles: { w: { pool: 21, via: p } }", snap(), false, ""},
		},
		"pooler-bypassed": {
			{"from another address than the pooler's", bypass, snap(grp(3, "w", "10.0.0.5", "idle"), grp(2, "w", "10.0.0.9", "idle")), true, "w: 3 sessions connect directly, past pooler p"},
			{"from the pooler's", bypass, snap(grp(3, "w", "10.0.0.9", "idle")), false, ""},
			{"the pooler's address is not known", pooled("app@app: {}"), snap(grp(3, "w", "10.0.0.5", "idle")), false, ""},
			{"addresses are masked", bypass, edit(snap(masked(grp(3, "w", "", ""))), func(s *probes.Snapshot) { s.Server.Masked = true }), false, ""},
		},
		"group-of-one": {
			{"mistyped", "roles: { a: { pool: 1, runs: job, group: hook }, b: { pool: 1, runs: job, group: hok }, c: { pool: 1, runs: job, group: hook } }", snap(), true, `b is alone in group hok: nothing else waits for it; did you mean "hook"?`},
			{"two members", "roles: { a: { pool: 1, runs: job, group: hook }, b: { pool: 1, runs: job, group: hook } }", snap(), false, ""},
			{"a member that is off counts", "roles: { a: { pool: 1, runs: off, group: hook }, b: { pool: 1, runs: job, group: hook } }", snap(), false, ""},
			{"no group", "roles: { a: { pool: 1, runs: job } }", snap(), false, ""},
			{"alone, and no other like it", "roles: { a: { pool: 1, runs: job, group: hook }, b: { pool: 1, runs: job, group: nightly } }", snap(), false, ""},
		},
		"lock-wait-over-contract": {
			{"9 s of 5", timed, snap(waiting(grp(1, "a", "", "active/lock"), 9)), true, "waits 9 s for a lock; its contract is 5 s"},
			{"within the grace", timed, snap(waiting(grp(1, "a", "", "active/lock"), 6)), false, ""},
			{"no lock_timeout", one, snap(waiting(grp(1, "a", "", "active/lock"), 900)), false, ""},
			{"an operator's", timed, snap(waiting(grp(1, "psql", "", "active/lock"), 900)), false, ""},
		},
		"transaction-over-contract": {
			{"70 s of 60", timed, snap(aged(grp(1, "a", "", "active"), 70, 70)), true, "a transaction is 70 s old; its contract is 60 s, and this server has no transaction_timeout"},
			{"on 17", timed, edit(snap(aged(grp(1, "a", "", "active"), 70, 70)), func(s *probes.Snapshot) { s.Server.VersionNum = 170004 }), true, "so transaction_timeout is not in force there"},
			{"61 s", timed, snap(aged(grp(1, "a", "", "active"), 61, 61)), false, ""},
			{"idle since long", timed, snap(aged(grp(1, "a", "", "idle"), -1, 900)), false, ""},
			{"expected", strings.Replace(timed, "replicas: 2", "replicas: 2, expect: long-statements", 1), snap(aged(grp(1, "a", "", "active"), 70, 70)), false, ""},
		},
		"deadline-passed": {
			{"a request of 2 min", timed, snap(aged(grp(1, "a", "", "active"), 130, 130)), true, "a: a transaction is 2 min old; its deadline is 2 min"},
			{"in time", timed, snap(aged(grp(1, "a", "", "active"), 119, 119)), false, ""},
			{"a job of 10 min", timedJob, snap(born(grp(1, "j", "", "idle"), 11*time.Minute)), true, "j: a session of this job is 11 min old; its deadline is 10 min"},
			{"a job in time", timedJob, snap(born(grp(1, "j", "", "idle"), 9*time.Minute)), false, ""},
			{"a job under the deadline of requests", strings.Replace(timed, "roles: { ", "roles: { j: { pool: 1, runs: job }, ", 1), snap(born(grp(1, "j", "", "idle"), time.Hour)), false, ""},
		},
		"role-never-matches": {
			{"behind a wildcard", "roles: { a: { pool: 1, match: \"w:*\" }, b: { pool: 1, match: \"w:b\" } }", snap(), true, "b can never match: application_name w:* of role a takes all of application_name w:b"},
			{"before it", "roles: { b: { pool: 1, match: \"w:b\" }, a: { pool: 1, match: \"w:*\" } }", snap(), false, ""},
			{"by its own name", "roles: { a: { pool: 1, match: \"*\" }, b: { pool: 1 } }", snap(), true, "takes all of application_name b"},
			{"by the file's pattern, which comes last", "match: \"w:{role}\"\nroles: { b: { pool: 1 }, a: { pool: 1, match: \"w:*\" } }", snap(), true, "b can never match"},
			{"by user", "roles: { a: { pool: 1, match: { user: u } }, b: { pool: 1, match: { user: u, db: d } } }", snap(), true, "user=u of role a takes all of user=u db=d"},
			{"by another user", "roles: { a: { pool: 1, match: { user: u } }, b: { pool: 1, match: { user: v, db: d } } }", snap(), false, ""},
			{"by address", "roles: { a: { pool: 1, match: { addr: 10.0.0.0/8 } }, b: { pool: 1, match: { addr: 10.9.0.0/16 } } }", snap(), true, ""},
			{"by a smaller address", "roles: { a: { pool: 1, match: { addr: 10.9.0.0/16 } }, b: { pool: 1, match: { addr: 10.0.0.0/8 } } }", snap(), false, ""},
			{"by a regular expression", "roles: { a: { pool: 1, match: \"~^w\" }, b: { pool: 1, match: \"w:b\" } }", snap(), true, ""},
			{"which does not", "roles: { a: { pool: 1, match: \"~^w$\" }, b: { pool: 1, match: \"w:b\" } }", snap(), false, ""},
			{"a wildcard that is wider", "roles: { a: { pool: 1, match: \"w:?\" }, b: { pool: 1, match: \"w:*\" } }", snap(), false, ""},
			{"a wildcard in a wildcard", "roles: { a: { pool: 1, match: \"w*\" }, b: { pool: 1, match: \"w:?-*\" } }", snap(), true, ""},
			{"one rule of two", "roles: { a: { pool: 1, match: \"w:*\" }, b: { pool: 1, match: [\"w:b\", x] } }", snap(), true, "a rule of b can never match"},
			{"by a pooler", "poolers: { p: { match: { user: u }, pools: { d@u: {} } } }\nroles: { b: { pool: 1, match: { user: u } } }", snap(), true, "user=u of pooler p"},
			{"another kind of backend", "roles: { a: { pool: 1, match: { user: u, kind: walsender } }, b: { pool: 1, match: { user: u } } }", snap(), false, ""},
			{"63 bytes with the pattern", "match: \"shop:{role}\"\nroles: { " + strings.Repeat("x", 58) + ": { pool: 1 } }", snap(), false, ""},
			{"64 bytes with the pattern", "match: \"shop:{role}\"\nroles: { " + strings.Repeat("x", 59) + ": { pool: 1 } }", snap(), true, "its application_name of 64 bytes is cut to 63"},
			{"64 bytes of a match", "roles: { a: { pool: 1, match: { user: " + strings.Repeat("u", 64) + " } } }", snap(), true, "its user of 64 bytes"},
			{"a wildcard after 63", "roles: { a: { pool: 1, match: \"" + strings.Repeat("u", 63) + "*\" } }", snap(), false, ""},
			{"a name that the pattern cannot give", "match: \"~^w:(?P<role>[a-z]+)$\"\nroles: { a-1: { pool: 1 } }", snap(), true, "gives no such name"},
			{"one that it can", "match: \"~^w:(?P<role>[a-z]+)$\"\nroles: { a: { pool: 1 } }", snap(), false, ""},
		},
		"contract-order": {
			{"a lock's wait before the statement", "settings: { default: { lock_timeout: 10s, statement_timeout: 10s } }", snap(), true, "lock_timeout 10 s is not less than statement_timeout 10 s"},
			{"a lock's wait in order", "settings: { default: { lock_timeout: 2s, statement_timeout: 10s } }", snap(), false, ""},
			{"a transaction shorter than its statement", "settings: { default: { statement_timeout: 10s, transaction_timeout: 10s } }", snap(), true, "statement_timeout 10 s is not less than transaction_timeout"},
			{"a transaction shorter than its idling", "settings: { default: { idle_in_transaction: 30s, transaction_timeout: 20s } }", snap(), true, "idle_in_transaction 30 s is not less than transaction_timeout"},
			{"a transaction beyond its deadline", "settings: { default: { transaction_timeout: 60s, deadline: 30s } }", snap(), true, "transaction_timeout 60 s is not less than deadline"},
			{"a statement beyond its deadline, once", "settings: { default: { statement_timeout: 60s, deadline: 30s } }", snap(), true, "statement_timeout 60 s is not less than deadline"},
			{"query before statement", "settings: { default: { statement_timeout: 30s, query_timeout: 20s } }", snap(), true, "the outer gives up first"},
			{"in order", "settings: { default: { statement_timeout: 10s, query_timeout: 20s } }", snap(), false, ""},
		},
	}
}

func TestChecks(t *testing.T) {
	cases := checkCases()
	for _, rule := range Rules() {
		if cases[rule.Name] == nil && rule.Name != "scenario-without-effect" {
			t.Errorf("rule %s has no test", rule.Name)
		}
		for _, tt := range cases[rule.Name] {
			t.Run(rule.Name+"/"+tt.name, func(t *testing.T) {
				var f *File
				if tt.file != "" {
					f = mustParse(t, tt.file)
				}
				fs := Use(f, tt.s).Findings
				i := slices.IndexFunc(fs, func(x probes.Finding) bool { return x.Rule == rule.Name })
				if (i >= 0) != tt.fires {
					t.Fatalf("fires: %v, want %v; findings %+v", i >= 0, tt.fires, fs)
				}
				if i >= 0 && !strings.Contains(fs[i].Message, tt.message) {
					t.Errorf("message %q, want …%s…", fs[i].Message, tt.message)
				}
				checkFindings(t, fs)
			})
		}
	}
}

// checkFindings holds what is true of every finding.
func checkFindings(t *testing.T, fs []probes.Finding) {
	t.Helper()
	rank := []probes.Severity{probes.Error, probes.Warn, probes.Info}
	for i, f := range fs {
		at := slices.IndexFunc(Rules(), func(r Rule) bool { return r.Name == f.Rule })
		if at < 0 {
			t.Fatalf("finding of no rule: %+v", f)
		}
		if slices.Index(rank, f.Severity) < slices.Index(rank, Rules()[at].Severity) {
			t.Errorf("%s is %s, worse than its rule says", f.Rule, f.Severity)
		}
		if i > 0 && slices.Index(rank, f.Severity) < slices.Index(rank, fs[i-1].Severity) {
			t.Errorf("%s after a lesser finding", f.Rule)
		}
		if f.Subject == "" || f.Message == "" || f.Action == "" || f.Evidence == nil || strings.Contains(f.Message+f.Action, "\n") {
			t.Errorf("incomplete or of two lines: %+v", f)
		}
		if strings.Contains(f.Action, "max_connections") && !strings.Contains(f.Action, "restart") {
			t.Errorf("%s raises max_connections without its price: %s", f.Rule, f.Action)
		}
	}
}

// TestFileOfAnotherServer: no figure goes below zero, here and in what-if, where a
// file's provider_reserved cannot be of the server.
func TestFileOfAnotherServer(t *testing.T) {
	f := mustParse(t, "server: { max_connections: 100, provider_reserved: 40 }\nroles: { a: { pool: 10 } }")
	s := snap()
	s.Limits.MaxConnections = 20
	u := Use(f, s)
	if u.Usable != 17 || u.Free != 17 || u.Plan.Usable != 17 || u.Plan.Left != 7 || u.ProviderReserved != 0 {
		t.Errorf("usable %d, free %d, plan %+v", u.Usable, u.Free, u.Plan)
	}
	sum, err := WhatIf(f, s.Limits, nil, nil)
	if err != nil || sum.Usable != 17 || sum.Left != 7 {
		t.Errorf("what if: %v %+v", err, sum)
	}
}

// TestRelief: holders come before locks, locks before sizes; a larger pool is
// never the advice.
func TestRelief(t *testing.T) {
	full := grp(90, "x", "", "idle")
	for _, tt := range []struct {
		name   string
		groups []probes.Group
		want   string
	}{
		{"holders", []probes.Group{full, aged(grp(3, "a", "", "idle in transaction"), -1, 41), grp(5, "a", "", "active/lock")}, "holders first: a has 3 idle in transaction, the longest for 41 s"},
		{"locks", []probes.Group{full, grp(7, "a", "", "active/lock")}, "locks first: 7 sessions wait"},
		{"over", []probes.Group{full, grp(20, "a", "", "idle")}, "bring a back to its budget: it has 4 more"},
		{"sizes", []probes.Group{full, grp(7, "a", "", "idle")}, "needs a restart and memory"},
	} {
		fs := Use(mustParse(t, one), snap(tt.groups...)).Findings
		i := slices.IndexFunc(fs, func(f probes.Finding) bool { return f.Subject == "server" })
		if i < 0 || !strings.Contains(fs[i].Action, tt.want) {
			t.Errorf("%s: %+v, want …%s…", tt.name, fs, tt.want)
		}
	}
}

// TestLikelyCause: what PostgreSQL would apply, the most specific first.
func TestLikelyCause(t *testing.T) {
	file := one + "settings: { default: { statement_timeout: 10s } }"
	for _, tt := range []struct {
		name     string
		server   string
		settings []probes.RoleSetting
		want     string
	}{
		{"nothing sets it", "0", nil, "neither role app nor its database sets statement_timeout"},
		{"the server does", "10s", nil, "the server's statement_timeout is 10s and the client overrides it"},
		{"the database", "0", []probes.RoleSetting{{Database: "app", Name: "statement_timeout", Value: "1min"}}, "ALTER DATABASE app gives statement_timeout=1min"},
		{"the role over it", "0", []probes.RoleSetting{{Role: "app", Name: "statement_timeout", Value: "2min"}, {Database: "app", Name: "statement_timeout", Value: "1min"}}, "ALTER ROLE app gives statement_timeout=2min"},
		{"role in database", "0", []probes.RoleSetting{{Role: "app", Name: "statement_timeout", Value: "2min"}, {Role: "app", Database: "app", Name: "statement_timeout", Value: "3min"}}, "ALTER ROLE app IN DATABASE app gives statement_timeout=3min"},
		{"all roles", "0", []probes.RoleSetting{{Name: "statement_timeout", Value: "4min"}, {Role: "x", Name: "statement_timeout", Value: "9"}}, "ALTER ROLE ALL gives statement_timeout=4min"},
	} {
		s := snap(aged(grp(1, "a", "", "active"), 90, 90))
		s.Limits.Settings["statement_timeout"], s.Limits.RoleSettings = tt.server, tt.settings
		fs := Use(mustParse(t, file), s).Findings
		i := slices.IndexFunc(fs, func(f probes.Finding) bool { return f.Rule == "statement-over-contract" })
		if i < 0 || !strings.Contains(fs[i].Action, tt.want) || fs[i].SinceS == nil || *fs[i].SinceS != 80 {
			t.Errorf("%s: %+v, want …%s… since 80", tt.name, fs, tt.want)
		}
	}
}
