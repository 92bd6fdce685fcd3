package budget

import (
	"errors"
	"strings"
	"testing"
)

// TestInitSaysAll: what a deployment file says of pools and of the server is in
// the draft, or in a comment; parts of it that are others' are not.
func TestInitSaysAll(t *testing.T) {
	const db = "services: { db: { image: \"postgres:17\", command: %s }, a: { environment: { PGHOST: db, DB_POOL_SIZE: 3 } } }"
	server := func(command string) string { return strings.Replace(db, "%s", command, 1) }
	for _, tt := range []struct{ name, text, says, hides string }{
		{"values at the root and a cron job below", "replicaCount: 2\ncronjobs: { gc: { schedule: \"0 4 * * *\", database: { poolSize: 7 } } }", "gc: { pool: 7", "  app: {"},
		{"a cron job's pool is not its chart's", "replicaCount: 2\nenv: { DB_POOL_SIZE: \"5\" }\ncronjob: { schedule: \"0 4 * * *\", env: { DB_POOL_SIZE: \"9\" } }", "app: { pool: 5, replicas: 2 }", "app: { pool: 9"},
		{"a cron job inside of a deployment", "api: { replicas: 2, env: { DB_POOL_SIZE: \"5\" }, cronjobs: { gc: { schedule: \"0 4 * * *\", env: { DB_POOL_SIZE: \"9\" } } } }", "api: { pool: 5, replicas: 2 }", "pool: 9, replicas"},
		{"a cron job in a list", "replicaCount: 1\ncronJobs: [{ name: gc, schedule: \"0 4 * * *\", env: [{ name: DB_POOL_SIZE, value: \"9\" }] }]", "gc: { pool: 9, runs: job }", "  app: {"},
		{"replicas by a template", "api: { replicas: \"{{ .Values.n }}\", env: { DB_POOL_SIZE: \"5\" } }", "GUESS: its number of replicas is no whole number", ""},
		{"surge by a template", "api: { replicas: 1, env: { DB_POOL_SIZE: \"5\" }, strategy: { rollingUpdate: { maxSurge: \"{{ x }}\" } } }", "GUESS: maxSurge is no number", ""},
		{"a key whose value is a secret's, in a mapping", "api: { replicas: 1, env: { DATABASE_URL: { valueFrom: { secretKeyRef: { name: x } } } } }", "api: { pool: 10", "no sign"},
		{"a chart's key named services", "services: { api: { replicas: 2, database: { poolSize: 4 } } }", "api: { pool: 4, replicas: 2 }", ""},
		{"the server's limits, as a string", server("postgres -c max_connections=200 -c superuser_reserved_connections=5 -c reserved_connections=7"), "server: { max_connections: 200, superuser_reserved: 5, reserved: 7 }", "GUESS: the server"},
		{"the server's limits, as a list", server("[postgres, -c, \"max_connections = 200\", -c, \"superuser_reserved_connections = '5'\"]"), "server: { max_connections: 200, superuser_reserved: 5 }", ""},
		{"with dashes", server("postgres --max-connections=200 --superuser-reserved-connections=5"), "server: { max_connections: 200, superuser_reserved: 5 }", ""},
		{"by its short flag", server("postgres -N 70"), "server: { max_connections: 70 }", ""},
		{"the last one counts", server("postgres -c max_connections=70 -c max_connections=80"), "max_connections: 80", ""},
		{"limits by a variable", server("\"postgres -c max_connections=${MAX:-90}\""), "max_connections: 90", ""},
		{"a limit that is none", server("postgres -c max_connections=many"), "GUESS: the server's max_connections is no number", ""},
		{"a limit from outside", server("\"postgres -c max_connections=${MAX}\""), "GUESS: the server has PostgreSQL's default of 100", ""},
		{"a limit that is beyond all", server("postgres -c max_connections=1000000"), "GUESS: the server's max_connections is no number", "max_connections: 100000 "},
		{"a configuration file", server("postgres -c config_file=/etc/postgresql.conf"), "GUESS: its configuration file was not read", ""},
		{"limits that cannot be", server("postgres -c max_connections=4 -c superuser_reserved_connections=9"), "GUESS: 9 kept slots of 4", "superuser_reserved: 9"},
		{"nothing of the server", "services: { a: { environment: { PGHOST: db, DB_POOL_SIZE: 3 } } }", "GUESS: the server has PostgreSQL's default of 100 connections", ""},
		{"no limit", "services: { a: { environment: { DB_POOL_SIZE: 3, DB_MAX_OVERFLOW: -1 } } }", "GUESS: DB_MAX_OVERFLOW is -1, NO LIMIT, which no budget can hold; max_overflow 10 stands for it", ""},
		{"no limit of the pool itself", "services: { a: { environment: { DB_POOL_SIZE: 0, DB_MAX_OVERFLOW: 5 } } }", "GUESS: DB_POOL_SIZE is 0, NO LIMIT", ""},
		{"an overflow that is no number", "services: { a: { environment: { DB_POOL_SIZE: 3, DB_MAX_OVERFLOW: 5x } } }", "GUESS: DB_MAX_OVERFLOW is no whole number that a pool could have; max_overflow 10 stands for it", ""},
		{"a fraction", "services: { a: { environment: { PGHOST: db, DB_POOL_SIZE: 7.5 } } }", "GUESS: no pool size is said: DB_POOL_SIZE is no whole number", "pool: 7"},
		{"a number with a comment", "services: { a: { environment: [\"DB_POOL_SIZE=10 # each\"] } }", "DB_POOL_SIZE is no whole number", ""},
		{"a least size is no size", "services: { a: { environment: { PGHOST: db, DB_MIN_POOL_SIZE: 2, DB_POOL_SIZE: 6 } } }", "pool: 6", "pool: 2"},
		{"threads that are no number", "services: { a: { environment: { PGHOST: db, RAILS_MAX_THREADS: five } } }", "GUESS: RAILS_MAX_THREADS is no whole number", ""},
		{"Rails by its URL", "services: { a: { environment: { DATABASE_URL: \"postgres://u@db/d?pool=9\", RAILS_MAX_THREADS: 5 } } }", "{ kind: rails, threads: 5, pool: 9, match: { user: u } }", ""},
		{"a URL whose pool is no number", "services: { a: { environment: { DATABASE_URL: \"postgres://u@db/d?pool=x\", RAILS_MAX_THREADS: 5 } } }", "GUESS: pool of DATABASE_URL is no whole number", ""},
		{"a default in a default", "services: { a: { environment: { PGHOST: db, DB_POOL_SIZE: \"${A:-${B:-4}}\" } } }", "pool: 4", ""},
		{"a variable without braces", "services: { a: { environment: { PGHOST: db, DB_POOL_SIZE: \"$POOL\" } } }", "DB_POOL_SIZE has its value from outside", ""},
		{"a mapping's empty value", "services: { a: { environment: { DATABASE_URL: , DB_POOL_SIZE: } } }", "DB_POOL_SIZE has its value from outside", ""},
		{"replicas of a variable", "services: { a: { environment: { PGHOST: db, DB_POOL_SIZE: 4 }, deploy: { replicas: \"${N:-3}\" } } }", "pool: 4, replicas: 3", ""},
		{"replicas from outside", "services: { a: { environment: { PGHOST: db, DB_POOL_SIZE: 4 }, deploy: { replicas: \"${N}\" } } }", "GUESS: its number of replicas has its value from outside; 1 is counted", ""},
		{"scale", "services: { a: { environment: [PGHOST=db, DB_POOL_SIZE=4], scale: 2 } }", "pool: 4, replicas: 2", ""},
		{"one on each node", "services: { a: { environment: [PGHOST=db, DB_POOL_SIZE=4], deploy: { mode: global } } }", "GUESS: one replica; deploy mode global", ""},
		{"an env_file that is not there", "services: { a: { environment: [PGHOST=db], env_file: [a.env, { path: b.env, required: false }] } }", "GUESS: its env_file was not read", ""},
		{"what it extends is elsewhere", "services: { a: { extends: { file: x.yaml, service: b }, environment: [PGHOST=db] } }", "GUESS: what it extends is in another file", ""},
		{"extends itself", "services: { a: { extends: { service: a }, environment: [PGHOST=db] } }", "a: {", ""},
		{"a web's processes are not the worker's", "services: { a: { command: celery -A x worker -c 6, environment: { DB_POOL_SIZE: 2, DB_MAX_OVERFLOW: 0, WEB_CONCURRENCY: 3 } } }", "processes: 6", "processes: 3"},
		{"the flag wins over the variable", "services: { a: { command: gunicorn -w 4 app, environment: { DB_POOL_SIZE: 2, DB_MAX_OVERFLOW: 0, WEB_CONCURRENCY: 3 } } }", "processes: 4", "processes: 3"},
		{"one application name for two", "services: { a: { environment: &e { DATABASE_URL: \"postgres://u@db/d?application_name=shop\", DB_POOL_SIZE: 2 } }, b: { environment: *e } }", "its URL gives it one that others have too", "match"},
		{"a pooler by host, user and database", "services: { pgb: { image: x/pgbouncer }, a: { environment: { DB_HOST: pgb, DB_USER: u, DB_NAME: d, DB_POOL_SIZE: 4 } } }", "via: pgb", "left out"},
		{"a pooler that says its database itself", "services: { pgb: { image: x/pgbouncer, environment: { DATABASE_URL: \"postgres://u@db/d\" } }, a: { environment: { DB_HOST: pgb, DB_POOL_SIZE: 4 } } }", "\"d@u\": {}", "left out"},
		{"a pooler's sizes that are not said", "services: { pgb: { image: x/pgbouncer }, a: { environment: { DATABASE_URL: \"postgres://u@pgb/d\", DB_POOL_SIZE: 4 } } }", "GUESS: max_client_conn is PgBouncer's default 100", ""},
		{"a pooler's size that is no number", "services: { pgb: { image: x/pgbouncer, environment: { DEFAULT_POOL_SIZE: x } }, a: { environment: { DATABASE_URL: \"postgres://u@pgb/d\", DB_POOL_SIZE: 4 } } }", "GUESS: DEFAULT_POOL_SIZE is no whole number", ""},
		{"another service's variables", "services: { worker: { environment: &e { DATABASE_URL: \"postgres://u@db/d\", API_DB_POOL_SIZE: 9, WORKER_DB_POOL_SIZE: 4 } }, api: { environment: *e } }", "worker: { pool: 4 }", "Not used"},
		{"a size that nobody uses", "services: { worker: { environment: { PGHOST: db, API_DB_POOL_SIZE: 9, WORKER_DB_POOL_SIZE: 4 } } }", "Not used: API_DB_POOL_SIZE", ""},
		{"a pooler of bitnami's image", "services: { pgb: { image: bitnami/pgbouncer, environment: { PGBOUNCER_DATABASE: shop, POSTGRESQL_HOST: db, POSTGRESQL_USERNAME: n } }, a: { environment: { DB_HOST: pgb, DB_POOL_SIZE: 4 } } }", "\"shop@n\": {}", "left out"},
		{"a pooler of any database", "services: { pgb: { image: bitnami/pgbouncer, environment: { PGBOUNCER_DATABASE: \"*\", POSTGRESQL_USERNAME: n } }, a: { environment: { DB_HOST: pgb, DB_POOL_SIZE: 4 } } }", "whose database nothing names, left out", "database and user"},
		{"processes for each CPU", "services: { a: { command: pm2 start x.js -i max, environment: { PGHOST: db, PGPOOL_MAX: 5 } } }", "GUESS: one process; pm2 starts one for each CPU", "no pool size"},
		{"Prisma by its URL", "services: { a: { environment: { DATABASE_URL: \"postgres://u@db/d?connection_limit=4\" } } }", "GUESS: by connection_limit in its URL it is Prisma", ""},
		{"Rails by its URL alone", "services: { a: { environment: { DATABASE_URL: \"postgres://u@db/d?pool=4\" } } }", "GUESS: by pool in its URL it is Rails", ""},
		{"a Python program is no Rails", "services: { a: { command: python main.py, environment: { DATABASE_URL: \"postgres://u@db/d?pool=4\" } } }", "a: { pool: 4", "rails"},
		{"both the variable and the URL", "services: { a: { environment: { DATABASE_URL: \"postgres://u@db/d?max_overflow=7\", DB_MAX_OVERFLOW: 2, DB_POOL_SIZE: 3 } } }", "pool_size: 3, max_overflow: 2", "7"},
		{"two servers", "services: { db: { image: postgres, command: -c max_connections=60 }, db2: { image: postgres, command: -c max_connections=70 }, a: { environment: { PGHOST: db } } }", "GUESS: db2 is another server", "max_connections: 70"},
		{"a value that may be a secret", "services: { a: { environment: { PGHOST: db, DB_POOL_SIZE: hunter2 } } }", "DB_POOL_SIZE is no whole number", "hunter2"},
	} {
		text, err := InitFromFile("x.yaml", []byte(tt.text), nil)
		if err != nil || !strings.Contains(text, tt.says) || tt.hides != "" && strings.Contains(text, tt.hides) {
			t.Errorf("%s: %v, want …%s… and not %q in\n%s", tt.name, err, tt.says, tt.hides, text)
		}
	}
}

