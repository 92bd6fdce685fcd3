package tui

import (
	"strings"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// command is something the palette can do.
type command func(m *model) tea.Cmd

type choice struct {
	name, what string
	do         command
}

// prompt is the line at the bottom that takes text: the filter or the palette.
type prompt struct {
	sign    string
	in      textinput.Model
	choices []choice // palette only
	match   []choice
	at      int
}

func newPrompt(sign string) *prompt {
	in := textinput.New()
	in.Prompt = ""
	in.SetVirtualCursor(false)
	in.Focus()
	return &prompt{sign: sign, in: in}
}

func newFilter(now string) *prompt {
	p := newPrompt("/")
	p.in.SetValue(now)
	p.in.CursorEnd()
	return p
}

func newPalette(all []*view) *prompt {
	p := newPrompt(":")
	p.choices = choices(all)
	p.match = p.choices
	return p
}

// choices are the commands of the palette; the views come first.
func choices(all []*view) []choice {
	var c []choice
	for i, v := range all {
		c = append(c, choice{strings.ToLower(v.title), "go to " + v.title, func(m *model) tea.Cmd { return m.goTo(i) }})
	}
	palette := func(name string) command {
		return func(m *model) tea.Cmd {
			m.opt.Theme = name
			m.setTheme(m.profile)
			return nil
		}
	}
	c = append(c,
		choice{"pause", "stop reading, or go on", (*model).pause},
		choice{"refresh", "read now", (*model).ask},
		choice{"live", "back to the present", (*model).goLive},
	)
	for _, d := range paces() {
		c = append(c, choice{"interval " + strings.ReplaceAll(span(d), " ", ""), "read every " + span(d), func(m *model) tea.Cmd { return m.setPace(d) }})
	}
	return append(c,
		choice{"theme dark", "colours for a dark background", palette("dark")},
		choice{"theme light", "colours for a light background", palette("light")},
		choice{"help", "all keys", func(m *model) tea.Cmd { m.over = newHelp(m.keys, m.w, m.h); return nil }},
		choice{"quit", "leave pgsonde", func(*model) tea.Cmd { return tea.Quit }},
	)
}

// typed gives a key press to the prompt.
func (m *model) typed(msg tea.KeyPressMsg) tea.Cmd {
	p := m.input
	switch msg.String() {
	case "esc":
		m.input = nil
		if p.choices == nil {
			m.filter("")
		}
		return nil
	case "enter":
		m.input = nil
		if p.choices != nil && len(p.match) > 0 {
			return p.match[p.at].do(m)
		}
		return nil
	case "up", "ctrl+p":
		p.at = max(0, p.at-1)
		return nil
	case "down", "ctrl+n", "tab":
		p.at = max(0, min(p.at+1, len(p.match)-1))
		return nil
	}
	return m.edit(msg)
}

func (m *model) paste(msg tea.PasteMsg) tea.Cmd {
	if m.pastedOn(msg.Content) || m.input == nil {
		return nil
	}
	return m.edit(msg)
}

// edit changes the text and what follows from it.
func (m *model) edit(msg tea.Msg) tea.Cmd {
	p := m.input
	var cmd tea.Cmd
	p.in, cmd = p.in.Update(msg)
	if p.choices == nil {
		m.filter(p.in.Value())
		return cmd
	}
	p.match, p.at = nil, 0
	want := strings.ToLower(strings.TrimSpace(p.in.Value()))
	for _, c := range p.choices {
		if strings.Contains(c.name, want) {
			p.match = append(p.match, c)
		}
	}
	return cmd
}

func (m *model) filter(s string) {
	if l := m.screen().list(); l != nil {
		l.SetFilter(s)
	}
}

func (p *prompt) spans() []theme.Span {
	return []theme.Span{{Text: " "}, {Role: theme.Key, Text: p.sign}, {Text: p.in.Value()}}
}

// column is where the cursor stands.
func (p *prompt) column() int {
	r := []rune(p.in.Value())
	return 2 + clean.Width(clean.Line(string(r[:min(p.in.Position(), len(r))])))
}

const maxChoices = 9

// draw puts the choices above the footer, over the end of lines.
func (p *prompt) draw(t *theme.Theme, lines []string, w int) []string {
	if p.choices == nil {
		return lines
	}
	n := min(maxChoices, len(lines)-2)
	first := max(0, min(p.at-n+1, len(p.match)-n))
	shown := p.match[first:min(len(p.match), first+n)]
	box := make([]string, 0, n+1)
	box = append(box, t.Paint(theme.Dim, false, strings.Repeat(t.Rule, w)))
	for i, c := range shown {
		sel := first+i == p.at
		mark := " "
		if sel {
			mark = t.Select
		}
		line := t.Paint(theme.Strong, sel, mark) + t.Paint(theme.Normal, sel, t.Fit(" "+c.name, 18, false)) + t.Paint(theme.Dim, sel, t.Fit(c.what, w-19, false))
		box = append(box, line)
	}
	if len(shown) == 0 {
		box = append(box, t.Line(w, theme.Span{Role: theme.Dim, Text: "  no such command"}))
	}
	return append(lines[:len(lines)-len(box)], box...)
}
