package tui

import (
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

func TestANoteThatStaysIsSaidOnce(t *testing.T) {
	s := *recorded(t, "incident")[5]
	s.Notes = []probes.Note{{Text: "something to know"}}
	d := draw(t, 80, 24, Options{}, []*probes.Snapshot{&s})
	d.has("something to know")
	d.send(hushMsg{d.flash.n})
	d.answer(&s)
	d.hasNot("something to know")
}
