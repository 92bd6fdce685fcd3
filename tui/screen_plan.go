package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// planScreen is one statement: verdict, findings, plans before and after, the
// fix and what proves it, as one text with a line cursor.
type planScreen struct {
	g      theme.Glyphs
	desk   *desk
	x      *subject
	f      *frame
	w, h   int
	doc    []docLine
	of     *explain.Result // that doc was made of
	at     int             // the line under the cursor
	top    int
	cases  []planCase
	cur    int // the case shown
	metric metric
	all    bool
	raw    bool
	left   [2]int // at and top of the text while raw is shown
	closed map[string]bool
}

func newPlan(g theme.Glyphs, d *desk, x *subject) *planScreen {
	s := &planScreen{g: g, desk: d, x: x, closed: map[string]bool{}}
	if x.res == nil && x.err == nil {
		d.ask(errand{of: x}, true)
	}
	return s
}

func (s *planScreen) name() string       { return s.x.name }
func (s *planScreen) list() *table.Model { return nil }
func (s *planScreen) want(*probes.Want)  {}

func (s *planScreen) keys() []action {
	if s.raw {
		return []action{actBack, actDown, actCase, actJSON}
	}
	if len(s.cases) == 0 {
		return []action{actBack, actRefresh, actCopyQuery, actPaste}
	}
	out := []action{actCopy, actCopyQuery, actMetric, actDetail}
	if s.canRun() {
		out = slices.Insert(out, 2, actAnalyze)
	}
	if len(s.cases) > 1 {
		out = append(out, actCase)
	}
	return append(out, actJSON, actRefresh)
}

// canRun says that there is a server to execute the statement on, and the right to.
func (s *planScreen) canRun() bool { return !s.desk.readOnly && s.desk.can && s.x.plan == nil }

func (s *planScreen) size(w, h int) {
	if s.w != w || s.h != h {
		s.w, s.h = w, h
		s.build()
	}
}

func (s *planScreen) load(f *frame) {
	s.f = f
	if s.x.res != s.of || s.doc == nil {
		s.fresh()
	}
}

// fresh takes a new result; the cursor goes to the first line.
func (s *planScreen) fresh() {
	s.of = s.x.res
	s.cases, s.cur, s.at, s.top, s.left = nil, 0, 0, 0, [2]int{}
	if s.of != nil {
		s.cases = casesOf(s.of)
	}
	s.build()
}

// page is how many lines of the text are on screen.
func (s *planScreen) page() int { return max(1, s.h-1) }

// to moves the cursor, and what is on screen with it.
func (s *planScreen) to(i int) {
	s.at = max(0, min(i, len(s.doc)-1))
	s.top = max(0, min(min(s.top, s.at), len(s.doc)-s.page()))
	s.top = max(s.top, s.at-s.page()+1)
}

// fold folds or unfolds the plan node under the cursor.
func (s *planScreen) fold(shut, toggle bool) bool {
	l := s.doc[s.at]
	key := l.node
	if key == "" && l.beside != nil {
		key = l.beside.node
	}
	if key == "" {
		return false
	}
	if toggle {
		shut = !s.closed[key]
	}
	if shut {
		s.closed[key] = true
	} else {
		delete(s.closed, key)
	}
	s.build()
	for i, l := range s.doc {
		if l.node == key || l.beside != nil && l.beside.node == key {
			s.to(i)
			break
		}
	}
	return true
}

func (s *planScreen) act(a action) (result, bool) {
	switch a {
	case actUp:
		s.to(s.at - 1)
	case actDown:
		s.to(s.at + 1)
	case actPageUp:
		s.to(s.at - s.page()/2)
	case actPageDown:
		s.to(s.at + s.page()/2)
	case actTop:
		s.to(0)
	case actBottom:
		s.to(len(s.doc) - 1)
	case actLeft, actRight, actEnter:
		s.fold(a == actLeft, a == actEnter)
	case actMetric:
		return s.nextMetric(), true
	case actDetail:
		s.all = !s.all
		s.build()
	case actJSON:
		s.toggleRaw()
	case actBack, actQuit:
		if !s.raw {
			return result{}, false
		}
		s.toggleRaw()
	case actCase:
		if len(s.cases) > 1 {
			s.cur = (s.cur + 1) % len(s.cases)
			s.build()
			return result{say: s.cases[s.cur].before.name}, true
		}
	case actCopy:
		return s.copy(), true
	case actCopyQuery:
		return result{copy: s.x.in.SQL, what: "the statement: " + clean.SQL(s.x.in.SQL, 60)}, true
	case actRefresh:
		s.desk.ask(errand{of: s.x}, true)
		return result{say: "judging it again"}, true
	case actAnalyze:
		return s.analyze(), true
	case actPaste:
		return result{open: newPaste("")}, true
	default:
		return result{}, false
	}
	return result{}, true
}

