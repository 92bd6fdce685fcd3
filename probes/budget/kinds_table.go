package budget

import (
	"errors"
	"slices"
)

// kinds is the table of pool kinds. Formulas and defaults are those of the
// stacks' own sources, named at each.
func kinds() []kind {
	return slices.Concat(plainKinds(), pythonKinds(), jvmGoRustKinds(), nodeKinds(), processKinds())
}

// plainKinds: pool: N is both kept and cap; or min and max of any pool that
// has no kind of its own.
func plainKinds() []kind {
	plain := kind{
		params: []param{num("pool", none, 1), num("min", none, 0), num("max", none, 1)},
		size: func(p sizer) (int, int, error) {
			pool, lo, hi := p("pool"), p("min"), p("max")
			switch {
			case pool == none && hi == none:
				return 0, 0, errors.New("pool is missing: how many connections can one process open? (pool: 10, or min and max, or a kind)")
			case pool != none && (lo != none || hi != none):
				return 0, 0, errors.New("give either pool, or min and max")
			case pool != none:
				return pool, pool, nil
			case lo > hi:
				return 0, 0, errMinMax(lo, hi)
			case lo == none:
				lo = hi
			}
			return lo, hi, nil
		},
	}
	return []kind{plain.named(0, 0, "pool")}
}

// pythonKinds:
//   - sqlalchemy: pool_size 5 + max_overflow 10, for each engine; max_overflow
//     -1 and pool_size 0 are unlimited (sqlalchemy/pool/impl.py, QueuePool).
//     With null_pool every checkout is a connection of its own: kept 0, cap
//     threads. The pool never closes by age unless pool_recycle is set.
//   - psycopg_pool: min_size 4, max_size none = min_size; max_idle 600 s,
//     max_lifetime 3600 s (psycopg_pool/base.py, pool.py).
//   - django: one connection a worker thread and database alias; closed after
//     each request unless CONN_MAX_AGE (Django docs, databases). conn_max_age:
//     off says that nothing is kept.
//   - django-pool: psycopg_pool for each alias in each worker (Django 5.1+,
//     OPTIONS pool).
//   - asyncpg: 10/10, idle ones closed after 300 s (asyncpg/pool.py).
//   - celery: each of the concurrency children has its own pool, 1 unless said.
func pythonKinds() []kind {
	sqlalchemy := kind{
		params: []param{
			endless(num("pool_size", 5, 1, "size")), endless(num("max_overflow", 10, 0, "overflow")),
			num("engines", 1, 1), flag("null_pool", 0), num("threads", none, 1),
		},
		size: func(p sizer) (int, int, error) {
			if p("null_pool") == 1 {
				if p("threads") == none {
					return 0, 0, errors.New("a NullPool is unlimited; give threads: how many of one process use the database at once")
				}
				return 0, mul(p("threads"), p("engines")), nil
			}
			return mul(p("pool_size"), p("engines")), mul(add(p("pool_size"), p("max_overflow")), p("engines")), nil
		},
	}
	django := kind{
		params: []param{num("workers", 1, 1), num("threads", 1, 1), num("aliases", 1, 1), flag("conn_max_age", 1)},
		size: func(p sizer) (int, int, error) {
			n := mul(p("workers"), p("threads"), p("aliases"))
			return mul(n, p("conn_max_age")), n, nil
		},
	}
	djangoPool := psycopgPool()
	djangoPool.params = append(djangoPool.params, num("workers", 1, 1), num("aliases", 1, 1))
	inner := djangoPool.size
	djangoPool.size = func(p sizer) (int, int, error) {
		lo, hi, err := inner(p)
		return mul(lo, p("workers"), p("aliases")), mul(hi, p("workers"), p("aliases")), err
	}
	celery := kind{
		params: []param{num("concurrency", none, 1), num("pool", 1, 1)},
		size: func(p sizer) (int, int, error) {
			if p("concurrency") == none {
				return 0, 0, errors.New("concurrency is missing: celery's default is the number of CPUs, which the file cannot know")
			}
			n := mul(p("concurrency"), p("pool"))
			return n, n, nil
		},
	}
	return []kind{
		sqlalchemy.named(never, 0, "sqlalchemy"),
		psycopgPool().named(600, 3600, "psycopg_pool", "psycopg"),
		django.named(0, 0, "django"), djangoPool.named(600, 3600, "django-pool", "django_pool"),
		minMax(10, 10).named(300, 0, "asyncpg"), celery.named(0, 0, "celery"),
	}
}

