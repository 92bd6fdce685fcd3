package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// planCase is a plan to look at, with that of the fix where there is one.
type planCase struct{ before, after shownPlan }

type shownPlan struct {
	name  string
	plan  explain.Plan
	scans []*explain.Scan
	args  []string
}

// casesOf are the plans of a result: those that were measured first.
func casesOf(r *explain.Result) []planCase {
	out := measuredCases(r.Fix)
	measured := 0
	for i, c := range r.Plans {
		if c.Plan.Tree == nil {
			continue
		}
		p := planCase{before: shownPlan{c.Case + " plan", c.Plan, c.Scans, c.Params}}
		if len(c.Params) > 0 {
			p.before.name = c.Case + " cursor"
		}
		if i == 0 && r.Fix != nil && r.Fix.After.Plan.Tree != nil {
			p.after = shownPlan{"after the fix", r.Fix.After.Plan, r.Fix.After.Scans, nil}
		}
		if c.Measured && i > 0 {
			out = slices.Insert(out, measured, p)
			measured++
		} else {
			out = append(out, p)
		}
	}
	return out
}

// measuredCases are the runs of a statement and of its fix. Beside each other stand
// only two with the cursor at the same place, the farthest first; a run without its
// like stands alone.
func measuredCases(f *explain.Fix) []planCase {
	if f == nil {
		return nil
	}
	var pairs, alone []planCase
	for i := range f.Steps {
		s := &f.Steps[i]
		other := stepAt(f.Steps, s.At, !s.Fixed)
		switch {
		case s.Plan.Tree == nil:
		case other == nil && s.Fixed:
			alone = append(alone, planCase{before: runOf("after", s, " (the fix alone)")})
		case other == nil:
			alone = append(alone, planCase{before: runOf("before", s, " (without the fix)")})
		case !s.Fixed:
			pairs = append(pairs, planCase{runOf("before", s, ""), runOf("after", other, "")})
		}
	}
	slices.Reverse(pairs)
	return append(pairs, alone...)
}

// stepAt is the run with the cursor at a place, nil when there was none.
func stepAt(all []explain.Step, at float64, fixed bool) *explain.Step {
	for i := range all {
		if s := &all[i]; s.Fixed == fixed && s.At == at && s.Plan.Tree != nil {
			return s
		}
	}
	return nil
}

// runOf names a run by the place of its cursor.
func runOf(what string, s *explain.Step, note string) shownPlan {
	return shownPlan{fmt.Sprintf("%s, cursor at %.2g %%%s", what, 100*s.At, note), s.Plan, s.Scans, nil}
}

// farthest are the runs before and after the fix with the cursor at the same place,
// as far behind the first row as there are both; nil when there are none.
func farthest(f *explain.Fix) (before, after *explain.Step) {
	if f == nil {
		return nil, nil
	}
	for i := range f.Steps {
		s := &f.Steps[i]
		if other := stepAt(f.Steps, s.At, true); !s.Fixed && other != nil && (before == nil || s.At > before.At) {
			before, after = s, other
		}
	}
	return before, after
}

// build makes the text again; the cursor stays on its line.
func (s *planScreen) build() {
	s.doc = nil
	if s.w <= 0 {
		return
	}
	w := s.w - 2
	switch r := s.x.res; {
	case s.raw && len(s.cases) > 0:
		s.rawPlan(w)
	case r != nil:
		s.result(r, w)
	default:
		if s.x.err != nil {
			s.wrapped(theme.Warn, "~ ", s.x.err.Error(), w)
		}
		s.sql("statement", s.x.in.SQL, w)
	}
	if len(s.doc) == 0 {
		s.doc = []docLine{{}}
	}
	s.to(s.at)
}

func (s *planScreen) ascii() bool { return s.f != nil && s.f.ascii }

