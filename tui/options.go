package tui

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
)

// Source gives snapshots: a live server or a recording. Its methods are called
// from one Cmd at a time except FullQuery and those of an Ender, which may run
// beside Tick, and Close, which comes last.
type Source interface {
	// Tick reads once. A *probes.Unavailable error says that the server is away
	// and when to ask again; any other error leaves the last data on screen.
	Tick(ctx context.Context, w probes.Want) (*probes.Snapshot, error)
	// Interval is how long to wait between an answer and the next Tick when
	// base was asked for; longer when the server is slow.
	Interval(base time.Duration) time.Duration
	// FullQuery is the whole statement of the backend with this pid and start.
	FullQuery(ctx context.Context, pid int, start time.Time) (string, error)
	Close()
}

// Options says what to show and how.
type Options struct {
	Source Source // or Open
	// Open connects; it runs after the first frame was drawn. Its error ends Run.
	Open func(ctx context.Context) (Source, error)
	// Explain opens the EXPLAIN session of a source; it runs when such a screen is
	// first used, and again after a minute without use. Nil: nothing is explained.
	Explain func(ctx context.Context, src Source) (Explainer, error)
	// Consoles are the admin consoles of poolers. Nil: there is no Poolers screen.
	Consoles   Consoles
	Budget     *budget.File // nil: no declared roles
	BudgetPath string
	Interval   time.Duration // between ticks; 0 means 1 s
	ASCII      bool          // no glyphs beyond ASCII
	Color      string        // auto, always, never; "" is auto
	Theme      string        // auto, dark, light; "" is auto
	In         io.Reader
	Out        io.Writer
	Env        []string // of the terminal; nil: the process's own
	Target     string   // shown until the server has answered
	ReadOnly   bool     // no screen offers to cancel or terminate
	// Audit takes a line for every session that was ended, or was to be: time, what,
	// whom, by whom, what came of it. It may be called from any goroutine.
	Audit  func(line string)
	Screen string // name of the first view; "" is the first
}

// Run shows the UI until it is quit, ctx ends or the first connection fails.
// It closes the source. The error of a failed connection is returned as it is;
// leaving by ctx is ctx's error.
func Run(ctx context.Context, o Options) error {
	return run(ctx, o)
}

// framesPerSecond wakes the renderer also when nothing is to be drawn, which
// is most of what a calm program costs: as few as still draw a key within 40 ms.
const framesPerSecond = 25

func run(ctx context.Context, o Options, extra ...tea.ProgramOption) error {
	env := readEnv(o.Env)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := newLink(ctx, o)
	if o.Consoles != nil {
		defer o.Consoles.Close()
	}
	defer l.close()
	defer cancel() // before close: what is under way ends at once

	m := newModel(o, env, l)
	opts := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond),
		tea.WithEnvironment(env.all), tea.WithInput(o.In), tea.WithOutput(o.Out),
	}
	switch o.Color {
	case "never":
		opts = append(opts, tea.WithColorProfile(colorprofile.ASCII))
	case "always":
		opts = append(opts, tea.WithColorProfile(colorprofile.ANSI256))
	}
	_, err := tea.NewProgram(m, append(opts, extra...)...).Run()
	switch {
	case m.fatal != nil:
		return m.fatal
	case errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}
