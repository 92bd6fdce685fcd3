package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// below is about the selected row, where there is no pane beside.
func (s *locksScreen) below(t *theme.Theme) []string {
	x, ok := s.selected()
	if !ok || s.strip() == 0 {
		return nil
	}
	say := func(r theme.Role, text string) string {
		return t.Line(s.w, theme.Span{Text: "   "}, theme.Span{Role: r, Text: text})
	}
	if s.strip() == 1 {
		if x.node == nil {
			return nil
		}
		_, first, _ := s.nodeLines(x)
		return []string{say(theme.Normal, first)}
	}
	out := []string{t.Paint(theme.Dim, false, strings.Repeat(t.Rule, s.w))}
	if s.strip() == stripLines {
		return under(t, nil, s.pane(t, s.w-6, stripLines-1), s.w, stripLines)
	}
	switch {
	case x.node == nil && x.seen != nil:
		out = append(out, say(theme.Warn, "~ "+goneText(x)))
	case x.node != nil:
		role, first, second := s.nodeLines(x)
		out = append(out, say(role, first), say(theme.Dim, second))
	case x.group != nil:
		out = append(out, say(theme.Normal, x.group.sum()))
		if x.group.queue {
			out = append(out, say(theme.Dim, queueNote))
		}
	case x.tree != nil:
		for _, e := range endLines(s.f.forest(), x.tree, s.strip()-1) {
			out = append(out, say(theme.Normal, e))
		}
	}
	return out
}

// goneText stands where a row says what it was when it was seen last.
func goneText(x lockRow) string {
	word := "left: "
	if x.node == nil {
		word = "over: "
	}
	return word + goneWord(x) + "; as it was at " + clock(x.seen.snap.At)
}

// goneWord says why there is nothing to do about a row that is gone.
func goneWord(x lockRow) string {
	switch {
	case x.group != nil:
		return "they no longer wait for the same"
	case x.node == nil:
		return nodeName(x.tree.Root) + " heads no tree any more"
	}
	return nodeName(x.node) + " waits for nothing and blocks nobody any more"
}

// seen is the reading that a row is described from.
func (s *locksScreen) seen(x lockRow) *frame {
	if x.seen != nil {
		return x.seen
	}
	return s.f
}

// nodeLines are what to know of a session beyond its row, and its statement.
func (s *locksScreen) nodeLines(x lockRow) (role theme.Role, first, second string) {
	n, fr := x.node, s.seen(x)
	f := fr.forest()
	if n.Session != nil {
		second = clean.SQL(n.Session.Query, lineBytes)
	}
	if x.seen != nil {
		return theme.Warn, "~ " + goneText(x), second
	}
	var parts []string
	if x := n.Session; x != nil && x.App != "" && x.App != n.Role {
		parts = append(parts, x.App)
	}
	if n.Edge == nil && n.Session != nil && n.Session.State != "active" {
		parts = append(parts, n.Session.State+" for "+waitAge(fr.since(n.Session.StateChange)))
	}
	if also := f.AlsoBlockedBy(n); len(also) > 0 {
		parts = append(parts, "also behind "+keysText(also, 3))
	}
	parts = append(parts, f.Notes(n)...)
	if len(parts) == 0 {
		parts = append(parts, outlookOf(f, n).effect(waits.Terminate))
	}
	return theme.Normal, strings.Join(parts, "; "), second
}