// toggleRaw shows the plan as the server printed it, and goes back to where the
// cursor was.
func (s *planScreen) toggleRaw() {
	if s.raw = !s.raw; s.raw {
		s.left, s.at, s.top = [2]int{s.at, s.top}, 0, 0
		s.build()
		return
	}
	s.build()
	s.top = s.left[1]
	s.to(s.left[0])
}

// nextMetric goes to the next one that the plan knows.
func (s *planScreen) nextMetric() result {
	if len(s.cases) == 0 {
		return result{}
	}
	t := s.cases[s.cur].before.plan.Tree
	for range metrics {
		if s.metric = (s.metric + 1) % metrics; s.metric.has(t) {
			break
		}
	}
	s.build()
	say := "bars show " + s.metric.String()
	if !t.Analyzed {
		say += "; time and blocks come with ANALYZE (a)"
	}
	return result{say: say}
}

// copy copies what the cursor is on: the index, the first page's statement, else
// the fixed statement.
func (s *planScreen) copy() result {
	if r := s.x.res; r != nil && r.Fix != nil {
		switch p := s.doc[s.at].part; {
		case p == partIndex && r.Fix.IndexSQL != nil:
			return result{copy: *r.Fix.IndexSQL, what: clean.SQL(*r.Fix.IndexSQL, 60)}
		case p == partFirst:
			return result{copy: r.Fix.First, what: "the first page's statement: " + clean.SQL(r.Fix.First, 60)}
		}
	}
	return copyFix(s.x)
}

// sayExecuting stands in the footer until the result is there.
const sayExecuting = "executing"

// analyze asks before anything is executed, and says what will be.
func (s *planScreen) analyze() result {
	switch {
	case s.desk.readOnly:
		return result{say: "--read-only executes nothing"}
	case !s.desk.can || s.x.plan != nil:
		return result{say: "there is no server to execute it on"}
	case s.x.res == nil || s.x.res.Verdict == explain.Unknown:
		return result{say: "it could not be planned, so it is not executed"}
	}
	runs := "once."
	if s.x.res.Fix != nil && s.x.res.Fix.SQL != "" {
		runs = "twice as it is, with the cursor near the first rows, twice fixed, there and in the middle, and both at five cursors, to compare the rows."
	} else if n := len(s.x.res.Plans); n > 1 {
		runs = fmt.Sprintf("once for each of its %d cases.", n-1)
	}
	lines := []string{
		"This executes the statement, in READ ONLY transactions that are rolled back, each under a timeout of 2 s:", runs, "",
		"Statements that write, lock rows or call volatile functions are not executed.", "", clean.SQL(s.x.in.SQL, 200),
	}
	x, d := s.x, s.desk
	return result{open: newConfirm("Run with ANALYZE", lines, result{do: func(m *model) tea.Cmd {
		d.ask(errand{of: x, analyze: true}, true)
		return tea.Batch(m.say(sayExecuting), m.settle())
	}})}
}

func (s *planScreen) draw(t *theme.Theme) []string {
	out := make([]string, 0, s.h)
	out = append(out, s.head(t))
	for i := s.top; i < len(s.doc) && len(out) < s.h; i++ {
		mark := " "
		if i == s.at {
			mark = t.Select
		}
		out = append(out, t.Paint(theme.Strong, false, mark)+" "+s.line(t, s.doc[i]))
	}
	return append(out, make([]string, max(0, s.h-len(out)))...)[:s.h]
}

// line draws a line of the text.
func (s *planScreen) line(t *theme.Theme, l docLine) string {
	w := s.w - 2
	if l.beside == nil {
		return drawDoc(t, l, w)
	}
	lw, rw := columns(w)
	return theme.Pad(drawDoc(t, l, lw), lw) + " " + t.Paint(theme.Dim, false, t.Bar) + " " + drawDoc(t, *l.beside, rw)
}

