package budget

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pgsonde/pgsonde/probes"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// snap is a server of 100 slots with the given groups.
func snap(groups ...probes.Group) *probes.Snapshot {
	return &probes.Snapshot{
		At:     now,
		Server: probes.Server{VersionNum: 160014, CPUs: 4},
		Limits: probes.Limits{
			MaxConnections: 100, SuperuserReserved: 3, MaxWalSenders: 10,
			Settings: map[string]string{"statement_timeout": "0", "idle_session_timeout": "0"},
		},
		Groups: groups,
	}
}

// grp is n client backends of one application, address and state: "idle",
// "active", "active/lock", "idle in transaction". A state in pg_stat_activity's
// words, after a slash what an active one does.
func grp(n int, app, addr, state string) probes.Group {
	g := probes.Group{
		Kind: probes.KindClient, Database: "app", User: "app", App: app, Addr: addr, N: n,
		MaxTxS: -1, MaxQueryS: -1, MaxInStateS: 0, WaitS: -1,
		OldestStart: now.Add(-time.Minute), NewestStart: now.Add(-time.Minute),
	}
	var act string
	g.State, act, _ = strings.Cut(state, "/")
	if g.State == "active" {
		g.Act, g.MaxTxS, g.MaxQueryS = "run", 0.1, 0.1
		if act != "" {
			g.Act = act
		}
	}
	if strings.HasPrefix(g.State, "idle in") {
		g.MaxTxS = 1
	}
	return g
}

func row(t *testing.T, u *Usage, role string) Row {
	t.Helper()
	for _, r := range u.Rows {
		if r.Role == role {
			return r
		}
	}
	t.Fatalf("no row %q in %+v", role, u.Rows)
	return Row{}
}

func total(u *Usage) int {
	n := 0
	for _, r := range u.Rows {
		n += r.Now
	}
	return n
}

// show is a row's counts in one line.
func show(r Row) string {
	p := func(v *int) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprint(*v)
	}
	return fmt.Sprintf("now %d busy %s idle %s intx %s run %s lock %s kept %s cap %s peak %s pods %s/%s over %v",
		r.Now, p(r.Busy), p(r.Idle), p(r.IdleInTx), p(r.Running), p(r.LockWaiting), p(r.Kept), p(r.Cap), p(r.Peak), p(r.Pods), p(r.Replicas), r.Over)
}

