package budget

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// usualPool is what most pools open when nothing is said.
const usualPool = 10

// poolKnown is the pool of a workload: its kind and parameters, comments on where
// they are from, and the variables that said it.
type poolKnown struct {
	sizes []size // nil: not known
	notes []string
	keys  []string
}

// take adds a size that a variable gives.
func (p *poolKnown) take(name string, s setting) {
	p.sizes = append(p.sizes, sized(name, s.n))
	p.from(name, s)
}

// from notes where a size is from; all of them in one comment.
func (p *poolKnown) from(name string, s setting) {
	note := name + ": " + s.from
	if n := len(p.notes); n > 0 && !strings.HasPrefix(p.notes[n-1], "GUESS") {
		p.notes[n-1] += ", " + note
	} else {
		p.notes = append(p.notes, note)
	}
	p.keys = append(p.keys, s.key)
}

// guess puts a default in the place of a size that is not said, or not as a size.
func (p *poolKnown) guess(name string, n int, s setting, unsaid string) {
	p.sizes = append(p.sizes, sized(name, n))
	if !s.said() {
		p.notes = append(p.notes, "GUESS: "+unsaid)
		return
	}
	p.keys = append(p.keys, s.key)
	p.notes = append(p.notes, s.guess(fmt.Sprintf("%s %d stands for it", name, n)))
}

// endless is guess for a size that means no limit.
func (p *poolKnown) endless(name string, n int, s setting) {
	p.sizes, p.keys = append(p.sizes, sized(name, n)), append(p.keys, s.key)
	p.notes = append(p.notes, fmt.Sprintf("GUESS: %s is %d, NO LIMIT, which no budget can hold; %s %d stands for it", s.key, s.n, name, n))
}

// known recognises a pool by the variables its stack is configured with.
func (w deployed) known() poolKnown {
	own := w.ownPool()
	for _, find := range []func(deployed) poolKnown{sqlalchemyEnv, railsEnv, plainEnv, urlEnv} {
		p := find(w)
		if p.sizes != nil && (!own || slices.ContainsFunc(p.keys, w.owns)) {
			return p
		}
	}
	return poolKnown{}
}

func sqlalchemyEnv(w deployed) poolKnown {
	over, pool := w.setting("MAX_OVERFLOW"), w.setting("POOL_SIZE")
	if !over.said() {
		over = w.urlSize("max_overflow")
	}
	inURL := w.urlSize("pool_size")
	if !over.said() && (!inURL.said() || pool.said() || !w.dialect()) {
		return poolKnown{}
	}
	if !pool.said() {
		pool = inURL
	}
	p := poolKnown{sizes: []size{{"kind", "sqlalchemy"}}}
	p.sqlalchemy("pool_size", pool, 1, 5)
	p.sqlalchemy("max_overflow", over, 0, 10)
	return p
}

// sqlalchemy adds a size of at least so many connections, SQLAlchemy's default where
// it is without limit or not said.
func (p *poolKnown) sqlalchemy(name string, s setting, least, usual int) {
	switch {
	case s.size(least):
		p.take(name, s)
	case s.number():
		p.endless(name, usual, s)
	default:
		p.guess(name, usual, s, fmt.Sprintf("%s is SQLAlchemy's default %d", name, usual))
	}
}

// railsEnv: Active Record takes its pool from the URL before database.yml, where
// Rails generates RAILS_MAX_THREADS.
func railsEnv(w deployed) poolKnown {
	threads, inURL, flag := w.setting("RAILS_MAX_THREADS"), w.urlSize("pool"), w.flagged(pumaThreads)
	if w.otherThanRails() || !threads.said() && !inURL.said() && flag == 0 {
		return poolKnown{}
	}
	p := poolKnown{sizes: []size{{"kind", "rails"}}}
	most := flag
	switch {
	case flag > 0:
		p.take("threads", setting{n: flag, from: "the command"})
	case threads.size(1):
		p.take("threads", threads)
		most = threads.n
	case threads.said():
		p.guess("threads", 5, threads, "")
		most = 5
	}
	p.railsPool(w, inURL, max(1, most), "threads")
	if n := w.flagged(pumaWorkers); n > 0 {
		p.take("workers", setting{n: n, from: "the command"})
	} else if s := w.processes(); s.size(1) {
		p.take("workers", s)
	} else if s.said() {
		p.guess("workers", 1, s, "")
	}
	if !threads.said() && flag == 0 && !rubyProgram.MatchString(w.command) {
		p.notes = append(p.notes, "GUESS: by pool in its URL it is Rails")
	}
	return p
}

