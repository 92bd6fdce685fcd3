package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/spark"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// roleFacts is everything about a role, at most h lines of w cells.
func roleFacts(t *theme.Theme, f *frame, r budget.Row, w, h int) []string {
	g := t.Glyphs
	what := string(r.Origin)
	if r.Runs != "" {
		what += ", runs " + r.Runs
	}
	if r.Via != "" {
		what += ", through " + r.Via
	}
	out := []string{t.Split(w, []theme.Span{{Role: theme.Strong, Text: r.Role}}, dim(what))}
	add := func(label, value string) {
		out = append(out, t.Line(w, theme.Span{Role: theme.Dim, Text: t.Fit(label, 12, false)}, theme.Span{Text: value}))
	}
	now := ofCap(r)
	if f.use.Bound {
		now = t.AtMost + now
	}
	add("now", now)
	out = append(out, sizeBars(t, r, w)...)
	if room, ok := f.use.RoomFor(r.Role); ok {
		add("one more", roomText(room))
	}
	if r.Busy != nil {
		add("busy", fmt.Sprintf("%d, %d in tx, %d idle", *r.Busy, or0(r.IdleInTx), or0(r.Idle)))
		add("waiting", fmt.Sprintf("%d for a lock", or0(r.LockWaiting)))
	} else if r.Via != "" && r.Now == 0 {
		add("busy", "its clients are at pooler "+r.Via)
	} else {
		add("busy", "? (masked)")
	}
	if r.OldestTxS != nil {
		add("oldest tx", age(*r.OldestTxS))
	}
	add("most seen", strconv.Itoa(f.peaks[r.Role]))
	n := min(w, histLen)
	out = append(out, t.Line(w, theme.Span{Role: theme.Dim, Text: trend(f, r, g, n)}))
	if note := f.note(r); note != "" {
		out = append(out, wrap(t, theme.Normal, "", note, w)...)
	}
	out = append(out, podLines(t, r, w)...)
	for _, x := range f.findingsOf(r.Role) {
		sev := severity(x.Severity)
		out = append(out, "")
		out = append(out, wrap(t, sev, theme.Sign(sev)+" ", x.Message, w)...)
		if x.Action != "" {
			out = append(out, wrap(t, theme.Dim, "  ", x.Action, w)...)
		}
	}
	return cutOff(t, out, w, h)
}

// cutOff are the first h lines, of w cells at most; where there are more, the last one
// shows that.
func cutOff(t *theme.Theme, lines []string, w, h int) []string {
	if len(lines) <= h || h <= 0 {
		return lines[:max(0, min(h, len(lines)))]
	}
	out := slices.Clone(lines[:h])
	last := ansi.Truncate(strings.TrimRight(out[h-1], " "), max(0, w-2), "")
	if last != "" {
		last += " "
	}
	out[h-1] = last + t.Paint(theme.Dim, false, t.Ellipsis)
	return out
}

// sizeBars draws now, kept, cap and peak on one scale.
func sizeBars(t *theme.Theme, r budget.Row, w int) []string {
	if r.Cap == nil {
		return nil
	}
	top := max(r.Now, *r.Cap, or0(r.Peak))
	bar := max(6, min(w-12-24, 30))
	var out []string
	add := func(label string, n int, role theme.Role, say string) {
		full, rest := spark.Bar(t.Glyphs, float64(n), float64(top), bar)
		out = append(out, t.Line(w, theme.Span{Role: theme.Dim, Text: t.Fit(label, 12, false)}, theme.Span{Role: role, Text: full},
			theme.Span{Role: theme.Dim, Text: rest}, theme.Span{Text: fmt.Sprintf(" %d%s", n, say)}))
	}
	role, say := theme.Normal, ""
	switch {
	case r.Over:
		role, say = theme.Crit, fmt.Sprintf(", %d over", r.Now-*r.Cap)
	case r.Kept != nil && *r.Kept > 0 && *r.Kept < *r.Cap && r.Now > *r.Kept:
		role, say = theme.Warn, fmt.Sprintf(", %d overflow", r.Now-*r.Kept)
	}
	add("open", r.Now, role, say)
	if r.Kept != nil {
		add("kept", *r.Kept, theme.Normal, "")
	}
	add("cap", *r.Cap, theme.Normal, "")
	if r.Peak != nil && *r.Peak != *r.Cap {
		add("peak", *r.Peak, theme.Normal, " with surge")
	}
	return out
}

func isFull(r budget.Row, addr string) bool {
	return slices.ContainsFunc(r.PodsFull, func(p budget.Pod) bool { return p.Addr == addr })
}