// wrapped adds text behind a sign.
func (s *planScreen) wrapped(role theme.Role, lead, text string, w int) {
	for i, l := range wrapText(cleanFor(clean.SQL(text, 0), s.ascii()), max(8, w-len(lead))) {
		if i > 0 {
			lead = strings.Repeat(" ", len(lead))
		}
		s.doc = append(s.doc, docLine{left: []theme.Span{{Role: role, Text: lead + l}}})
	}
}

func (s *planScreen) heading(right []theme.Span, left ...theme.Span) {
	s.doc = append(s.doc, docLine{left: left, right: right, rule: true})
}

func (s *planScreen) sql(title, sql string, w int) {
	s.heading(nil, theme.Span{Role: theme.Strong, Text: title})
	for _, l := range strings.Split(sql, "\n") {
		s.doc = append(s.doc, sqlLine(" ", theme.Normal, markedLine{text: l}, w, s.ascii())...)
	}
}

// result is the whole text about a judged statement.
func (s *planScreen) result(r *explain.Result, w int) {
	for _, f := range r.Findings {
		role := findingRole(f)
		s.wrapped(role, theme.Sign(role)+" ", f.Message, w)
		if f.Action != "" && (r.Fix == nil || !strings.HasPrefix(f.Action, "use the fix")) {
			s.wrapped(theme.Dim, "  ", f.Action, w)
		}
	}
	if len(r.Findings) == 0 {
		s.wrapped(theme.Dim, "  ", verdictSentence(r), w)
	}
	wide := w >= sideWidth-2
	if len(s.cases) > 0 {
		s.plans(s.cases[s.cur], w, wide)
	}
	if f := r.Fix; f != nil {
		s.heading(nil, fixTitle(f)...)
		if f.First != "" {
			s.wrapped(theme.Dim, "  ", "first page, when "+f.When+":", w)
			for _, l := range strings.Split(f.First, "\n") {
				for _, d := range sqlLine("+", theme.OK, markedLine{text: l, marked: true, to: len(l)}, w, s.ascii()) {
					d.part = partFirst
					s.doc = append(s.doc, d)
				}
			}
			s.wrapped(theme.Dim, "  ", "next pages:", w)
		}
		if wide && f.SQL != "" {
			s.sqlBeside(r, w)
		} else {
			s.doc = append(s.doc, fixLines(r, w, s.ascii())...)
		}
		s.doc = append(s.doc, proofLines(f, w, s.ascii())...)
	}
	if r.Fix == nil || r.Fix.SQL == "" {
		s.sql("statement", r.SQL, w)
	}
	s.caseList(r)
	for _, t := range r.Tried {
		s.wrapped(theme.Dim, "  ", "not offered: "+t.Kind+": "+t.Why, w)
	}
}

// columns are the widths of two texts beside each other.
func columns(w int) (left, right int) {
	left = (w - 3) / 2
	return left, w - 3 - left
}

// plans adds a plan and that of the fix, beside each other where there is room.
func (s *planScreen) plans(c planCase, w int, wide bool) {
	most := 0.0
	if a, b := c.after.plan, c.before.plan; a.Tree != nil && s.metric.has(a.Tree) && s.metric.has(b.Tree) {
		most = max(s.metric.most(a.Root), s.metric.most(b.Root))
	}
	view := func(p shownPlan, side string, w int) *planView {
		return &planView{most: most, plan: p.plan, scans: p.scans, side: side, g: s.g, ascii: s.ascii(), metric: s.metric, all: s.all, closed: s.closed, w: w}
	}
	title := func(what string, v *planView) docLine {
		l := docLine{left: []theme.Span{{Role: theme.Strong, Text: what}}, right: v.titles(), rule: true}
		if ms := v.plan.ExecutionMS; ms != nil {
			l.left = append(l.left, theme.Span{Role: theme.Dim, Text: "  " + millis(*ms)})
		}
		if b := v.plan.Root.Buffers; b != nil {
			l.left = append(l.left, theme.Span{Role: theme.Dim, Text: "  " + mib(b.Shared())})
		}
		return l
	}
	name := c.before.name
	if c.after.plan.Tree == nil {
		v := view(c.before, "b", w)
		s.doc = append(append(s.doc, title(name, v)), v.lines()...)
	} else if lw, rw := columns(w); wide {
		b, a := view(c.before, "b", lw), view(c.after, "a", rw)
		s.beside(append([]docLine{title(name, b)}, b.lines()...), append([]docLine{title(c.after.name, a)}, a.lines()...))
	} else {
		b, a := view(c.before, "b", w), view(c.after, "a", w)
		s.doc = append(append(s.doc, title(name, b)), b.lines()...)
		s.doc = append(append(s.doc, title(c.after.name, a)), a.lines()...)
	}
	if len(c.before.args) > 0 {
		s.wrapped(theme.Dim, "  with ", strings.Join(c.before.args, ", "), w)
	}
}