// nodeStrip is all about a session in few wide lines: who it is, whom it waits for
// and blocks, what ending it does, its statement.
func (s *locksScreen) nodeStrip(t *theme.Theme, x lockRow, w int) []string {
	n, fr := x.node, s.seen(x)
	f := fr.forest()
	who := []theme.Span{{Role: theme.Strong, Text: nodeName(n)}, {Text: "  " + n.Role}}
	if p := n.Session; p != nil {
		if n.Role == "" && background(p) {
			who[1].Text = "  " + partOf(p)
		}
		for _, text := range append(whoWords(p), p.State) {
			if text != "" && text != n.Role {
				who = append(who, theme.Span{Role: theme.Dim, Text: "  " + text})
			}
		}
		if a := waitAge(fr.since(p.StateChange)); a != "?" && p.State != "" {
			who = append(who, theme.Span{Role: theme.Dim, Text: " for " + a})
		}
		if a := waitAge(fr.since(p.XactStart)); a != "?" {
			who = append(who, theme.Span{Role: theme.Dim, Text: ", transaction " + a})
		}
	}
	out := []string{t.Line(w, who...)}
	if x.seen != nil {
		out = append(out, t.Line(w, theme.Span{Role: theme.Warn, Text: "~ " + goneText(x)}))
	}
	out = append(out, drawFacts(t, lockFacts(f, n), w)...)
	if notes := f.Notes(n); len(notes) > 0 {
		out = append(out, t.Line(w, theme.Span{Text: strings.Join(notes, "; ")}))
	}
	if x.seen == nil {
		out = append(out, effectLines(t, f, n, w)...)
	}
	if n.Session != nil {
		out = append(out, wrap(t, theme.Dim, "", clean.SQL(n.Session.Query, 2*lineBytes), w)...)
	}
	return out
}

// since is the time from t to the reading, -1 when t is unknown.
func (f *frame) since(t time.Time) time.Duration {
	if a := f.age(t); a >= 0 {
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
		out = append(out, "if "+who+" ends: "+outlook{end: e, unless: f.Unless(n)}.sum())
	}
	return out
}

// frees says in words who could run: at once first, for the others do so only when
// those before them are through.
func frees(e waits.End) string { return "frees " + e.Freed() }

// pane is all about the selected row, for a column beside the tree or lines below.
func (s *locksScreen) pane(t *theme.Theme, w, h int) []string {
	x, ok := s.selected()
	if !ok {
		return nil
	}
	var out []string
	switch {
	case x.node == nil && x.seen != nil:
		out = wrap(t, theme.Warn, "~ ", goneText(x), w)
	case x.node != nil && w >= twoColumns:
		out = s.nodeStrip(t, x, w)
	case x.node != nil:
		out = s.nodePane(t, x, w)
	case x.group != nil:
		out = groupPane(t, x.group, w)
	case x.tree != nil:
		out = s.treePane(t, x.tree, w)
	}
	return cutOff(t, out, w, h)
}

// how says in what order those of a group get what they wait for.
func (g *lockGroup) how() string {
	switch {
	case g.queue:
		return " wait for it, one after the other"
	case g.nodes[0].Edge.Kind == waits.Soft:
		return " are queued for it"
	}
	return " wait for it side by side"
}

// sum is a group in one line.
func (g *lockGroup) sum() string {
	how := strings.Replace(g.how(), " it", " "+plain(g.object), 1)
	return plural(len(g.nodes), "session") + how + ": " + g.byRole()
}

const queueNote = "ending one of them only promotes the next; who locked the row is the cause"

func groupPane(t *theme.Theme, g *lockGroup, w int) []string {
	out := []string{t.Line(w, theme.Span{Role: theme.Strong, Text: g.object})}
	out = append(out, wrap(t, theme.Normal, "", plural(len(g.nodes), "session")+g.how()+": "+g.byRole(), w)...)
	if g.queue {
		out = append(out, wrap(t, theme.Dim, "", queueNote, w)...)
	}
	return out
}

func (s *locksScreen) treePane(t *theme.Theme, x *waits.Tree, w int) []string {
	out := []string{t.Split(w, []theme.Span{{Role: theme.Strong, Text: "behind " + nodeName(x.Root)}}, dim(plural(x.Slots, "slot")))}
	caps := s.f.use.Caps()
	for _, r := range rolesByCount(x) {
		n, role := x.ByRole[r], theme.Normal
		text := strconv.Itoa(n)
		if c := caps[r]; c > 0 {
			text = probes.OutOf(n, c, "", "cap")
			if n >= c {
				role = theme.Crit
			}
		}
		out = append(out, t.Line(w, theme.Span{Role: role, Text: theme.Sign(role) + " "}, theme.Span{Text: t.Fit(r, 18, false) + text}))
	}
	out = append(out, "")
	for _, l := range endLines(s.f.forest(), x, 6) {
		out = append(out, wrap(t, theme.Normal, "", l, w)...)
	}
	return out
}

