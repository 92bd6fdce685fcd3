package budget

import (
	"strings"
	"testing"
)

// TestKinds: kept and cap of one process by each kind's own defaults, and with
// its parameters.
func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		role      string
		kept, cap int
	}{
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
	} {
		s := mustPlan(t, mustParse(t, "roles: { r: { "+tt.role+" } }"))
		if r := s.Roles[0]; r.Kept != tt.kept || r.Cap != tt.cap {
			t.Errorf("%s: kept %d cap %d, want %d %d", tt.role, r.Kept, r.Cap, tt.kept, tt.cap)
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
