package budget

import (
	"strings"
	"testing"
)

// TestKinds: kept and cap of one process by each kind's own defaults, and with
// its parameters.
func TestKinds(t *testing.T) {
	seen := map[string]int{}
	for _, tt := range kindCases() {
		s := mustPlan(t, mustParse(t, "roles: { r: { "+tt.role+" } }"))
		if r := s.Roles[0]; r.Kept != tt.kept || r.Cap != tt.cap {
			t.Errorf("%s: kept %d cap %d, want %d %d", tt.role, r.Kept, r.Cap, tt.kept, tt.cap)
		}
		seen[s.Roles[0].Kind]++
	}
	for _, k := range kinds() {
		if seen[k.name] < 2 {
			t.Errorf("%s has %d cases, want its defaults and its parameters", k.name, seen[k.name])
		}
	}
}

type kindCase struct {
	role      string
	kept, cap int
}

func kindCases() []kindCase {
	return []kindCase{
		{"pool: 10", 10, 10},
		{"min: 2, max: 10", 2, 10},
		{"max: 7", 7, 7},
		{"kind: sqlalchemy", 5, 15},
		{"kind: sqlalchemy, pool_size: 20, max_overflow: 20", 20, 40},
		{"kind: sqlalchemy, max_overflow: 0, engines: 2", 10, 10},
		{"kind: sqlalchemy, null_pool: on, threads: 8", 0, 8},
		{"kind: psycopg_pool", 4, 4},
		{"kind: psycopg_pool, min: 2, max: 6", 2, 6},
		{"kind: psycopg, min_size: 9", 9, 9},
		{"kind: django", 1, 1},
		{"kind: django, workers: 4, threads: 2, aliases: 2", 16, 16},
		{"kind: django, workers: 4, conn_max_age: off", 0, 4},
		{"kind: django-pool, workers: 3, aliases: 2", 24, 24},
		{"kind: django-pool, min: 1, max: 5, workers: 3", 3, 15},
		{"kind: asyncpg", 10, 10},
		{"kind: celery, concurrency: 4", 4, 4},
		{"kind: celery, concurrency: 4, pool: 2", 8, 8},
		{"kind: hikari", 10, 10},
		{"kind: hikari, minimum_idle: 2, maximum_pool_size: 20", 2, 20},
		{"kind: pgxpool, cpus: 2", 0, 4},
		{"kind: pgxpool, cpus: 8, min_conns: 1", 1, 8},
		{"kind: pgx, max: 30", 0, 30},
		{"kind: database/sql, max_open: 20", 2, 20},
		{"kind: database/sql, max_open: 1", 1, 1},
		{"kind: r2d2", 10, 10},
		{"kind: bb8", 0, 10},
		{"kind: sqlx", 0, 10},
		{"kind: deadpool, cpus: 4", 8, 8},
		{"kind: npgsql", 0, 100},
		{"kind: npgsql, max: 20, strings: 2, min: 1", 2, 40},
		{"kind: node-pg", 10, 10},
		{"kind: typeorm, min: 0, max: 5", 0, 5},
		{"kind: prisma7", 10, 10},
		{"kind: postgres.js", 10, 10},
		{"kind: knex", 2, 10},
		{"kind: sequelize", 0, 5},
		{"kind: prisma, cpus: 2", 5, 5},
		{"kind: prisma, connection_limit: 3", 3, 3},
		{"kind: rails", 5, 5},
		{"kind: rails, workers: 2, threads: 3", 6, 10},
		{"kind: rails, databases: 2, pool: 4", 8, 8},
		{"kind: sidekiq", 5, 5},
		{"kind: sidekiq, concurrency: 3, pool: 10", 3, 10},
		{"kind: ecto", 10, 10},
		{"kind: ecto, pool_count: 2, pool_size: 7", 14, 14},
		{"kind: odoo", 1, 64},
		{"kind: odoo, workers: 4, maxconn: 8", 7, 56},
		{"kind: php-fpm, children: 20", 0, 20},
		{"kind: php-fpm, children: 20, persistent: yes", 20, 20},
		{"kind: asyncpg, min_size: 2, max_size: 5", 2, 5},
		{"kind: database-sql, max_open: 50, max_idle: 50", 50, 50},
		{"kind: r2d2, min_idle: 1, max_size: 4", 1, 4},
		{"kind: bb8, max_size: 3", 0, 3},
		{"kind: sqlx, min_connections: 2, max_connections: 20", 2, 20},
		{"kind: deadpool, max_size: 7", 7, 7},
		{"kind: postgres.js, max: 3", 3, 3},
		{"kind: knex, min: 0, max: 20", 0, 20},
		{"kind: sequelize, max: 30, min: 5", 5, 30},
		{"kind: hikaricp, max: 3", 3, 3},
		{"kind: django_pool", 4, 4},
	}
}