// TestInitFromPrefixes: an environment of several programs.
func TestInitFromPrefixes(t *testing.T) {
	for _, tt := range []struct{ name, env, want, says string }{
		{"two", "API_DB_POOL_SIZE=10 WORKER_DB_POOL_SIZE=5", "api 10, worker 5", "GUESS: the server has PostgreSQL's default of 100"},
		{"Rails beside them", "API_DB_POOL_SIZE=10 WORKER_DB_POOL_SIZE=5 RAILS_MAX_THREADS=3 WEB_CONCURRENCY=2", "app 6, api 10, worker 5", ""},
		{"a plain one beside them", "API_DB_POOL_SIZE=10 DB_POOL=7", "app 7, api 10", ""},
		{"a plain one of all", "DB_POOL_SIZE=4 API_DB_MAX_OVERFLOW=6 WORKER_DB_MAX_OVERFLOW=0", "api 10, worker 4", "pool_size: DB_POOL_SIZE"},
		{"one, of Rails", "SHOP_DB_POOL_SIZE=20 RAILS_MAX_THREADS=5 WEB_CONCURRENCY=2", "shop 40", ""},
		{"one, of SQLAlchemy", "DSTACK_DB_POOL_SIZE=20 DSTACK_DB_MAX_OVERFLOW=20 RAILS_MAX_THREADS=5", "dstack 40", ""},
		{"processes of all", "API_DB_POOL_SIZE=10 WORKER_DB_POOL_SIZE=5 WEB_CONCURRENCY=2", "api 20, worker 10", "GUESS: WEB_CONCURRENCY, which has no prefix"},
		{"processes of one", "WEB_DB_POOL_SIZE=10 WORKER_DB_POOL_SIZE=5 WEB_CONCURRENCY=2", "web 20, worker 5", ""},
		{"replicas", "API_DB_POOL_SIZE=10 API_REPLICAS=3 WORKER_DB_POOL_SIZE=5", "api 30, worker 5", "replicas: API_REPLICAS"},
		{"long prefixes", "MY_API_DB_POOL_SIZE=10 MY_API_ADMIN_DB_POOL_SIZE=2 MY_DATABASE_URL=postgres://u@h/d", "my-api 10, my-api-admin 2", ""},
		{"by URLs alone", "API_DATABASE_URL=postgres://a@h/d WORKER_DATABASE_URL=postgres://w@h/d", "api 10, worker 10", "GUESS: no pool size is said"},
		{"Hikari's own words are no prefix", "SPRING_DATASOURCE_URL=jdbc:postgresql://h/d SPRING_DATASOURCE_HIKARI_MAXIMUM_POOL_SIZE=8", "app 8", ""},
		{"Go's", "A_DB_MAX_OPEN_CONNS=8 B_DB_MAX_OPEN_CONNS=6 B_DB_MAX_IDLE_CONNS=1", "a 8, b 6", ""},
		{"other servers'", "API_DB_POOL_SIZE=10 REDIS_POOL_SIZE=50 HTTP_POOL_SIZE=9", "api 10", ""},
		{"nothing", "PATH=/bin", "", "no sign of a database"},
		{"of itself", "DB_USER=u DB_URL=postgres://${DB_USER}:x@h/d DB_POOL_SIZE=${N:-6}", "app 6", "match: { user: u }"},
		{"a circle", "A=${B} B=${A} DB_POOL_SIZE=${A}", "app 10", "GUESS: no pool size is said: DB_POOL_SIZE"},
	} {
		text, err := InitFromEnv(".env", strings.Fields(tt.env))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := rolesOf(mustPlan(t, mustParse(t, text))); got != tt.want || !strings.Contains(text, tt.says) {
			t.Errorf("%s: got %q, want %q and …%s… in\n%s", tt.name, got, tt.want, tt.says, text)
		}
	}
}

// TestInitOfMany: an environment of more programs than a budget has roles is
// refused in a line.
func TestInitOfMany(t *testing.T) {
	_, err := InitFromEnv(".env", strings.Split(numbered("S%d_DB_POOL_SIZE=3\n", 20000), "\n"))
	if err == nil || !strings.Contains(err.Error(), ".env: variables of more than 500 programs") {
		t.Errorf("got %v", err)
	}
}

// TestInitReadsBeside: an env_file and the .env beside a compose file.
func TestInitReadsBeside(t *testing.T) {
	files := map[string]string{".env": "POOL=6\nN=2\n", "a.env": "DB_POOL_SIZE=5\nDB_MAX_OVERFLOW=1\nDATABASE_URL=postgres://u:geheim@h/d\n"}
	beside := func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("none")
	}
	text, err := InitFromFile("x.yaml", []byte("services: { a: { env_file: a.env, environment: { DB_POOL_SIZE: \"$POOL\" }, scale: \"${N}\" } }"), beside)
	if err != nil || !strings.Contains(text, "pool_size: 6, max_overflow: 1, replicas: 2") || !strings.Contains(text, "the .env beside it") || strings.Contains(text, "geheim") {
		t.Errorf("%v\n%s", err, text)
	}
}