// psycopgPool keeps min_size and grows to max_size, which is min_size unless
// given.
func psycopgPool() kind {
	k := minMax(4, none)
	k.size = func(p sizer) (int, int, error) {
		lo, hi := p("min"), p("max")
		switch {
		case hi == none:
			hi = lo
		case lo > hi:
			return 0, 0, errMinMax(lo, hi)
		}
		return lo, hi, nil
	}
	return k
}

// jvmGoRustKinds:
//   - hikari: maximumPoolSize 10, minimumIdle the same; idle 10 min, life
//     30 min (HikariConfig.java).
//   - pgxpool: MinConns 0, MaxConns max(4, CPUs); life 1 h, idle 30 min
//     (pgxpool/pool.go).
//   - database/sql: keeps 2 idle, opens without limit unless SetMaxOpenConns
//     (database/sql/sql.go).
//   - r2d2 min_idle = max_size 10 (r2d2 config.rs); bb8 and sqlx 0/10 (bb8
//     api.rs, sqlx options.rs); idle 10 min, life 30 min.
//   - deadpool: 2 × CPUs, never closed (deadpool managed config).
//   - npgsql: 0/100 for each distinct connection string; idle 300 s, life 1 h
//     (NpgsqlConnectionStringBuilder.cs).
func jvmGoRustKinds() []kind {
	cpus := func(what string, atLeast, times int, kept bool) kind {
		k := minMax(0, none, num("cpus", none, 1))
		k.size = func(p sizer) (int, int, error) {
			lo, hi := p("min"), p("max")
			if hi == none {
				if p("cpus") == none {
					return 0, 0, errors.New("max is missing, and cpus too: " + what)
				}
				hi = max(atLeast, mul(times, p("cpus")))
			}
			if lo > hi {
				return 0, 0, errMinMax(lo, hi)
			}
			if kept {
				lo = hi
			}
			return lo, hi, nil
		}
		return k
	}
	sql := kind{
		params: []param{num("max_idle", 2, 0, "min"), endless(num("max_open", none, 1, "max"))},
		size: func(p sizer) (int, int, error) {
			if p("max_open") == none {
				return 0, 0, errors.New("max_open is missing: database/sql is unlimited without SetMaxOpenConns; give a number")
			}
			return min(p("max_idle"), p("max_open")), p("max_open"), nil
		},
	}
	npgsql := minMax(0, 100, num("strings", 1, 1, "connection_strings"))
	inner := npgsql.size
	npgsql.size = func(p sizer) (int, int, error) {
		lo, hi, err := inner(p)
		return mul(lo, p("strings")), mul(hi, p("strings")), err
	}
	return []kind{
		minDefaultsToMax(10).named(600, 1800, "hikari", "hikaricp"),
		cpus("pgxpool opens max(4, CPUs)", 4, 1, false).named(1800, 3600, "pgxpool", "pgx"),
		sql.named(never, 0, "database/sql", "database-sql", "sql"),
		minDefaultsToMax(10).named(600, 1800, "r2d2"),
		minMax(0, 10).named(600, 1800, "bb8"), minMax(0, 10).named(600, 1800, "sqlx"),
		cpus("deadpool opens 2 × CPUs", 1, 2, true).named(never, 0, "deadpool"),
		npgsql.named(300, 3600, "npgsql"),
	}
}

