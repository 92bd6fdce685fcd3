package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// mostText is how much text a paste box takes, in bytes.
const mostText = 4 << 20

// pasteBox takes SQL, or a plan as JSON, of many lines.
type pasteBox struct {
	text []rune
	at   int
	note string
}

func newPaste(text string) *pasteBox {
	p := &pasteBox{}
	p.insert(text)
	return p
}

func (p *pasteBox) title() string { return "Explain SQL or a plan" }

// insert puts text at the cursor.
func (p *pasteBox) insert(s string) {
	if len(s)+len(p.text) > mostText {
		p.note = fmt.Sprintf("that is more than %d MB: pgsonde explain reads files", mostText>>20)
		return
	}
	r := []rune(strings.ReplaceAll(s, "\r\n", "\n"))
	for i := range r {
		if r[i] == '\r' { // what terminals send for a line end
			r[i] = '\n'
		}
	}
	p.text = slices.Insert(p.text, p.at, r...)
	p.at += len(r)
	p.note = ""
}

// pasted gives a paste to the box.
func (p *pasteBox) pasted(s string) { p.insert(s) }

// typed takes a key with its text.
func (p *pasteBox) typed(msg tea.KeyPressMsg) (result, bool) {
	switch k := msg.String(); k {
	case "esc":
		return result{}, true
	case "enter":
		text := string(p.text)
		return result{do: func(m *model) tea.Cmd { return m.explainText(text) }}, true
	case "alt+enter", "ctrl+j", "shift+enter":
		p.insert("\n")
	case "backspace":
		if p.at > 0 {
			p.at--
			p.text = slices.Delete(p.text, p.at, p.at+1)
		}
	case "delete":
		if p.at < len(p.text) {
			p.text = slices.Delete(p.text, p.at, p.at+1)
		}
	case "ctrl+u":
		p.text, p.at = nil, 0
	case "left":
		p.at = max(0, p.at-1)
	case "right":
		p.at = min(len(p.text), p.at+1)
	case "up":
		p.line(-1)
	case "down":
		p.line(1)
	case "home", "ctrl+a":
		p.at = p.start(p.at)
	case "end", "ctrl+e":
		p.at = p.end(p.at)
	default:
		if msg.Text != "" {
			p.insert(msg.Text)
		}
	}
	return result{}, false
}

// start and end are the ends of the line that holds place i.
func (p *pasteBox) start(i int) int {
	for i > 0 && p.text[i-1] != '\n' {
		i--
	}
	return i
}

func (p *pasteBox) end(i int) int {
	for i < len(p.text) && p.text[i] != '\n' {
		i++
	}
	return i
}

// line moves the cursor a line up or down.
func (p *pasteBox) line(by int) {
	from := p.start(p.at)
	col := p.at - from
	switch {
	case by < 0 && from > 0:
		up := p.start(from - 1)
		p.at = min(up+col, from-1)
	case by > 0 && p.end(p.at) < len(p.text):
		down := p.end(p.at) + 1
		p.at = min(down+col, p.end(down))
	}
}

// key is never called: the box takes keys with their text.
func (p *pasteBox) key(string, action) (result, bool) { return result{}, false }

// mostShown is how many lines round the cursor are wrapped for drawing.
const mostShown = 200

func (p *pasteBox) draw(t *theme.Theme, w, h int) []string {
	w = min(w, 100)
	before := strings.Split(string(p.text[:p.at]), "\n")
	after := strings.Split(string(p.text[p.at:]), "\n")
	var lines []string
	cursor := 0
	add := func(l string) {
		for _, part := range wrapText(t.Clean(cleanTabs(l)), w-1) {
			lines = append(lines, t.Line(w, theme.Span{Text: part}))
		}
	}
	for _, l := range before[max(0, len(before)-mostShown) : len(before)-1] {
		add(l)
	}
	cursor = len(lines)
	head, tail := t.Clean(cleanTabs(before[len(before)-1])), t.Clean(cleanTabs(after[0]))
	wrapped, in := cursorLines(t, head, tail, w-1)
	lines = append(lines, wrapped...)
	cursor += in
	for _, l := range after[1:min(len(after), mostShown)] {
		add(l)
	}
	role, say := theme.Dim, "paste, or type; alt+enter is a new line, ctrl+u clears; nothing is executed"
	if p.note != "" {
		role, say = theme.Warn, p.note
	}
	note := wrap(t, role, "", say, w)
	room := max(1, h-1-len(note))
	top := max(0, min(cursor-room/2, len(lines)-room))
	lines = lines[top:min(len(lines), top+room)]
	for len(lines) < min(room, 6) {
		lines = append(lines, "")
	}
	lines[0] = theme.Pad(lines[0], w)
	return append(append(lines, ""), note...)
}

func (p *pasteBox) footer() []string { return []string{"enter", "explain", "esc", "back"} }

func cleanTabs(s string) string { return strings.ReplaceAll(s, "\t", "    ") }

// cursorLines draws the line with the cursor, wrapped to w cells, and says in which
// of its lines the cursor is.
func cursorLines(t *theme.Theme, head, tail string, w int) (lines []string, at int) {
	under := " "
	if r := []rune(tail); len(r) > 0 {
		under, tail = string(r[0]), string(r[1:])
	}
	before := hardWrap(head, w)
	at = len(before) - 1
	last := before[at]
	if clean.Width(last)+clean.Width(under) > w {
		before, last = append(before, ""), ""
		at++
	}
	for _, l := range before[:at] {
		lines = append(lines, t.Line(w, theme.Span{Text: l}))
	}
	room := w - clean.Width(last) - clean.Width(under)
	first := ansi.Truncate(tail, max(0, room), "")
	var rest []string
	if first != tail {
		rest = hardWrap(tail[len(first):], w)
	}
	lines = append(lines, t.Line(w, theme.Span{Text: last}, theme.Span{Role: theme.Tab, Text: under}, theme.Span{Text: first}))
	for _, l := range rest {
		lines = append(lines, t.Line(w, theme.Span{Text: l}))
	}
	return lines, at
}

// hardWrap breaks clean text after exactly w cells.
func hardWrap(s string, w int) []string {
	return strings.Split(ansi.Hardwrap(s, max(2, w), true), "\n")
}

// explainText puts a text on the desk and opens its first statement.
func (m *model) explainText(text string) tea.Cmd {
	x, err := m.desk.paste(text)
	if err != nil {
		return m.say(err.Error())
	}
	if !m.desk.can && x.plan == nil {
		return m.say("a recording has no server to explain on; a plan as JSON can be judged")
	}
	m.push(newPlan(m.theme.Glyphs, m.desk, x))
	return m.settle()
}

// pastedOn opens the box for what is pasted on an Explain screen, and gives the
// box what is pasted while it is open; false when neither is the case.
func (m *model) pastedOn(text string) bool {
	if p, ok := m.over.(*pasteBox); ok {
		p.pasted(text)
		return true
	}
	if m.over == nil && m.input == nil && !m.tiny() && m.explains() {
		m.over = newPaste(text)
		return true
	}
	return false
}
