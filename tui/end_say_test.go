package tui

import (
	"strings"
	"testing"
	"time"
)

// TestKeysThatDoNothingSayWhy on rows without a session, with --read-only and in a
// recording, and on a tree that has an order of its own.
func TestKeysThatDoNothingSayWhy(t *testing.T) {
	d, _ := enderDrawn(t, 80, 24, Options{}, recorded(t, "locks"))
	d.goToRow("queued behind")
	for _, k := range []string{"K", "C"} {
		d.press(k)
		d.says("a queue: choose the session that it waits for, or one in it")
		d.press("G", "g")
		d.goToRow("queued behind")
	}
	for _, k := range []string{"s", "S"} {
		d.press(k)
		d.says("a tree has an order of its own")
	}
	d, _ = enderDrawn(t, 80, 24, Options{ReadOnly: true}, recorded(t, "locks"))
	for _, k := range []string{"K", "C"} {
		d.press(k)
		d.says("--read-only ends no session")
	}
	d = draw(t, 80, 24, Options{Screen: "locks"}, recorded(t, "locks"))
	d.press("K")
	d.says("this is a recording")
}

// TestPathCountsSessions that it hides, folded or not.
func TestPathCountsSessions(t *testing.T) {
	d, _ := enderDrawn(t, 80, 24, Options{}, recorded(t, "locks"))
	d.goToRow("▾ 23524")
	d.press("z")
	d.has("23524 +9")
}

// TestAQueueGoesOneAfterTheOther is what the folded row says of itself.
func TestAQueueGoesOneAfterTheOther(t *testing.T) {
	d, _ := enderDrawn(t, 200, 50, Options{}, recorded(t, "locks"))
	d.goToRow("▸ 8 queued behind")
	d.has("8 sessions wait for it, one after the other")
	d.hasNot("side by side")
}

// TestTheDialogKnowsWhichStatementItShows of a session that is idle.
func TestTheDialogKnowsWhichStatementItShows(t *testing.T) {
	const text = "its last statement, not necessarily the one that took the lock"
	d, _ := enderDrawn(t, 80, 24, Options{}, recorded(t, "locks"))
	d.press("K")
	d.says(text)
	d.press("esc")
	d.goToRow("23525") // it waits: this is the statement that does
	d.press("K")
	d.has("Terminate 23525?")
	if strings.Contains(d.words(), text) {
		t.Errorf("said of one that waits:\n%s", d.text())
	}
}

// TestARowThatWaitsAnewShowsHowLongItIsBlocked at most, like the header of its tree.
func TestARowThatWaitsAnewShowsHowLongItIsBlocked(t *testing.T) {
	snaps := recorded(t, "locks")
	for _, s := range snaps {
		for i := range s.Locks.Rows {
			if r := &s.Locks.Rows[i]; r.PID == 23525 && !r.Granted {
				r.WaitStart = r.WaitStart.Add(8 * time.Second)
			}
		}
	}
	d, _ := enderDrawn(t, 120, 40, Options{}, snaps)
	d.goToRow("─ 23525")
	if line := d.selectedLine(); !strings.Contains(line, "≤0:13") {
		t.Errorf("got %q", line)
	}
	d.goToRow("─ 23568")
	if line := d.selectedLine(); strings.Contains(line, "≤") {
		t.Errorf("got %q of one that waits for the first time", line)
	}
}
