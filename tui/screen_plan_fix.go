package tui

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// docLine is one line of the plan screen. The marked spans of left may be
// followed by right, which stands at the line's end.
type docLine struct {
	left, right []theme.Span
	rule        bool     // a heading: a rule fills what is free
	node        string   // the plan node it belongs to, "" none
	part        docPart  // what y copies here
	beside      *docLine // the line in the right column
}

// docPart says what a line is about.
type docPart uint8

const (
	partOther docPart = iota
	partIndex
	partFirst
)

// fixTitle says what kind of fix there is, and what shows that it is one.
func fixTitle(f *explain.Fix) []theme.Span {
	role := map[string]theme.Role{explain.Proved: theme.OK, explain.Checked: theme.OK, explain.NotProved: theme.Warn}[f.Equivalent]
	out := []theme.Span{{Role: theme.Strong, Text: "fix: " + strings.ReplaceAll(f.Kind, "-", " ")}}
	if f.SQL != "" {
		out = append(out, theme.Span{Text: ", "}, theme.Span{Role: role, Text: strings.ReplaceAll(f.Equivalent, "-", " ")})
	}
	if f.After.TotalCost > 0 {
		out = append(out, theme.Span{Role: theme.Dim, Text: "  cost " + costs(f.Before.TotalCost, f.After.TotalCost)})
	}
	return out
}

// costs is before and after.
func costs(before, after float64) string { return short2(before) + " to " + short2(after) }

// short2 prints a cost: two decimals while it is small.
func short2(n float64) string {
	if n < 100 {
		return fmt.Sprintf("%.2f", n)
	}
	return short(n)
}

// oldRange is the byte range of the statement that its fix replaces.
func oldRange(sql string, f *explain.Fix) (start, end int) {
	start = min(f.Changed[0], len(sql))
	end = len(sql) - (len(f.SQL) - f.Changed[1])
	return start, max(start, min(end, len(sql)))
}

// markedLines are the lines of a text; marked says which of them the range
// touches, from and to (bytes in the line) where.
type markedLine struct {
	text     string
	marked   bool
	from, to int
}

func markLines(sql string, start, end int) []markedLine {
	var out []markedLine
	at := 0
	for l := range strings.SplitSeq(sql, "\n") {
		m := markedLine{text: l, from: max(0, min(start-at, len(l))), to: max(0, min(end-at, len(l)))}
		m.marked = start <= at+len(l) && end >= at && m.to > m.from
		out = append(out, m)
		at += len(l) + 1
	}
	return out
}

// changedLines are the lines of a statement that its fix changes, before and
// after.
func changedLines(sql string, f *explain.Fix) (before, after []string) {
	pick := func(all []markedLine) (out []string) {
		for _, l := range all {
			if l.marked {
				out = append(out, l.text)
			}
		}
		return out
	}
	start, end := oldRange(sql, f)
	return pick(markLines(sql, start, end)), pick(markLines(f.SQL, f.Changed[0], f.Changed[1]))
}

// fixLines is a statement and its fix as one text: what stays once, what goes
// after a -, what comes after a +, w cells wide.
func fixLines(r *explain.Result, w int, ascii bool) []docLine {
	f := r.Fix
	var out []docLine
	if f.SQL != "" {
		start, end := oldRange(r.SQL, f)
		old, now := markLines(r.SQL, start, end), markLines(f.SQL, f.Changed[0], f.Changed[1])
		i, n := 0, 0
		for ; i < len(old) && n < len(now) && !old[i].marked && !now[n].marked && old[i].text == now[n].text; i, n = i+1, n+1 {
			out = append(out, sqlLine(" ", theme.Normal, markedLine{text: now[n].text}, w, ascii)...)
		}
		tail := 0
		for tail < len(old)-i && tail < len(now)-n && !old[len(old)-1-tail].marked && !now[len(now)-1-tail].marked &&
			old[len(old)-1-tail].text == now[len(now)-1-tail].text {
			tail++
		}
		for _, l := range old[i : len(old)-tail] {
			out = append(out, sqlLine("-", theme.Dim, l, w, ascii)...)
		}
		for _, l := range now[n : len(now)-tail] {
			out = append(out, sqlLine("+", theme.OK, l, w, ascii)...)
		}
		for _, l := range now[len(now)-tail:] {
			out = append(out, sqlLine(" ", theme.Normal, markedLine{text: l.text}, w, ascii)...)
		}
	}
	return append(out, indexLines(f, w, ascii)...)
}

