package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// model is the one tea.Model of the program.
type model struct {
	opt     Options
	env     environment
	link    *link
	keys    keymap
	theme   *theme.Theme
	profile colorprofile.Profile
	w, h    int

	views []*view
	cur   int
	desk  *desk   // what the Explain screens ask
	over  overlay // drawn above the body; nil none
	asked int     // questions so far, for their guards
	input *prompt // takes the keys while it is there; nil none

	ring   ring
	at     int64 // Seq of the reading shown while looking back; 0 live
	frame  *frame
	fatal  error // ends Run
	read   reading
	pool   pooling
	ending ending
	flash  flash
	drawn  *tea.View // of this state; nil after a change
}

// reading is the state of asking the server.
type reading struct {
	connected bool
	paused    bool
	busy      bool            // a tick is under way
	again     bool            // … and another is wanted after it
	asked     int             // generation of the tick whose answer counts
	timer     int             // generation of the wait that counts
	done      <-chan struct{} // closed when the tick under way has ended
	base      time.Duration
	next      time.Duration // as the source slows it down
	good      time.Time     // our clock, the last good answer
	late      time.Duration // age of the data when it is overdue, else 0
	down      *probes.Unavailable
	err       error         // of the last tick, when the server is there
	cost      time.Duration // round trip, smoothed
}

type flash struct {
	text string
	n    int
}

func newModel(o Options, env environment, l *link) *model {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	o.ASCII = o.ASCII || !env.utf8
	m := &model{opt: o, env: env, link: l, keys: newKeymap(), w: 80, h: 24}
	if o.ReadOnly || o.Source != nil && !l.canEnd() {
		m.keys = m.keys.without(actCancel, actTerminate)
	}
	m.setTheme(colorprofile.ANSI256)
	m.views = views(m.theme.Glyphs)
	if o.Consoles != nil {
		m.views = append(m.views, &view{"Poolers", []screen{newPoolers(m.theme.Glyphs)}})
	}
	m.desk = deskOf(m.views)
	m.desk.can, m.desk.readOnly = o.Explain != nil, o.ReadOnly
	for i, v := range m.views {
		if sameName(v.title, o.Screen) {
			m.cur = i
		}
	}
	m.read.base, m.read.next = o.Interval, o.Interval
	m.read.connected = o.Source != nil
	m.resize()
	return m
}

// latest is the server's time of the newest reading, zero before the first.
func (m *model) latest() time.Time {
	if n := len(m.ring.all); n > 0 {
		return m.ring.all[n-1].snap.At
	}
	return time.Time{}
}

func (m *model) setTheme(p colorprofile.Profile) {
	m.profile = p
	m.theme = theme.New(themeMode(m.opt, m.env, p), m.opt.ASCII)
}

// Init starts to connect, or to read.
func (m *model) Init() tea.Cmd {
	if m.read.connected {
		return tea.Batch(m.ask(), m.askPoolers(time.Time{}))
	}
	return tea.Batch(m.link.connect, m.askPoolers(time.Time{}))
}

func (m *model) view() *view    { return m.views[m.cur] }
func (m *model) screen() screen { return m.view().top() }

// tiny says that the window is too small for anything but one line.
func (m *model) tiny() bool { return m.w < minWidth || m.h < minHeight }

// resize gives every screen its room.
func (m *model) resize() {
	l := layout(m.w, m.h)
	for _, v := range m.views {
		for _, s := range v.stack {
			s.size(l.body.w, l.body.h)
		}
	}
}

// push opens a screen above the current one.
func (m *model) push(s screen) {
	v := m.view()
	v.stack = append(v.stack, s)
	m.resize()
	m.load(s)
}

// pop closes the top screen; false at the root of a view.
func (m *model) pop() bool {
	v := m.view()
	if len(v.stack) == 1 {
		return false
	}
	v.stack = v.stack[:len(v.stack)-1]
	m.load(v.top())
	return true
}

func (m *model) load(s screen) {
	if m.frame != nil {
		s.load(m.frame)
	}
}

// show puts reading i of the ring on screen.
func (m *model) show(i int) {
	m.frame = m.ring.frame(i, m.opt.Budget)
	m.frame.ascii = m.opt.ASCII
	if m.at == 0 {
		m.frame.away = m.read.err
	}
	m.load(m.screen())
	switch o := m.over.(type) {
	case *endDialog:
		o.load(m.frame)
	case *whatIf:
		o.load(m.frame)
	}
}

// sameName compares names of views and commands.
func sameName(a, b string) bool { return strings.EqualFold(clean.Line(a), clean.Line(b)) }
