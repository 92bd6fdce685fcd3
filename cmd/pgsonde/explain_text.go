package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/clean"
)

// textWidth is where lines of prose are broken: a review's or a log's column.
const textWidth = 100

// explainText prints judgements for people.
type explainText struct {
	w      io.Writer
	glyphs branch
	begun  bool // something was printed
	apart  bool // the last judgement took more than a line

	all    int       // judgements
	failed []*judged // those of pg_stat_statements that could not be judged
	worst  [4]int    // how many, by the worst that was found
	other  int       // there was nothing to judge
	unread int       // could not be judged
	plain  int       // are no queries
}

// line prints one line of server text.
func (p *explainText) line(indent, format string, args ...any) {
	fmt.Fprintf(p.w, "%s%s\n", indent, clean.Line(fmt.Sprintf(format, args...)))
}

// wrap prints prose, the first line behind first, the others behind rest.
func (p *explainText) wrap(first, rest, text string) {
	line, indent := "", first
	for _, word := range strings.Fields(clean.Line(text)) {
		if line != "" && clean.Width(indent)+clean.Width(line)+1+clean.Width(word) > textWidth {
			fmt.Fprintln(p.w, indent+line)
			line, indent = "", rest
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	fmt.Fprintln(p.w, indent+line)
}

// add prints a judgement, or keeps it for the end: of pg_stat_statements those that
// failed are one line.
func (p *explainText) add(j *judged) {
	p.count(j)
	if j.Statement != nil && j.Verdict == explain.Unknown {
		p.failed = append(p.failed, j)
		return
	}
	p.one(j)
}

// end prints what failed and a summary.
func (p *explainText) end() {
	if p.apart {
		fmt.Fprintln(p.w)
	}
	if len(p.failed) > 0 {
		p.failures(p.failed, len(p.failed) == p.all)
	}
	if p.all > 1 {
		p.summary()
	}
}

// one prints a judgement: a line when there is nothing to say, else verdict,
// findings, plan and fix.
func (p *explainText) one(j *judged) {
	long := len(j.Findings) > 0 && !j.NoQuery || j.Fix != nil
	if p.begun && (p.apart || long) {
		fmt.Fprintln(p.w)
	}
	p.begun, p.apart = true, long
	head := []string{j.Source}
	if j.Name != "" {
		head[0] += " " + j.Name
	}
	if j.Verdict == explain.Unknown {
		head = append(head, "not judged")
		if j.NoQuery {
			f := j.Findings[0]
			p.line("", "%s: %s [%s]", strings.Join(head, " · "), f.Message, f.Rule)
			return
		}
	} else {
		head = append(head, string(j.Verdict))
	}
	if j.Pagination != explain.NoPaging {
		head = append(head, string(j.Pagination))
	}
	if j.Cursor != nil {
		head = append(head, "cursor on "+strings.Join(j.Cursor.Columns, ", "))
	}
	if s := j.Statement; s != nil {
		head = append(head, fmt.Sprintf("%s, %s in all, %s blocks", plural(int(s.Calls), "call"), milliseconds(s.TotalMS), amount(float64(s.SharedBlocks))))
	}
	p.line("", "%s", strings.Join(head, " · "))
	if sql := clean.Line(oneLine(j.SQL)); sql != "" && (long || j.Statement != nil) {
		fmt.Fprintf(p.w, "  %s\n", clip(sql, textWidth-3))
	}
	for _, f := range j.Findings {
		p.finding(j, f)
	}
	if worst(j.Result) > 1 {
		p.plans(j.Result)
		if r := j.PageRows; r != nil && r.Assumed {
			p.line("  ", "a page of %.0f rows is assumed: its limit is not known", r.Rows)
		}
	}
	if j.Fix != nil {
		p.fix(j.Fix)
	}
	for _, t := range j.Tried {
		p.wrap("  not offered: ", "    ", t.Kind+": "+t.Why)
	}
}

// finding prints a finding, with its line where that is not the statement's.
func (p *explainText) finding(j *judged, f explain.Finding) {
	where := ""
	if n, ok := f.Evidence["line"].(int); ok && n > 1 && !strings.HasSuffix(j.Source, fmt.Sprintf(":%d", n)) {
		where = fmt.Sprintf(" (line %d)", n)
	}
	p.wrap(signs[probes.Severity(f.Severity)]+" ", "  ", f.Message+where+" ["+f.Rule+"]")
	if f.Action != "" {
		p.wrap("    ", "    ", f.Action)
	}
}

// failures sums up the statements that could not be judged, by reason; when they
// are all there are, it says what helps against the first.
func (p *explainText) failures(js []*judged, all bool) {
	count, cure := map[string]int{}, map[string]string{}
	for _, j := range js {
		reason := "unknown"
		if len(j.Findings) > 0 {
			f := j.Findings[len(j.Findings)-1]
			reason = f.Message
			cure[reason] = f.Action
		}
		count[reason]++
	}
	reasons := make([]string, 0, len(count))
	for r := range count {
		reasons = append(reasons, r)
	}
	slices.SortFunc(reasons, func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	first := cure[reasons[0]]
	for i, r := range reasons {
		reasons[i] = fmt.Sprintf("%d: %s", count[r], r)
	}
	const most = 3
	if more := len(reasons) - most; more > 0 {
		reasons = append(reasons[:most], plural(more, "more reason"))
	}
	p.wrap("- ", "  ", fmt.Sprintf("%s not judged (%s); --format json has each", plural(len(js), "statement"), strings.Join(reasons, "; ")))
	if first != "" && (all || strings.Contains(first, "--explain-as-superuser")) {
		p.wrap("    ", "    ", first)
	}
}

// count counts a judgement by the worst that was found.
func (p *explainText) count(j *judged) {
	p.all++
	switch w := worst(j.Result); {
	case j.NoQuery:
		p.plain++
	case j.Verdict == explain.Unknown:
		p.unread++
	case j.Verdict == explain.NotApplicable && w == 0: // there was nothing to judge
		p.other++
	default:
		p.worst[w]++
	}
}

// summary prints what was counted.
func (p *explainText) summary() {
	parts := []string{}
	for _, c := range []struct {
		n    int
		what string
	}{{p.worst[3], "with an error"}, {p.worst[2], "with a warning"}, {p.worst[1] + p.worst[0], "good"}, {p.other, "not paging"}, {p.plain, map[bool]string{true: "that is no query", false: "that are no queries"}[p.plain == 1]}, {p.unread, "not judged"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if p.plain == p.all {
		parts = []string{"no queries, nothing to judge"}
	}
	p.line("", "%s: %s", plural(p.all, "statement"), strings.Join(parts, ", "))
}

// milliseconds prints a time in the unit that suits it.
func milliseconds(ms float64) string {
	switch {
	case ms >= 60_000:
		return fmt.Sprintf("%.1f min", ms/60_000)
	case ms >= 1000:
		return fmt.Sprintf("%.1f s", ms/1000)
	case ms >= 10:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.1f ms", ms)
}

// amount prints a count, a large one in thousands or millions.
func amount(n float64) string {
	switch {
	case n >= 10e6:
		return fmt.Sprintf("%.0fM", n/1e6)
	case n >= 10e3:
		return fmt.Sprintf("%.0fk", n/1e3)
	}
	return fmt.Sprintf("%.0f", n)
}
