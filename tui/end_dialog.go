package tui

import (
	"strings"

	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// endDialog asks before a session is ended, and then says what came of it.
type endDialog struct {
	guard
	verb    waits.Verb
	asked   waits.Verb // by key; the advised session has its own
	targets []endTarget
	at      int
	sure    bool         // the first of two confirmations was given
	best    waits.Action // what is best for the tree, without text when unknown
	outcome string       // "" until something was sent
	kind    theme.Role
	again   bool // the outcome is not the last word yet
	worker  int  // the parallel worker that was chosen, for which chosen stands; 0 none
	chosen  *waits.Node
}

func newEndDialog(f *frame, w *endWish) *endDialog {
	n := w.node
	if n == nil {
		if n = nodeOf(f.forest(), w.x); n == nil {
			n = &waits.Node{Key: waits.Key{PID: w.x.PID}, Session: w.x, Role: f.role(w.x), Blocked: -1}
		}
	}
	d := &endDialog{verb: w.verb, asked: w.verb, targets: offers(f, n), chosen: n}
	if w.node == nil && n.Key.PID != w.x.PID {
		d.worker = w.x.PID
	}
	if t := treeOf(f.forest(), n); t != nil {
		d.best = t.Best
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

// load takes the next reading.
func (d *endDialog) load(f *frame) {
	if d.outcome != "" {
		return
	}
	for i := range d.targets {
		d.targets[i].load(f)
	}
	for _, x := range d.targets { // what is best stays, its figures are of now
		n := f.forest().Node(x.node.Key)
		if n == nil || x.gone {
			continue
		}
		if t := treeOf(f.forest(), n); t != nil && t.Best.Key == d.best.Key && t.Best.Verb == d.best.Verb {
			d.best = t.Best
		}
	}
}

// next goes to another session on offer; to the advised one with what is advised.
func (d *endDialog) next() {
	d.at, d.sure = (d.at+1)%len(d.targets), false
	d.renew()
	d.verb = d.verbOf(d.at)
}

// verbOf is how tab would have the i-th target ended.
func (d *endDialog) verbOf(i int) waits.Verb {
	if v, ok := d.advised(&d.targets[i]); ok && d.targets[i].label == "advised" {
		return v
	}
	return d.asked
}

// shown is how the i-th target would be ended: the chosen one as the dialog says.
func (d *endDialog) shown(i int) waits.Verb {
	if i == d.at {
		return d.verb
	}
	return d.verbOf(i)
}

// advised is how a session is to be ended by what is best for the tree; ok is false
// when that is no matter of ending it.
func (d *endDialog) advised(x *endTarget) (v waits.Verb, ok bool) {
	for _, s := range append([]waits.Step{{Verb: d.best.Verb, Key: d.best.Key}}, d.best.With...) {
		if s.Key == x.node.Key && signals(s.Verb) {
			return s.Verb, true
		}
	}
	return "", false
}

// signals says that a verb is one of the dialog's.
func signals(v waits.Verb) bool { return v == waits.Cancel || v == waits.Terminate }

// ask turns to another verb.
func (d *endDialog) ask(v waits.Verb) {
	d.verb, d.asked, d.sure = v, v, false
	d.renew()
}

func (d *endDialog) key(k string, _ action) (result, bool) {
	if d.outcome != "" {
		return result{}, true
	}
	x := d.now()
	effect := effectOf(d.verb, x.advice)
	switch {
	case x.rollback() != "" && (k == "y" || k == "c"):
		return result{copy: x.rollback(), what: x.rollback()}, true
	case k == "tab":
		d.next()
	case k == "C":
		d.ask(waits.Cancel)
	case k == "K":
		d.ask(waits.Terminate)
	case k == "esc", k == "q", k == "n":
		return result{}, true
	case x.gone, !useful(effect), !d.ready:
	case k == "y" && effect == waits.Harmful && !d.sure:
		d.sure = true
		d.renew()
	case k == "Y" && d.sure, k == "y" && effect != waits.Harmful:
		d.outcome, d.again = "sending", true
		return result{do: sendEnd(d)}, false
	}
	return result{}, false
}
