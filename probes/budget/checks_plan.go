package budget

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

func planRules() []check {
	bouncer := "PgBouncer docs: max_client_conn, default_pool_size, max_db_connections"
	return []check{
		{Rule{"steady-over-usable", probes.Error, "the roles that always run can open more connections than there are slots", formulaSource}, nil},
		{Rule{"peak-over-usable", probes.Error, "with jobs and deploys there can be more connections than slots", formulaSource}, nil},
		{Rule{"peak-low", probes.Warn, "at the peak operators find less than keep_free", formulaSource}, nil},
		{Rule{"pooler-clients-over", probes.Error, "a pooler's clients are more than it lets in", bouncer}, nil},
		{Rule{"pooler-server-over", probes.Error, "a pooler's server side alone is more than the server's slots", bouncer}, nil},
		{Rule{"session-pool-short", probes.Warn, "a pooler in session mode has fewer servers than clients, each of which keeps one while it is connected", "PgBouncer docs: pool_mode"}, nil},
		{Rule{"needs-session-state", probes.Warn, "a role that needs session state goes through a pooler that does not keep it", "PgBouncer features by pooling mode: LISTEN and session advisory locks need session pooling"}, nil},
		{Rule{"contract-order", probes.Warn, "a contract's times are not in order: the outer gives up before the inner", "connect wait, lock_timeout < statement_timeout < client's query timeout, transaction_timeout < deadline"}, nil},
		{Rule{"group-of-one", probes.Warn, "a group has one member, and another group a name so near that it is a typing mistake", formulaSource}, nil},
		{Rule{"role-never-matches", probes.Warn, "no session can be of a role, or of one of its rules: another rule takes all first, or its name is longer than any", "the order of Match; PostgreSQL cuts names to 63 bytes (NAMEDATALEN - 1)"}, nil},
		{Rule{"scenario-without-effect", probes.Info, "a scenario changes no sum, as a surge of a role that is off or has no replicas", formulaSource}, nil},
	}
}

// planFindings judges a sum.
func planFindings(p *plan, s *Sum) []probes.Finding {
	out := []probes.Finding{}
	ev := map[string]any{"usable": s.Usable, "steady": s.Steady, "jobs": s.Jobs, "surge": s.Surge, "peak": s.Peak, "left": s.Left}
	switch s.Verdict {
	case Over:
		out = append(out, found("steady-over-usable", probes.Error, "budget",
			fmt.Sprintf("the roles that always run may open %d connections; %d slots are usable", s.Steady, s.Usable),
			cure(s.Cures), ev))
	case OverAtPeak:
		out = append(out, found("peak-over-usable", probes.Error, "budget",
			fmt.Sprintf("%d always, %d by jobs, %d by deploys may be open at once; %d slots are usable", s.Steady, s.Jobs, s.Surge, s.Usable),
			cure(s.Cures), ev))
	case Low:
		out = append(out, found("peak-low", probes.Warn, "budget",
			fmt.Sprintf("at the peak of %d connections %s left of %d; operators should find %d", s.Peak, slotsAre(s.Left), s.Usable, s.KeepFree),
			cure(s.Cures), ev))
	}
	for _, b := range s.Poolers {
		if b.ClientsOver {
			out = append(out, found("pooler-clients-over", probes.Error, b.Pooler,
				fmt.Sprintf("pooler %s: %d clients > %d it lets in (max_client_conn × instances)", b.Pooler, b.Clients, b.MaxClients),
				fmt.Sprintf("raise max_client_conn to %d or more: clients of a pooler are cheap; mind its open files limit", (b.Clients+b.Instances-1)/b.Instances),
				map[string]any{"clients": b.Clients, "max_clients": b.MaxClients}))
		}
		if b.Mode == sessionMode && b.Clients > b.Cap && !b.ClientsOver {
			out = append(out, found("session-pool-short", probes.Warn, b.Pooler,
				fmt.Sprintf("pooler %s in session mode: %d clients > its %d servers: the others wait until one disconnects", b.Pooler, b.Clients, b.Cap),
				"use transaction mode where the roles need no session state, or make their pools smaller than the pooler's",
				map[string]any{"clients": b.Clients, "cap": b.Cap}))
		}
		if b.Cap > s.Usable {
			out = append(out, found("pooler-server-over", probes.Error, b.Pooler,
				fmt.Sprintf("pooler %s may open %d server connections; %d slots are usable", b.Pooler, b.Cap, s.Usable),
				"lower its pool sizes, or set max_db_connections", map[string]any{"cap": b.Cap, "usable": s.Usable}))
		}
	}
	return out
}

