package budget

import (
	"regexp"
	"strconv"
	"strings"
)

// Flags of the programs that start workers, in the forms "-w 4", "-w4", "--workers=4".
var (
	workersFlag = regexp.MustCompile(`(?:gunicorn|uvicorn|hypercorn)\b.*?\s(?:-w|--workers)[ =]?(\d{1,6})\b`)
	threadsFlag = regexp.MustCompile(`gunicorn\b.*?\s--threads[ =](\d{1,6})\b`)
	pumaWorkers = regexp.MustCompile(`puma\b.*?\s(?:-w|--workers)[ =]?(\d{1,6})\b`)
	pumaThreads = regexp.MustCompile(`puma\b.*?\s(?:-t|--threads)[ =]?(?:\d{1,6}:)?(\d{1,6})\b`)
	sidekiqFlag = regexp.MustCompile(`sidekiq\b.*?\s(?:-c|--concurrency)[ =]?(\d{1,6})\b`)
	celeryFlag  = regexp.MustCompile(`celery\b.*?\bworker\b.*?\s(?:-c|--concurrency)[ =]?(\d{1,6})\b`)
	djangoApp   = regexp.MustCompile(`\w\.[aw]sgi(?::application)?(?:[\s"']|$)`) // as Django lays a project out
	celeryBeat  = regexp.MustCompile(`celery\b.*?\bbeat\b`)
	// oneShot is what is done when it ends, one thing at a time.
	oneShot = regexp.MustCompile(`manage\.py\s+(?:migrate|collectstatic|createsuperuser)\b|alembic\b.*?\bupgrade\b|flyway\b|liquibase\b|prisma\s+migrate\b|(?:rails|rake)\s+db:`)
	// noServer are programs that serve no requests.
	noServer       = regexp.MustCompile(`sidekiq\b|celery\b|\brake\b|\brails\s+(?:db:|c\b|console\b|runner\b)|manage\.py\s|alembic\b|flyway\b|liquibase\b|cron\b|supercronic\b|crond\b`)
	sidekiqProgram = regexp.MustCompile(`(?:^|[\s/])sidekiq(?:\s|$)`)
	celeryWorker   = regexp.MustCompile(`celery\b.*?\bworker\b`)
	pm2Flag        = regexp.MustCompile(`\bpm2(?:-runtime)?\b.*?\s(?:-i|--instances)[ =]?(\d{1,6})\b`)
	pm2Each        = regexp.MustCompile(`\bpm2(?:-runtime)?\b.*?\s(?:-i|--instances)[ =]?(?:max|0|-\d+)\b`)
	// otherProgram are those of other languages than Ruby.
	otherProgram = regexp.MustCompile(`\b(?:celery|gunicorn|uvicorn|hypercorn|daphne|python3?|manage\.py|django|alembic|node|npm|yarn|pnpm|pm2|php|php-fpm|java|dotnet|mix|iex|elixir)\b`)
	rubyProgram  = regexp.MustCompile(`\b(?:rails|rake|puma|unicorn|sidekiq|bundle|ruby|good_job|solid_queue)\b`)
	// thenStarts is the end of one program of several in a shell's line.
	thenStarts = regexp.MustCompile(`&&|;|\|\|`)
)

// stays is the last program of a command, which stays when those before it, such
// as a migration, are done.
func (w deployed) stays() string {
	all := thenStarts.Split(strings.TrimRight(w.command, " ;\"'"), -1)
	return all[len(all)-1]
}

// otherThanRails: what it is started as, or the driver that its URL names, is not
// of Ruby.
func (w deployed) otherThanRails() bool {
	_, django := w.env["DJANGO_SETTINGS_MODULE"]
	u := w.databaseURL()
	return django || w.dialect() || otherProgram.MatchString(w.stays()) && !rubyProgram.MatchString(w.stays()) ||
		u != nil && u.Scheme == "ecto" || strings.HasPrefix(w.value(w.urlKey()), "jdbc:")
}