func indexLines(f *explain.Fix, w int, ascii bool) []docLine {
	if f.IndexSQL == nil {
		return nil
	}
	var out []docLine
	for _, l := range strings.Split(*f.IndexSQL, "\n") {
		for _, d := range sqlLine("+", theme.OK, markedLine{text: l, marked: true, to: len(l)}, w, ascii) {
			d.part = partIndex
			out = append(out, d)
		}
	}
	return out
}

// sqlLine draws one line of SQL behind its sign, wrapped; the marked range is in
// role, the rest of a changed line as it is.
func sqlLine(sign string, role theme.Role, l markedLine, w int, ascii bool) []docLine {
	block := func(s string) string { return cleanFor(clean.Block(strings.TrimSuffix(s, "\r"))[0], ascii) }
	pre, mid, post := block(l.text[:l.from]), block(l.text[l.from:l.to]), block(l.text[l.to:])
	if sign != " " && !l.marked {
		pre, mid, post = "", pre+mid+post, ""
	}
	base := theme.Normal
	if role == theme.Dim {
		base = theme.Dim
	}
	var out []docLine
	at, from, to := 0, len(pre), len(pre)+len(mid)
	for i, part := range wrapText(pre+mid+post, max(8, w-2)) {
		// Wrapping drops the blank it breaks at.
		full := pre + mid + post
		if j := strings.Index(full[min(at, len(full)):], part); j >= 0 {
			at += j
		}
		a, b := max(0, min(from-at, len(part))), max(0, min(to-at, len(part)))
		lead := sign + " "
		if i > 0 {
			lead = sign + "   "
		}
		spans := []theme.Span{{Role: role, Text: lead}, {Role: base, Text: part[:a]}, {Role: role, Text: part[a:b]}, {Role: base, Text: part[b:]}}
		out = append(out, docLine{left: spans})
		at += len(part)
	}
	return out
}

// cleanFor makes a line safe, for ASCII terminals too.
func cleanFor(s string, ascii bool) string {
	if ascii {
		return clean.ASCII(s)
	}
	return clean.Line(s)
}

// proofLines is what shows that a fix keeps the rows, and what it was measured to
// bring.
func proofLines(f *explain.Fix, w int, ascii bool) []docLine {
	var out []docLine
	add := func(role theme.Role, lead, text string) {
		for i, l := range wrapText(cleanFor(text, ascii), max(8, w-len(lead))) {
			if i > 0 {
				lead = strings.Repeat(" ", len(lead))
			}
			out = append(out, docLine{left: []theme.Span{{Role: theme.Dim, Text: lead}, {Role: role, Text: l}}})
		}
	}
	if f.Why != "" {
		add(theme.Normal, "why    ", f.Why)
	}
	for i, l := range f.Proof {
		lead := "       "
		if i == 0 {
			lead = "proof  "
		}
		add(theme.Normal, lead, l)
	}
	for _, l := range f.Assumes {
		add(theme.Warn, "if     ", l)
	}
	switch {
	case f.Bind == nil:
	case len(f.Bind) == 0:
		add(theme.Normal, "bind   ", "none of the old values")
	default:
		add(theme.Normal, "bind   ", "the old values in this order: "+strings.Trim(fmt.Sprint(f.Bind), "[]"))
	}
	for i, s := range f.Steps {
		lead := "       "
		if i == 0 {
			lead = "run    "
		}
		which := "before,"
		if s.Fixed {
			which = "after, "
		}
		line := fmt.Sprintf("%s cursor at %.3g %%: %s blocks (%s), %s", which, 100*s.At, short(s.Blocks), mib(s.Blocks), millis(s.MS))
		if s.RowsRemoved != nil {
			line += ", " + short(*s.RowsRemoved) + " rows removed"
		}
		add(theme.Normal, lead, line)
	}
	return out
}

// mib is a number of 8 kB blocks as an amount of memory.
func mib(blocks float64) string {
	switch n := blocks / 128; {
	case n < 1:
		return short(8*blocks) + " KiB"
	case n < 10:
		return fmt.Sprintf("%.1f MiB", n)
	default:
		return short(n) + " MiB"
	}
}
