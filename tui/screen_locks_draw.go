package tui

import (
	"strconv"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

func (s *locksScreen) draw(t *theme.Theme) []string {
	if s.f == nil {
		return make([]string, s.h)
	}
	out := make([]string, 0, s.h)
	for _, l := range s.above() {
		out = append(out, t.Line(s.w, l...))
	}
	for len(out) < s.notes {
		out = append(out, "")
	}
	w, pane := beside(s.w, s.tree.Wide())
	body := s.tree.Draw(t)
	if _, all := s.tree.Count(); all == 0 && len(body) > 0 {
		body[0] = ""
	}
	if pane > 0 {
		body = sideBySide(t, body, s.pane(t, pane, len(body)), w)
		out = append(out, body...)
	} else {
		out = append(out, body...)
		below := s.below(t)
		for len(below) < s.strip() {
			below = append(below, "")
		}
		out = append(out, below[:s.strip()]...)
	}
	for len(out) < s.h {
		out = append(out, "")
	}
	return out[:s.h]
}

// above are the lines before the forest: how much is stuck, and what a person
// must know about the reading.
func (s *locksScreen) above() [][]theme.Span {
	f := s.f.forest()
	var out [][]theme.Span
	if f.Late != "" {
		out = append(out, []theme.Span{
			{Text: " "},
			{Role: theme.Warn, Text: "~ locks as of " + span(f.Age) + " ago"},
			{Role: theme.Dim, Text: ": " + f.Late},
		})
	}
	if f.Waiters == 0 && len(f.SafeSnapshots) == 0 {
		if f.Late == "" {
			out = append(out, []theme.Span{{Text: "   nobody waits for a lock"}})
		}
		return out
	}
	if s.h >= 14 {
		out = append(out, s.sum(f))
	}
	if f.Unasked > 0 {
		out = append(out, []theme.Span{{Text: " "}, {Role: theme.Warn, Text: "~ " + strconv.Itoa(f.Unasked) + " more wait, not asked for whom"}})
	}
	if s.f.snap.Server.Masked && s.h >= 14 {
		out = append(out, []theme.Span{{Text: " "}, {Role: theme.Warn, Text: "~ times and statements of other roles are hidden from this login"}, {Role: theme.Dim, Text: ": grant pg_read_all_stats"}})
	}
	if s.h >= 18 {
		out = append(out, s.findings(f)...)
	}
	return out
}

// sum is the whole forest in one line.
func (s *locksScreen) sum(f *waits.Forest) []theme.Span {
	slots := 0
	for _, n := range pinned(f) {
		slots += n
	}
	why := " for " + plural(s.trees, "cause")
	switch {
	case s.trees == 0:
		why = ", for whom is not in this reading"
	case s.path != "":
		why += ", one path of them shown (z: all)"
	}
	return []theme.Span{
		{Text: "   "},
		{Role: theme.Strong, Text: plural(f.Waiters, "session") + " wait" + third(f.Waiters)},
		{Role: theme.Dim, Text: why + "; with them "},
		{Text: strconv.Itoa(slots) + " of " + strconv.Itoa(s.f.use.Usable)},
		{Role: theme.Dim, Text: " slots are pinned"},
	}
}

func third(n int) string {
	if n == 1 {
		return "s"
	}
	return ""
}

// mostNotes is how many findings stand above the forest.
const mostNotes = 2

// findings are those that the forest does not say itself.
func (s *locksScreen) findings(f *waits.Forest) [][]theme.Span {
	var out [][]theme.Span
	for _, x := range waits.Findings(f, s.f.use.Caps()) {
		if x.Rule != waits.RulePinned && x.Rule != waits.RuleDeadlock {
			continue
		}
		r := severity(x.Severity)
		if len(out) == mostNotes {
			out[mostNotes-1] = append(out[mostNotes-1], theme.Span{Role: theme.Dim, Text: "  and more"})
			break
		}
		out = append(out, []theme.Span{{Text: " "}, {Role: r, Text: theme.Sign(r) + " " + x.Message}})
	}
	return out
}

// below is about the selected row, where there is no pane beside.
func (s *locksScreen) below(t *theme.Theme) []string {
	x, ok := s.selected()
	if !ok || s.strip() == 0 {
		return nil
	}
	w := s.w
	say := func(r theme.Role, text string) string {
		return t.Line(w, theme.Span{Text: "   "}, theme.Span{Role: r, Text: text})
	}
	rule := t.Paint(theme.Dim, false, strings.Repeat(t.Rule, w))
	switch {
	case x.node != nil:
		first, second := s.nodeLines(x.node)
		if s.strip() == 1 {
			return []string{say(theme.Normal, first)}
		}
		return []string{rule, say(theme.Normal, first), say(theme.Dim, second)}
	case x.tree != nil && s.strip() > 1:
		lines := []string{rule}
		for _, e := range endLines(s.f.forest(), x.tree, 2) {
			lines = append(lines, say(theme.Normal, e))
		}
		return lines
	}
	if s.strip() > 1 {
		return []string{rule}
	}
	return nil
}

// nodeLines are what to know of a session beyond its row, and its statement.
func (s *locksScreen) nodeLines(n *waits.Node) (first, second string) {
	f := s.f.forest()
	var parts []string
	if x := n.Session; x != nil && x.App != "" && x.App != n.Role {
		parts = append(parts, x.App)
	}
	if n.Edge == nil && n.Session != nil && n.Session.State != "active" {
		parts = append(parts, n.Session.State+" for "+waitAge(s.since(n.Session.StateChange)))
	}
	if also := f.AlsoBlockedBy(n); len(also) > 0 {
		parts = append(parts, "also behind "+keysText(also, 3))
	}
	notes := f.Notes(n)
	parts = append(parts, notes...)
	if len(parts) == 0 {
		parts = append(parts, effect(waits.Terminate, f.Advise(n), f.WhatIf(n.Key)))
	}
	if n.Session != nil {
		second = clean.SQL(n.Session.Query, lineBytes)
	}
	return strings.Join(parts, "; "), second
}

// since is the time from t to the reading, -1 when t is unknown.
func (s *locksScreen) since(t time.Time) time.Duration {
	if a := s.f.age(t); a >= 0 {
		return time.Duration(a * float64(time.Second))
	}
	return -1
}

// endLines say what ending each of the most telling sessions of a tree frees.
func endLines(f *waits.Forest, t *waits.Tree, most int) []string {
	var out []string
	for _, e := range t.Ends[:min(most, len(t.Ends))] {
		n := f.Node(e.Key)
		if n == nil {
			continue
		}
		who := nodeName(n)
		switch {
		case n == t.Root:
			who = "the root " + who
		case n.Edge != nil && n.Edge.Object != "":
			who += ", queued for " + wantText(n.Edge) + ","
		}
		out = append(out, "if "+who+" ends: "+frees(e))
	}
	return out
}

// frees says in words who could run.
func frees(e waits.End) string {
	switch n := len(e.Frees); {
	case n == 0:
		return "frees nobody"
	case e.Direct == n:
		return "frees " + plural(n, "session")
	default:
		return "frees " + plural(n, "session") + ", " + strconv.Itoa(e.Direct) + " at once, the others in turn"
	}
}

// pane is all about the selected row.
func (s *locksScreen) pane(t *theme.Theme, w, h int) []string {
	x, ok := s.selected()
	if !ok {
		return nil
	}
	var out []string
	switch {
	case x.node != nil:
		out = s.nodePane(t, x.node, w)
	case x.tree != nil:
		out = s.treePane(t, x.tree, w)
	case x.group != nil:
		out = append(out, t.Line(w, theme.Span{Role: theme.Strong, Text: x.group.object}))
		out = append(out, wrap(t, theme.Normal, "", plural(len(x.group.nodes), "session")+" wait for it side by side: "+x.group.byRole(), w)...)
		if x.group.queue {
			out = append(out, wrap(t, theme.Dim, "", "one row's queue: ending one of them only promotes the next; who locked the row is the cause", w)...)
		}
	}
	return out[:min(h, len(out))]
}

func (s *locksScreen) treePane(t *theme.Theme, x *waits.Tree, w int) []string {
	out := []string{t.Split(w, []theme.Span{{Role: theme.Strong, Text: "behind " + nodeName(x.Root)}}, dim(plural(x.Slots, "slot")))}
	caps := s.f.use.Caps()
	for _, r := range rolesByCount(x) {
		n, role, limit := x.ByRole[r], theme.Normal, ""
		if c := caps[r]; c > 0 {
			limit = " of " + strconv.Itoa(c)
			if n >= c {
				role = theme.Crit
			}
		}
		out = append(out, t.Line(w, theme.Span{Role: role, Text: theme.Sign(role) + " "}, theme.Span{Text: t.Fit(r, 18, false) + strconv.Itoa(n) + limit}))
	}
	out = append(out, "")
	for _, l := range endLines(s.f.forest(), x, 6) {
		out = append(out, wrap(t, theme.Normal, "", l, w)...)
	}
	return out
}

func (s *locksScreen) nodePane(t *theme.Theme, n *waits.Node, w int) []string {
	f := s.f.forest()
	what := n.Role
	if n.Session != nil && n.Session.Kind != probes.KindClient {
		what = n.Session.Kind
	}
	out := []string{t.Split(w, []theme.Span{{Role: theme.Strong, Text: "pid " + nodeName(n)}}, dim(what))}
	if n.Key.Prepared() {
		out[0] = t.Line(w, theme.Span{Role: theme.Strong, Text: nodeName(n)})
	}
	out = append(out, drawFacts(t, lockFacts(f, n), w)...)
	for _, note := range f.Notes(n) {
		out = append(out, wrap(t, theme.Normal, "- ", note, w)...)
	}
	out = append(out, "")
	a, e := f.Advise(n), f.WhatIf(n.Key)
	cancel, terminate := effect(waits.Cancel, a, e), effect(waits.Terminate, a, e)
	if cancel == terminate {
		out = append(out, wrap(t, theme.Normal, "", "cancel or terminate "+cancel, w)...)
	} else {
		out = append(out, wrap(t, theme.Normal, "", "cancel "+cancel, w)...)
		out = append(out, wrap(t, theme.Normal, "", "terminate "+terminate, w)...)
	}
	if n.Session != nil {
		out = append(out, "")
		out = append(out, drawFacts(t, baseFacts(s.f, n.Session), w)...)
		out = append(out, "")
		for _, l := range clean.Block(n.Session.Query) {
			for _, p := range wrapText(t.Clean(l), w) {
				out = append(out, t.Line(w, theme.Span{Text: p}))
			}
		}
	}
	return out
}

// lockFacts are a session's locks and who stands before and behind it.
func lockFacts(f *waits.Forest, n *waits.Node) []fact {
	var out []fact
	if e := n.Edge; e != nil {
		how := ""
		if e.Kind == waits.Soft {
			how = ", queued"
		}
		out = append(out, fact{"waits for", wantText(e) + " for " + waitAge(e.Wait) + how})
		if n.Blocked > e.Wait+time.Second {
			out = append(out, fact{"blocked", "in this statement since " + waitAge(n.Blocked)})
		}
		out = append(out, fact{"blocked by", keysText(append([]waits.Key{e.Blocker}, without(f.AlsoBlockedBy(n), e.Blocker)...), 4)})
	}
	for _, h := range f.Locks(n.Key) {
		if h.Granted {
			out = append(out, fact{"holds", heldText(h)})
		}
	}
	if b := blocks(n); b > 0 {
		out = append(out, fact{"blocks", plural(b, "session")})
	}
	return out
}

func heldText(h waits.Held) string {
	s := lockText(h.Type, h.Modes[0], h.Object)
	if h.Waiters > 0 {
		s += ", " + strconv.Itoa(h.Waiters) + " wait"
	}
	return s
}

func without(ks []waits.Key, k waits.Key) []waits.Key {
	var out []waits.Key
	for _, x := range ks {
		if x != k {
			out = append(out, x)
		}
	}
	return out
}
