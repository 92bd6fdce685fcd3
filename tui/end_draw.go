package tui

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

func (d *endDialog) draw(t *theme.Theme, w, h int) []string {
	w = min(w, 76)
	x := d.now()
	e := effectOf(d.verb, x.advice)
	role := theme.Normal
	if !useful(e) || e == waits.Harmful {
		role = theme.Crit
	}
	if x.gone {
		role = theme.Warn
	}
	say := wrap(t, role, theme.Sign(role)+" ", effectWords(d, x), w)
	if d.outcome != "" {
		say = wrap(t, d.kind, theme.Sign(d.kind)+" ", d.outcome, w)
	}
	first, facts, more := d.list(t, w), d.facts(t, w), d.more(t, w)
	last := []string{d.keyLine(t, w)}
	if h > 12 {
		say, last = append([]string{""}, say...), append([]string{""}, last...)
	}
	if len(first)+len(say)+len(last) > h { // the smallest window: whom, what, the keys
		first = first[d.at : d.at+1]
	}
	say = say[:min(len(say), max(1, h-len(first)-len(last)))]
	room := max(0, h-len(first)-len(say)-len(last))
	more = more[:min(len(more), room)]
	facts = facts[:min(len(facts), room-len(more))]
	return slices.Concat(first, facts, say, more, last)
}

// effectWords is what the verb would do.
func effectWords(d *endDialog, x *endTarget) string {
	verb := string(d.verb) + " "
	switch {
	case x.gone && x.queued && x.stays:
		return "over: the session is still there, but it waits for nothing and blocks nobody any more, so there is nothing to end"
	case x.gone && x.queued && !x.left:
		return "over: it waits for nothing and blocks nobody any more, so there is nothing to end"
	case x.gone:
		return "ended: there is no such session any more"
	case x.node.Key.Prepared() && x.node.Prepared != nil:
		return x.advice.Why + "; as " + x.node.Prepared.Owner + " or superuser, in database " + x.node.Prepared.Database + ":"
	case x.node.Key.Prepared():
		return x.advice.Why + ": " + x.advice.Instead
	case effectOf(d.verb, x.advice) == waits.Impossible:
		return "cannot " + verb + "it: " + x.effect(d.verb)
	}
	return verb + x.effect(d.verb)
}

// goneWord says what became of a target that is gone: one of a forest may live on.
func (t *endTarget) goneWord() string {
	if t.queued && !t.left {
		return "over"
	}
	return "ended"
}

// promise is the footer below the dialog.
func (d *endDialog) promise() string {
	switch x := d.now(); {
	case d.outcome != "" && d.again:
		return "what it does is watched; any key closes"
	case d.outcome != "":
		return "any key closes"
	case x.gone, !useful(effectOf(d.verb, x.advice)):
		return "nothing is sent to the server"
	case len(x.by(d.verb).Frees) > 0:
		return "pgsonde checks first that it is the same session; who is freed may wait anew"
	}
	return "pgsonde checks once more that it is the same session before it ends it"
}

// rollback is the statement that ends a prepared transaction, "" for a backend.
func (t *endTarget) rollback() string { return rollbackOf(t.node) }

// more is what else to consider: the statement to run elsewhere, a warning, what is
// advised for the tree, the other verb.
func (d *endDialog) more(t *theme.Theme, w int) []string {
	x := d.now()
	switch {
	case d.outcome != "":
		return nil
	case x.rollback() != "" && !x.gone:
		return wrap(t, theme.Strong, "  ", x.rollback(), w)
	case d.sure:
		return wrap(t, theme.Crit, "! ", "sure? Y does it all the same", w)
	}
	var out []string
	if d.worker != 0 && !x.gone && x.node == d.chosen {
		text := strconv.Itoa(d.worker) + " is a parallel worker of " + nodeName(x.node) + ", whose statement it is"
		out = wrap(t, theme.Warn, theme.Sign(theme.Warn)+" ", text, w)
	}
	if text := leaves(x.node); text != "" && !x.gone && useful(effectOf(d.verb, x.advice)) {
		out = append(out, wrap(t, theme.Warn, theme.Sign(theme.Warn)+" ", text, w)...)
	}
	if text, here := d.recommended(); text != "" {
		if out = append(out, wrap(t, theme.Strong, "  ", text, w)...); here {
			return out
		}
	}
	if effectOf(d.verb, x.advice) == waits.Nothing && d.verb == waits.Cancel && useful(x.advice.Terminate) && !x.gone {
		out = append(out, wrap(t, theme.Normal, "  ", "K terminates instead: "+x.effect(waits.Terminate), w)...)
	}
	return out
}

// recommended is what is best for the tree, "" when the dialog is about to do it;
// here says that it is about this session.
func (d *endDialog) recommended() (text string, here bool) {
	x := d.now()
	v, ok := d.advised(x)
	switch {
	case d.best.Text == "" || x.gone || d.bestGone(), ok && v == d.verb && len(d.best.With) == 0:
		return "", false
	case d.best.Verb == waits.Other: // nothing to recommend, but to know
		if x.node.Key != d.best.Key && len(d.targets) > 1 {
			text = d.best.Key.String() + ": " + d.best.Text
		}
		return text, false
	case ok && v != d.verb:
		return map[waits.Verb]string{waits.Cancel: "C", waits.Terminate: "K"}[v] + ", recommended: " + d.best.Text, true
	case ok, len(d.targets) > 1:
		return "recommended: " + d.best.Text, false
	}
	return "", false
}

