package tui

import (
	"strings"
	"testing"
	"time"
)

// TestAnEndedTreeIsNotAnother: when the tree ends whose header, or line of advice, or
// queue is under the cursor, no key is about another session.
func TestAnEndedTreeIsNotAnother(t *testing.T) {
	snaps := recorded(t, "locks")
	tree := []int{23555, 23556, 23559, 23564, 23565, 23566}
	for _, row := range []string{"wait behind 23555", "cancel 23556", "▾ 23555"} {
		for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}, {200, 50}} {
			d, _ := enderDrawn(t, size[0], size[1], Options{}, snaps)
			d.goToRow(row)
			for i := range 2 {
				d.answer(later(snaps[1], time.Duration(i+1)*time.Minute, tree...))
				if l := d.selectedLine(); !strings.Contains(l, row[4:9]) || !strings.Contains(l, "x") {
					t.Fatalf("%v: the cursor went from %q to %q", size, row, l)
				}
				for _, k := range []string{"K", "C"} {
					d.press(k)
					if d.over != nil {
						t.Fatalf("%v: %s on %q opens %q", size, k, row, d.over.title())
					}
				}
			}
			if size[1] > 10 && row != "▾ 23555" {
				d.says("over: 23555 heads no tree any more; as it was at 11:37:53Z")
			}
			d.press("enter", "esc")
			d.press("j")
			d.hasNot("over: ")
		}
	}
}

// TestTheFirstTreeEnds: nobody uses the screen, so the next tree comes to the top; a
// key that was on its way is not about that one.
func TestTheFirstTreeEnds(t *testing.T) {
	snaps := recorded(t, "locks")
	for _, next := range []int{0, 1} {
		d, _ := enderDrawn(t, 80, 24, Options{}, snaps)
		if next == 0 {
			d.answer(worse(snaps[1]))
			d.has("▌! 5 wait behind 23555")
		} else {
			d.answer(later(snaps[1], time.Second, 23524))
			d.hasNot("over")
		}
		if strings.Contains(d.selectedLine(), "behind 23524") {
			t.Fatalf("the first tree is still there:\n%s", d.text())
		}
		d.press("K")
		if d.over != nil {
			t.Fatalf("K opens %q", d.over.title())
		}
		d.has("the list has just moved under the cursor")
		d.press("K")
		if d.over == nil {
			t.Error("K does nothing, pressed again")
		}
	}
	d, _ := enderDrawn(t, 80, 24, Options{}, snaps)
	d.answer(worse(snaps[1]))
	s := worse(snaps[1])
	s.At = s.At.Add(3 * time.Second)
	d.answer(s)
	d.press("K")
	if d.over == nil {
		t.Error("K does nothing though the list stood still")
	}
}

// TestARowStaysThoughItMatchesNoMore: a refresh does not take the row away from under
// the cursor because of a filter.
func TestARowStaysThoughItMatchesNoMore(t *testing.T) {
	all := recorded(t, "incident")
	d, _ := enderDrawn(t, 120, 40, Options{}, all)
	d.press("4", "j")
	d.has("pid 10334")
	d.press("/", "4", "7", "1", "1", "enter")
	d.goToRow("10334")
	s := later(all[5], time.Second)
	for i := range s.Sessions {
		if s.Sessions[i].PID == 10334 {
			s.Sessions[i].Query = "select 1"
		}
	}
	d.answer(s)
	if !strings.Contains(d.selectedLine(), "10334") {
		t.Errorf("the cursor is on %q", d.selectedLine())
	}
}

// TestAFilterKeepsTheWayToTheRoot: with what matches stand its root, the header of its
// tree and the advice, and those behind it.
func TestAFilterKeepsTheWayToTheRoot(t *testing.T) {
	snaps := recorded(t, "locks")
	filter := func(d *drawn, text string) {
		d.press("esc", "/")
		for _, r := range text {
			d.press(string(r))
		}
		d.press("enter")
	}
	d, _ := enderDrawn(t, 120, 50, Options{}, snaps)
	filter(d, "add column") // in a statement below a root
	for _, want := range []string{"5 wait behind 23555", "→ cancel 23556", "▾ 23555", "▾ 23556"} {
		d.has(want)
	}
	d.hasNot("behind 23524")
	filter(d, "move 4711") // a root, by its gid
	for _, want := range []string{"1 waits behind prepared", "→ ROLLBACK", "23568"} {
		d.has(want)
	}
	filter(d, "zqx")
	d.has("no row matches zqx")
	d.press("esc")
	d.goToRow("23568")
	d.answer(later(snaps[1], time.Second, 23568))
	d.has("left")
	filter(d, "add column")
	d.hasNot("23568")
	d.goToRow("▾ 23556")
}

// TestAPathThatEndsHidesNothing: what is hidden below a row is not said once it left.
func TestAPathThatEndsHidesNothing(t *testing.T) {
	snaps := recorded(t, "locks")
	d, _ := enderDrawn(t, 80, 24, Options{}, snaps)
	d.goToRow("▾ 23524")
	d.press("z")
	d.has("23524 +")
	d.answer(later(snaps[1], time.Second, 23524))
	d.has("left")
	d.hasNot("23524 +")
}