func TestUse(t *testing.T) {
	tx := grp(2, "werft:api", "10.0.0.1", "idle in transaction")
	tx.MaxTxS = 41
	s := snap(
		grp(3, "werft:api", "10.0.0.1", "active"), grp(5, "werft:api", "10.0.0.1", "active/lock"), tx,
		grp(1, "werft:api", "10.0.0.1", "active/client"), grp(1, "werft:api-listen", "10.0.0.1", "idle"),
		grp(2, "werft:api", "10.0.0.2", "active"), grp(2, "werft:api", "10.0.0.2", "idle"),
		grp(5, "werft:scheduler", "10.0.0.3", "idle"),
		grp(7, "werft:metrics", "10.0.0.4", "idle"),
		grp(2, "werft:report", "10.0.0.5", "active"),
		grp(1, "psql", "local", "idle in transaction"),
		grp(4, "", "10.0.0.9", "idle"),
		probes.Group{Kind: "parallel worker", App: "werft:api", User: "app", N: 3, State: "active", Act: "run"},
		probes.Group{Kind: "walsender", App: "standby", N: 2, State: "active"},
		probes.Group{Kind: "autovacuum worker", N: 1}, probes.Group{Kind: "checkpointer", N: 1},
	)
	s.Server.OwnPIDs = []int{11, 12}
	u := Use(mustLoad(t, "werft-helm.yaml"), s)
	if u.Used != 37 || u.Usable != 97 || u.Free != 60 || u.Bound || val(u.Running) != 7 || total(u) != u.Used {
		t.Errorf("used %d usable %d free %d bound %v running %v total %d", u.Used, u.Usable, u.Free, u.Bound, val(u.Running), total(u))
	}
	for role, want := range map[string]string{
		"api":         "now 16 busy 13 idle 3 intx 2 run 5 lock 5 kept 24 cap 24 peak 36 pods 2/2 over false",
		"scheduler":   "now 5 busy 0 idle 5 intx 0 run 0 lock 0 kept 4 cap 4 peak 4 pods 1/1 over true",
		"reconciler":  "now 0 busy 0 idle 0 intx 0 run 0 lock 0 kept 4 cap 4 peak 4 pods 0/1 over false",
		"metrics":     "now 7 busy 0 idle 7 intx 0 run 0 lock 0 kept - cap - peak - pods 1/1 over false",
		"migrate":     "now 0 busy 0 idle 0 intx 0 run 0 lock 0 kept 10 cap 10 peak 10 pods 0/1 over false",
		"report":      "now 2 busy 2 idle 0 intx 0 run 2 lock 0 kept - cap - peak - pods 1/- over false",
		"operators":   "now 3 busy 1 idle 2 intx 1 run 0 lock 0 kept - cap 3 peak - pods 1/- over false",
		"(unmatched)": "now 4 busy 0 idle 4 intx 0 run 0 lock 0 kept - cap - peak - pods 1/- over false",
	} {
		if got := show(row(t, u, role)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", role, got, want)
		}
	}
	api := row(t, u, "api")
	if api.OldestTxS == nil || *api.OldestTxS != 41 || row(t, u, "scheduler").OldestTxS != nil {
		t.Errorf("oldest tx %v and %v, want 41 and none", api.OldestTxS, row(t, u, "scheduler").OldestTxS)
	}
	// Eleven busy, and the twelfth is the LISTEN connection that is not the pool's.
	if want := []Pod{{"10.0.0.1", 12, 11, 12}}; !slices.Equal(api.PodsFull, want) {
		t.Errorf("full pods %v, want %v", api.PodsFull, want)
	}
	var order []string
	for _, r := range u.Rows {
		order = append(order, string(r.Origin)[:2])
	}
	if got := strings.Join(slices.Compact(order), " "); got != "de ca bu un" {
		t.Errorf("order of rows %s", got)
	}
}

func TestUseIsPure(t *testing.T) {
	f, s := mustLoad(t, "werft-helm.yaml"), snap(grp(3, "werft:api", "10.0.0.1", "active"), grp(3, "x", "", "idle"))
	before := fmt.Sprintf("%+v", *s)
	u := Use(f, s)
	for i := range u.Rows {
		if u.Rows[i].Replicas != nil {
			*u.Rows[i].Replicas = 99
		}
	}
	if after := fmt.Sprintf("%+v", *s); after != before {
		t.Errorf("snapshot changed:\n%s\n%s", before, after)
	}
	again := Use(f, s)
	if f.Role("api").Replicas != 2 || *again.Rows[0].Replicas != 2 {
		t.Error("a row reaches into the file")
	}
	if d := cmp.Diff(Use(f, s), again, cmp.AllowUnexported(Sum{}, RoleSum{}), cmpopts.IgnoreUnexported(Usage{})); d != "" {
		t.Errorf("two readings differ: %s", d)
	}
}

