package tui

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/explain"
)

// TestRunsAreComparedAtOnePlace: beside each other stand runs with the cursor at the
// same place, and each says where.
func TestRunsAreComparedAtOnePlace(t *testing.T) {
	x := recordedJudgements(t)
	d := drawExplain(t, 120, 40, -1, Options{}, x)
	d.press("enter", "a", "y")
	d.serve(x, -1)
	place := regexp.MustCompile(`(before|after), cursor at ([0-9.]+ %)`)
	line := ""
	for _, l := range strings.Split(d.text(), "\n") {
		if strings.Contains(l, "cursor at") && strings.Contains(l, "│") {
			line = l
		}
	}
	m := place.FindAllStringSubmatch(line, -1)
	if len(m) != 2 || m[0][1] != "before" || m[1][1] != "after" || m[0][2] != m[1][2] {
		t.Errorf("compares %q", line)
	}
	head := strings.Split(d.text(), "\n")[2]
	if len(m) == 2 && !strings.Contains(head, "blocks with the cursor at "+m[0][2]) {
		t.Errorf("the head says %q", head)
	}
	s := d.screen().(*planScreen)
	for _, c := range s.cases {
		if b, a := c.before.name, c.after.name; c.after.plan.Tree != nil && strings.HasPrefix(b, "before") && strings.TrimPrefix(b, "before") != strings.TrimPrefix(a, "after") {
			t.Errorf("%q stands beside %q", b, a)
		}
	}
}

// TestFiguresSayTheirAge: the list is not read with every tick.
func TestFiguresSayTheirAge(t *testing.T) {
	x := recordedJudgements(t)
	for _, w := range []int{80, 120} {
		d := drawExplain(t, w, 24, -1, Options{}, x)
		d.has("figures just read")
		s := *d.frame.snap
		s.Seq, s.At = s.Seq+1, s.At.Add(40*time.Second)
		d.answer(&s)
		d.has("figures 40 s old, r ")
		d.has("r read now")
		d.press("r")
		d.serve(x, -1)
		d.has("figures just read")
		d.press("enter")
		d.hasNot("judged")
		s.Seq, s.At = s.Seq+1, s.At.Add(3*time.Minute)
		d.answer(&s)
		d.has("judged 3 min ago")
		d.press("r")
		d.serve(x, -1)
		d.hasNot("judged 3")
	}
}

// TestBackFromJSONIsThePlan: one level, and the cursor where it was.
func TestBackFromJSONIsThePlan(t *testing.T) {
	x := recordedJudgements(t)
	for _, back := range []string{"esc", "q", "J"} {
		d := drawExplain(t, 80, 24, -1, Options{}, x)
		d.press("enter", "j", "j", "j")
		plan := d.text()
		d.press("J", "j")
		d.has(`"Node Type"`)
		d.has("esc back")
		d.press(back)
		d.hasNot(`"Node Type"`)
		if d.text() != plan {
			t.Errorf("%s: not the plan as it was:\n%s", back, d.text())
		}
		d.press("esc")
		d.hasNot("> statement")
	}
}

// TestWordsForEitherDirection: a descending page starts at the newest row, which no
// verdict may call the oldest.
func TestWordsForEitherDirection(t *testing.T) {
	x := recordedJudgements(t)
	for i := range x.all {
		for k := range x.all[i].Result.Findings {
			f := &x.all[i].Result.Findings[k]
			f.Message = strings.ReplaceAll(f.Message, "the oldest (first)", "the newest (last)")
		}
	}
	d := drawExplain(t, 120, 40, -1, Options{}, x)
	d.has("! starts at first row")
	d.hasNot("oldest")
	d.press("enter")
	d.has("! starts at first row")
	d.press("G")
	d.hasNot("oldest")
	for _, v := range []explain.Verdict{explain.StartsAtOldest, explain.StartsAtCursor, explain.SortsWholeTable, explain.ReadsAllAfterCursor, explain.NotApplicable} {
		if w := verdictWords(v); strings.Contains(w, "old") || strings.Contains(w, "new") || len(w) > 19 {
			t.Errorf("%s: %q", v, w)
		}
	}
}

// TestSortByVerdictIsByHarm: a verdict is a rank, whatever letter its words begin with.
func TestSortByVerdictIsByHarm(t *testing.T) {
	x := recordedJudgements(t)
	d := drawExplain(t, 120, 40, -1, Options{}, x)
	s := d.screen().(*explainScreen)
	order := func() (harm []int) {
		s.table.Top()
		for last := ""; ; s.table.Move(1) {
			r, _ := s.table.Selected()
			if r.Key == last {
				return harm
			}
			last = r.Key
			harm = append(harm, subjectHarm(s.byKey[r.Key]))
		}
	}
	d.press("s")
	worstFirst := order()
	if len(worstFirst) < 3 || worstFirst[0] == worstFirst[len(worstFirst)-1] {
		t.Fatalf("the recording has nothing to sort: %v", worstFirst)
	}
	if !slices.IsSortedFunc(worstFirst, func(a, b int) int { return b - a }) {
		t.Errorf("sorted by verdict: got %v, want the worst first", worstFirst)
	}
	d.press("S")
	if bestFirst := order(); !slices.IsSorted(bestFirst) {
		t.Errorf("turned round: got %v, want the worst last", bestFirst)
	}
}
