package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/theme"
)

const (
	endTimeout  = 10 * time.Second       // for the signal to be sent
	endFast     = 100 * time.Millisecond // between readings while the effect is watched
	endPatient  = 5 * time.Second        // until it is said that nothing came of it yet, on the server's clock
	endLong     = time.Minute            // … and that nothing will
	endSettled  = time.Second            // nobody more is freed after those that were sure to
	endSessions = 2000                   // looked at meanwhile
)

// ending is the session that was ended last and what is seen of it.
type ending struct {
	n        int
	watching bool
	dialog   *endDialog
	verb     waits.Verb
	target   endTarget
	audit    probes.Audit
	at       time.Time // of the signal, the server's clock; of the reading before when unknown
	after    *waits.Aftermath
	unknown  string        // why it is not known whether the signal was sent, "" it is
	pending  bool          // it was said that the signal is not acted on yet
	over     time.Duration // after which the target was first seen to have obeyed, 0 not yet
}

// newEnding remembers who waits for the target, and in which statement.
func newEnding(n int, d *endDialog, x endTarget, audit probes.Audit) ending {
	e := ending{n: n, dialog: d, verb: d.verb, target: x, audit: audit}
	e.target.end = x.by(d.verb)
	e.after = waits.Follow(x.seen.forest(), x.node.Key, e.target.end.Frees)
	return e
}

// sendEnd sends what the dialog was about. Nothing waits for it: not even a
// reading under way.
func sendEnd(d *endDialog) command {
	return func(m *model) tea.Cmd {
		x := *d.now()
		user := ""
		if m.frame != nil {
			user = m.frame.snap.Server.User
		}
		m.ending = newEnding(m.ending.n+1, d, x, x.audit(d.verb, user))
		m.ending.at = x.seen.snap.At
		return m.link.end(m.ending.n, d.verb, x.target(d.verb, d.sure), m.ending.audit)
	}
}

// end asks the source to end a session. What was begun is finished, and on the
// record, even when the program ends meanwhile.
func (l *link) end(n int, v waits.Verb, t probes.Target, audit probes.Audit) tea.Cmd {
	return func() tea.Msg {
		src := l.take()
		if src == nil {
			return nil
		}
		defer l.busy.Done()
		e, ok := src.(Ender)
		if !ok {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), endTimeout)
		defer cancel()
		do := e.Terminate
		if v == waits.Cancel {
			do = e.Cancel
		}
		r, err := do(ctx, t)
		at := r.At
		if at.IsZero() {
			at = time.Now()
		}
		said := r.String()
		if err != nil {
			said = unknownSent(err.Error())
		}
		l.record(audit.Done(at, said))
		return endedMsg{n, r, err}
	}
}

// record gives an audit line to who keeps them.
func (l *link) record(a probes.Audit) {
	if l.audit != nil {
		l.audit(a.String())
	}
}

// canEnd says whether sessions can be ended here.
func (l *link) canEnd() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.src.(Ender)
	return ok
}

// openEnd opens the dialog.
func (m *model) openEnd(w *endWish) tea.Cmd {
	switch {
	case m.opt.ReadOnly || !m.link.canEnd():
		return nil
	case m.frame == nil:
		return nil
	case m.at != 0:
		return m.say("this is the past: esc goes back to the present first")
	}
	d := newEndDialog(m.frame, w)
	if a := d.now().advice; w.node == nil && unsignalled(w.x.Kind) {
		return m.say("cannot " + string(w.verb) + " " + nodeName(d.now().node) + ": " + a.Why)
	}
	m.over = d
	return nil
}