// nodeKinds:
//   - node-pg (pg.Pool, TypeORM, Prisma 7): max 10; idle ones closed after 10 s
//     (pg-pool). Under traffic the pool stays full, so kept is max unless min
//     is given.
//   - postgres.js: max 10, kept (no idle timeout by default).
//   - knex (tarn): 2/10, idle 30 s. sequelize: 0/5, idle 10 s.
//   - prisma (up to 6): connection_limit = 2 × physical CPUs + 1.
func nodeKinds() []kind {
	prisma := kind{
		params: []param{num("connection_limit", none, 1, "max", "pool"), num("cpus", none, 1)},
		size: func(p sizer) (int, int, error) {
			n := p("connection_limit")
			if n == none {
				if p("cpus") == none {
					return 0, 0, errors.New("connection_limit is missing, and cpus too: prisma opens 2 × physical CPUs + 1")
				}
				n = add(mul(2, p("cpus")), 1)
			}
			return n, n, nil
		},
	}
	return []kind{
		minDefaultsToMax(10).named(10, 0, "node-pg", "pg-pool", "typeorm", "prisma7"),
		minDefaultsToMax(10).named(never, 0, "postgres.js", "postgresjs"),
		minMax(2, 10).named(30, 0, "knex"), minMax(0, 5).named(10, 0, "sequelize"),
		prisma.named(0, 0, "prisma"),
	}
}

// processKinds: stacks whose processes are part of the formula.
//   - rails: pool 5 for each worker and database, of which its threads use
//     min(threads, pool); idle ones reaped after 300 s (Active Record,
//     hash_config.rb).
//   - sidekiq: as rails, concurrency 5 (Sidekiq config.rb).
//   - ecto: pool_size 10 × pool_count 1 (DBConnection, Ecto docs).
//   - odoo: workers + 2 cron + 1 gevent processes, each up to db_maxconn 64;
//     without workers one threaded process (odoo config.py).
//   - php-fpm: pm.max_children, one connection each for the time of a request;
//     persistent: on keeps them.
func processKinds() []kind {
	rails := kind{
		params: []param{num("workers", 1, 1), num("threads", none, 1), num("pool", 5, 1), num("databases", 1, 1, "shards")},
		size: func(p sizer) (int, int, error) {
			used := p("pool")
			if p("threads") != none {
				used = min(used, p("threads"))
			}
			return mul(used, p("workers"), p("databases")), mul(p("pool"), p("workers"), p("databases")), nil
		},
	}
	sidekiq := kind{
		params: []param{num("concurrency", 5, 1), num("pool", 5, 1), num("databases", 1, 1, "shards")},
		size: func(p sizer) (int, int, error) {
			return mul(min(p("concurrency"), p("pool")), p("databases")), mul(p("pool"), p("databases")), nil
		},
	}
	ecto := kind{
		params: []param{num("pool_size", 10, 1, "pool"), num("pool_count", 1, 1)},
		size: func(p sizer) (int, int, error) {
			n := mul(p("pool_size"), p("pool_count"))
			return n, n, nil
		},
	}
	odoo := kind{
		params: []param{num("workers", 0, 0), num("cron", 2, 0), num("gevent", 1, 0), num("maxconn", 64, 1, "db_maxconn")},
		size: func(p sizer) (int, int, error) {
			n := 1
			if p("workers") > 0 {
				n = add(p("workers"), p("cron"), p("gevent"))
			}
			return n, mul(n, p("maxconn")), nil
		},
	}
	php := kind{
		params: []param{num("children", none, 1, "max_children"), flag("persistent", 0)},
		size: func(p sizer) (int, int, error) {
			if p("children") == none {
				return 0, 0, errors.New("children is missing: pm.max_children of the pool")
			}
			return mul(p("children"), p("persistent")), p("children"), nil
		},
	}
	return []kind{
		rails.named(300, 0, "rails"), sidekiq.named(300, 0, "sidekiq"), ecto.named(0, 0, "ecto"),
		odoo.named(0, 0, "odoo"), php.named(0, 0, "php-fpm", "php"),
	}
}
