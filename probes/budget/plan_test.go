package budget

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestPlanEdges: the cases that deployments get wrong.
func TestPlanEdges(t *testing.T) {
	for _, tt := range []struct {
		name, file, scenario string
		steady, jobs, surge  int
	}{
		{"25 % of 2 is 1", `roles: { a: { pool: 10, replicas: 2, surge: "25%" } }`, "surge=a", 20, 0, 10},
		{"25 % of 5 is 2", `roles: { a: { pool: 10, replicas: 5, surge: "25%" } }`, "surge=a", 50, 0, 20},
		{"percent without quotes", `roles: { a: { pool: 10, replicas: 4, surge: 50% } }`, "surge=a", 40, 0, 20},
		{"blue-green", `roles: { a: { pool: 10, replicas: 3, surge: 100% } }`, "surge=all", 30, 0, 30},
		{"undeclared surge is Kubernetes' 25 %", `roles: { a: { pool: 1, replicas: 9 } }`, "surge=a", 9, 0, 3},
		{"declared without surge", `roles: { a: { pool: 10, replicas: 3, surge: 0 } }`, "surge=all", 30, 0, 0},
		{"surge of nothing", `roles: { a: { pool: 10, replicas: 0, surge: 2 } }`, "surge=all", 0, 0, 0},
		{"surge only in its scenario", `roles: { a: { pool: 10, surge: 1 } }`, "base", 10, 0, 0},
		{"extras per process", `roles: { a: { pool: 10, processes: 3, replicas: 2, extra: { listen: 1, probe: 1 } } }`, "base", 72, 0, 0},
		{"extras surge too", `roles: { a: { pool: 10, processes: 3, extra: { listen: 1 } } }`, "surge=a", 33, 0, 33},
		{"group of 10 and 4 is 10", `roles: { a: { pool: 10, runs: job, group: g }, b: { pool: 4, runs: job, group: g } }`, "base", 0, 10, 0},
		{"group with a member off", `roles: { a: { pool: 10, runs: off, group: g }, b: { pool: 4, runs: job, group: g } }`, "base", 0, 4, 0},
		{"group against concurrency", `roles: { a: { pool: 10, runs: job, group: g }, b: { pool: 4, runs: job, concurrency: 3, group: g } }`, "base", 0, 12, 0},
		{"two groups add up", `roles: { a: { pool: 10, runs: job, group: g }, b: { pool: 4, runs: job, group: h } }`, "base", 0, 14, 0},
		{"job that may overlap", `roles: { a: { pool: 10, runs: job, concurrency: 3 } }`, "base", 0, 30, 0},
		{"concurrency of sidekiq is its threads", `roles: { a: { kind: sidekiq, concurrency: 3, runs: job } }`, "base", 0, 5, 0},
		{"manual is never added", `roles: { a: { pool: 10, runs: manual } }`, "base", 0, 0, 0},
		{"manual, several at once", `roles: { a: { pool: 10, runs: manual, concurrency: 3 } }`, "a=on", 30, 0, 0},
		{"off, and a job of a group when it is on", `roles: { a: { pool: 10, runs: off, group: g } }`, "a=on", 0, 10, 0},
		{"off, and a job of several when it is on", `roles: { a: { pool: 10, runs: off, concurrency: 3 } }`, "a=on", 0, 30, 0},
		{"manual switched on", `roles: { a: { pool: 10, runs: manual } }`, "a=on", 10, 0, 0},
		{"job switched off", `roles: { a: { pool: 10, runs: job } }`, "a=off", 0, 0, 0},
		{"on leaves a job a job", `roles: { a: { pool: 10, runs: job } }`, "a=on", 0, 10, 0},
		{"off then on", `roles: { a: { pool: 10 } }`, "a=off,a=on", 10, 0, 0},
		{"changes add up in order", `roles: { a: { pool: 10 } }`, "a=3,a+1,a-2", 20, 0, 0},
		{"npgsql per connection string", `roles: { a: { kind: npgsql, strings: 3 } }`, "base", 300, 0, 0},
		{"rails per database", `roles: { a: { kind: rails, databases: 3 } }`, "base", 15, 0, 0},
		{"min and max in any order", `roles: { a: { kind: asyncpg } }`, "a.min=20,a.max=30", 30, 0, 0},
		{"by a stack's own name", `roles: { a: { kind: hikari } }`, "a.maximum_pool_size=3", 3, 0, 0},
		{"extras by scenario", `roles: { a: { pool: 1, extra: { listen: 1 } } }`, "a.extra.listen=5,a.extra.probe=1", 7, 0, 0},
		{"names with dots and dashes", `roles: { "a.b-1": { pool: 2 } }`, "a.b-1+1,a.b-1.pool=3", 6, 0, 0},
		{"huge sizes stop below an overflow", `roles: { a: { kind: sqlalchemy, pool_size: 262143, engines: 262143, processes: 262143, replicas: 262143 } }`, "base", tooMany, 0, 0},
		{"poolers per database and user", `poolers: { p: { default_pool_size: 5, pools: { d@u: {}, d@v: { size: 7, reserve: 2 } } } }`, "base", 14, 0, 0},
		{"pooler instances", `poolers: { p: { pools: { d@u: {} } } }`, "p.instances=3", 60, 0, 0},
		{"max_db_connections cuts per database", `poolers: { p: { max_db_connections: 15, pools: { d@u: {}, d@v: {}, e@u: { size: 5 } } } }`, "base", 20, 0, 0},
		{"max_user_connections cuts per user", `poolers: { p: { max_user_connections: 15, pools: { d@u: {}, e@u: {}, d@v: { size: 5 } } } }`, "base", 20, 0, 0},
		{"supavisor", `poolers: { p: { kind: supavisor, pools: { d@u: {} } } }`, "base", 15, 0, 0},
		{"pool size by scenario", `poolers: { p: { pools: { d@u: {} } } }`, "p.d@u.size=50", 50, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustPlan(t, mustParse(t, tt.file), tt.scenario)
			if s.Steady != tt.steady || s.Jobs != tt.jobs || s.Surge != tt.surge {
				t.Errorf("steady %d jobs %d surge %d, want %d %d %d", s.Steady, s.Jobs, s.Surge, tt.steady, tt.jobs, tt.surge)
			}
			if s.Peak != min(tooMany, tt.steady+tt.jobs+tt.surge) {
				t.Errorf("peak %d is not the sum", s.Peak)
			}
		})
	}
}

