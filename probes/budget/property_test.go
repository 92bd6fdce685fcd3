package budget

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pgsonde/pgsonde/probes"
)

// TestMonotone: from random budgets, making any one size larger never makes a
// sum smaller nor the verdict better, and never lets more replicas fit.
func TestMonotone(t *testing.T) {
	rank := map[Verdict]int{OK: 0, Low: 1, OverAtPeak: 2, Over: 3}
	rnd := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{} // by what was made larger
	for range 900 {
		base, sizes := randomBudget(rnd)
		f, err := Parse("random.yaml", []byte(base))
		if err != nil {
			continue // a min above its max
		}
		a := mustPlan(t, f, "surge=all")
		for _, size := range sizes {
			sc, err := ParseScenario(f, []string{"surge=all", size})
			if err != nil {
				continue // a min above its max
			}
			b, err := Plan(f, sc)
			if err != nil {
				t.Fatal(err)
			}
			key, _, _ := strings.Cut(size, "=")
			_, key, _ = strings.Cut(key, ".")
			seen[key]++
			clients := b.Poolers[0].Clients < a.Poolers[0].Clients && !strings.HasPrefix(size, "p.")
			if b.Kept < a.Kept || b.Steady < a.Steady || b.Jobs < a.Jobs || b.Surge < a.Surge || b.Peak < a.Peak || clients || rank[b.Verdict] < rank[a.Verdict] {
				t.Fatalf("%s with %s: %+v became %+v", base, size, a, b)
			}
			for role, n := range a.Fit {
				if m, ok := b.Fit[role]; ok && m > n {
					t.Fatalf("%s with %s: %d of %s fit, then %d", base, size, n, role, m)
				}
			}
		}
	}
	for _, key := range []string{
		"processes", "replicas", "pool", "pool_size", "max_overflow", "max", "extra.e", "surge", "concurrency", "instances",
		"a@b.size", "a@c.reserve", "a@c.min", "max_db_connections", "max_user_connections",
	} {
		if seen[key] < 20 {
			t.Errorf("%s was made larger %d times only", key, seen[key])
		}
	}
}

// randomBudget is two roles of random kinds and a pooler, with random sizes, and
// for each size the scenario that makes it a little larger.
func randomBudget(rnd *rand.Rand) (text string, larger []string) {
	text = fmt.Sprintf("server: { max_connections: %d }\nkeep_free: %d\nroles:\n", 20+rnd.IntN(400), rnd.IntN(5))
	add := func(owner, key string, lo int) {
		v := lo + rnd.IntN(12)
		text += fmt.Sprintf(", %s: %d", key, v)
		larger = append(larger, fmt.Sprintf("%s.%s=%d", owner, key, v+1+rnd.IntN(3)))
	}
	for _, name := range []string{"r", "s"} {
		randomRole(rnd, name, &text, add)
		larger = append(larger, name+".extra.e=2", name+".replicas=14")
	}
	text += "poolers: { p: { kind: pgbouncer"
	add("p", "instances", 1)
	text += ", pools: { a@b: { size: 3 }, a@c: { size: 4, min: 2 } }"
	if rnd.IntN(2) == 0 {
		add("p", "max_db_connections", 1)
	}
	if rnd.IntN(2) == 0 {
		add("p", "max_user_connections", 1)
	}
	larger = append(larger, "p.a@b.size=5", "p.a@c.reserve=2", "p.a@c.min=3")
	return text + " } }", larger
}

