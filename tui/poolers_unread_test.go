package tui

import (
	"regexp"
	"testing"
)

// TestPoolersUnread: a console that was never read tells no figures, and the sums
// say of how many processes they are; the process whose clients wait comes first.
func TestPoolersUnread(t *testing.T) {
	m := poolMoments(t)[1]
	told := &m.Told[0]
	told.Instances[0].Reading, told.Instances[0].Err = nil, "connection refused"
	d := drawPoolers(t, 120, 40, Options{}, m)
	d.has("of 1 of 2 instances: ")
	if text := d.text(); !regexp.MustCompile(`pgb 1 +\? +\? +\? +\? +not read`).MatchString(text) {
		t.Errorf("got %s\nwant no figures of pgb 1", text)
	}
	if text := d.text(); !regexp.MustCompile(`(?s)▾? *pgb 2 .*pgb 1 `).MatchString(text) {
		t.Errorf("got %s\nwant pgb 2 first: its clients wait", text)
	}
	told.Instances[1].Reading, told.Instances[1].Err = nil, "connection refused"
	d = drawPoolers(t, 120, 40, Options{}, m)
	d.has("? server connections")
	d.hasNot("0 server connections")
}