// ended takes the answer to a cancel or terminate.
func (m *model) ended(msg endedMsg) tea.Cmd {
	e := &m.ending
	if msg.n != e.n {
		return nil
	}
	switch {
	case msg.err != nil:
		e.watching, e.unknown = true, msg.err.Error()
		return tea.Batch(m.outcome(theme.Warn, unknownSent(e.unknown)+": watching", true), m.ask())
	case msg.r.Outcome != probes.Sent:
		return m.outcome(theme.Warn, "nothing was sent: "+msg.r.Reason(), false)
	}
	e.watching, e.at = true, msg.r.At
	return tea.Batch(m.outcome(theme.Normal, "sent: watching what it does", true), m.ask())
}

// outcome says how it went, in the dialog or, when that was closed, in the footer.
func (m *model) outcome(r theme.Role, text string, again bool) tea.Cmd {
	d := m.ending.dialog
	d.outcome, d.kind, d.again = text, r, again
	if m.over == overlay(d) || again {
		return nil
	}
	return m.say(text)
}

// watch looks in a new reading for what the end of the session has done.
func (m *model) watchEnd(s *probes.Snapshot) tea.Cmd {
	e := &m.ending
	if !e.watching {
		return nil
	}
	f, at := buildForest(m.opt.Budget, s), s.At
	if s.Locks != nil {
		at = s.Locks.At
	}
	if f.Unread || !at.After(e.at) {
		return m.blindEnd(f, s)
	}
	after := at.Sub(e.at)
	e.after.See(f, waits.Look{Sessions: s.Sessions, All: len(s.Sessions) < endSessions, Own: s.Server.OwnPIDs, After: after})
	over, why := e.obeyed(f, s)
	if over && e.over == 0 {
		e.over = after
	}
	switch {
	case over && after < e.over+endPatient && !e.settled(after), !over && after < endPatient:
		return nil
	case !over && e.unknown == "" && after < endLong:
		return m.pendingEnd(s, notYet(e, after, why))
	}
	return m.lastWord(s, e.verdict(f, over, why, after))
}

// said is what the dialog says of an end, and how grave that is.
type said struct {
	role theme.Role
	text string
}

// lastWord ends the watch.
func (m *model) lastWord(s *probes.Snapshot, v said) tea.Cmd {
	m.ending.watching = false
	m.link.record(m.ending.audit.Done(s.At, v.text))
	return m.outcome(v.role, v.text, false)
}

// pendingEnd says that the target has not obeyed yet, which goes on the record once,
// and goes on watching.
func (m *model) pendingEnd(s *probes.Snapshot, text string) tea.Cmd {
	e := &m.ending
	first := !e.pending
	e.pending = true
	cmd := m.outcome(theme.Warn, text, true)
	if !first {
		return cmd
	}
	m.link.record(e.audit.Done(s.At, text))
	if m.over != overlay(e.dialog) {
		return m.say(text)
	}
	return cmd
}

// blindEnd gives up, after a while, to see who was freed: no reading of the locks
// comes.
func (m *model) blindEnd(f *waits.Forest, s *probes.Snapshot) tea.Cmd {
	e := &m.ending
	after := s.At.Sub(e.at)
	if f.Late == "" || after < endPatient {
		return nil
	}
	blind := "; who was freed cannot be told: " + f.Late
	over, why := e.obeyed(f, s)
	switch {
	case e.unknown != "":
		return m.lastWord(s, said{theme.Warn, unknownSent(e.unknown) + e.found(over, why, after) + blind})
	case !over && after < endLong:
		return m.pendingEnd(s, notYet(e, after, why)+blind)
	case !over:
		return m.lastWord(s, said{theme.Warn, "sent" + e.found(over, why, after) + blind})
	case len(s.Sessions) > 0:
		return m.lastWord(s, said{theme.Warn, "sent, and obeyed" + blind})
	}
	return m.lastWord(s, said{theme.Warn, "sent" + blind})
}

// settled: what became of all is known, or those are freed that were sure to be, and
// nobody more since.
func (e *ending) settled(after time.Duration) bool {
	n, last, all := e.after.Freed()
	return all || n >= e.target.end.Direct && n > 0 && after > last+endSettled
}
