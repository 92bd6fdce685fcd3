package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

// TestTypedAheadAnswersNothing: what was typed before a question could be read does
// not answer it, and neither what was typed for another question.
func TestTypedAheadAnswersNothing(t *testing.T) {
	d, src := enderDrawn(t, 80, 24, Options{}, recorded(t, "locks"))
	burst := func(keys ...string) {
		t.Helper()
		for _, k := range keys {
			_, cmd := d.Update(keyPress(k))
			if d.ending.n != 0 {
				runCmd(cmd)
			}
		}
		if d.ending.n != 0 || len(src.got) != 0 {
			t.Fatalf("%q ended %v", keys, src.got)
		}
	}
	burst("K", "y", "Y", "y")
	d.has("Terminate 23524?")
	d.hasNot("y terminate 23524")
	d.has("esc no")
	d.reads()
	d.has("y terminate 23524")
	burst("C", "K", "y")
	d.hasNot("y terminate")
	d.send(readyMsg{1}) // of the question before
	burst("y")
	d.press("esc")
	d.goToRow("wait behind 23555")
	d.press("K")
	burst("tab", "y")
	d.reads()
	d.has("y cancel 23556")
	_, cmd := d.Update(keyPress("y"))
	runCmd(cmd)
	if len(src.got) != 1 || src.got[0].PID != 23556 {
		t.Errorf("sent %v, want one to 23556", src.got)
	}
}

// TestSureIsReadToo: the second question of a harmful end is another one.
func TestSureIsReadToo(t *testing.T) {
	snaps := recorded(t, "locks")
	for _, s := range snaps {
		for i := range s.Locks.Procs {
			if s.Locks.Procs[i].PID == 23524 {
				s.Locks.Procs[i].Kind = "walsender"
			}
		}
	}
	d, src := enderDrawn(t, 80, 24, Options{}, snaps)
	d.press("K")
	d.Update(keyPress("y"))
	_, cmd := d.Update(keyPress("Y"))
	if d.ending.n != 0 {
		runCmd(cmd)
		t.Fatalf("yY ended %v", src.got)
	}
	d.has("sure?")
	d.hasNot("Y terminate")
	d.reads()
	d.has("Y terminate")
}

// TestConfirmIsReadFirst: the question before anything is executed.
func TestConfirmIsReadFirst(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	done := false
	d.apply(result{open: newConfirm("Run", []string{"it"}, result{do: func(*model) tea.Cmd { done = true; return nil }})})
	d.Update(keyPress("y"))
	d.hasNot("y do it")
	if done || d.over == nil {
		t.Fatal("y did it, or closed the question, before it could be read")
	}
	d.press("y")
	if done {
		t.Fatal("the wait began before the question was drawn")
	}
	d.press("y")
	if !done {
		t.Error("y does nothing once it was read")
	}
}