// bestGone says that one of those whose end is best is there no longer.
func (d *endDialog) bestGone() bool {
	return slices.ContainsFunc(d.targets, func(x endTarget) bool {
		_, ok := d.advised(&x)
		return ok && x.gone
	})
}

// list is the sessions on offer, the chosen one marked.
func (d *endDialog) list(t *theme.Theme, w int) []string {
	out := make([]string, len(d.targets))
	for i, x := range d.targets {
		mark, r := " ", theme.Dim
		if i == d.at {
			mark, r = t.Select, theme.Strong
		}
		label := x.label
		if len(d.targets) == 1 {
			label = ""
		} else {
			label = t.Fit(label, 9, false)
		}
		spans := []theme.Span{{Role: theme.Strong, Text: mark}, {Role: theme.Dim, Text: label}, {Role: r, Text: nodeName(x.node) + "  "}, {Role: r, Text: x.whose()}}
		right := frees(x.end)
		if !x.node.Key.Prepared() {
			right = x.frees(d.shown(i))
		}
		if w < 60 { // the same words, or their start
			right, _, _ = strings.Cut(strings.TrimPrefix(right, "if it ends: "), ",")
		}
		switch s := x.node.Session; {
		case x.gone:
			spans, right = append(spans, theme.Span{Role: theme.Warn, Text: "  " + x.goneWord()}), ""
		case s != nil:
			spans = append(spans, theme.Span{Role: r, Text: "  " + stateText(x.node)})
		}
		out[i] = t.Split(w, spans, []theme.Span{{Role: r, Text: right}})
	}
	return out
}

// whose is the role of a target, or what part of the server it is.
func (t *endTarget) whose() string {
	if s := t.node.Session; t.role == "" && s != nil {
		return partOf(s)
	}
	return t.role
}

// stateText is a node's state in a word or two.
func stateText(n *waits.Node) string {
	switch {
	case n.Edge != nil && queued(n.Edge):
		return "queued for " + wantText(n.Edge)
	case n.Edge != nil:
		return "waits for " + wantText(n.Edge)
	case n.Session != nil:
		return state(n.Session)
	}
	return ""
}

// facts say who it is, so that nobody ends the wrong one.
func (d *endDialog) facts(t *theme.Theme, w int) []string {
	x := d.now()
	s := x.node.Session
	if s == nil {
		return nil
	}
	long := ""
	if a := x.seen.age(s.XactStart); a >= 0 {
		long = "transaction " + age(a)
	}
	if a := x.seen.age(s.StateChange); a >= 0 && s.State != "" {
		long = s.State + " for " + age(a) + ", " + long
	}
	var out []string
	add := func(r theme.Role, text string) {
		if text != "" {
			out = append(out, t.Line(w, theme.Span{Role: r, Text: " " + text}))
		}
	}
	add(theme.Normal, strings.Join(whoWords(s), "  "))
	add(theme.Normal, strings.TrimSuffix(long, ", "))
	if x.queued && x.node.Edge == nil && s.Query != "" && strings.HasPrefix(s.State, "idle") {
		add(theme.Normal, "its last statement, not necessarily the one that took the lock:")
	}
	lines := wrapText(t.Clean(clean.SQL(s.Query, lineBytes)), w-1)
	for _, l := range lines[:min(len(lines), 3)] {
		add(theme.Dim, l)
	}
	return out
}

func (d *endDialog) keyLine(t *theme.Theme, w int) string {
	var s []theme.Span
	gap := "   "
	if w < 50 {
		gap = "  "
	}
	add := func(k, what string) {
		s = append(s, theme.Span{Role: theme.Key, Text: k}, theme.Span{Role: theme.Dim, Text: " " + what + gap})
	}
	x := d.now()
	e := effectOf(d.verb, x.advice)
	name := string(d.verb)
	if w >= 50 {
		name += " " + nodeName(x.node)
	}
	switch {
	case d.outcome != "":
		add("any key", "closes")
		return t.Line(w, s...)
	case x.rollback() != "":
		add("y", "copy ROLLBACK PREPARED")
		add("esc", "no")
		return t.Line(w, s...)
	case x.gone:
		if len(d.targets) > 1 {
			add("tab", d.tabWords(w))
		}
		add("esc", "back")
		return t.Line(w, s...)
	case d.sure:
		add("Y", name)
	case useful(e):
		add("y", name)
	}
	if !d.ready { // the others stay in their places
		s = []theme.Span{{Text: theme.Pad("", t.SpansWidth(s))}}
	}
	if len(d.targets) > 1 {
		add("tab", d.tabWords(w))
	}
	if w < 50 { // what may be cut comes last
		add("esc", "no")
	}
	if d.verb == waits.Cancel {
		add("K", "terminate")
	} else {
		add("C", "cancel")
	}
	if w >= 50 {
		add("esc", "no")
	}
	return t.Line(w, s...)
}

// tabWords say where tab goes.
func (d *endDialog) tabWords(w int) string {
	next := &d.targets[(d.at+1)%len(d.targets)]
	if v, ok := d.advised(next); ok && !next.gone && next.label == "advised" && w >= 50 {
		return "advised: " + string(v) + " " + nodeName(next.node)
	}
	return next.label
}
