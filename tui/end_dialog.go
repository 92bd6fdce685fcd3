package tui

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// endDialog asks before a session is ended, and then says what came of it.
type endDialog struct {
	verb    waits.Verb
	targets []endTarget
	at      int
	f       *frame
	sure    bool   // the first of two confirmations was given
	best    string // what is best for the tree, "" unknown
	outcome string // "" until something was sent
	kind    theme.Role
	again   bool // the outcome is not the last word yet
}

func newEndDialog(f *frame, w *endWish) *endDialog {
	n := w.node
	if n == nil {
		if n = nodeOf(f.forest(), w.x); n == nil {
			n = &waits.Node{Key: waits.Key{PID: w.x.PID}, Session: w.x, Role: f.role(w.x), Blocked: -1}
		}
	}
	d := &endDialog{verb: w.verb, targets: offers(f, n), f: f}
	for _, t := range f.forest().Trees {
		if t.Root == rootOf(n) {
			d.best = t.Best.Text
		}
	}
	return d
}

func (d *endDialog) now() *endTarget { return &d.targets[d.at] }

func (d *endDialog) title() string {
	if d.now().node.Key.Prepared() {
		return "End " + nodeName(d.now().node)
	}
	s := strings.ToUpper(string(d.verb[:1])) + string(d.verb[1:]) + " " + nodeName(d.now().node)
	if d.outcome == "" {
		s += "?"
	}
	return s
}

// load takes the next reading: who is freed may have changed, who is meant has
// not.
func (d *endDialog) load(f *frame) {
	d.f = f
	if d.outcome != "" {
		return
	}
	for i := range d.targets {
		t := &d.targets[i]
		n := f.forest().Node(t.node.Key)
		t.gone = t.queued && (n == nil || nodeKey(n) != nodeKey(t.node))
		if n == nil {
			continue
		}
		if t.gone {
			t.end = waits.End{Key: t.node.Key}
			continue
		}
		t.end = f.forest().WhatIf(t.node.Key)
		if v := victimOf(f.forest(), n); v != 0 {
			t.victim = v
		}
	}
}

func (d *endDialog) key(k string, _ action) (result, bool) {
	if d.outcome != "" {
		return result{}, true
	}
	effect := effectOf(d.verb, d.now().advice)
	switch {
	case k == "y" && d.now().rollback() != "":
		return result{copy: d.now().rollback(), what: d.now().rollback()}, true
	case k == "tab":
		d.at, d.sure = (d.at+1)%len(d.targets), false
	case k == "C":
		d.verb, d.sure = waits.Cancel, false
	case k == "K":
		d.verb, d.sure = waits.Terminate, false
	case k == "y" && !useful(effect):
	case k == "y" && effect == waits.Harmful && !d.sure:
		d.sure = true
	case k == "Y" && d.sure, k == "y" && effect != waits.Harmful && useful(effect):
		d.outcome, d.again = "sending", true
		return result{do: sendEnd(d)}, false
	case k == "esc", k == "q", k == "n":
		return result{}, true
	}
	return result{}, false
}

func (d *endDialog) draw(t *theme.Theme, w, h int) []string {
	w = min(w, 76)
	x := d.now()
	e := effectOf(d.verb, x.advice)
	role := theme.Normal
	if !useful(e) || e == waits.Harmful {
		role = theme.Crit
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
	case x.node.Key.Prepared():
		return x.advice.Why + ": " + x.advice.Instead
	case x.gone:
		return verb + "frees nobody: it waits for nothing and blocks nobody any more"
	case effectOf(d.verb, x.advice) == waits.Impossible:
		return "cannot " + verb + "it: " + effect(d.verb, x.advice, x.end)
	}
	return verb + effect(d.verb, x.advice, x.end)
}

// rollback is the statement that ends a prepared transaction, "" for a backend.
func (t *endTarget) rollback() string {
	if !t.node.Key.Prepared() || t.node.GID == "" {
		return ""
	}
	return "ROLLBACK PREPARED '" + strings.ReplaceAll(t.node.GID, "'", "''") + "'"
}

// more is what else to consider: the other verb, the best action, a warning.
func (d *endDialog) more(t *theme.Theme, w int) []string {
	if d.outcome != "" {
		return nil
	}
	x := d.now()
	e := effectOf(d.verb, x.advice)
	switch {
	case e == waits.Nothing && d.verb == waits.Cancel && useful(x.advice.Terminate):
		return wrap(t, theme.Strong, "  ", "K terminates instead: "+effect(waits.Terminate, x.advice, x.end), w)
	case d.sure:
		return wrap(t, theme.Crit, "! ", "sure? Y does it all the same", w)
	case d.best != "" && x.label == "selected" && len(d.targets) > 1:
		return wrap(t, theme.Dim, "  ", "best: "+d.best, w)
	}
	return nil
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
		spans := []theme.Span{{Role: theme.Strong, Text: mark}, {Role: theme.Dim, Text: label}, {Role: r, Text: nodeName(x.node) + "  "}, {Role: r, Text: x.role}}
		if s := x.node.Session; s != nil {
			spans = append(spans, theme.Span{Role: r, Text: "  " + stateText(x.node)})
		}
		out[i] = t.Split(w, spans, []theme.Span{{Role: r, Text: "frees " + strconv.Itoa(len(x.end.Frees))}})
	}
	return out
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
	who := []string{}
	for _, p := range []string{s.App, s.User, s.Database, s.Addr} {
		if p != "" {
			who = append(who, p)
		}
	}
	long := ""
	if a := d.f.age(s.XactStart); a >= 0 {
		long = "transaction " + age(a)
	}
	if a := d.f.age(s.StateChange); a >= 0 && s.State != "" {
		long = s.State + " for " + age(a) + ", " + long
	}
	out := []string{
		t.Line(w, theme.Span{Text: " " + strings.Join(who, "  ")}),
		t.Line(w, theme.Span{Text: " " + strings.TrimSuffix(long, ", ")}),
	}
	lines := wrapText(t.Clean(clean.SQL(s.Query, lineBytes)), w-1)
	for _, l := range lines[:min(len(lines), 3)] {
		out = append(out, t.Line(w, theme.Span{Role: theme.Dim, Text: " " + l}))
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
	case d.sure:
		add("Y", name)
	case useful(e):
		add("y", name)
	}
	if len(d.targets) > 1 {
		add("tab", d.targets[(d.at+1)%len(d.targets)].label)
	}
	if d.verb == waits.Cancel {
		add("K", "terminate")
	} else {
		add("C", "cancel")
	}
	add("esc", "no")
	return t.Line(w, s...)
}