func randomRole(rnd *rand.Rand, name string, text *string, add func(owner, key string, lo int)) {
	all := kinds()
	k := all[rnd.IntN(len(all))]
	runs := []string{"always", "job", "manual"}[rnd.IntN(3)]
	*text += fmt.Sprintf("  %s: { kind: %q, runs: %s, extra: { e: 1 }", name, k.name, runs)
	if runs == "job" && rnd.IntN(2) == 0 {
		*text += ", group: g"
	}
	if rnd.IntN(4) == 0 {
		*text += ", via: p"
	}
	for _, p := range k.params {
		switch {
		case p.flag, p.name == "threads" && k.name == "sqlalchemy", p.name == "min" && k.name == "deadpool", p.name == "cpus": // without effect
		case k.name == "pool" && p.name == "pool" && rnd.IntN(2) == 0:
			add(name, "pool", 1)
			*text += " }\n"
			return
		case k.name == "pool" && p.name == "pool":
		case p.def == none || rnd.IntN(2) == 0:
			add(name, p.name, p.lo)
		}
	}
	own := (&Role{kind: k}).ownsConcurrency()
	for _, key := range []string{"processes", "replicas", "surge", "concurrency"} {
		idle := key == "concurrency" && (own || runs == "always") || key == "surge" && runs != "always"
		if rnd.IntN(2) == 0 && !idle {
			add(name, key, 1)
		}
	}
	*text += " }\n"
}

// TestFitsAndCures: as many replicas as fit do, and one more does not; every cure
// that gives a number cures, and the next number does not.
func TestFitsAndCures(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	fits, cured := 0, 0
	for range 400 {
		base, _ := randomBudget(rnd)
		f, err := Parse("random.yaml", []byte(base))
		if err != nil {
			continue
		}
		s := mustPlan(t, f)
		ok := func(change string) bool {
			sum := mustPlan(t, f, change)
			return sum.Peak+sum.KeepFree <= sum.Usable
		}
		for role, n := range s.Fit {
			if strings.Contains(role, ".") || n > 1000 {
				continue
			}
			fits++
			if n > 0 && !ok(fmt.Sprintf("%s=%d", role, n)) || ok(fmt.Sprintf("%s=%d", role, n+1)) {
				t.Errorf("%s: fit %s %d", base, role, n)
			}
		}
		for _, way := range s.Cures {
			var role, key string
			var n int
			if _, err := fmt.Sscanf(way, "%s of %s at most %d", &key, &role, &n); err != nil {
				continue
			}
			cured++
			if !ok(fmt.Sprintf("%s.%s=%d", role, key, n)) || ok(fmt.Sprintf("%s.%s=%d", role, key, n+1)) {
				t.Errorf("%s: %q does not cure, or one more does too", base, way)
			}
		}
	}
	if fits < 100 || cured < 20 {
		t.Errorf("only %d fits and %d cures were tried", fits, cured)
	}
}

// TestOfflineEqualsLiveAtRandom: where a live server is as the file says, its
// sums, its verdict and what is found of the plan are the offline ones.
func TestOfflineEqualsLiveAtRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	verdicts := map[Verdict]int{}
	for range 300 {
		base, _ := randomBudget(rnd)
		f, err := Parse("random.yaml", []byte(base))
		if err != nil {
			continue
		}
		s := snap()
		s.Limits.MaxConnections, s.Limits.SuperuserReserved, s.Limits.Reserved = f.Server.MaxConnections, f.Server.SuperuserReserved, f.Server.Reserved
		offline, live := mustPlan(t, f), Use(f, s)
		verdicts[offline.Verdict]++
		said := slices.DeleteFunc(slices.Clone(live.Findings), func(x probes.Finding) bool { return !ofThePlan(x.Rule) })
		if d := cmp.Diff(offline.Findings, said); d != "" {
			t.Fatalf("%s: %s", base, d)
		}
		live.Plan.Findings = offline.Findings // Use has them beside its own
		if d := cmp.Diff(offline, live.Plan, cmp.AllowUnexported(RoleSum{})); d != "" {
			t.Fatalf("%s: %s", base, d)
		}
	}
	for _, v := range []Verdict{OK, OverAtPeak, Over} {
		if verdicts[v] < 5 {
			t.Errorf("verdict %s came %d times only", v, verdicts[v])
		}
	}
}

// ofThePlan: the rule is found by Plan, too.
func ofThePlan(rule string) bool {
	return slices.ContainsFunc(planRules(), func(c check) bool { return c.Name == rule })
}