// TestUseMasked: without pg_read_all_stats counts are upper bounds and nothing
// else is known; nothing unknown is a zero.
func TestUseMasked(t *testing.T) {
	mask := func(n int, app string) probes.Group {
		return probes.Group{Kind: probes.KindMasked, Database: "app", User: "app", App: app, N: n, MaxTxS: -1, MaxQueryS: -1, MaxInStateS: -1, WaitS: -1}
	}
	s := snap(mask(20, "werft:api"), mask(2, ""), grp(1, "werft:scheduler", "local", "idle"),
		probes.Group{Kind: probes.KindMaskedSystem, N: 6})
	s.Server.Masked = true
	s.Server.OwnPIDs = []int{1}
	u := Use(mustLoad(t, "werft-helm.yaml"), s)
	if !u.Bound || u.Used != 24 || u.Running != nil {
		t.Errorf("bound %v used %d running %v", u.Bound, u.Used, u.Running)
	}
	for role, want := range map[string]string{
		"api":         "now 20 busy - idle - intx - run - lock - kept 24 cap 24 peak 36 pods -/2 over false",
		"reconciler":  "now 0 busy - idle - intx - run - lock - kept 4 cap 4 peak 4 pods -/1 over false",
		"scheduler":   "now 1 busy 0 idle 1 intx 0 run 0 lock 0 kept 4 cap 4 peak 4 pods 1/1 over false",
		"(unmatched)": "now 2 busy - idle - intx - run - lock - kept - cap - peak - pods -/- over false",
	} {
		if got := show(row(t, u, role)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", role, got, want)
		}
	}
}

// TestUseWithoutFile: every application has its row, tools and systems theirs.
func TestUseWithoutFile(t *testing.T) {
	s := snap(grp(3, "werft:api", "10.0.0.1", "active"), grp(2, "", "10.0.0.2", "idle"), grp(1, "psql", "local", "active"),
		probes.Group{Kind: probes.KindClient, State: "starting", N: 5, MaxTxS: -1})
	u := Use(nil, s)
	if u.Used != 11 || u.KeepFree != 3 || u.Plan != nil || total(u) != 11 {
		t.Errorf("%+v", u)
	}
	var got []string
	for _, r := range u.Rows {
		if r.Cap != nil || r.Kept != nil {
			t.Errorf("%s has a budget", r.Role)
		}
		got = append(got, fmt.Sprintf("%s %s %d", r.Role, r.Origin, r.Now))
	}
	want := "app@app captured 2, werft:api captured 3, operators built-in 1, (connecting) built-in 5"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}

// TestUsePooler: a pooler's server connections are its own row, whatever name
// the last client left on them.
func TestUsePooler(t *testing.T) {
	u := Use(mustLoad(t, "danish-pgbouncer.yaml"),
		snap(grp(8, "web", "10.0.0.1", "active"), grp(4, "", "10.0.0.1", "idle"), grp(1, "psql", "10.0.0.7", "idle")))
	if got, want := show(row(t, u, "pooler pgb")), "now 12 busy 8 idle 4 intx 0 run 8 lock 0 kept 0 cap 20 peak 20 pods 1/1 over false"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	web := row(t, u, "web")
	if web.Now != 0 || web.Busy != nil || web.Cap != nil || web.Via != "pgb" || web.Note != "through pgb or past it: 8 bear its name" || total(u) != u.Used {
		t.Errorf("web %+v", web)
	}
}