// railsPool adds the size of Active Record's pool.
func (p *poolKnown) railsPool(w deployed, inURL setting, most int, what string) {
	inEnv, threads := w.setting("DB_POOL", "DATABASE_POOL", "RAILS_DB_POOL", "DB_POOL_SIZE", "DATABASE_POOL_SIZE"), w.setting("RAILS_MAX_THREADS")
	switch {
	case inURL.size(1):
		p.take("pool", inURL)
	case inURL.said():
		p.guess("pool", most, inURL, "")
	case inEnv.size(1):
		p.take("pool", inEnv)
	case inEnv.said():
		p.guess("pool", most, inEnv, "")
	case threads.size(1):
		p.sizes = append(p.sizes, sized("pool", threads.n))
		p.notes = append(p.notes, "GUESS: the pool of database.yml is RAILS_MAX_THREADS, as Rails generates it")
	default:
		p.guess("pool", most, setting{}, "the pool of database.yml is as large as its "+what)
	}
}

// sidekiqEnv: one process of so many threads.
func sidekiqEnv(w deployed) poolKnown {
	if !sidekiqProgram.MatchString(w.command) {
		return poolKnown{}
	}
	p := poolKnown{sizes: []size{{"kind", "sidekiq"}}}
	n := w.flagged(sidekiqFlag)
	s := w.setting("SIDEKIQ_CONCURRENCY", "RAILS_MAX_THREADS")
	switch {
	case n > 0:
		p.take("concurrency", setting{n: n, from: "the command"})
	case s.size(1):
		n = s.n
		p.take("concurrency", s)
	default:
		n = 5
		p.guess("concurrency", n, s, "concurrency is Sidekiq's default 5")
	}
	p.railsPool(w, w.urlSize("pool"), n, "concurrency")
	return p
}

// plainEnv knows variables that give a maximum, and maybe a minimum.
func plainEnv(w deployed) poolKnown {
	own, bad := w.ownPool(), poolKnown{}
	for _, x := range []struct{ kind, max, maxKey, min, minKey string }{
		{"hikari", "max", "MAXIMUMPOOLSIZE", "min", "MINIMUMIDLE"},
		{"hikari", "max", "MAXIMUM_POOL_SIZE", "min", "MINIMUM_IDLE"},
		{"database/sql", "max_open", "MAX_OPEN_CONNS", "max_idle", "MAX_IDLE_CONNS"},
		{"database/sql", "max_open", "MAX_OPEN_CONN", "max_idle", "MAX_IDLE_CONN"},
		{"pgxpool", "max", "POOL_MAX_CONNS", "min", "POOL_MIN_CONNS"},
		{"celery", "concurrency", "CELERY_CONCURRENCY", "", ""},
		{"celery", "concurrency", "CELERYD_CONCURRENCY", "", ""},
		{"", "max", "POOL_MAX", "min", "POOL_MIN"},
		{"", "max", "PGPOOL_MAX", "min", "PGPOOL_MIN"},
		{"", "max", "POOL_MAX_SIZE", "min", "POOL_MIN_SIZE"},
		{"", "max", "MAX_POOL_SIZE", "min", "MIN_POOL_SIZE"},
		{"", "max", "JDBC_MAX_SIZE", "min", "JDBC_MIN_SIZE"},
		{"", "pool", "DB_MAX_CONNECTIONS", "", ""},
		{"", "pool", "DATABASE_MAX_CONNECTIONS", "", ""},
		{"", "pool", "POSTGRES_MAX_CONNECTIONS", "", ""},
		{"", "pool", "PG_MAX_CONNECTIONS", "", ""},
		{"", "pool", "DB_MAX_CONNS", "", ""},
		{"", "pool", "DATABASE_MAX_CONNS", "", ""},
		{"", "pool", "DB_POOL_SIZE", "", ""},
		{"", "pool", "DATABASE_POOL_SIZE", "", ""},
		{"", "pool", "DB_POOL", "", ""},
		{"", "pool", "DATABASE_POOL", "", ""},
		{"", "pool", "POOL_SIZE", "", ""},
	} {
		s := w.setting(x.maxKey)
		if !s.said() || own && !w.owns(s.key) {
			continue
		}
		p := poolKnown{}
		if x.kind != "" {
			p.sizes = append(p.sizes, size{"kind", x.kind})
		}
		switch {
		case s.size(1):
			p.take(x.max, s)
		case s.number() && x.kind == "database/sql":
			p.endless(x.max, usualPool, s)
		default:
			if bad.sizes == nil {
				bad = noPool(s)
			}
			continue
		}
		if x.max == "pool" {
			p.notes = append(p.notes, "GUESS: it opens no more than that; SQLAlchemy would add max_overflow, 10 unless said")
		}
		p.least(w, x.min, x.minKey, max(s.n, 1))
		return p
	}
	return bad
}