// TestKindLifetimes: the ages at which the pools close connections by default:
// an idle one, any one; 0 not known or none kept, never where it does not.
func TestKindLifetimes(t *testing.T) {
	want := map[string][2]int{
		"pool": {0, 0}, "sqlalchemy": {never, 0}, "psycopg_pool": {600, 3600}, "django": {0, 0}, "django-pool": {600, 3600},
		"asyncpg": {300, 0}, "celery": {0, 0}, "hikari": {600, 1800}, "pgxpool": {1800, 3600}, "database/sql": {never, 0},
		"r2d2": {600, 1800}, "bb8": {600, 1800}, "sqlx": {600, 1800}, "deadpool": {never, 0}, "npgsql": {300, 3600},
		"node-pg": {10, 0}, "postgres.js": {never, 0}, "knex": {30, 0}, "sequelize": {10, 0}, "prisma": {0, 0},
		"rails": {300, 0}, "sidekiq": {300, 0}, "ecto": {0, 0}, "odoo": {0, 0}, "php-fpm": {0, 0},
	}
	for _, k := range kinds() {
		if got, ok := want[k.name]; !ok || got != [2]int{k.idleS, k.lifeS} {
			t.Errorf("%s: idle %d s, life %d s, want %v", k.name, k.idleS, k.lifeS, got)
		}
		delete(want, k.name)
	}
	if len(want) > 0 {
		t.Errorf("no kinds %v", want)
	}
}

// TestPoolerDefaults: the server side and the clients of a pooler of which only
// its pools are named.
func TestPoolerDefaults(t *testing.T) {
	for _, tt := range []struct {
		kind               string
		cap, kept, clients int
		mode               string
	}{
		{"pgbouncer", 20, 0, 100, "session"},
		{"supavisor", 15, 0, 1000, "transaction"},
	} {
		f := mustParse(t, "poolers: { p: { kind: "+tt.kind+", pools: { d@u: {} } } }")
		p := mustPlan(t, f).Poolers[0]
		if p.Cap != tt.cap || p.Kept != tt.kept || p.MaxClients != tt.clients || p.Instances != 1 || f.Poolers[0].Mode != tt.mode {
			t.Errorf("%s: %+v in %s mode, want cap %d kept %d clients %d in %s", tt.kind, p, f.Poolers[0].Mode, tt.cap, tt.kept, tt.clients, tt.mode)
		}
	}
}

// TestKindsRefuse: what has no limit or no number is refused with its cure.
func TestKindsRefuse(t *testing.T) {
	for _, tt := range []struct{ role, want string }{
		{"{}", "pool is missing"},
		{"pool: 3, max: 4", "give either pool, or min and max"},
		{"min: 5, max: 4", "min 5 is more than max 4"},
		{"kind: sqlalchemy, max_overflow: -1", "unlimited in sqlalchemy, which no budget can hold; give a number"},
		{"kind: sqlalchemy, pool_size: 0", "unlimited"},
		{"kind: sqlalchemy, null_pool: true", "NullPool is unlimited; give threads"},
		{"kind: database/sql", "max_open is missing: database/sql is unlimited"},
		{"kind: database/sql, max_open: 0", "unlimited"},
		{"kind: pgxpool", "cpus too"},
		{"kind: deadpool", "cpus too"},
		{"kind: prisma", "2 × physical CPUs + 1"},
		{"kind: celery", "concurrency is missing"},
		{"kind: php-fpm", "pm.max_children"},
		{"kind: asyncpg, min: 11", "min 11 is more than max 10"},
		{"kind: psycopg_pool, max: 3", "min 4 is more than max 3"},
		{"kind: hikari, min: 11", "min 11 is more than max 10"},
		{"kind: hikari, max: 0", "the least is 1"},
		{"kind: hikari, max: 1.5", "must be a whole number"},
		{"kind: hikari, max: 300000", "the most is 262143"},
		{"kind: hikari, max: 99999999999999999999", "the most is 262143"},
		{"pool: -3", "the least is 1"},
		{"pool: 0", "the least is 1"},
		{"kind: hikary", `no kind "hikary"; did you mean "hikari"?`},
		{"kind: npgsql, max: 3, max_pool_size: 4", "said twice"},
		{"kind: php-fpm, children: 1, persistent: 3", "must be on or off"},
		{"pool: 1, processes: 0", "the least is 1"},
		{"pool: 1, replicas: -1", "the least is 0"},
		{"pool: 1, surge: 10x", "must be a whole number"},
		{"pool: 1, surge: 5000%", "the most is 1000"},
		{"pool: 1, group: g", "a group is for jobs"},
	} {
		role := tt.role
		if role != "{}" {
			role = "{ " + role + " }"
		}
		_, err := Parse("b.yaml", []byte("roles:\n  r: "+role+"\n"))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "b.yaml:2: ") {
			t.Errorf("%s: error %v, want b.yaml:2: …%s…", tt.role, err, tt.want)
		}
	}
}
