package budget

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

// drafted parses a draft and plans it; every guess in it must be said.
func drafted(t *testing.T, text string, err error) (*File, *Sum) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse("draft.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return f, mustPlan(t, f)
}

// TestInitFromSnapshot: the draft of a server's state finds nothing wrong with
// that state but what is the server's own.
func TestInitFromSnapshot(t *testing.T) {
	odd := grp(2, "* weird, \"name\" \u202e {x}: - ~", "10.0.0.7", "idle")
	odd.App = strings.ToValidUTF8(odd.App, "?")
	ascii := grp(2, "~a*b?c \"d\" \\ #e: {f}", "10.0.0.8", "idle")
	odoo1, odoo2 := grp(1, "odoo-11", "10.0.0.6", "idle"), grp(1, "odoo-12", "10.0.0.6", "active")
	s := snap(
		grp(11, "werft:api", "10.0.0.1", "active"), grp(1, "werft:api", "10.0.0.1", "idle"), grp(12, "werft:api", "10.0.0.2", "active"),
		grp(4, "werft:scheduler", "10.0.0.3", "idle"), grp(1, "werft:surge", "10.0.0.3", "idle"),
		grp(6, "", "10.0.0.4", "idle"), grp(5, "PostgreSQL JDBC Driver", "10.0.0.4", "idle"),
		grp(2, "werft:nearly", "10.0.0.9", "active"), grp(1, "werft:nearly", "10.0.0.9", "idle"), grp(1, "werft:half", "10.0.0.9", "active"), grp(1, "werft:half", "10.0.0.9", "idle"),
		odoo1, odoo2, odd, ascii, grp(2, "psql", "local", "idle"), grp(3, "off", "local", "active"),
	)
	text, err := InitFromSnapshot(s, map[string]int{"werft:scheduler": 9})
	f, sum := drafted(t, text, err)
	u := Use(f, s)
	for _, x := range u.Findings {
		if x.Severity != probes.Info && !(x.Rule == "unmatched-sessions" || x.Rule == "running-over-cpus") {
			t.Errorf("%s: %s\n%s", x.Rule, x.Message, text)
		}
	}
	for role, want := range map[string]int{"api": 24 + 6, "scheduler": 9, "app-surge": 1, "app@app": 11, "odoo": 2, "off": 4, "nearly": 4, "half": 2} {
		i := slices.IndexFunc(sum.Roles, func(r RoleSum) bool { return r.Role == role })
		if i < 0 || sum.Roles[i].Cap != want {
			t.Errorf("%s: want cap %d in\n%s", role, want, text)
		}
	}
	if r := row(t, u, "(unmatched)"); r.Now != 2 || !strings.Contains(text, "left out: no pattern can tell them apart") {
		t.Errorf("what no pattern can fit: %d unmatched, want 2 and a comment\n%s", r.Now, text)
	}
	if f.Capture != "werft:{role}" || !strings.Contains(text, "GUESS: at most one of the 12 of one address is idle") {
		t.Errorf("capture %q\n%s", f.Capture, text)
	}
}

func TestInitFromEnv(t *testing.T) {
	text, err := InitFromEnv(".env", []string{
		"# comment", "export DSTACK_DB_POOL_SIZE=20", "DSTACK_DB_MAX_OVERFLOW='20'", "DSTACK_DATABASE_URL=postgresql+asyncpg://dstack:secret@db/dstack",
	})
	f, sum := drafted(t, text, err)
	if sum.Roles[0].Kept != 20 || sum.Steady != 40 || sum.Roles[0].Role != "dstack" {
		t.Errorf("%+v\n%s", sum, text)
	}
	if f.Match(Who{User: "dstack"}).Role != "dstack" || strings.Contains(text, "secret") {
		t.Errorf("match or a password in\n%s", text)
	}
}

