package budget

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestInitFromDeployments: the drafts of deployment files have the figures that a
// person works out, and say what they guess.
func TestInitFromDeployments(t *testing.T) {
	for _, tt := range []struct {
		file                 string
		max                  int
		kept, steady, jobs   int
		clients, clientsMost int      // of the pooler
		roles                []string // with their caps
		says, hides          []string
	}{
		{
			// web: 2 replicas × 4 workers × 2 threads = 16; worker: 6 children; beat: 1;
			// migrate, for which web waits: a job of 1. 16 + 6 + 1 = 23, all kept.
			file: "compose-django.yaml", max: 60, kept: 23, steady: 23, jobs: 1,
			roles: []string{"migrate 1", "web 16", "worker 6", "beat 1"},
			says:  []string{"its env_file was not read", "GUESS: Django without a pool", "redis: no sign of a database"},
			hides: []string{"DB_PASSWORD"},
		},
		{
			// api: 2 × 3 × (15 + 5) = 120 clients of 400; the pooler's side is one pool of
			// 30, none kept. sidekiq 12, rails 3 workers × 5 threads = 15. 30 + 12 + 15 = 57,
			// of which 27 are kept.
			file: "compose-pgbouncer.yaml", max: 200, kept: 27, steady: 57, clients: 120, clientsMost: 400,
			roles: []string{"api 120", "sidekiq 12", "rails 15"},
			says:  []string{"pool_size: the default of DB_POOL_SIZE", "wordpress: no sign", "mysqlapp: no sign"},
		},
		{
			// 3 replicas × 15; Hikari keeps all of its pool. One more in a deploy.
			file: "values-one.yaml", max: 120, kept: 45, steady: 45,
			roles: []string{"app 45"}, says: []string{`surge: "1"`, "GUESS: it sends application_name"},
		},
		{
			// Each process 5 + 10: scheduler 2, webserver 1, workers 3 = 6 × 15 = 90, 30 kept;
			// cleanup by schedule 15.
			file: "values-parts.yaml", max: 100, kept: 30, steady: 90, jobs: 15,
			roles: []string{"scheduler 30", "webserver 15", "workers 45", "cleanup 15"},
			says:  []string{"GUESS: the server has PostgreSQL's default", "pgbouncer: a pooler, left out", "GUESS: it uses the database that the chart configures for all"},
		},
		{
			// api 4 × 8 = 32 and keeps 4 × 4; ingest 2 × 20 = 40 and keeps 2 × 4; rollup, two
			// pods at once, 16; vacuum is off.
			file: "values-nested.yaml", max: 300, kept: 24, steady: 72, jobs: 16,
			roles: []string{"api 32", "ingest 40", "rollup 16", "vacuum 8"}, says: []string{"runs: off", "concurrency: 2"},
		},
		{
			// 20 + 20, of which 20 are kept: with a byte order mark, CRLF, a comment behind the
			// value and a key of several lines.
			file: "dstack.env", max: 100, kept: 20, steady: 40,
			roles: []string{"dstack 40"}, says: []string{"match: { user: dstack }"}, hides: []string{"secret", "abc"},
		},
		{
			// 3 workers × 5 threads.
			file: "rails.env", max: 100, kept: 15, steady: 15,
			roles: []string{"app 15"}, says: []string{"match: shop-web", "workers: WEB_CONCURRENCY"}, hides: []string{"pw@", "50"},
		},
		{
			file: "grafana.env", max: 100, kept: 8, steady: 40,
			roles: []string{"gf 40"}, says: []string{"max_open: GF_DATABASE_MAX_OPEN_CONN"},
		},
	} {
		t.Run(tt.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata/deploy", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			text, err := InitFromFile(tt.file, data, besideIn("testdata/deploy"))
			_, s := drafted(t, text, err)
			if s.MaxConnections != tt.max || s.Kept != tt.kept || s.Steady != tt.steady || s.Jobs != tt.jobs {
				t.Errorf("got %d slots, kept %d, steady %d, jobs %d; want %d, %d, %d, %d",
					s.MaxConnections, s.Kept, s.Steady, s.Jobs, tt.max, tt.kept, tt.steady, tt.jobs)
			}
			var roles []string
			for _, r := range s.Roles {
				roles = append(roles, fmt.Sprint(r.Role, " ", r.Cap))
			}
			if !slices.Equal(roles, tt.roles) {
				t.Errorf("got roles %q, want %q", roles, tt.roles)
			}
			if len(s.Poolers) > 0 && (s.Poolers[0].Clients != tt.clients || s.Poolers[0].MaxClients != tt.clientsMost) || len(s.Poolers) == 0 && tt.clients > 0 {
				t.Errorf("got poolers %+v, want %d clients of %d", s.Poolers, tt.clients, tt.clientsMost)
			}
			for _, want := range tt.says {
				if !strings.Contains(text, want) {
					t.Errorf("no %q", want)
				}
			}
			for _, no := range tt.hides {
				if strings.Contains(text, no) {
					t.Errorf("%q is in it", no)
				}
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}

// TestInitFromOddValues: shapes that must not be taken for something else.
func TestInitFromOddValues(t *testing.T) {
	for _, tt := range []struct{ name, text, says string }{
		{"a variable without a default", "services: { a: { environment: { DATABASE_URL: \"${URL}\", DB_POOL_SIZE: \"${N}\" } } }", "GUESS: no pool size is said"},
		{"a number in another's variable", "services: { a: { environment: { PGHOST: db, HTTP_POOL_SIZE: 90 } } }", "pool: 10"},
		{"a huge number", "services: { a: { environment: { PGHOST: db, DB_POOL_SIZE: 99999999999999999999 } } }", "pool: 10"},
		{"a negative one", "services: { a: { environment: { PGHOST: db, DB_POOL_SIZE: -4 } } }", "pool: 10"},
		{"a merge of a list", "x: &x { environment: { PGHOST: db, DB_POOL_SIZE: 3 } }\ny: &y { deploy: { replicas: 2 } }\nservices: { a: { <<: [*x, *y] } }", "pool: 3, replicas: 2"},
		{"own over merged", "x: &x { DB_POOL_SIZE: 3, PGHOST: db }\nservices: { a: { environment: { <<: *x, DB_POOL_SIZE: 4 } } }", "pool: 4"},
		{"an image by variable", "services: { db: { image: \"${IMG:-postgres:16}\", command: -c max_connections=77 }, a: { environment: { PGHOST: db } } }", "max_connections: 77"},
	} {
		text, err := InitFromFile("x.yaml", []byte(tt.text), nil)
		if err != nil || !strings.Contains(text, tt.says) {
			t.Errorf("%s: %v, want …%s… in\n%s", tt.name, err, tt.says, text)
		}
	}
}