func TestUsePods(t *testing.T) {
	f := mustParse(t, "match: \"{role}\"\nroles: { a: { pool: 4, replicas: 2, extra: { listen: 1 }, also: a-listen } }")
	for _, tt := range []struct {
		name   string
		groups []probes.Group
		full   string
		note   string
	}{
		{"one full", []probes.Group{grp(5, "a", "1.1.1.1", "active"), grp(4, "a", "1.1.1.2", "active")}, "1.1.1.1", "FULL 1.1.1.1 5/5"},
		{"idle in transaction is busy", []probes.Group{grp(5, "a", "1.1.1.1", "idle in transaction"), grp(1, "a", "1.1.1.2", "idle")}, "1.1.1.1", "FULL 1.1.1.1 5/5"},
		{"one idle", []probes.Group{grp(4, "a", "1.1.1.1", "active"), grp(1, "a", "1.1.1.1", "idle"), grp(1, "a", "1.1.1.2", "idle")}, "", ""},
		{"the idle one listens", []probes.Group{grp(4, "a", "1.1.1.1", "active"), grp(1, "a-listen", "1.1.1.1", "idle"), grp(1, "a", "1.1.1.2", "idle")}, "1.1.1.1", "FULL 1.1.1.1 4/5"},
		{"all idle", []probes.Group{grp(5, "a", "1.1.1.1", "idle"), grp(5, "a", "1.1.1.2", "idle")}, "", ""},
		{"below its cap", []probes.Group{grp(4, "a", "1.1.1.1", "active"), grp(4, "a", "1.1.1.2", "active")}, "", ""},
		{"fewer addresses than replicas", []probes.Group{grp(5, "a", "1.1.1.1", "active")}, "", "addr not per pod"},
		{"one address holds more than the role", []probes.Group{grp(11, "a", "1.1.1.1", "active"), grp(1, "a", "1.1.1.2", "idle")}, "", "addr not per pod; over its cap by 2"},
		{"over the cap of one pod", []probes.Group{grp(6, "a", "1.1.1.1", "active"), grp(1, "a", "1.1.1.2", "idle")}, "1.1.1.1", "FULL 1.1.1.1 6/5"},
	} {
		r := row(t, Use(f, snap(tt.groups...)), "a")
		var full []string
		for _, p := range r.PodsFull {
			full = append(full, p.Addr)
		}
		if strings.Join(full, ",") != tt.full || r.Note != tt.note {
			t.Errorf("%s: full %v note %q, want %q %q", tt.name, full, r.Note, tt.full, tt.note)
		}
	}
}

// TestUseLimits: the server's figures win; the file's count where it is silent.
func TestUseLimits(t *testing.T) {
	f := mustParse(t, "server: { max_connections: 50, superuser_reserved: 1, provider_reserved: 15, cpus: 2 }\nroles: { a: { pool: 30 } }")
	s := snap()
	s.Limits.Reserved, s.Server.CPUs = 2, 0
	if u := Use(f, s); u.Usable != 95 || u.Plan.Usable != 80 || u.Plan.Verdict != OK || u.CPUs != 2 {
		t.Errorf("live limits: usable %d plan %+v cpus %d", u.Usable, u.Plan, u.CPUs)
	}
	if u := Use(f, &probes.Snapshot{}); u.Usable != 49 || u.Plan.Usable != 34 || u.MaxConnections != 50 || u.Plan.Verdict != Low && u.Plan.Verdict != OK {
		t.Errorf("without limits: %+v", u)
	}
	// Slots of a provider that this server cannot have are left out.
	s.Limits.MaxConnections = 10
	if u := Use(f, s); u.Usable != 5 || u.Free != 5 || u.ProviderReserved != 0 || u.Plan.Left != -25 || u.Plan.Verdict != Over {
		t.Errorf("tiny server: %+v", u.Plan)
	}
}

// TestOfflineEqualsLive: where the server is as the file says, the live verdict
// and sums are the offline ones.
func TestOfflineEqualsLive(t *testing.T) {
	for _, name := range []string{"werft-helm.yaml", "dstack.yaml", "danish.yaml", "danish-pgbouncer.yaml", "mixed.yaml"} {
		f := mustLoad(t, name)
		s := snap()
		s.Limits.MaxConnections, s.Limits.SuperuserReserved, s.Limits.Reserved = f.Server.MaxConnections, f.Server.SuperuserReserved, f.Server.Reserved
		offline, live := mustPlan(t, f), Use(f, s).Plan
		offline.Findings = live.Findings // Use has them beside its own
		if d := cmp.Diff(offline, live, cmp.AllowUnexported(RoleSum{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func BenchmarkUse(b *testing.B) {
	f, err := Load("testdata/werft-helm.yaml")
	if err != nil {
		b.Fatal(err)
	}
	s := snap()
	for i := range 40 {
		s.Groups = append(s.Groups, grp(2, []string{"werft:api", "werft:slack", "psql", "x"}[i%4], fmt.Sprintf("10.0.0.%d", i%7), []string{"idle", "active"}[i%2]))
	}
	for b.Loop() {
		Use(f, s)
	}
}
