package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/tui/clean"
)

// TestLongStatementsAreWrappedInTime: the time grows with the length, not with its
// square, and nothing is lost.
func TestLongStatementsAreWrappedInTime(t *testing.T) {
	for _, text := range []string{strings.Repeat("'abcdefgh', ", 52_500) + "1", strings.Repeat("x", 630_000), strings.Repeat("日本", 100_000)} {
		done := make(chan []string, 1)
		go func() { done <- wrapText(text, 76) }()
		select {
		case lines := <-done:
			if a, b := strings.ReplaceAll(strings.Join(lines, ""), " ", ""), strings.ReplaceAll(text, " ", ""); a != b {
				t.Errorf("%.9s: %d bytes of %d are left", text, len(a), len(b))
			}
			for _, l := range lines {
				if clean.Width(l) > 76 {
					t.Fatalf("a line of %d cells", clean.Width(l))
				}
			}
		case <-time.After(60 * time.Second):
			t.Fatalf("%.9s: not wrapped after a minute", text)
		}
	}
}

// TestAdviceFitsTheLine: verb, target and number stay, reasons go.
func TestAdviceFitsTheLine(t *testing.T) {
	d := draw(t, 80, 24, locksOptions(), recorded(t, "locks"))
	for range 40 {
		if l := d.selectedLine(); strings.Contains(l, "→") && strings.HasSuffix(l, "…") && !strings.Contains(l, "ROLLBACK") {
			t.Errorf("cut: %q", l)
		}
		d.press("j")
	}
	for _, tt := range []struct {
		text string
		w    int
		want string
	}{
		{"terminate 1: frees 3 at once, up to 2 in turn (idle in transaction: there is no statement to cancel)", 60, "terminate 1: frees 3 at once, up to 2 in turn"},
		{"cancel 1: frees 1 session; or wait: the server aborts one", 30, "cancel 1: frees 1 session"},
		{"cancel 1", 80, "cancel 1"},
	} {
		if got := shorter(tt.text, tt.w); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestWraparoundIsMarked where the statement is cut, too.
func TestWraparoundIsMarked(t *testing.T) {
	snaps := recorded(t, "locks")
	for _, s := range snaps {
		for i := range s.Locks.Procs {
			if p := &s.Locks.Procs[i]; p.PID == 23555 {
				p.Kind, p.Query = "autovacuum worker", "autovacuum: VACUUM public.ledger (to prevent wraparound)"
				p.User, p.App = "", ""
			}
		}
	}
	d, _ := enderDrawn(t, 80, 24, Options{}, snaps)
	d.has("wraparound")
	d.goToRow("▾ 23555")
	d.press("K")
	d.has("wraparound autovacuum")
	d.press("esc", "g", "/")
	for _, r := range "wraparound" {
		d.press(string(r))
	}
	d.press("enter")
	for _, want := range []string{"wait behind 23555", "→ cancel 23556", "▾ 23556"} {
		d.has(want)
	}
}
