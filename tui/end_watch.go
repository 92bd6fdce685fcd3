package tui

import (
	"context"
	"fmt"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/theme"
)

const (
	endTimeout  = 10 * time.Second       // for the signal to be sent
	endFast     = 100 * time.Millisecond // between readings while the effect is watched
	endPatient  = 5 * time.Second        // until it did not help, on the server's clock
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
	at       time.Time // of the signal, the server's clock
	after    *waits.Aftermath
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
			said = "not known: " + err.Error()
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
		return m.outcome(theme.Crit, "not known whether it was sent: "+msg.err.Error(), false)
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
	over, why := e.over(f, s)
	if after < endPatient && !(over && e.settled(after)) {
		return nil
	}
	e.watching = false
	role, text := e.verdict(f, over, why, after)
	m.link.record(e.audit.Done(s.At, text))
	return m.outcome(role, text, false)
}

// blindEnd gives up, after a while, to see who was freed: no reading of the locks
// comes.
func (m *model) blindEnd(f *waits.Forest, s *probes.Snapshot) tea.Cmd {
	e := &m.ending
	after := s.At.Sub(e.at)
	if f.Late == "" || after < endPatient {
		return nil
	}
	e.watching = false
	text := "sent; who was freed cannot be told: " + f.Late
	if over, why := e.over(f, s); len(s.Sessions) > 0 && over {
		text = "sent, and obeyed; who was freed cannot be told: " + f.Late
	} else if !over {
		text = fmt.Sprintf("sent; after %s it is still there (%s); who was freed cannot be told: %s", took(after), why, f.Late)
	}
	m.link.record(e.audit.Done(s.At, text))
	return m.outcome(theme.Warn, text, false)
}

// settled: what became of all is known, or those are freed that were sure to be, and
// nobody more since.
func (e *ending) settled(after time.Duration) bool {
	n, last, all := e.after.Freed()
	return all || n >= e.target.end.Direct && n > 0 && after > last+endSettled
}

// over says whether the target has obeyed, and if not what it does.
func (e *ending) over(f *waits.Forest, s *probes.Snapshot) (bool, string) {
	old := e.target.node.Session
	var now *probes.Session
	if n := f.Node(e.target.node.Key); n != nil {
		now = n.Session
	}
	for i := range s.Sessions {
		if s.Sessions[i].PID == old.PID {
			now = &s.Sessions[i]
		}
	}
	switch {
	case now == nil, !now.BackendStart.Equal(old.BackendStart):
		return true, ""
	case e.verb == waits.Cancel && (!now.QueryStart.Equal(old.QueryStart) || now.State != "active"):
		return true, ""
	}
	why := now.State
	if w := waitEvent(now); w != "" {
		why += ", " + w
	}
	return false, why
}

// verdict says who was freed, or why it did not help.
func (e *ending) verdict(f *waits.Forest, over bool, why string, after time.Duration) (theme.Role, string) {
	who, did := nodeName(e.target.node), "terminated"
	if e.verb == waits.Cancel {
		did = "canceled"
	}
	all, sure := len(e.target.end.Frees), e.target.end.Direct
	n, last, _ := e.after.Freed()
	switch {
	case !over:
		return theme.Crit, fmt.Sprintf("it did not help: %s is still there after %s (%s)", who, took(after), why)
	case all == 0:
		return theme.OK, fmt.Sprintf("%s %s after %s; nobody waited for it alone", did, who, took(after))
	case n == all:
		return theme.OK, fmt.Sprintf("%s %s: freed %d of %d after %s", did, who, n, all, took(last))
	case n == 0:
		return theme.Warn, fmt.Sprintf("%s %s: freed 0 of %d in %s; %s", did, who, all, took(after), e.after.Rest(f))
	}
	role := theme.OK
	if n < sure {
		role = theme.Warn
	}
	return role, fmt.Sprintf("%s %s: freed %d of %d after %s; %s", did, who, n, all, took(last), e.after.Rest(f))
}

// took prints how long an effect took: the first reading that shows it says so.
func took(d time.Duration) string {
	if d < 100*time.Millisecond {
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}
