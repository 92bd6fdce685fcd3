package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// How the views are written, from the longest form on.
const (
	tabsWhole   = iota // every view by its name
	tabsShort          // only the current one, the others by number and letter
	tabsCurrent        // only the current one
	tabsPlace          // … and of its path the end
	tabForms
)

// How the state of the screen is written: each form leaves out more.
const (
	sayAll   = iota
	sayCount // the count without a word
	sayLess  // no order, the state in short
	sayWord  // the state in a word
	sayMode  // no count
	sayForms
)

// title names the views and the path, and says what state the data is in. What
// the state says is shortened before the views are; the name of the screen
// always stays.
func (m *model) title(w int) string {
	t := m.theme
	var left, right []theme.Span
	fits := false
	for form := 0; form < tabForms && !fits; form++ {
		left = m.tabs(form)
		for say := 0; say < sayForms && !fits; say++ {
			right = append(m.state(say), m.listState(say, w)...)
			fits = t.SpansWidth(left)+t.SpansWidth(right) <= w
		}
	}
	n := w - t.SpansWidth(left) - t.SpansWidth(right)
	if n < 1 {
		return t.Split(w, left, right)
	}
	return t.Line(w, left...) + t.Paint(theme.Dim, false, strings.Repeat(t.Rule, n)) + t.Line(w, right...)
}

// tabs are the views, with the path in the current one.
func (m *model) tabs(form int) []theme.Span {
	var out []theme.Span
	for i, v := range m.views {
		if i != m.cur {
			switch form {
			case tabsWhole:
				out = append(out, theme.Span{Role: theme.Dim, Text: fmt.Sprintf(" %d %s ", i+1, v.title)})
			case tabsShort:
				_, n := utf8.DecodeRuneInString(v.title)
				out = append(out, theme.Span{Role: theme.Dim, Text: fmt.Sprintf(" %d%s", i+1, v.title[:n])})
			}
			continue
		}
		if form == tabsShort && i > 0 {
			out = append(out, theme.Span{Text: " "})
		}
		out = append(out, theme.Span{Role: theme.Tab, Text: fmt.Sprintf(" %d %s ", i+1, v.title)})
		path := v.stack[1:]
		if form == tabsPlace && len(path) > 1 {
			path = path[len(path)-1:]
			out = append(out, theme.Span{Role: theme.Dim, Text: " > " + m.theme.Ellipsis})
		}
		for _, s := range path {
			out = append(out, theme.Span{Role: theme.Dim, Text: " > "}, theme.Span{Role: theme.Strong, Text: s.name()})
		}
		if len(path) > 0 {
			out = append(out, theme.Span{Text: " "})
		}
	}
	return append(out, theme.Span{Text: " "})
}

// state is what keeps the screen from being the server's present.
func (m *model) state(say int) []theme.Span {
	mark := func(r theme.Role, text string) []theme.Span {
		return []theme.Span{{Text: " "}, {Role: r, Text: text}, {Text: " "}}
	}
	r := m.read
	var out []theme.Span
	switch {
	case m.frame == nil:
		return nil
	case r.down != nil:
		out = mark(theme.Crit, "! "+downWords(r.down)+retryWords(r.down, say))
	case r.err != nil:
		out = mark(theme.Warn, "~ no answer")
	case r.late > 0:
		out = mark(theme.Warn, "~ slow")
	case r.paused && (m.at != 0 || say >= sayWord):
		out = mark(theme.Mark, "paused")
	case r.paused:
		out = mark(theme.Mark, "paused "+clock(m.frame.snap.At))
	}
	if m.at != 0 {
		last := m.ring.all[len(m.ring.all)-1].snap.At
		text := span(last.Sub(m.frame.snap.At)) + " back"
		if say < sayWord {
			text = clock(m.frame.snap.At) + ", " + text
		}
		out = append(out, mark(theme.Mark, text)...)
	}
	return out
}

// downWords is the state of a server that cannot be read. That it restarts is only
// claimed when it said so itself (SQLSTATE 57P01, 57P02): a refused connection may
// mean anything.
func downWords(d *probes.Unavailable) string {
	if d.State == "restarting" && (d.Err == nil || !strings.Contains(d.Err.Error(), "57P0")) {
		return "not answering"
	}
	return d.State
}

// retryWords say when the next attempt is.
func retryWords(d *probes.Unavailable, say int) string {
	switch {
	case say >= sayWord:
		return ""
	case say < sayLess:
		return ", retrying" + retry(d)
	case d.RetryIn < time.Second:
		return ", retrying"
	}
	return ", retry " + span(d.RetryIn)
}

func retry(d *probes.Unavailable) string {
	if d.RetryIn < time.Second {
		return ""
	}
	return " in " + span(d.RetryIn)
}

// stale says that the body is not the server's present, though nobody asked for the
// past.
func (m *model) stale() bool {
	return m.frame != nil && m.at == 0 && (m.read.down != nil || m.read.err != nil)
}

// listState is the filter, the order and the count of the list on screen.
func (m *model) listState(say, w int) []theme.Span {
	l := m.screen().list()
	if l == nil || m.frame == nil {
		return nil
	}
	var out []theme.Span
	if f := l.Filter(); f != "" {
		out = append(out, theme.Span{Role: theme.Mark, Text: " /" + m.theme.Cut(m.theme.Clean(f), w/4)})
	}
	if name, desc, ok := l.Sorted(); ok && say < sayLess {
		arrow := m.theme.Up
		if desc {
			arrow = m.theme.Down
		}
		if m.theme.ASCII { // a letter
			arrow = " " + arrow
		}
		out = append(out, theme.Span{Role: theme.Dim, Text: " " + name + arrow})
	}
	if say >= sayMode {
		return append(out, theme.Span{Text: " "})
	}
	shown, all := l.Count()
	if l.Missed() {
		shown = 0
	}
	n := strconv.Itoa(all)
	if shown != all {
		n = strconv.Itoa(shown) + "/" + n
	}
	switch {
	case say >= sayCount:
	case all == 1:
		n += " row"
	default:
		n += " rows"
	}
	return append(out, theme.Span{Role: theme.Dim, Text: " " + n + " "})
}