func or0(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// podLines are a role's pods, a bar for each.
func podLines(t *theme.Theme, r budget.Row, w int) []string {
	if len(r.AllPods) == 0 {
		return nil
	}
	head := t.Split(w, []theme.Span{{Role: theme.Head, Text: "pod"}}, []theme.Span{{Role: theme.Head, Text: "now busy  cap"}})
	out := []string{"", head}
	bar := max(6, w-16-3-15)
	for _, p := range r.AllPods {
		role, limit := theme.Normal, t.None
		full, rest := "", theme.Pad("", bar)
		if p.Cap > 0 {
			limit = strconv.Itoa(p.Cap)
			full, rest = spark.Stack(t.Glyphs, float64(p.Busy), float64(p.Now-p.Busy), float64(p.Cap), bar)
			if isFull(r, p.Addr) {
				role = theme.Crit
			}
		}
		out = append(out, t.Line(w,
			theme.Span{Role: role, Text: theme.Sign(role) + " "}, theme.Span{Text: t.Fit(p.Addr, 15, false) + " "},
			theme.Span{Role: role, Text: full}, theme.Span{Role: theme.Dim, Text: rest},
			theme.Span{Text: fmt.Sprintf(" %4d %4d %4s", p.Now, p.Busy, limit)}))
	}
	return out
}

// wrap breaks text at blanks into lines of w cells; lead stands before the first.
func wrap(t *theme.Theme, r theme.Role, lead, text string, w int) []string {
	var out []string
	n := len(lead)
	for i, l := range wrapText(t.Clean(text), w-n) {
		if i > 0 {
			lead = theme.Pad("", n)
		}
		out = append(out, t.Line(w, theme.Span{Role: r, Text: lead + l}))
	}
	return out
}

type fact struct{ label, value string }

// baseFacts is what one backend says of itself except its statement; what it
// does not have is left out.
func baseFacts(f *frame, s *probes.Session) []fact {
	lasting := func(x float64) string {
		if x < 0 {
			return ""
		}
		return age(x)
	}
	now := s.State
	if now == "" && s.BackendStart.IsZero() {
		now = "? (masked)"
	}
	if a := f.age(s.StateChange); a >= 0 && now != "" {
		now += " for " + age(a)
	}
	addr := s.Addr
	if s.Port > 0 {
		addr += ":" + strconv.Itoa(s.Port)
	}
	leader := ""
	if s.LeaderPID != 0 {
		leader = strconv.Itoa(s.LeaderPID)
	}
	wait := ""
	if s.WaitEventType != "" {
		wait = s.WaitEventType + ":" + s.WaitEvent
	}
	all := []fact{
		{"role", f.role(s)},
		{"state", now},
		{"waits for", wait},
		{"transaction", lasting(f.age(s.XactStart))},
		{"statement", lasting(f.age(s.QueryStart))},
		{"connected", lasting(f.age(s.BackendStart))},
		{"user", s.User},
		{"database", s.Database},
		{"application", s.App},
		{"from", addr},
		{"kind", partOf(s)},
		{"xid", s.XID},
		{"xmin", s.XMin},
		{"leader", leader},
	}
	return slices.DeleteFunc(all, func(x fact) bool { return x.value == "" })
}

// twoColumns is the width from which facts stand in two columns.
const twoColumns = 76

// whoWords name a session's client: application, user@database, address.
func whoWords(s *probes.Session) []string {
	login := s.User
	if s.Database != "" {
		login += "@" + s.Database
	}
	return slices.DeleteFunc([]string{s.App, login, s.Addr}, func(x string) bool { return x == "" })
}

// labelWidth is the cells of a fact's label.
const labelWidth = 12

// columnFacts parts the facts that stand in columns from those that are too long
// for one.
func columnFacts(facts []fact, w int) (long, short []fact, col int) {
	if w < twoColumns {
		return facts, nil, w
	}
	col = w/2 - 1
	for _, x := range facts {
		if clean.Width(clean.Line(x.value)) > col-labelWidth {
			long = append(long, x)
		} else {
			short = append(short, x)
		}
	}
	return long, short, col
}

// factRows is how many lines facts take.
func factRows(facts []fact, w int) int {
	long, short, _ := columnFacts(facts, w)
	return len(long) + (len(short)+1)/2
}

// drawFacts sets facts in two columns where there is room, long ones first.
func drawFacts(t *theme.Theme, facts []fact, w int) []string {
	long, short, col := columnFacts(facts, w)
	cell := func(x fact, w int) string {
		return t.Line(w, theme.Span{Role: theme.Dim, Text: t.Fit(x.label, labelWidth, false)}, theme.Span{Text: x.value})
	}
	var out []string
	for _, x := range long {
		out = append(out, cell(x, w))
	}
	rows := (len(short) + 1) / 2
	for i := range rows {
		line := cell(short[i], col)
		if i+rows < len(short) {
			line = theme.Pad(line, col+2) + cell(short[i+rows], col)
		}
		out = append(out, line)
	}
	return out
}

// wrapText breaks clean text into lines of w cells, at blanks where it can.
func wrapText(s string, w int) []string {
	if clean.Width(s) <= w {
		return []string{s}
	}
	var out []string
	for len(s) > wrapBytes { // ansi.Wrap takes time by the square of the length
		n := strings.LastIndexByte(s[:wrapBytes], ' ') + 1
		if n <= 1 {
			for n = wrapBytes; n > 1 && !utf8.RuneStart(s[n]); n-- {
			}
		}
		lines := strings.Split(ansi.Wrap(s[:n], max(1, w), ""), "\n")
		last := len(lines) - 1
		if out = append(out, lines[:last]...); last == 0 || len(lines[last]) >= n {
			out, lines[last] = append(out, lines[last]), ""
		}
		s = lines[last] + s[n:]
	}
	return append(out, strings.Split(ansi.Wrap(s, max(1, w), ""), "\n")...)
}

// wrapBytes is how much of a line is wrapped at once.
const wrapBytes = 4096