// withoutEffect says that a scenario changes no sum, where nothing else has said
// why.
func withoutEffect(f *File, s *Sum) []probes.Finding {
	base, err := f.apply(nil)
	if err != nil || slices.ContainsFunc(s.Findings, func(x probes.Finding) bool { return x.Rule == "scenario-without-effect" }) {
		return nil
	}
	b := base.sum()
	totals := func(s *Sum) [8]int {
		return [...]int{s.Usable, s.KeepFree, s.Kept, s.Steady, s.Jobs, s.Surge, s.Peak, s.Manual}
	}
	if totals(b) != totals(s) || !slices.Equal(b.Poolers, s.Poolers) {
		return nil
	}
	return []probes.Finding{found("scenario-without-effect", probes.Info, s.Scenario,
		fmt.Sprintf("%s changes no sum: it gives what is there already, or is of a role that is off or has no replicas", s.Scenario),
		"see what the role runs and has in the base", nil)}
}

func slotsAre(n int) string {
	if n == 1 {
		return "1 slot is"
	}
	return fmt.Sprintf("%d slots are", n)
}

// lintFindings judges what the file says without adding it up.
func lintFindings(f *File, p *plan) []probes.Finding {
	var out []probes.Finding
	for _, r := range p.roles {
		out = append(out, sessionState(p, r)...)
		if p.surge[r.Name] && r.Runs == RunsOff && len(p.surge) == 1 {
			out = append(out, found("scenario-without-effect", probes.Info, r.Name,
				fmt.Sprintf("surge=%s changes nothing: it is off", r.Name), fmt.Sprintf("add %s=on", r.Name), nil))
		}
	}
	out = append(out, groupsOfOne(p)...)
	out = append(out, f.never...)
	for _, c := range f.Settings {
		out = append(out, contractOrder(f.Contract(c.Role), c)...)
	}
	return out
}

// groupsOfOne: a group that one job alone is in changes nothing. It may stand for
// others to come, but beside a group of nearly the same name it is a mistake.
func groupsOfOne(p *plan) []probes.Finding {
	members := map[string][]string{}
	for _, r := range p.roles {
		if r.Group != "" {
			members[r.Group] = append(members[r.Group], r.Name)
		}
	}
	var out []probes.Finding
	for _, r := range p.roles {
		if len(members[r.Group]) != 1 {
			continue
		}
		others := slices.DeleteFunc(slices.Sorted(maps.Keys(members)), func(g string) bool { return g == r.Group })
		near := nearest(r.Group, others)
		if near == "" {
			continue
		}
		out = append(out, found("group-of-one", probes.Warn, r.Name,
			fmt.Sprintf("%s is alone in group %s: nothing else waits for it%s", r.Name, r.Group, near),
			"give the jobs that run one at a time the same group, or leave it out", map[string]any{"group": r.Group}))
	}
	return out
}

// sessionState: LISTEN and session advisory locks are lost or stranded where
// the pooler gives the server connection back after each transaction.
func sessionState(p *plan, r *Role) []probes.Finding {
	if r.Via == "" || r.Runs == RunsOff || p.pooler(r.Via).Mode == "session" {
		return nil
	}
	var why []string
	for _, e := range r.Extra {
		if e.N > 0 && slices.Contains([]string{"listen", "notifications", "notify"}, e.Name) {
			why = append(why, "LISTEN ("+e.Name+")")
		}
	}
	if slices.Contains(r.Expect, "advisory") {
		why = append(why, "session advisory locks")
	}
	if len(why) == 0 {
		return nil
	}
	return []probes.Finding{found("needs-session-state", probes.Warn, r.Name,
		fmt.Sprintf("%s needs %s; pooler %s in %s mode does not keep session state", r.Name, strings.Join(why, " and "), r.Via, p.pooler(r.Via).Mode),
		"let these connections go through a session pool, or directly, as a role of their own without via:", map[string]any{"via": r.Via})}
}
