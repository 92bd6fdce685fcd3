package budget

import (
	"fmt"
	"regexp"
	"strconv"
)

// Flags of the programs that start workers, in the forms "-w 4", "-w4", "--workers=4".
var (
	workersFlag  = regexp.MustCompile(`(?:gunicorn|uvicorn|hypercorn)\b.*?\s(?:-w|--workers)[ =]?(\d{1,6})\b`)
	threadsFlag  = regexp.MustCompile(`gunicorn\b.*?\s--threads[ =](\d{1,6})\b`)
	pumaWorkers  = regexp.MustCompile(`puma\b.*?\s(?:-w|--workers)[ =]?(\d{1,6})\b`)
	pumaThreads  = regexp.MustCompile(`puma\b.*?\s(?:-t|--threads)[ =]?(?:\d{1,6}:)?(\d{1,6})\b`)
	sidekiqFlag  = regexp.MustCompile(`sidekiq\b.*?\s(?:-c|--concurrency)[ =]?(\d{1,6})\b`)
	celeryFlag   = regexp.MustCompile(`celery\b.*?\bworker\b.*?\s(?:-c|--concurrency)[ =]?(\d{1,6})\b`)
	djangoApp    = regexp.MustCompile(`\w\.[aw]sgi(?::application)?(?:\s|$)`) // as Django lays a project out
	oneAtATime   = regexp.MustCompile(`manage\.py\s+(?:migrate|collectstatic|createsuperuser)\b|celery\b.*?\bbeat\b|alembic\b.*?\bupgrade\b|flyway\b|liquibase\b|prisma\s+migrate\b|(?:rails|rake)\s+db:`)
	celeryWorker = regexp.MustCompile(`celery\b.*?\bworker\b`)
)

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

// pool is the kind and its parameters, known or guessed, with the processes.
func (w deployed) pool() ([]size, []string) {
	sizes, notes := w.known()
	if sizes == nil {
		sizes, notes = w.byCommand()
	}
	if sizes == nil {
		sizes = []size{sized("pool", 10)}
		notes = append(notes, "GUESS: no pool size is said; 10 is what most pools open")
	}
	switch sizes[0].value {
	case "rails", "sidekiq", "celery", "django":
		return sizes, notes // they count their processes themselves
	}
	n, from, ok := w.number("WEB_CONCURRENCY", "GUNICORN_WORKERS", "UVICORN_WORKERS")
	for _, flag := range []*regexp.Regexp{workersFlag, pumaWorkers, celeryFlag} {
		if !ok || n == 0 {
			n, from = w.flagged(flag), "the command"
			ok = n > 0
		}
	}
	if ok && n > 0 {
		sizes = append(sizes, sized("processes", n))
		notes = append(notes, fmt.Sprintf("processes: %s", from))
	} else if celeryWorker.MatchString(w.command) {
		notes = append(notes, "GUESS: one process; celery starts one for each CPU unless told otherwise")
	}
	return sizes, notes
}

// byCommand recognises a stack that opens as many connections as it has workers
// by how it is started; nil when it is none.
func (w deployed) byCommand() ([]size, []string) {
	if n := w.flagged(celeryFlag); n > 0 {
		return []size{{"kind", "celery"}, sized("concurrency", n)}, []string{"concurrency: the command", "GUESS: each child opens 1 connection"}
	}
	if n := w.flagged(sidekiqFlag); n > 0 {
		return []size{{"kind", "sidekiq"}, sized("concurrency", n), sized("pool", n)},
			[]string{"concurrency: the command", "GUESS: the pool of database.yml is as large"}
	}
	if n := w.flagged(pumaThreads); n > 0 {
		sizes := []size{{"kind", "rails"}, sized("threads", n), sized("pool", n)}
		if workers := w.flagged(pumaWorkers); workers > 0 {
			sizes = append(sizes, sized("workers", workers))
		}
		return sizes, []string{"workers, threads: the command", "GUESS: the pool of database.yml is as large as its threads"}
	}
	if oneAtATime.MatchString(w.command) {
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