func drawDoc(t *theme.Theme, l docLine, w int) string {
	if !l.rule {
		if len(l.right) == 0 {
			return t.Line(w, l.left...)
		}
		return t.Split(w, l.left, l.right)
	}
	n := w - t.SpansWidth(l.left) - t.SpansWidth(l.right) - 1
	switch {
	case n < 0 && len(l.right) > 0:
		return t.Split(w, l.left, l.right)
	case n < 1:
		return t.Line(w, append(append(l.left[:len(l.left):len(l.left)], theme.Span{Text: " "}), l.right...)...)
	}
	return t.Line(w, l.left...) + " " + t.Paint(theme.Dim, false, strings.Repeat(t.Rule, n)) + t.Line(w, l.right...)
}

// head is the statement in one line: verdict, what it costs, what is known.
func (s *planScreen) head(t *theme.Theme) string {
	queued, running := s.desk.pending(s.x)
	var right []theme.Span
	switch {
	case running:
		right = []theme.Span{{Role: theme.Mark, Text: "judging "}}
	case queued:
		right = []theme.Span{{Role: theme.Mark, Text: "waits "}}
	}
	r := s.x.res
	if r == nil {
		return t.Split(s.w, []theme.Span{{Text: "   "}, {Role: theme.Dim, Text: "not judged yet"}}, right)
	}
	role := subjectSign(s.x)
	left := []theme.Span{{Text: " "}, {Role: role, Text: theme.Sign(role) + " "}, {Role: strong(role), Text: resultWords(r)}}
	if len(right) == 0 {
		right = dim(s.old())
		if len(s.doc) > s.page() {
			right = append(right, dim(fmt.Sprintf("%d/%d ", min(len(s.doc), s.top+s.page()), len(s.doc)))...)
		}
	}
	room := s.w - t.SpansWidth(left) - t.SpansWidth(right) - 1
	for _, fact := range s.headFacts(r) {
		more := []theme.Span{{Role: theme.Dim, Text: " " + t.Dot + " "}, {Text: fact}}
		if n := t.SpansWidth(more); n <= room {
			left = append(left, more...)
			room -= n
		}
	}
	return t.Split(s.w, left, right)
}

// old is the age of a judgement that is not of now.
func (s *planScreen) old() string {
	if s.f == nil || s.x.at.IsZero() {
		return ""
	}
	if a := s.f.snap.At.Sub(s.x.at); a >= time.Minute {
		return "judged " + span(a) + " ago  "
	}
	return ""
}

// headFacts are the facts of the head, those that matter most first.
func (s *planScreen) headFacts(r *explain.Result) []string {
	var out []string
	if b, a := farthest(r.Fix); b != nil {
		out = append(out, fmt.Sprintf("%s to %s blocks with the cursor at %.2g %%", short(b.Blocks), short(a.Blocks), 100*b.At))
	} else if len(s.cases) > 0 {
		c := s.cases[s.cur]
		if ms := c.before.plan.ExecutionMS; ms != nil {
			out = append(out, millis(*ms))
		}
		if b := c.before.plan.Root.Buffers; b != nil {
			out = append(out, mib(b.Shared()))
		}
		if c.after.plan.Tree != nil {
			out = append(out, "cost "+costs(c.before.plan.Root.TotalCost, c.after.plan.Root.TotalCost))
		} else {
			out = append(out, "cost "+short2(c.before.plan.Root.TotalCost))
		}
		if n := worstNode(c.before); n != nil {
			out = append(out, nodeLabel(n, 40))
		}
	}
	out = append(out, plural(len(r.Findings), "finding"))
	if st := s.x.stat; st != nil {
		out = append(out, plural(int(st.Calls), "call")+", "+millis(st.TotalMS))
	}
	if c := r.Cursor; c != nil {
		out = append(out, "cursor "+strings.Join(c.Columns, ", ")+" ("+string(c.Form)+")")
	} else if r.Pagination != explain.NoPaging {
		out = append(out, string(r.Pagination))
	}
	return out
}

// worstNode is the scan that decides, else the node with the largest own part.
func worstNode(p shownPlan) *plan.Node {
	var worst *plan.Node
	for _, s := range p.scans {
		if r, _ := scanMark(s); r == theme.Crit || r == theme.Warn {
			return s.Node
		}
	}
	m := byCost
	if byTime.has(p.plan.Tree) {
		m = byTime
	}
	p.plan.Root.Walk(func(n *plan.Node) bool {
		if worst == nil || m.own(n) > m.own(worst) {
			worst = n
		}
		return true
	})
	return worst
}