// beside adds two texts next to each other.
func (s *planScreen) beside(left, right []docLine) {
	for i := range max(len(left), len(right)) {
		var l, r docLine
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		l.beside = &r
		s.doc = append(s.doc, l)
	}
}

// sqlBeside adds the statement and its fix next to each other.
func (s *planScreen) sqlBeside(r *explain.Result, w int) {
	lw, rw := columns(w)
	start, end := oldRange(r.SQL, r.Fix)
	side := func(all []markedLine, sign string, role theme.Role, w int) (out []docLine) {
		for _, l := range all {
			if l.marked {
				out = append(out, sqlLine(sign, role, l, w, s.ascii())...)
			} else {
				out = append(out, sqlLine(" ", theme.Normal, markedLine{text: l.text}, w, s.ascii())...)
			}
		}
		return out
	}
	s.beside(side(markLines(r.SQL, start, end), "-", theme.Dim, lw), side(markLines(r.Fix.SQL, r.Fix.Changed[0], r.Fix.Changed[1]), "+", theme.OK, rw))
	s.doc = append(s.doc, indexLines(r.Fix, w, s.ascii())...)
}

// caseList is a line for each plan: what scan, where it starts, what it costs.
func (s *planScreen) caseList(r *explain.Result) {
	if len(r.Plans) < 2 {
		return
	}
	s.heading(nil, theme.Span{Role: theme.Strong, Text: "cases"})
	for _, c := range r.Plans {
		line := c.Node
		if c.Index != nil {
			line += " " + *c.Index
		}
		role := theme.Normal
		switch c.Starts {
		case "":
		case "oldest":
			line += ", starts at first row"
			role = theme.Crit
		case "all":
			line += ", reads all"
		case "first":
			line += ", first page"
		default:
			line += ", starts at " + c.Starts
		}
		line += ", cost " + short2(c.TotalCost)
		if c.RowsRemoved != nil {
			line += ", " + short(*c.RowsRemoved) + " rows removed"
		}
		if c.SharedBlocks != nil {
			line += ", " + short(*c.SharedBlocks) + " blocks"
		}
		if c.MS != nil {
			line += ", " + millis(*c.MS)
		}
		s.doc = append(s.doc, docLine{left: []theme.Span{{Role: role, Text: theme.Sign(role) + " "}, {Role: theme.Dim, Text: fmt.Sprintf("%-8s", c.Case)}, {Role: role, Text: line}}})
	}
}

// rawPlan is the plan as the server printed it.
func (s *planScreen) rawPlan(w int) {
	c := s.cases[s.cur]
	for _, p := range []struct {
		name string
		raw  []byte
	}{{c.before.name, c.before.plan.Raw}, {c.after.name, c.after.plan.Raw}} {
		if len(p.raw) == 0 {
			continue
		}
		s.heading(nil, theme.Span{Role: theme.Strong, Text: p.name})
		var b bytes.Buffer
		if json.Indent(&b, p.raw, "", "  ") != nil {
			b.Reset()
			b.Write(p.raw)
		}
		for _, l := range clean.Block(b.String()) {
			for _, part := range wrapText(cleanFor(l, s.ascii()), max(8, w)) {
				s.doc = append(s.doc, docLine{left: []theme.Span{{Text: part}}})
			}
		}
	}
}