// least adds the size that a pool keeps, when a variable says it.
func (p *poolKnown) least(w deployed, name, key string, most int) {
	if key == "" {
		return
	}
	switch s := w.setting(key); {
	case s.size(0) && s.n <= most:
		p.take(name, s)
	case s.said():
		p.keys = append(p.keys, s.key)
		p.notes = append(p.notes, s.guess(fmt.Sprintf("%s is left to the pool's default", name)))
	}
}

// noPool is the pool of one whose size is not said, or not as a size.
func noPool(s setting) poolKnown {
	p := poolKnown{sizes: []size{sized("pool", usualPool)}}
	if !s.said() {
		p.notes = []string{"GUESS: no pool size is said; 10 is what most pools open"}
		return p
	}
	p.keys = []string{s.key}
	p.notes = []string{strings.Replace(s.guess("10 is what most pools open"), "GUESS: ", "GUESS: no pool size is said: ", 1)}
	return p
}

// urlEnv knows pool sizes inside connection strings: Prisma's, pgx's, Ecto's and
// those of who knows what.
func urlEnv(w deployed) poolKnown {
	for _, x := range []struct{ key, kind, param, who string }{
		{"connection_limit", "prisma", "connection_limit", "Prisma"},
		{"pool_max_conns", "pgxpool", "max", "pgxpool"},
		{"pool_size", "ecto", "pool_size", "Ecto"},
		{"pool", "", "pool", ""},
	} {
		s := w.urlSize(x.key)
		switch {
		case s.size(1) && x.kind == "":
			p := poolKnown{}
			p.take(x.param, s)
			p.notes = append(p.notes, "GUESS: that is a pool which opens no more")
			return p
		case s.size(1):
			p := poolKnown{sizes: []size{{"kind", x.kind}}}
			p.take(x.param, s)
			if u := w.databaseURL(); u.Scheme != x.kind {
				p.notes = append(p.notes, "GUESS: by "+x.key+" in its URL it is "+x.who)
			}
			return p
		case s.said():
			return noPool(s)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(w.env)) {
		if m := npgsqlMax.FindStringSubmatch(w.value(k)); m != nil {
			return poolKnown{sizes: []size{{"kind", "npgsql"}, {"max", m[1]}}, notes: []string{"max: Maximum Pool Size of " + k}, keys: []string{k}}
		}
	}
	return poolKnown{}
}

var npgsqlMax = regexp.MustCompile(`(?i)(?:^|;)\s*max(?:imum)? ?pool ?size\s*=\s*([1-9]\d{0,4})\b`)
