//go:build unix

package demo

import (
	"slices"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// The demo's own budget, held against the play, finds what the play is made to
// show.
func TestBudget(t *testing.T) {
	in := start(t, Options{Majors: []int{pgtest.Any(t).Major}})
	file, err := budget.Load(in.BudgetFile)
	if err != nil {
		t.Fatal(err)
	}
	s, err := probes.Open(t.Context(), probes.Options{DSN: in.DSN})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := []string{"pod-full", "overflow-in-use", "unmatched-sessions", "role-undeclared", "role-off-seen"}
	var found []string
	for deadline := time.Now().Add(8 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		snap, err := s.Tick(t.Context(), probes.Want{})
		if err != nil {
			t.Fatal(err)
		}
		use := budget.Use(file, snap)
		found = nil
		for _, f := range use.Findings {
			found = append(found, f.Rule)
		}
		if !slices.ContainsFunc(want, func(rule string) bool { return !slices.Contains(found, rule) }) {
			if use.Plan.Verdict != "ok" {
				t.Errorf("the budget by itself: got verdict %s, want ok", use.Plan.Verdict)
			}
			if use.Used >= use.Usable {
				t.Errorf("got %d of %d slots used, want some left", use.Used, use.Usable)
			}
			return
		}
	}
	t.Errorf("got findings %v, want %v among them", found, want)
}

// A budget drafted while the demo plays has nothing to object to in the play,
// but for the states that no size of a pool explains: a pod all of whose
// connections are busy is full by any budget.
func TestDraftedBudgetIsClean(t *testing.T) {
	in := start(t, Options{Majors: []int{pgtest.Any(t).Major}})
	s, err := probes.Open(t.Context(), probes.Options{DSN: in.DSN})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	peaks := map[string]int{}
	tick := func() *probes.Snapshot {
		snap, err := s.Tick(t.Context(), probes.Want{})
		if err != nil {
			t.Fatal(err)
		}
		return snap
	}
	var last *probes.Snapshot
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		last = tick()
		for _, r := range budget.Use(nil, last).Rows {
			peaks[r.Role] = max(peaks[r.Role], r.Now)
		}
	}
	draft, err := budget.InitFromSnapshot(last, peaks)
	if err != nil {
		t.Fatal(err)
	}
	file, err := budget.Parse("drafted.yaml", []byte(draft))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		for _, f := range budget.Use(file, tick()).Findings {
			if f.Severity != probes.Info && f.Rule != "pod-full" {
				t.Fatalf("%s: %s\n%s", f.Rule, f.Message, draft)
			}
		}
	}
}