func TestPlanVerdicts(t *testing.T) {
	file := "server: { max_connections: 13, superuser_reserved: 2, provider_reserved: 1 }\nkeep_free: 2\nroles: { a: { pool: 1, surge: 1 } }"
	for _, tt := range []struct {
		scenario string
		want     Verdict
		finding  string
	}{
		{"a=8", OK, ""}, // 8 + 2 = 10
		{"a=9", Low, "peak-low"},
		{"a=10", Low, "peak-low"},
		{"a=11", Over, "steady-over-usable"},
		{"a=10,surge=a", OverAtPeak, "peak-over-usable"},
		{"a=8,keep_free=3", Low, "peak-low"},
		{"a=8,server.provider_reserved=2", Low, "peak-low"},
	} {
		s := mustPlan(t, mustParse(t, file), tt.scenario)
		got := ""
		for _, f := range s.Findings {
			got += f.Rule
			if strings.Contains(f.Action, "max_connections") && !strings.Contains(f.Action, "restart") {
				t.Errorf("%s: advice without its price: %s", tt.scenario, f.Action)
			}
		}
		if s.Verdict != tt.want || got != tt.finding {
			t.Errorf("%s: %s %q, want %s %q", tt.scenario, s.Verdict, got, tt.want, tt.finding)
		}
	}
}

