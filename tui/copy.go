package tui

import (
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/tui/clean"
)

// copy puts cleaned text in the clipboard: by escape sequence, and through
// tmux when it stands between.
func (m *model) copy(text, what string) tea.Cmd {
	text = strings.Join(clean.Block(text), "\n")
	if m.env.tmux {
		return m.link.tmuxCopy(text, what)
	}
	done := func() tea.Msg { return copiedMsg{what: what} }
	return tea.Sequence(tea.SetClipboard(text), done)
}

func (m *model) copied(msg copiedMsg) tea.Cmd {
	if msg.err != nil {
		return m.say("not copied: tmux load-buffer: " + msg.err.Error())
	}
	return m.say("copied " + msg.what)
}

// gotQuery takes a full statement to where it was wanted.
func (m *model) gotQuery(msg queryMsg) tea.Cmd {
	if msg.copy {
		switch {
		case msg.err != nil:
			return m.say("not copied: " + msg.err.Error())
		case msg.text == "":
			return m.say("not copied: there is no statement")
		}
		return m.copy(msg.text, "the statement: "+clean.SQL(msg.text, 60))
	}
	for _, v := range m.views {
		for _, s := range v.stack {
			if q, ok := s.(queryWanter); ok {
				q.gotQuery(msg.pid, msg.start, msg.text, msg.err)
			}
		}
	}
	if msg.err != nil && !errors.Is(msg.err, m.link.ctx.Err()) {
		return m.say(msg.err.Error())
	}
	return nil
}
