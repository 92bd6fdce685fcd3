package demo

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"
)

//go:embed budget.yaml
var budgetYAML []byte

// Options of a demo. The zero value is good.
type Options struct {
	Progress io.Writer // what is being done, a line a step; nil for none
	Majors   []int     // majors to look for, in this order; none: the newest that is there

	second time.Duration // a second of the play; the tests' is shorter
}

// Incident is a demo that plays.
type Incident struct {
	DSN        string // for pgsonde: a login with pg_monitor, no superuser
	BudgetFile string // the budget of the play, in the server's folder

	server *pgserver.Server
	cancel context.CancelFunc
	wg     sync.WaitGroup
	done   chan struct{}
	once   sync.Once // closes done
	err    error     // valid after done
	stop   sync.Once
}

// startTimeout bounds the time from the server's start to the incident.
const startTimeout = 60 * time.Second

// Start starts a server, fetching one at need, and plays on it until Stop or the
// end of ctx. It returns when the incident is on: some sessions wait for locks.
// Without a server to be had its error says how to get one; on Windows it wraps
// errors.ErrUnsupported.
func Start(ctx context.Context, o Options) (*Incident, error) {
	progress := o.Progress
	if progress == nil {
		progress = io.Discard
	}
	install, err := pgserver.FindLogged(ctx, progress, o.Majors...)
	if missing := (*pgserver.MissingError)(nil); errors.As(err, &missing) {
		return nil, fmt.Errorf("%w; %s", err, missing.Hint) // one line, with the cure
	}
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(progress, "starting PostgreSQL %s (%s)\n", install.Version, install.Source)
	server, statements, err := startServer(ctx, install)
	if err != nil {
		return nil, fmt.Errorf("starting the demo's server: %w", err)
	}
	if !statements {
		fmt.Fprintln(progress, "this server has no pg_stat_statements (it is in the contrib package): the demo goes without")
	}
	playCtx, cancel := context.WithCancel(ctx)
	i := &Incident{
		DSN:        server.DSN(observer, database),
		BudgetFile: filepath.Join(server.Dir(), "pgsonde.yaml"),
		server:     server,
		cancel:     cancel,
		done:       make(chan struct{}),
	}
	if err := i.begin(playCtx, o, progress, statements); err != nil {
		i.Stop()
		return nil, err
	}
	return i, nil
}

func (i *Incident) begin(ctx context.Context, o Options, progress io.Writer, statements bool) error {
	if err := os.WriteFile(i.BudgetFile, budgetYAML, 0o600); err != nil {
		return fmt.Errorf("writing the demo's budget: %w", err)
	}
	fmt.Fprintf(progress, "laying %d rows\n", eventRows)
	setup, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := seed(setup, i.server); err != nil {
		return fmt.Errorf("laying the demo's data: %w", err)
	}
	st := stage{start: time.Now(), second: cmp.Or(o.second, time.Second)}
	enter := func(cast []client) {
		for _, c := range cast {
			i.wg.Go(func() { c.run(ctx, i.server, st) })
		}
	}
	enter(troubled())
	if err := seedEvents(setup, i.server, statements); err != nil {
		return fmt.Errorf("laying the demo's data: %w", err)
	}
	enter(readers())
	i.wg.Go(func() { i.keepServer(ctx) })
	if exe, err := os.Executable(); err == nil && runByGo(exe) {
		i.wg.Go(func() { i.watchParent(ctx, os.Getppid()) })
	}
	if err := i.awaitTrouble(setup); err != nil {
		return fmt.Errorf("waiting for the incident to be on: %w", err)
	}
	fmt.Fprintln(progress, "the incident is on")
	return nil
}

// startServer starts the server with pg_stat_statements where it has that.
func startServer(ctx context.Context, install pgserver.Install) (s *pgserver.Server, statements bool, err error) {
	o := pgserver.Options{TCP: true, Settings: map[string]string{
		"max_connections":          "40",    // low enough to feel
		"shared_buffers":           "128MB", // the page query's cost is work, not the disk
		"shared_preload_libraries": "pg_stat_statements",
		"track_io_timing":          "on",
		"log_min_messages":         "fatal", // an endless play's cancelled statements would fill the disk
		"log_checkpoints":          "off",
	}}
	s, err = pgserver.Start(ctx, install, o)
	if err == nil || !strings.Contains(err.Error(), "pg_stat_statements") {
		return s, err == nil, err
	}
	delete(o.Settings, "shared_preload_libraries")
	s, err = pgserver.Start(ctx, install, o)
	return s, false, err
}

// awaitTrouble waits until sessions wait for locks.
func (i *Incident) awaitTrouble(ctx context.Context) error {
	c, err := i.server.Open(ctx, pgserver.ConnOptions{Database: maintenance})
	if err != nil {
		return err
	}
	defer c.Close()
	const waiting = "SELECT count(*) >= 3 FROM pg_catalog.pg_stat_get_activity(NULL) WHERE wait_event_type = 'Lock'"
	for {
		rows, err := c.QueryText(ctx, waiting)
		if err != nil {
			return err
		}
		if rows[0][0] == "t" {
			return nil
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// keepServer brings the server back when its postmaster ended by another hand
// than ours: the play is endless.
func (i *Incident) keepServer(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.server.Ended():
		}
		if ctx.Err() != nil {
			return
		}
		if err := i.bringBack(ctx); err != nil && ctx.Err() == nil {
			i.fail(fmt.Errorf("bringing the demo's server back: %w", err))
			return
		}
	}
}

// bringBack tries for a while: in the meantime another program may have come to
// use the server's port, for a connection of its own.
func (i *Incident) bringBack(ctx context.Context) error {
	var err error
	for range 20 {
		if err = i.server.Restart(ctx); err == nil {
			return nil
		}
		if serr := sleep(ctx, 500*time.Millisecond); serr != nil {
			return serr
		}
	}
	return err
}

// runByGo says whether the program is one that `go run` built and waits for.
func runByGo(exe string) bool { return strings.Contains(filepath.ToSlash(exe), "/go-build") }

var errOrphaned = errors.New("go run, which started this, is gone")

// watchParent ends the play when the parent is gone: a killed `go run` cannot
// pass its end on, and we would play to nobody, for ever.
func (i *Incident) watchParent(ctx context.Context, parent int) {
	for sleep(ctx, 250*time.Millisecond) == nil {
		if os.Getppid() != parent {
			i.fail(errOrphaned)
			i.cancel()
			return
		}
	}
}

func (i *Incident) fail(err error) {
	i.once.Do(func() {
		i.err = err
		close(i.done)
	})
}

// Done is closed when the play has ended: by Stop, or because it could not go
// on.
func (i *Incident) Done() <-chan struct{} { return i.done }

// Err says why the play could not go on, nil while it does and after Stop.
func (i *Incident) Err() error {
	select {
	case <-i.done:
		return i.err
	default:
		return nil
	}
}

// Stop ends the play and the server and removes all they made. Calling it again
// does nothing.
func (i *Incident) Stop() {
	i.stop.Do(func() {
		i.cancel()
		i.wg.Wait()
		i.server.Stop()
		i.fail(nil)
	})
}
