package budget

import (
	"slices"
	"testing"
)

// TestCures: what alone makes a budget fit, worked out by hand.
func TestCures(t *testing.T) {
	const pooled = "poolers: { p: { instances: 3, pools: { d@u: { size: 40 }, e@u: { size: 5 } } } }\n"
	for _, tt := range []struct {
		name, file, scenario string
		want                 []string
	}{
		{"it fits", "roles: { a: { pool: 94 } }", "base", []string{}},
		{
			// 94 slots are for 12 processes: 7 each, 5 of them kept.
			"copies, overflow, a pooler", "roles: { a: { kind: sqlalchemy, processes: 12 } }", "base",
			[]string{"at most 6 processes of a (now 12)", "max_overflow of a at most 2 (now 10)", "a pooler in front of a, 20 server connections in place of 180"},
		},
		{
			// 94 − 3 × 10 = 64 are for a; the jobs in a group take 10, which leaves 84.
			"jobs one at a time", "roles: { a: { pool: 80 }, j: { pool: 10, runs: job }, k: { pool: 10, runs: job }, l: { pool: 10, runs: job } }", "base",
			[]string{"pool of a at most 64 (now 80)", "the jobs one at a time (group), 10 in place of 30", "a pooler in front of a, 20 server connections in place of 80"},
		},
		{
			// Two of 40 and two more in the deploy: 4 × 23 = 92.
			"a deploy", "roles: { a: { pool: 40, replicas: 2, surge: 100% } }", "surge=a",
			[]string{"at most 1 replica of a (now 2)", "pool of a at most 23 (now 40)", "deploys that stop before they start (surge: 0)", "a pooler in front of a, 20 server connections in place of 160"},
		},
		{
			// Each of three instances 31: 26 + 5; two instances 90.
			"a pooler that is too large", pooled, "base",
			[]string{"size of d@u of p at most 26 (now 40)", "at most 2 instances of p (now 3)"},
		},
		{
			"a role beside a pooler of the file", "poolers: { p: { pools: { d@u: {} } } }\nroles: { a: { pool: 90 } }", "base",
			[]string{"pool of a at most 74 (now 90)", "a through p"},
		},
		{
			"min holds max up", "roles: { a: { kind: asyncpg, min: 40, max: 60, replicas: 3 } }", "base",
			[]string{"at most 1 replica of a (now 3)", "a pooler in front of a, 20 server connections in place of 180"},
		},
		{
			// No single size does: 6 × 20 = 120 against 94.
			"many alike", "roles: { a: { pool: 20 }, b: { pool: 20 }, c: { pool: 20 }, d: { pool: 20 }, e: { pool: 20 }, f: { pool: 20 } }", "base",
			[]string{"smaller pools or fewer copies of several roles, together 26 connections fewer", "a pooler in front of them"},
		},
	} {
		if got := mustPlan(t, mustParse(t, tt.file), tt.scenario).Cures; !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
