package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// Update routes a message to the part that owns it.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) { // these two hardly ever change what is seen
	case dueMsg:
		return m, m.due(msg)
	case lateMsg:
		return m, m.overdue(msg)
	case poolersDueMsg:
		return m, m.poolersDue(msg)
	}
	m.drawn = nil
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return m, tea.Batch(m.key(msg), m.guardNew(), m.settle())
	case tea.PasteMsg:
		return m, tea.Batch(m.paste(msg), m.settle())
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		m.resize()
		if h, ok := m.over.(*help); ok {
			h.size(m.w, m.h)
		}
	case tea.ColorProfileMsg:
		m.setTheme(msg.Profile)
	case openedMsg:
		return m, tea.Batch(m.opened(msg), m.settle())
	case statementsMsg, judgedMsg, unusedMsg:
		return m, m.explained(msg)
	case answerMsg:
		return m, tea.Batch(m.answered(msg), m.settle())
	case poolersMsg:
		return m, m.gotPoolers(msg)
	case queryMsg:
		return m, m.gotQuery(msg)
	case locksMsg:
		for _, v := range m.views {
			if s, ok := v.top().(*sessionScreen); ok {
				s.gotLocks(msg)
			}
		}
	case endedMsg:
		return m, m.ended(msg)
	case copiedMsg:
		return m, m.copied(msg)
	case readyMsg:
		m.readable(msg)
	case hushMsg:
		if msg.n == m.flash.n {
			m.flash.text = ""
		}
	}
	return m, nil
}

// key routes a key press: ctrl+c and the too small window first, then the
// prompt, the overlay, the screen, and the keys that are the same everywhere.
func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	a := m.keys.byKey[msg.String()]
	switch {
	case a == actAbort:
		return tea.Quit
	case a == actSuspend:
		return tea.Suspend
	case m.tiny():
		if msg.String() == "q" {
			return tea.Quit
		}
		return nil
	case m.input != nil:
		return m.typed(msg)
	case m.over != nil:
		res, done := m.overKey(msg, a)
		if done {
			m.over = nil
		}
		return m.apply(res)
	case a == actView:
		return m.goTo(int(msg.String()[0] - '1'))
	}
	if res, ok := m.screen().act(a); ok {
		return m.apply(res)
	}
	if a == none {
		return m.noEnding(msg.String())
	}
	if say := m.unlisted(a); say != "" {
		return m.say(say)
	}
	if m.onList(a) {
		return nil
	}
	return m.global(a)
}

// noEnding says why a key that ends sessions has nothing to do here.
func (m *model) noEnding(k string) tea.Cmd {
	a := newKeymap().byKey[k]
	switch {
	case a != actCancel && a != actTerminate:
		return nil
	case m.opt.ReadOnly:
		return m.say("--read-only ends no session")
	}
	return m.say("no session can be ended here: this is a recording")
}

// unlisted is why a key of lists does nothing here, "" when it does.
func (m *model) unlisted(a action) string {
	_, isTree := m.screen().(folder)
	switch l := m.screen().list(); {
	case l == nil && (a == actFilter || a == actSort || a == actReverse || a == actWide):
		return "there is no list on this screen"
	case isTree && (a == actSort || a == actReverse):
		return "a tree has an order of its own"
	}
	return ""
}

// onList does what every list does.
func (m *model) onList(a action) bool {
	l := m.screen().list()
	if l == nil {
		return false
	}
	f, isTree := m.screen().(folder)
	switch a {
	case actUp:
		l.Move(-1)
	case actDown:
		l.Move(1)
	case actPageUp:
		l.MovePage(-1)
	case actPageDown:
		l.MovePage(1)
	case actTop:
		l.Top()
	case actBottom:
		l.Bottom()
	case actLeft:
		if isTree && !l.Wide() {
			f.Fold()
		} else {
			l.ScrollX(-1)
		}
	case actRight:
		if isTree && !l.Wide() {
			f.Unfold()
		} else {
			l.ScrollX(1)
		}
	case actSort:
		l.NextSort()
	case actReverse:
		l.Reverse()
	case actWide:
		l.ToggleWide()
		m.resize()
	case actBack:
		if l.Filter() == "" {
			return false
		}
		l.SetFilter("")
	default:
		return false
	}
	return true
}

// global does what works on every screen.
func (m *model) global(a action) tea.Cmd {
	switch a {
	case actBack:
		if m.at != 0 {
			return m.goLive()
		}
		m.pop()
		return m.askSoon()
	case actQuit:
		if m.pop() {
			return m.askSoon()
		}
		return tea.Quit
	case actNextView:
		return m.goTo((m.cur + 1) % len(m.views))
	case actPrevView:
		return m.goTo((m.cur + len(m.views) - 1) % len(m.views))
	case actFilter:
		if l := m.screen().list(); l != nil {
			m.input = newFilter(l.Filter())
		}
	case actPalette:
		m.input = newPalette(m.views)
	case actHelp:
		m.over = newHelp(m.keys, m.w, m.h)
	case actPause:
		return m.pause()
	case actRefresh:
		return m.ask()
	case actFaster:
		return m.pace(-1)
	case actSlower:
		return m.pace(1)
	case actOlder:
		return m.step(-1)
	case actNewer:
		return m.step(1)
	}
	return nil
}

// goTo shows view i, when there is one.
func (m *model) goTo(i int) tea.Cmd {
	if i < 0 || i >= len(m.views) {
		return nil
	}
	m.cur = i
	m.flash.text = ""
	if e, ok := m.screen().(interface{ enter() }); ok {
		e.enter()
	}
	m.load(m.screen())
	return tea.Batch(m.askSoon(), m.poolersSoon())
}

// apply does what a screen or an overlay answered.
func (m *model) apply(r result) tea.Cmd {
	switch {
	case r.push != nil:
		m.push(r.push)
		return tea.Batch(m.askSoon(), m.fetch())
	case r.open != nil:
		m.over = r.open
	case r.end != nil:
		return m.openEnd(r.end)
	case r.query != nil:
		return m.link.query(r.query.PID, r.query.BackendStart, true)
	case r.copy != "":
		return m.copy(r.copy, r.what)
	case r.do != nil:
		return r.do(m)
	case r.say != "":
		return m.say(r.say)
	}
	return nil
}

const flashTime = 3 * time.Second

// say shows one line in the footer for a while.
func (m *model) say(text string) tea.Cmd {
	m.flash.n++
	m.flash.text = text
	n := m.flash.n
	return m.link.after(flashTime, func(time.Time) tea.Msg { return hushMsg{n} })
}
