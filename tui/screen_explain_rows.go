package tui

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/explain/sqltext"
	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// subjectHarm orders statements: their worst finding, then their verdict.
func subjectHarm(x *subject) int {
	if x.res == nil {
		return 0
	}
	n := 10 * worst(x.res)
	switch x.res.Verdict {
	case explain.StartsAtOldest:
		n += 5
	case explain.SortsWholeTable:
		n += 4
	case explain.ReadsAllAfterCursor:
		n += 3
	case explain.Unknown:
		return 1
	case explain.StartsAtCursor:
		n += 2
	}
	return n
}

// worst is 3 for an error, 2 for a warning, 1 for information, 0 for nothing.
func worst(r *explain.Result) int {
	n := 0
	for _, f := range r.Findings {
		switch f.Severity {
		case explain.Error:
			n = 3
		case explain.Warn:
			n = max(n, 2)
		case explain.Info:
			n = max(n, 1)
		}
	}
	return n
}

func totalMS(x *subject) float64 {
	if x.stat == nil {
		return 0
	}
	return x.stat.TotalMS
}

// resultWords say what a statement is: a verdict, or a page without a cursor.
func resultWords(r *explain.Result) string {
	if r.Verdict == explain.NotApplicable {
		switch r.Pagination {
		case explain.Offset:
			return "offset page"
		case explain.FirstPage:
			return "first page"
		}
	}
	return verdictWords(r.Verdict)
}

// verdictWords say a verdict in at most 19 cells. The first row is that of the
// page's order: the newest where that descends.
func verdictWords(v explain.Verdict) string {
	switch v {
	case explain.StartsAtOldest:
		return "starts at first row"
	case explain.SortsWholeTable:
		return "sorts whole table"
	case explain.ReadsAllAfterCursor:
		return "reads all behind"
	case explain.StartsAtCursor:
		return "starts at cursor"
	case explain.NotApplicable:
		return "no page"
	}
	return "not judged"
}

// subjectSign is the sign of a statement.
func subjectSign(x *subject) theme.Role {
	switch {
	case x.res == nil || x.res.Verdict == explain.Unknown:
		return theme.Normal
	case worst(x.res) == 3:
		return theme.Crit
	case worst(x.res) == 2:
		return theme.Warn
	}
	return theme.Normal
}

func (s *explainScreen) row(x *subject) table.Row {
	sign := subjectSign(x)
	verdict := table.Cell{Role: sign}
	queued, running := s.desk.pending(x)
	switch {
	case x.res != nil:
		verdict.Text = resultWords(x.res)
		if sign == theme.Normal && x.res.Verdict != explain.StartsAtCursor {
			verdict.Role = theme.Dim
		}
	case x.err != nil:
		verdict = table.Cell{Text: "not judged", Role: theme.Dim}
	case running:
		verdict = table.Cell{Text: "judging", Role: theme.Dim}
	case queued:
		verdict = table.Cell{Text: "waits", Role: theme.Dim}
	}
	verdict.Num = float64(subjectHarm(x))
	cells := []table.Cell{verdict, {}, {}, {}, {}, {Text: cursorColumns(x), Role: theme.Dim}, {}, {}, {Text: statementLine(x.in.SQL, s.g.Ellipsis)}}
	if st := x.stat; st != nil {
		cells[1] = table.Cell{Text: short(float64(st.Calls)), Num: float64(st.Calls)}
		cells[2] = table.Cell{Text: millis(st.TotalMS), Num: st.TotalMS}
		mean := st.TotalMS / float64(max(st.Calls, 1))
		cells[3] = table.Cell{Text: millis(mean), Num: mean}
		cells[4] = table.Cell{Text: short(float64(st.SharedBlocks)), Num: float64(st.SharedBlocks)}
		cells[6] = table.Cell{Text: st.Role, Role: theme.Dim}
		cells[7] = table.Cell{Text: short(float64(st.Rows)), Num: float64(st.Rows)}
	} else {
		cells[1] = table.Cell{Text: x.name, Role: theme.Dim, Num: -1}
	}
	return table.Row{Key: x.key, Sign: sign, Cells: cells}
}

func cursorColumns(x *subject) string {
	if x.res == nil || x.res.Cursor == nil {
		return ""
	}
	return strings.Join(x.res.Cursor.Columns, ", ")
}

// statementLine is a statement in one line, its select list left out: what
// tells pages apart stands behind it.
func statementLine(sql, ellipsis string) string {
	line := clean.SQL(sql, 4*lineBytes)
	depth := 0
	for _, t := range sqltext.Lex(line) {
		switch {
		case t.IsPunct(line, "("):
			depth++
		case t.IsPunct(line, ")"):
			depth--
		case depth == 0 && t.Is(line, "from") && t.Start > 16 && strings.EqualFold(line[:6], "select"):
			return ellipsis + " " + line[t.Start:]
		}
	}
	return line
}

// short prints a count in at most six cells.
func short(n float64) string {
	switch {
	case n < 10_000:
		return strconv.FormatFloat(n, 'f', 0, 64)
	case n < 1e6:
		return strconv.FormatFloat(n/1e3, 'f', 0, 64) + " k"
	case n < 1e9:
		return strconv.FormatFloat(n/1e6, 'f', 1, 64) + " M"
	}
	return strconv.FormatFloat(n/1e9, 'f', 1, 64) + " G"
}