const composeFile = `
services:
  db: { image: "postgres:16", command: postgres -c max_connections=200 }
  redis: { image: "redis:7" }
  pgb:
    image: edoburu/pgbouncer:1.25
    environment: { POOL_MODE: transaction, MAX_CLIENT_CONN: 500, DEFAULT_POOL_SIZE: 25 }
  web:
    image: shop
    command: ["gunicorn", "-w", "4", "app"]
    deploy: { replicas: 3 }
    environment:
      - DATABASE_URL=postgres://shop:pw@pgb:6432/shop
      - DB_POOL_SIZE=5
      - DB_MAX_OVERFLOW=0
  java:
    image: j
    environment: { SPRING_DATASOURCE_URL: "jdbc:postgresql://db/shop", SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE: 12, SPRING_DATASOURCE_HIKARI_MINIMUM_IDLE: "2" }
  rails:
    image: r
    environment: { DATABASE_URL: "postgres://r:pw@db/r?application_name=rails", RAILS_MAX_THREADS: 3, WEB_CONCURRENCY: 2, REDIS_POOL_SIZE: 50 }
  guess:
    image: g
    environment: { PGHOST: db }
`

// TestInitFromCompose: by hand: web 4 × 5 × 3 = 60 clients of a pool of 25; java
// 12; rails 2 × 3 = 6; guess 10. 25 + 12 + 6 + 10 = 53.
func TestInitFromCompose(t *testing.T) {
	text, err := InitFromFile("compose.yaml", []byte(composeFile), nil)
	f, sum := drafted(t, text, err)
	if sum.MaxConnections != 200 || sum.Steady != 53 || sum.Poolers[0].Clients != 60 || sum.Poolers[0].MaxClients != 500 || f.Poolers[0].Mode != "transaction" {
		t.Errorf("%+v\n%s", sum, text)
	}
	if !strings.Contains(text, "GUESS: no pool size is said") || !strings.Contains(text, "redis: no sign of a database connection") {
		t.Errorf("guesses unsaid:\n%s", text)
	}
}

const helmFile = `
global: { env: { DATABASE_URL: "postgres://werft@db/werft" } }
api: { replicas: 2, database: { poolSize: 12 }, strategy: { rollingUpdate: { maxSurge: 25% } } }
scheduler: { replicaCount: 1, database: { poolSize: 4 } }
metrics: { enabled: false, database: { poolSize: 10 } }
checkpointGc: { schedule: "0 4 * * 0", database: { poolSize: 10 } }
worker: { replicas: 1, autoscaling: { enabled: true, maxReplicas: 5 }, env: [{ name: DB_POOL_MAX, value: "3" }] }
postgresql: { primary: { extendedConfiguration: "max_connections = 150" } }
ingress: { enabled: true }
`

// TestInitFromHelm: by hand: 24 + 4 + 3 × 5 = 43 always, 10 by the job.
func TestInitFromHelm(t *testing.T) {
	text, err := InitFromFile("values.yaml", []byte(helmFile), nil)
	_, sum := drafted(t, text, err)
	if sum.MaxConnections != 150 || sum.Steady != 43 || sum.Jobs != 10 || len(sum.Roles) != 5 {
		t.Errorf("%+v\n%s", sum, text)
	}
	for _, want := range []string{"checkpoint-gc", "runs: off", "the most that autoscaling may start", "by schedule 0 4"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestInitFromNothing(t *testing.T) {
	for name, data := range map[string]string{"empty": "", "list": "- a\n", "broken": "a: [", "word": "hello", "a budget": "roles: { a: { pool: 1 } }", "a part twice": "web: { replicas: 1, env: { DB_POOL_SIZE: 1 } }\nweb: { replicas: 2, env: { DB_POOL_SIZE: 2 } }\n", "manifest": "apiVersion: apps/v1\nkind: Deployment\n---\na: b\n", "tabs": "services:\n\ta: b\n"} {
		var fe *FileError
		if _, err := InitFromFile(name, []byte(data), nil); !errors.As(err, &fe) {
			t.Errorf("%s: %v, want a *FileError", name, err)
		}
	}
}

func FuzzInit(f *testing.F) {
	f.Add(composeFile, "werft:api")
	f.Add(helmFile, "~*\"\\")
	f.Add("A_DB_POOL_SIZE=3\n", "a: b # c")
	f.Fuzz(func(t *testing.T, text, app string) {
		var fe *FileError
		if _, err := InitFromFile("x", []byte(text), nil); errors.As(err, &fe) && fe.File != "x" {
			t.Errorf("the draft is no budget: %v", err)
		}
		app = strings.ToValidUTF8(app, "?")
		if _, err := InitFromSnapshot(snap(grp(1, app, "local", "idle"), grp(2, "w:"+app, "local", "active")), nil); err != nil {
			t.Errorf("%q: %v", app, err)
		}
	})
}
