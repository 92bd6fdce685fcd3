package tui

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// reading is the stage as the sampler sees it once n sessions wait.
func (s *stage) reading(n int) []*probes.Snapshot {
	s.t.Helper()
	src, err := probes.Open(s.t.Context(), probes.Options{DSN: s.srv.DSN("postgres", "postgres")})
	if err != nil {
		s.t.Fatal(err)
	}
	defer src.Close()
	for end := time.Now().Add(time.Minute); ; {
		snap, err := src.Tick(s.t.Context(), probes.Want{Locks: true, Sessions: true, QueryBytes: lineBytes})
		if err != nil {
			s.t.Fatal(err)
		}
		if snap.Locks != nil && snap.Locks.Waiting == n && len(snap.Locks.Touched) > 0 {
			return []*probes.Snapshot{snap, snap}
		}
		if time.Now().After(end) {
			s.t.Fatalf("%d sessions do not wait: %+v", n, snap.Locks)
		}
	}
}

// TestAConditionIsSaidEverywhere: that the row may be share-locked by another, too,
// stands in the dialog and in the lines below the tree, with the figure of the header.
func TestAConditionIsSaidEverywhere(t *testing.T) {
	s := newStage(t, nil)
	s.do(s.as("setup2"), "create table child (a int references acct, b int)")
	first, second := s.as("first"), s.as("second")
	s.do(first, "begin", "insert into child values (1)")
	s.do(second, "begin", "insert into child values (1)")
	s.blocked("del", "begin", "delete from acct where id = 1")
	snaps := s.reading(1)
	root, other := snaps[0].Locks.Waits[0].Blockers[0], first.PID()
	if root == other {
		other = second.PID()
	}
	want := "frees up to 1 at once: " + strconv.Itoa(other) + " may lock the row,"
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
		d, _ := enderDrawn(t, size[0], size[1], Options{}, snaps)
		for _, row := range []string{"1 waits behind", "▾ " + strconv.Itoa(root)} {
			d.goToRow(row)
			if n := strings.Count(d.words(), want); n < 2 && (size[1] > 24 || row[0] == '1') {
				t.Errorf("%v, on %q: the header and what is below it say it %d times:\n%s", size, row, n, d.text())
			}
		}
		d.press("K")
		d.says("terminate " + want + " too; its transaction is rolled back")
	}
}