// TestLint: what a file says that cannot work, and its near miss.
func TestLint(t *testing.T) {
	pooler := "poolers: { p: { mode: transaction, max_client_conn: 1000, pools: { d@u: {} } } }\n"
	for _, tt := range []struct{ name, file, want string }{
		{"LISTEN through a transaction pool", pooler + "roles: { a: { pool: 1, via: p, extra: { listen: 1 } } }", "needs-session-state"},
		{"advisory locks through a transaction pool", pooler + "roles: { a: { pool: 1, via: p, expect: [advisory] } }", "needs-session-state"},
		{"neither", pooler + "roles: { a: { pool: 1, via: p, extra: { probe: 1 } } }", ""},
		{"direct", pooler + "roles: { a: { pool: 1, extra: { listen: 1 } } }", ""},
		{"session pool", strings.Replace(pooler, "transaction", "session", 1) + "roles: { a: { pool: 1, via: p, extra: { listen: 1 } } }", ""},
		{"client gives up first", "settings: { default: { statement_timeout: 30s, query_timeout: 20s } }", "contract-order"},
		{"deadline before the wait, others undeclared", "settings: { default: { connect_wait: 30s, deadline: 30s } }", "contract-order"},
		{"in order", "settings: { default: { connect_wait: 5s, statement_timeout: 10s, query_timeout: 20s, deadline: 1min } }", ""},
		{"a role's own over the default", "roles: { m: { pool: 1 } }\nsettings: { default: { query_timeout: 20s }, m: { statement_timeout: 300s } }", "contract-order"},
		{"the default's breach is said once", "roles: { m: { pool: 1 } }\nsettings: { default: { statement_timeout: 30s, query_timeout: 20s }, m: { deadline: 100s } }", "contract-order"},
		{"pooler larger than the server", "server: { max_connections: 10 }\npoolers: { p: { pools: { d@u: {} } } }", "steady-over-usable pooler-server-over"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range mustPlan(t, mustParse(t, tt.file)).Findings {
				got = append(got, f.Rule)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestScenarioWithoutEffect(t *testing.T) {
	f := mustLoad(t, "werft-helm.yaml")
	for scenario, want := range map[string]int{"surge=metrics": 1, "surge=metrics,metrics=on": 0, "surge=api": 0, "surge=all": 0} {
		n := 0
		for _, x := range mustPlan(t, f, scenario).Findings {
			if x.Rule == "scenario-without-effect" && x.Subject == "metrics" {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d findings, want %d", scenario, n, want)
		}
	}
}

// TestScenarioChangesNothing: said of any scenario that leaves all sums as they are.
func TestScenarioChangesNothing(t *testing.T) {
	f := mustParse(t, "poolers: { p: { pools: { d@u: {} } } }\nroles: { a: { pool: 2 }, o: { pool: 2, runs: off }, z: { pool: 2, replicas: 0, surge: 2 }, s: { pool: 1, surge: 0 }, v: { pool: 2, via: p } }")
	for scenario, want := range map[string]bool{
		"a=on": true, "a+0": true, "a=1": true, "o.pool=9": true, "o=off": true, "surge=z": true, "surge=s": true, "surge=o": true, "keep_free=3": true,
		"a+1": false, "o=on": false, "v+1": false, "surge=a": false, "surge=v": false, "keep_free=4": false, "p.max_client_conn=7": false, "base": false,
	} {
		said := 0
		for _, x := range mustPlan(t, f, scenario).Findings {
			if x.Rule == "scenario-without-effect" {
				said++
			}
		}
		if (said == 1) != want || said > 1 {
			t.Errorf("%s: said %d times, want %v", scenario, said, want)
		}
	}
}

func TestScenarioErrors(t *testing.T) {
	f := mustLoad(t, "werft-helm.yaml")
	for _, tt := range []struct{ arg, want string }{
		{"apy+1", `did you mean "api"?`},
		{"api=-1", "the least is 0"},
		{"api-3", "leaves -1 replicas"},
		{"api.pol=1", `did you mean "pool"?`},
		{"api.pool=x", "must be a whole number"},
		{"api.pool=0", "the least is 1"},
		{"surge=nobody", `no role "nobody"`},
		{"surge=migrate", "runs as a job"},
		{"server.max_conn=3", "server has no"},
		{"server.max_connections=2", "keeps more slots"},
		{"metric on", `did you mean "metrics on"?`},
		{"", "is no scenario"},
		{"zzz", `known: compose, "metrics on", "one more api", "one more slack", "rolling deploy"`},
		{"nobody.pool=3", `no role "nobody.pool"`},
		{"base,nonsense", "is no scenario"},
	} {
		if _, err := ParseScenario(f, []string{tt.arg}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want …%s…", tt.arg, err, tt.want)
		}
	}
	if s, err := ParseScenario(nil, nil); err != nil || s.Name != "base" {
		t.Errorf("nil file: %v %v", s, err)
	}
	if got := mustPlan(t, f, "metrics on", "api+1").Scenario; got != "metrics on,api+1" {
		t.Errorf("combined name %q", got)
	}
}

// TestManualAtOnce: what is started by hand is listed as often as it may run.
func TestManualAtOnce(t *testing.T) {
	if s := mustPlan(t, mustParse(t, "roles: { a: { pool: 10, runs: manual, concurrency: 3 } }")); s.Manual != 30 {
		t.Errorf("manual %d, want 30", s.Manual)
	}
}

// TestPlanIsPure: planning a scenario leaves the file as it was.
func TestPlanIsPure(t *testing.T) {
	f := mustLoad(t, "werft-helm.yaml")
	before, _ := json.Marshal(mustPlan(t, f))
	mustPlan(t, f, "metrics=on,api=9,api.pool=33,api.extra.listen=7,server.max_connections=900,keep_free=9,surge=all")
	after, _ := json.Marshal(mustPlan(t, f))
	if string(before) != string(after) {
		t.Errorf("before %s\nafter  %s", before, after)
	}
}
