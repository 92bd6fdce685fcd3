package tui

import (
	"strconv"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/table"
)

// ghost is a row that ended under the cursor, with the last reading in which it was
// there: all that is said of it is of then.
type ghost struct {
	key string
	f   *frame
}

// note keeps the reading before the one in which the selected row is gone.
func (g *ghost) note(key string, gone bool, before *frame) {
	switch {
	case !gone:
		*g = ghost{}
	case g.key != key:
		*g = ghost{key, before}
	}
}

// of is the reading to describe a row from.
func (g *ghost) of(key string, now *frame) *frame {
	if g.f != nil && g.key == key {
		return g.f
	}
	return now
}

// keepGone remembers the selected session after it ended.
func keepGone(t *table.Model, old, now map[string]*probes.Session, g *ghost, before *frame) {
	r, ok := t.Selected()
	gone := ok && now[r.Key] == nil && old[r.Key] != nil
	if gone {
		now[r.Key] = old[r.Key]
	}
	g.note(r.Key, gone, before)
}

// ended is what is still to be said of a session under the cursor that is gone; ok
// is false for what may be done all the same.
func ended(a action, x *probes.Session) (result, bool) {
	switch a {
	case actCancel, actTerminate:
		return result{say: "pid " + strconv.Itoa(x.PID) + " has ended: there is nothing to " + string(verbOf(a))}, true
	}
	return result{}, false
}