func (s *locksScreen) nodePane(t *theme.Theme, x lockRow, w int) []string {
	n, fr := x.node, s.seen(x)
	f := fr.forest()
	what := n.Role
	if n.Session != nil && n.Session.Kind != probes.KindClient {
		what = partOf(n.Session)
	}
	out := []string{t.Split(w, []theme.Span{{Role: theme.Strong, Text: "pid " + nodeName(n)}}, dim(what))}
	if n.Key.Prepared() {
		out[0] = t.Line(w, theme.Span{Role: theme.Strong, Text: nodeName(n)})
	}
	if x.seen != nil {
		out = append(out, wrap(t, theme.Warn, "~ ", goneText(x), w)...)
	}
	out = append(out, drawFacts(t, lockFacts(f, n), w)...)
	for _, note := range f.Notes(n) {
		out = append(out, wrap(t, theme.Normal, "- ", note, w)...)
	}
	if x.seen == nil {
		out = append(out, "")
		out = append(out, effectLines(t, f, n, w)...)
	}
	if n.Session != nil {
		out = append(out, "")
		out = append(out, drawFacts(t, baseFacts(fr, n.Session), w)...)
		out = append(out, "")
		for _, l := range clean.Block(n.Session.Query) {
			for _, p := range wrapText(t.Clean(l), w) {
				out = append(out, t.Line(w, theme.Span{Text: p}))
			}
		}
	}
	return out
}

// effectLines say what cancel and terminate would do to a session.
func effectLines(t *theme.Theme, f *waits.Forest, n *waits.Node, w int) []string {
	if sql := rollbackOf(n); sql != "" {
		return append(wrap(t, theme.Strong, "", sql, w), wrap(t, theme.Dim, "", "ends it, in database "+n.Prepared.Database+", as "+n.Prepared.Owner+" or superuser; y copies it", w)...)
	}
	o := outlookOf(f, n)
	cancel, terminate := o.effect(waits.Cancel), o.effect(waits.Terminate)
	if cancel == terminate {
		return wrap(t, theme.Normal, "", "cancel or terminate "+cancel, w)
	}
	return append(wrap(t, theme.Normal, "", "cancel "+cancel, w), wrap(t, theme.Normal, "", "terminate "+terminate, w)...)
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
			out = append(out, fact{"blocked", "in this statement for " + waitAge(n.Blocked) + " at most"})
		}
		out = append(out, fact{"blocked by", keysText(append([]waits.Key{e.Blocker}, without(f.AlsoBlockedBy(n), e.Blocker)...), 4)})
	}
	for _, h := range f.Locks(n.Key) {
		if h.Granted {
			out = append(out, fact{"holds", heldText(h)})
		}
	}
	if b := blocks(n); b > 0 {
		text := plural(b, "session")
		if through := b - direct(f, n); through > 0 {
			text += ", " + strconv.Itoa(through) + " indirectly"
		}
		out = append(out, fact{"blocks", text})
	}
	return out
}

// direct are how many of those that n blocks wait for n itself.
func direct(f *waits.Forest, n *waits.Node) int {
	count := len(n.Elsewhere)
	var below func([]*waits.Node)
	below = func(all []*waits.Node) {
		for _, c := range all {
			if slices.ContainsFunc(f.Blockers(c.Key), func(e waits.Edge) bool { return e.Blocker == n.Key }) {
				count++
			}
			below(c.Children)
		}
	}
	below(n.Children)
	return count
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