// flagged is the number that a flag of the command gives; 0 none.
func (w deployed) flagged(flag *regexp.Regexp) int {
	text := w.command
	if args := w.value("GUNICORN_CMD_ARGS"); args != "" {
		text += " gunicorn " + args
	}
	m := flag.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n > maxSize {
		return 0
	}
	return n
}

// processes is how many processes serve requests by a variable; a program that
// serves none does not read it.
func (w deployed) processes() setting {
	if own := w.ownSetting("PROCESSES", "WORKERS", "WEB_CONCURRENCY", "GUNICORN_WORKERS", "UVICORN_WORKERS"); own.said() {
		return own
	}
	if w.job || noServer.MatchString(w.stays()) {
		return setting{}
	}
	if s := w.setting("WEB_CONCURRENCY", "GUNICORN_WORKERS", "UVICORN_WORKERS"); s.said() {
		return s
	}
	if text, ok := w.env["WORKERS"]; ok {
		return settingOf("WORKERS", text, w.vars)
	}
	return setting{}
}

// pool is the kind and its parameters, known or guessed, with the processes.
func (w deployed) pool() poolKnown {
	p := sidekiqEnv(w)
	if p.sizes == nil {
		p = w.known()
	}
	if p.sizes == nil {
		p = phpEnv(w)
	}
	if p.sizes == nil {
		p.sizes, p.notes = w.byCommand()
	}
	if p.sizes == nil {
		p = noPool(setting{})
	}
	switch p.sizes[0].value {
	case "rails", "sidekiq", "celery", "django", "php-fpm":
		return p // they count their processes themselves
	}
	for _, flag := range []*regexp.Regexp{workersFlag, pumaWorkers, celeryFlag, pm2Flag} {
		if n := w.flagged(flag); n > 0 {
			p.take("processes", setting{n: n, from: "the command"})
			if flag == celeryFlag {
				p.notes = append(p.notes, "GUESS: each of its children has a pool of its own")
			}
			return p
		}
	}
	switch s := w.processes(); {
	case s.size(1):
		p.take("processes", s)
		if s.key == "WORKERS" {
			p.notes = append(p.notes, "GUESS: WORKERS are processes, each with a pool of its own")
		}
	case s.said():
		p.guess("processes", 1, s, "")
	case pm2Each.MatchString(w.command):
		p.notes = append(p.notes, "GUESS: one process; pm2 starts one for each CPU, or as many less as it is told")
	case celeryWorker.MatchString(w.command):
		p.notes = append(p.notes, "GUESS: one process; celery starts one for each CPU unless told otherwise")
	}
	return p
}

// byCommand recognises a stack that opens as many connections as it has workers
// by how it is started; nil when it is none.
func (w deployed) byCommand() ([]size, []string) {
	if n := w.flagged(celeryFlag); n > 0 {
		return []size{{"kind", "celery"}, sized("concurrency", n)}, []string{"concurrency: the command", "GUESS: each child opens 1 connection"}
	}
	if last := w.stays(); oneShot.MatchString(last) || celeryBeat.MatchString(last) {
		return []size{sized("pool", 1)}, []string{"GUESS: a program of one process and thread opens 1 connection"}
	}
	_, settings := w.env["DJANGO_SETTINGS_MODULE"]
	if n := w.flagged(workersFlag); n > 0 && (settings || djangoApp.MatchString(w.command)) {
		sizes, notes := []size{{"kind", "django"}, sized("workers", n)}, []string{"workers: the command"}
		if threads := w.flagged(threadsFlag); threads > 0 {
			sizes, notes = append(sizes, sized("threads", threads)), []string{"workers, threads: the command"}
		}
		return sizes, append(notes, "GUESS: Django without a pool, which opens one connection for each thread")
	}
	return nil, nil
}

// phpEnv: PHP-FPM's children open a connection each.
func phpEnv(w deployed) poolKnown {
	s := w.setting("PM_MAX_CHILDREN")
	if !s.size(1) {
		return poolKnown{}
	}
	p := poolKnown{sizes: []size{{"kind", "php-fpm"}}}
	p.take("children", s)
	p.notes = append(p.notes, "GUESS: each child of PHP-FPM opens 1 connection, and not a persistent one")
	return p
}
