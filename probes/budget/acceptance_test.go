package budget

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestAcceptance: every row of acceptance.tsv, and every scenario by its name
// in the file gives what its items give.
func TestAcceptance(t *testing.T) {
	data, err := os.ReadFile("testdata/acceptance.tsv")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		rows++
		cols := strings.Split(line, "\t")
		t.Run(cols[0]+"/"+cols[1], func(t *testing.T) {
			s := mustPlan(t, mustLoad(t, cols[0]), cols[1])
			got := fmt.Sprint(s.Usable, s.Kept, s.Steady, s.Jobs, s.Surge, s.Peak, s.Left, " ", s.Verdict)
			verdict, finding, _ := strings.Cut(cols[9], "; finding ")
			want := strings.Join(cols[2:9], " ") + " " + verdict
			if strings.Join(strings.Fields(got), " ") != want {
				t.Errorf("got %s, want %s", got, want)
			}
			var errs []string
			for _, f := range s.Findings {
				if f.Rule == "pooler-clients-over" {
					errs = append(errs, fmt.Sprintf("%s: %v > %v", f.Rule, f.Evidence["clients"], f.Evidence["max_clients"]))
				}
			}
			if strings.Join(errs, ", ") != finding {
				t.Errorf("findings %q, want %q", errs, finding)
			}
		})
	}
	if rows != 23 {
		t.Errorf("%d rows, want 23", rows)
	}
}

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		file, scenario, key string
		want                int
	}{
		{"werft-helm.yaml", "base", "api", 4},
		{"werft-helm.yaml", "metrics=on", "api", 3},
		{"werft-helm.yaml", "server.max_connections=80", "api", 2},
		{"dstack.yaml", "base", "dstack", 1},
		{"dstack.yaml", "small pool", "dstack", 7},
		{"danish.yaml", "base", "web.processes", 6},
	} {
		s := mustPlan(t, mustLoad(t, tt.file), tt.scenario)
		if got := s.Fit[tt.key]; got != tt.want {
			t.Errorf("%s %s: fit %s %d (of %v), want %d", tt.file, tt.scenario, tt.key, got, s.Fit, tt.want)
		}
	}
}

// TestNamedScenarios: a scenario of the file by its name, commas and all, is
// the sum of its items.
func TestNamedScenarios(t *testing.T) {
	for _, name := range []string{"werft-helm.yaml", "dstack.yaml", "danish.yaml", "danish-pgbouncer.yaml"} {
		f := mustLoad(t, name)
		if len(f.Scenarios) == 0 {
			t.Errorf("%s: no scenarios", name)
		}
		for _, sc := range f.Scenarios {
			a, b := mustPlan(t, f, sc.Name), mustPlan(t, f, sc.Items...)
			if a.Peak != b.Peak || a.Steady != b.Steady || a.Scenario != sc.Name {
				t.Errorf("%s %q: peak %d steady %d, want %d %d", name, sc.Name, a.Peak, a.Steady, b.Peak, b.Steady)
			}
		}
	}
}

// TestMixedComments: each role's own figure of the file that has every kind.
func TestMixedComments(t *testing.T) {
	want := map[string]int{
		"django": 48, "rails": 40, "sidekiq": 20, "java": 20, "gosvc": 16, "node": 40,
		"prisma6": 15, "ecto": 22, "npgsql": 20, "odoo": 56, "php": 20, "celery": 8,
	}
	got := map[string]int{}
	for _, r := range mustPlan(t, mustLoad(t, "mixed.yaml")).Roles {
		got[r.Role] = r.Cap
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if s := mustPlan(t, mustLoad(t, "werft-helm.yaml")); s.Manual != 16 || !slices.ContainsFunc(s.Roles, func(r RoleSum) bool { return r.Role == "cli" && r.Runs == RunsManual }) {
		t.Errorf("manual %d, want 16, listed", s.Manual)
	}
}
