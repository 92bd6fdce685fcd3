package tui

import (
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// screen is the body of the window. Screens are pointers that the model calls
// from Update; draw must not change them.
type screen interface {
	// name is the word in the path: "Roles", "api", "pid 4711".
	name() string
	// load takes the next frame and keeps the selection.
	load(f *frame)
	// want adds what the screen needs to the next tick.
	want(w *probes.Want)
	// size says how many cells draw has to fill.
	size(w, h int)
	// draw gives exactly the height that was set; lines may be shorter than
	// the width, never longer.
	draw(t *theme.Theme) []string
	// list is the table that the common keys work on; nil when there is none.
	list() *table.Model
	// act answers an action; ok is false when it is not the screen's own.
	act(a action) (res result, ok bool)
	// keys are the actions for the footer, most useful first.
	keys() []action
}

// folder is a screen whose list is a tree.
type folder interface {
	Fold()
	Unfold()
}

// queryWanter is a screen that shows one backend's whole statement.
type queryWanter interface {
	// needQuery asks for the statement, once for each one that the backend
	// runs; ok is false when there is nothing (new) to fetch.
	needQuery() (pid int, start time.Time, ok bool)
	gotQuery(pid int, start time.Time, text string, err error)
}

// result is what a screen or an overlay answers to an action.
type result struct {
	push  screen
	open  overlay
	copy  string // text for the clipboard
	what  string // … and what to call it
	query *probes.Session
	end   *endWish
	say   string // a flash
	do    command
}

// view is one entry of the title line with its stack of screens.
type view struct {
	title string
	stack []screen
}

func (v *view) top() screen { return v.stack[len(v.stack)-1] }

// views are the screens that exist, in the order of their number keys.
func views(g theme.Glyphs) []*view {
	return []*view{
		{"Roles", []screen{newRoles(g)}},
		{"Locks", []screen{newLocks(g)}},
		{"Explain", []screen{newExplain(g)}},
		{"Sessions", []screen{newSessions(g)}},
	}
}
