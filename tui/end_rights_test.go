package tui

import (
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// TestWhoMayNotEndReadsTheFigures: a login without grants is told whom the end of the
// root frees, as in the line below, and no reason is called a recommendation.
func TestWhoMayNotEndReadsTheFigures(t *testing.T) {
	snaps := recorded(t, "locks")
	for i, s := range snaps {
		out, l := *s, *s.Locks
		out.Server.Superuser, out.Server.CanSignal, out.Server.Masked = false, false, true
		l.Procs = nil
		for _, p := range s.Locks.Procs {
			l.Procs = append(l.Procs, probes.Session{PID: p.PID, Kind: probes.KindMasked, User: p.User, UserOID: 77, Database: p.Database})
		}
		out.Locks, out.Sessions = &l, nil
		snaps[i] = &out
	}
	d, _ := enderDrawn(t, 80, 24, Options{}, snaps)
	d.says("if the root 23524 ends: frees 1 at once, up to 8 in turn")
	d.press("K")
	d.says("if it ends: frees 1 at once, up to 8 in turn")
	d.says("cannot terminate it: this login may not end it: grant pg_read_all_stats, pg_signal_backend")
	d.hasNot("frees nobody")
	d.hasNot("recommended")
	d.press("esc")
	d.goToRow("23525")
	d.press("K")
	d.says("23524: its state is hidden from this login: grant")
	d.hasNot("recommended")
}

// TestOldEntriesAreDated: where rows have a ?, the screen says how old the entries are,
// and the lines about such a row what is not known of it.
func TestOldEntriesAreDated(t *testing.T) {
	snaps := recorded(t, "locks")
	for i, s := range snaps {
		out, l := *s, *s.Locks
		l.Reading, l.DetailAt = probes.ReadEdges, l.At.Add(-4*time.Second)
		out.Locks = &l
		snaps[i] = &out
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
		d, _ := enderDrawn(t, size[0], size[1], Options{}, snaps)
		d.has("~ lock table as of 4 s ago: what ")
		d.goToRow("waits?")
		d.says("lock table of 4s earlier: what it waits for")
	}
}
