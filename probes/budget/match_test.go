package budget

import (
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

const matchFile = `
match: "werft:{role}"
roles:
  api:    { pool: 10, also: "werft:api-listen" }
  slow:   { pool: 10, match: { app: "werft:api", user: slow } }
  dstack: { pool: 1, match: { user: dstack, db: dstack } }
  java:   { pool: 1, match: { app: "PostgreSQL JDBC Driver", user: "shop*" } }
  office: { pool: 1, match: { addr: 10.9.0.0/16 } }
  six:    { pool: 1, match: { addr: "fd00::/8" } }
  sock:   { pool: 1, match: { addr: local, user: batch } }
  re:     { pool: 1, match: ["~^cron-[0-9]+$", { user: cron }] }
  wal:    { pool: 1, match: { kind: walsender } }
  pooled: { pool: 1, via: pgb }
poolers:
  pgb: { mode: transaction, pools: { "shop@web": { size: 5 } } }
  sup: { kind: supavisor, match: Supavisor, pools: { "x@y": {} } }
`

func TestMatch(t *testing.T) {
	f := mustParse(t, matchFile)
	const client = "client backend"
	for _, tt := range []struct {
		name string
		who  Who
		want Match
	}{
		{"capture", Who{Kind: client, App: "werft:api"}, Match{Role: "api", Origin: Declared}},
		{"kind unknown is a client", Who{App: "werft:api"}, Match{Role: "api", Origin: Declared}},
		{"masked may be a client", Who{Kind: "masked", App: "werft:api"}, Match{Role: "api", Origin: Declared}},
		{"second name", Who{App: "werft:api-listen"}, Match{Role: "api", Origin: Declared, Also: true}},
		{"role rule before capture", Who{App: "werft:api", User: "slow"}, Match{Role: "slow", Origin: Declared}},
		{"captured, not declared", Who{App: "werft:report"}, Match{Role: "report", Origin: Captured}},
		{"prefix alone", Who{App: "werft:"}, Match{Role: "(unmatched)", Origin: Unmatched}},
		{"user and db", Who{User: "dstack", Database: "dstack"}, Match{Role: "dstack", Origin: Declared}},
		{"only one of two", Who{User: "dstack", Database: "other"}, Match{Role: "(unmatched)", Origin: Unmatched}},
		{"glob on user", Who{App: "PostgreSQL JDBC Driver", User: "shop_rw"}, Match{Role: "java", Origin: Declared}},
		{"network", Who{App: "psql", Addr: "10.9.4.4"}, Match{Role: "office", Origin: Declared}},
		{"mapped address", Who{Addr: "::ffff:10.9.4.4"}, Match{Role: "office", Origin: Declared}},
		{"v6", Who{Addr: "fd00::1"}, Match{Role: "six", Origin: Declared}},
		{"socket", Who{Addr: "local", User: "batch"}, Match{Role: "sock", Origin: Declared}},
		{"regexp", Who{App: "cron-17"}, Match{Role: "re", Origin: Declared}},
		{"one of a list", Who{User: "cron"}, Match{Role: "re", Origin: Declared}},
		{"pgbouncer suffix", Who{App: "werft:api - 127.0.0.1:40564"}, Match{Role: "api", Origin: Declared}},
		{"pgbouncer suffix v6", Who{App: "werft:api - ::1:40564"}, Match{Role: "api", Origin: Declared}},
		{"pgbouncer suffix socket", Who{App: "werft:api - unix:6432"}, Match{Role: "api", Origin: Declared}},
		{"a dash is no suffix", Who{App: "werft:api - report"}, Match{Role: "api - report", Origin: Captured}},
		{"via", Who{App: "werft:pooled"}, Match{Role: "pooled", Origin: Declared, Via: "pgb"}},
		{"pool of a pooler", Who{App: "app - 10.0.0.1:33", User: "web", Database: "shop"}, Match{Role: "pgb", Origin: Pooler}},
		{"pooler by its own match", Who{App: "Supavisor"}, Match{Role: "sup", Origin: Pooler}},
		{"walsender by kind", Who{Kind: "walsender", User: "repl"}, Match{Role: "wal", Origin: Declared}},
		{"other kinds match nothing", Who{Kind: "parallel worker", App: "werft:api"}, Match{Role: "(unmatched)", Origin: Unmatched}},
		{"psql", Who{App: "psql"}, Match{Role: "operators", Origin: BuiltIn}},
		{"pgAdmin", Who{App: "pgAdmin 4 - DB:shop"}, Match{Role: "operators", Origin: BuiltIn}},
		{"DBeaver", Who{App: "DBeaver 24.1.0 - Main <shop>"}, Match{Role: "operators", Origin: BuiltIn}},
		{"pgsonde", Who{App: "pgsonde"}, Match{Role: "operators", Origin: BuiltIn}},
		{"not psql", Who{App: "psqlx"}, Match{Role: "(unmatched)", Origin: Unmatched}},
		{"platform user", Who{User: "rdsadmin", App: "x"}, Match{Role: "system", Origin: BuiltIn}},
		{"platform app", Who{App: "Patroni heartbeat"}, Match{Role: "system", Origin: BuiltIn}},
		{"a worker of pg_dump -j", Who{App: "pg_dump", User: "backup"}, Match{Role: "operators", Origin: BuiltIn}},
		{"pg_cron by libpq", Who{App: "pg_cron", User: "web"}, Match{Role: "system", Origin: BuiltIn}},
		{"pg_cron as a worker takes no slot", Who{Kind: "pg_cron", App: "pg_cron"}, Match{Role: "(unmatched)", Origin: Unmatched}},
		{"Debezium's JDBC side", Who{App: "Debezium General"}, Match{Role: "system", Origin: BuiltIn}},
		{"an exporter", Who{App: "postgres_exporter"}, Match{Role: "system", Origin: BuiltIn}},
		{"a foreign server's connection", Who{App: "postgres_fdw", User: "remote"}, Match{Role: "(unmatched)", Origin: Unmatched}},
		{"a logical worker", Who{Kind: "logical replication worker", App: "sub"}, Match{Role: "(unmatched)", Origin: Unmatched}},
		{"nothing at all", Who{}, Match{Role: "(unmatched)", Origin: Unmatched}},
	} {
		if got := f.Match(tt.who); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestMatchWithoutFile(t *testing.T) {
	var f *File
	for _, tt := range []struct {
		who  Who
		want string
	}{
		{Who{App: "werft:api", User: "u", Database: "d"}, "werft:api"},
		{Who{App: "werft:api - 10.0.0.3:4444"}, "werft:api"},
		{Who{User: "u", Database: "d"}, "u@d"},
		{Who{App: "PostgreSQL JDBC Driver", User: "u", Database: "d"}, "u@d"},
		{Who{App: "odoo-4711"}, "odoo"},
		{Who{App: "sidekiq 7.2.0 shop [3 of 10 busy]"}, "sidekiq 7.2.0 shop"},
		{Who{App: "psql"}, "operators"},
		{Who{User: "u"}, "u"},
		{Who{}, "(unmatched)"},
	} {
		if got := f.Match(tt.who).Role; got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.who, got, tt.want)
		}
	}
}

// TestMatchByName: without a capture pattern and a rule, the application of the
// role's name.
// TestServerProcessesHaveNoRole: they take no slot of anybody, and a database alone is
// nobody's name.
func TestServerProcessesHaveNoRole(t *testing.T) {
	files := []*File{nil, {}}
	for _, f := range files {
		for _, s := range []probes.Session{
			{Kind: "checkpointer"},
			{Kind: "autovacuum worker", Database: "shop"},
			{Kind: probes.KindMaskedSystem},
		} {
			if got := f.RoleOf(s); got != "" {
				t.Errorf("%s, budget %v: got %q", s.Kind, f != nil, got)
			}
		}
		if got := f.RoleOf(probes.Session{Kind: probes.KindMasked}); got != roleUnmatched {
			t.Errorf("a masked client, budget %v: got %q", f != nil, got)
		}
	}
}

func TestMatchByName(t *testing.T) {
	f := mustLoad(t, "danish.yaml")
	if got := f.Match(Who{App: "web"}); got != (Match{Role: "web", Origin: Declared}) {
		t.Errorf("web: %+v", got)
	}
	if got := f.Match(Who{App: "website"}); got.Origin != Unmatched {
		t.Errorf("website: %+v", got)
	}
}