// millis prints milliseconds in at most eight cells.
func millis(ms float64) string {
	switch {
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 2, 64) + " ms"
	case ms < 1000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case ms < 100_000:
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	}
	return span(time.Duration(ms * float64(time.Millisecond)))
}

// trouble says in one line why there is no list, and what helps.
func (d *desk) trouble() (say, cure string) {
	switch {
	case !d.can:
		return "a recording has no server to explain on", "e explains a plan that was pasted as JSON"
	case errors.Is(d.listErr, explain.ErrNoStatements):
		return "pg_stat_statements is not installed in this database",
			"CREATE EXTENSION pg_stat_statements, with it in shared_preload_libraries; meanwhile e explains SQL, x on a session what it runs"
	case errors.Is(d.listErr, probes.ErrOneConnection):
		return "explaining needs the second connection, and --connections 1 leaves none", "run pgsonde explain --statements instead"
	case d.fenced() != nil:
		f := d.fenced()
		return f.Message, f.Action
	case d.listErr != nil:
		return "the statements could not be read: " + d.listErr.Error(), "r tries again"
	}
	return "", ""
}

// fenced is why no statement of others may be explained at all, nil when some
// may: the login is a superuser.
func (d *desk) fenced() *explain.Finding {
	var why *explain.Finding
	for _, s := range d.subjects {
		if s.stat == nil || s.res == nil {
			continue
		}
		f := s.res.Findings
		if len(f) != 1 || f[0].Rule != "statement-refused" || !strings.Contains(f[0].Action, "--explain-as-superuser") {
			return nil
		}
		why = &f[0]
	}
	return why
}

// state is the line above the table: how far the judging is, what it found.
func (s *explainScreen) state() []theme.Span {
	d := s.desk
	done, all := d.judged()
	if say, cure := d.trouble(); say != "" {
		return []theme.Span{{Text: " "}, {Role: theme.Warn, Text: "~ " + say}, {Role: theme.Dim, Text: "  " + cure}}
	}
	if all == 0 && d.hidden > 0 {
		say := fmt.Sprintf("~ this login may not read the texts of %s", plural(d.hidden, "statement"))
		return []theme.Span{{Text: " "}, {Role: theme.Warn, Text: say}, {Role: theme.Dim, Text: "  " + d.grant}}
	}
	if all == 0 {
		say := "no statement has been executed in this database since the statistics were reset"
		if d.now != nil || len(d.queue) > 0 {
			say = "reading pg_stat_statements"
		}
		return []theme.Span{{Text: "   "}, {Role: theme.Dim, Text: say}}
	}
	bad, odd, refused := 0, 0, 0
	for _, x := range d.subjects {
		switch subjectSign(x) {
		case theme.Crit:
			bad++
		case theme.Warn:
			odd++
		}
		if x.res != nil && x.res.Verdict == explain.Unknown {
			refused++
		}
	}
	out := []theme.Span{{Text: " "}}
	if len(d.queue) > 0 || d.now != nil {
		out = append(out, theme.Span{Role: theme.Mark, Text: fmt.Sprintf("judged %d of %d", done, all)}, theme.Span{Text: "  "})
	}
	if bad > 0 {
		out = append(out, theme.Span{Role: theme.Crit, Text: "! " + plural(bad, "bad page")}, theme.Span{Text: "  "})
	}
	if odd > 0 {
		out = append(out, theme.Span{Role: theme.Warn, Text: fmt.Sprintf("~ %d to look at", odd)}, theme.Span{Text: "  "})
	}
	rest := "of " + plural(all, "statement")
	if bad+odd == 0 && done == all {
		rest = fmt.Sprintf("nothing to say about %s", plural(all, "statement"))
	}
	if refused > 0 {
		rest += fmt.Sprintf(", %d not judged", refused)
	}
	if d.hidden > 0 {
		rest += fmt.Sprintf(", %d hidden: %s", d.hidden, d.grant)
	}
	return append(out, theme.Span{Role: theme.Dim, Text: rest})
}

// asOf says in at most w cells how old the figures of the list are, and how to read
// them again.
func (s *explainScreen) asOf(t *theme.Theme, w int) []theme.Span {
	d := s.desk
	if d.at.IsZero() || s.f == nil || len(d.subjects) == 0 {
		return nil
	}
	text := "as of " + clock(d.at)
	if a := s.f.snap.At.Sub(d.at); a >= 0 {
		text = "figures " + span(a) + " old"
		if a < 2*time.Second {
			text = "figures just read"
		}
	}
	for _, say := range []string{text + ", r reads them again ", text + ", r again ", text + " "} {
		if out := dim(say); t.SpansWidth(out) <= w {
			return out
		}
	}
	return nil
}

// verdictSentence says why there is nothing to say.
func verdictSentence(r *explain.Result) string {
	switch r.Verdict {
	case explain.StartsAtCursor:
		return "the page starts at its cursor"
	case explain.NotApplicable:
		return "not a page behind a cursor"
	}
	return verdictWords(r.Verdict)
}

// findingRole is the role of a finding about a statement.
func findingRole(f explain.Finding) theme.Role {
	switch f.Severity {
	case explain.Error:
		return theme.Crit
	case explain.Warn:
		return theme.Warn
	}
	return theme.Dim
}
