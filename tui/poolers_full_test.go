package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
)

// TestFullServerIsOneFinding: that no slot is left, and the pools that get no
// server for that, is one line, whose pool Enter does not need.
func TestFullServerIsOneFinding(t *testing.T) {
	m := poolMoments(t)[1]
	snap := *m.Snapshot
	snap.Groups = []probes.Group{{Kind: probes.KindClient, User: "x", Database: "x", N: snap.Limits.Usable(), State: "idle"}}
	r := bouncer.Reading{
		Target: "pgb:6432/pgbouncer", VersionNum: 11800,
		Databases: []bouncer.Database{{Name: "shop", Port: 5432, Database: "x", PoolSize: 2}, {Name: "log", Port: 5432, Database: "x", PoolSize: 2}},
		Pools:     []bouncer.Pool{{Database: "shop", User: "x", ClWaiting: 2, MaxWaitS: 6}, {Database: "log", User: "x", ClWaiting: 1, MaxWaitS: 2}},
	}
	snap.Limits.Roles, snap.Limits.Databases = nil, nil
	m = poolMoment{Snapshot: &snap, Told: []toldMoment{{Instances: []instanceMoment{{Target: r.Target, Reading: &r}}}}}
	d := drawPoolers(t, 120, 40, Options{}, m)
	var full []probes.Finding
	for _, f := range d.frame.findings() {
		if f.Rule == slotsFull || f.Rule == "waiting-while-pool-not-full" {
			full = append(full, f)
		}
	}
	if len(full) != 1 || full[0].Rule != slotsFull || !strings.Contains(full[0].Message, "no server for pool shop@x, log@x, 3 clients waiting") || full[0].SinceS == nil {
		t.Errorf("got %+v, want that the server is full, for both pools", full)
	}
	if i := slices.IndexFunc(d.frame.poolFound, func(f probes.Finding) bool { return f.Rule == "waiting-while-pool-not-full" }); i < 0 {
		t.Fatalf("got %+v, want the pools' own finding on their screen", d.frame.poolFound)
	}
	d.has("2 pools of pgbouncer: 3 clients wait 6.0 s: PostgreSQL is full")
	x := &findingsScreen{f: d.frame}
	for i, f := range d.frame.poolFound {
		if f.Rule == "waiting-while-pool-not-full" {
			d.frame.merged, x.at = d.frame.poolFound, i
		}
	}
	if got := x.open(); got.push == nil {
		t.Errorf("got %q, want the pool that waits longest", got.say)
	}
}
