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

// TestWhatIsRefusedIsNamed: where the lock table is refused, the missing grant is on the
// screen, nothing is said to be read yet, and no heading stands without its rows.
func TestWhatIsRefusedIsNamed(t *testing.T) {
	snaps := recorded(t, "locks")
	for i, s := range snaps {
		out, l := *s, *s.Locks
		out.Server.User = "pgsonde_monitor"
		l.Reading, l.Rows, l.DetailAt = probes.ReadEdges, nil, time.Time{}
		l.Late = "reading lock entries: ERROR: permission denied for function pg_lock_status (SQLSTATE 42501)"
		l.Lacks = "execute on function pg_lock_status"
		out.Locks, out.Sessions = &l, nil
		for _, p := range s.Locks.Procs {
			if p.PID == 23524 {
				out.Sessions = append(out.Sessions, p)
			}
		}
		snaps[i] = &out
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		d, _ := enderDrawn(t, size[0], size[1], Options{}, snaps)
		d.has("~ the lock table is refused: grant execute on function pg_lock_status to pgso")
		d.has("8 queued behind for one row, longest ?")
		d.goToRow("▾ 23524")
		d.says("one row: 1 at its head, ")
		for _, not := range []string{"as of 0", "not read yet", "suspects", "may be another by now", `""`} {
			d.hasNot(not)
		}
		d.goToRow("waits?")
		d.says("the lock table is refused to this login")
	}
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
