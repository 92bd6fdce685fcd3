package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// piece is a part of the header that goes when there is no room; prio 0 stays.
type piece struct {
	spans []theme.Span
	prio  int
	right bool
}

// header says who answers, how full it is, and what reading it costs.
func (m *model) header(w int) string {
	t := m.theme
	if m.frame == nil {
		return t.Line(w, theme.Span{Text: " "}, theme.Span{Role: theme.Strong, Text: "pgsonde"},
			theme.Span{Text: "  "}, theme.Span{Role: theme.Dim, Text: m.opt.Target})
	}
	pieces := m.headerPieces(w)
	name := &pieces[0].spans[0].Text
	least := max(14, w*3/8)
	if strings.HasPrefix(*name, "/") { // a folder says less than what follows it
		least = 14
	}
	*name = shortTarget(t, *name, least)
	for {
		left, right := join(pieces, false), join(pieces, true)
		room := w - t.SpansWidth(left) - t.SpansWidth(right) - 1
		if room < 0 && dropWorst(&pieces) {
			continue
		}
		*name = shortTarget(t, m.frame.snap.Server.Target, clean.Width(*name)+max(0, room))
		return t.Split(w, join(pieces, false), right)
	}
}

func (m *model) headerPieces(w int) []piece {
	t, s, u := m.theme, m.frame.snap.Server, m.frame.use
	role := theme.Normal
	switch {
	case u.Free <= 0:
		role = theme.Crit
	case u.Free < u.KeepFree:
		role = theme.Warn
	}
	used := strconv.Itoa(u.Used)
	if u.Bound {
		used = t.AtMost + used
	}
	var sign []theme.Span
	if role != theme.Normal {
		sign = []theme.Span{{Role: role, Text: theme.Sign(role)}}
	}
	full, rest, kept := gauge(t.Glyphs, u.Used, u.Usable, u.MaxConnections, gaugeWidth(w))
	free := "free "
	if u.Bound {
		free += t.AtLeast
	}
	free += strconv.Itoa(u.Free)
	if u.KeepFree > 0 {
		free += ", keep " + strconv.Itoa(u.KeepFree)
	}
	p := []piece{
		{spans: []theme.Span{{Role: theme.Strong, Text: s.Target}}},
		{spans: dim(s.Version + " " + serverRole(s.InRecovery, s.ReadOnly)), prio: 4},
	}
	for _, mark := range serverMarks(m.frame) {
		p = append(p, piece{spans: []theme.Span{{Role: theme.Warn, Text: mark}}, prio: 1})
	}
	return append(p,
		piece{spans: append(sign, theme.Span{Role: strong(role), Text: used + "/" + strconv.Itoa(u.Usable)}), right: true},
		piece{spans: []theme.Span{{Role: role, Text: full}, {Role: theme.Dim, Text: rest + kept}}, prio: 3, right: true},
		piece{spans: []theme.Span{{Role: role, Text: free}}, prio: 2, right: true},
		piece{spans: dim(fmt.Sprintf("own %d, %s", m.frame.snap.Cost.Connections, cost(m.read.cost))), prio: 5, right: true},
	)
}

func gaugeWidth(w int) int {
	if w < 100 {
		return 8
	}
	return min(w/5, 40)
}

func strong(r theme.Role) theme.Role {
	if r == theme.Normal {
		return theme.Strong
	}
	return r
}

// shortTarget cuts the host of host:port/database, at its end, or at its start
// when it is a socket's folder.
func shortTarget(t *theme.Theme, target string, w int) string {
	target = t.Clean(target)
	i := strings.LastIndexByte(target, ':')
	if n := clean.Width(target); strings.HasPrefix(target, "/") && n > w {
		return ansi.TruncateLeft(target, n-w+clean.Width(t.Ellipsis), t.Ellipsis)
	}
	n := w - clean.Width(target[max(0, i):])
	if clean.Width(target) <= w || i < 0 || n < 4 {
		return t.Cut(target, w)
	}
	return t.Cut(target[:i], n) + target[i:]
}

func dim(text string) []theme.Span { return []theme.Span{{Role: theme.Dim, Text: text}} }

func serverRole(standby, readOnly bool) string {
	switch {
	case standby:
		return "standby"
	case readOnly:
		return "read-only"
	}
	return "primary"
}

// serverMarks are what must be known to trust what is on screen.
func serverMarks(f *frame) []string {
	var m []string
	if f.snap.Server.PlainTCP {
		m = append(m, "~unencrypted")
	}
	if f.snap.Server.Masked {
		m = append(m, "~masked")
	}
	if f.snap.Server.Pooled {
		m = append(m, "~via pooler")
	}
	return m
}

// cost is the smoothed round trip in whole steps, so that it stands still.
func cost(d time.Duration) string {
	if d < time.Millisecond {
		return "<1 ms"
	}
	return span(d)
}

// gauge draws used, free and reserved slots of max_connections in w cells.
func gauge(g theme.Glyphs, used, usable, all, w int) (full, rest, kept string) {
	if all <= 0 {
		return "", "", ""
	}
	if used >= usable {
		return strings.Repeat(g.Full, w), "", ""
	}
	k := 0
	if usable < all {
		k = max(1, (all-usable)*w/all)
	}
	n := max(0, min(used*(w-k)/max(1, usable), w-k-1))
	if used > 0 && n == 0 {
		n = 1
	}
	return strings.Repeat(g.Full, n), strings.Repeat(g.Rest, w-k-n), strings.Repeat(g.Kept, k)
}

func join(pieces []piece, right bool) []theme.Span {
	out := []theme.Span{{Text: " "}}
	for _, p := range pieces {
		if p.right != right {
			continue
		}
		if len(out) > 1 {
			out = append(out, theme.Span{Text: "  "})
		}
		out = append(out, p.spans...)
	}
	if right {
		out = append(out, theme.Span{Text: " "})
	}
	return out
}

// dropWorst takes the piece with the largest prio away.
func dropWorst(pieces *[]piece) bool {
	worst := -1
	for i, p := range *pieces {
		if p.prio > 0 && (worst < 0 || p.prio > (*pieces)[worst].prio) {
			worst = i
		}
	}
	if worst < 0 {
		return false
	}
	*pieces = append((*pieces)[:worst], (*pieces)[worst+1:]...)
	return true
}

// title names the views and the path, and says what state the data is in.
func (m *model) title(w int) string {
	t := m.theme
	var left []theme.Span
	for i, v := range m.views {
		label := fmt.Sprintf(" %d %s ", i+1, v.title)
		if i != m.cur {
			left = append(left, theme.Span{Role: theme.Dim, Text: label})
			continue
		}
		left = append(left, theme.Span{Role: theme.Tab, Text: label})
		for _, s := range v.stack[1:] {
			left = append(left, theme.Span{Role: theme.Dim, Text: " > "}, theme.Span{Role: theme.Strong, Text: s.name()})
		}
		if len(v.stack) > 1 {
			left = append(left, theme.Span{Text: " "})
		}
	}
	left = append(left, theme.Span{Text: " "})
	right := m.state()
	if l := m.screen().list(); l != nil && m.frame != nil {
		right = append(right, m.listState(w)...)
	}
	n := w - t.SpansWidth(left) - t.SpansWidth(right)
	if n < 1 {
		return t.Split(w, left, right)
	}
	return t.Line(w, left...) + t.Paint(theme.Dim, false, strings.Repeat(t.Rule, n)) + t.Line(w, right...)
}

// state is what keeps the screen from being the server's present.
func (m *model) state() []theme.Span {
	mark := func(r theme.Role, text string) []theme.Span {
		return []theme.Span{{Text: " "}, {Role: r, Text: text}, {Text: " "}}
	}
	r := m.read
	var out []theme.Span
	late := ""
	if r.late > 0 {
		late = ", data " + span(r.late.Truncate(time.Second)) + " old"
	}
	switch {
	case m.frame == nil:
		return nil
	case r.down != nil:
		out = mark(theme.Crit, "! "+downWords(r.down)+", retrying"+retry(r.down)+late)
	case r.err != nil:
		out = mark(theme.Warn, "~ no answer"+late)
	case r.late > 0:
		out = mark(theme.Warn, "~ slow"+late)
	case r.paused && m.at != 0:
		out = mark(theme.Mark, "paused")
	case r.paused:
		out = mark(theme.Mark, "paused "+clock(m.frame.snap.At))
	}
	if m.at != 0 {
		last := m.ring.all[len(m.ring.all)-1].snap.At
		out = append(out, mark(theme.Mark, clock(m.frame.snap.At)+", "+span(last.Sub(m.frame.snap.At))+" back")...)
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
func (m *model) listState(w int) []theme.Span {
	l := m.screen().list()
	var out []theme.Span
	if f := l.Filter(); f != "" {
		out = append(out, theme.Span{Role: theme.Mark, Text: " /" + m.theme.Cut(m.theme.Clean(f), w/4)})
	}
	if name, desc, ok := l.Sorted(); ok {
		arrow := m.theme.Up
		if desc {
			arrow = m.theme.Down
		}
		out = append(out, theme.Span{Role: theme.Dim, Text: " " + name + arrow})
	}
	shown, all := l.Count()
	n := strconv.Itoa(all)
	if shown != all {
		n = strconv.Itoa(shown) + "/" + n
	}
	switch {
	case w < 60:
	case all == 1:
		n += " row"
	default:
		n += " rows"
	}
	return append(out, theme.Span{Role: theme.Dim, Text: " " + n + " "})
}

// footer is the keys that apply now, what was just done, or the prompt.
func (m *model) footer(w int) string {
	t := m.theme
	if m.input != nil {
		return t.Line(w, m.input.spans()...)
	}
	if m.flash.text != "" && m.over == nil {
		return t.Line(w, theme.Span{Text: " "}, theme.Span{Role: theme.OK, Text: m.flash.text})
	}
	if _, asks := m.over.(*endDialog); asks {
		return t.Line(w, theme.Span{Role: theme.Dim, Text: " pgsonde checks once more that it is the same session before it ends it"})
	}
	acts := append(append([]action{}, m.screen().keys()...), actPause, actPalette, actHelp, actQuit)
	if m.over != nil {
		acts = []action{actBack, actUp, actDown}
	}
	right := m.keySpans(acts[len(acts)-2:])
	if m.over == nil && len(m.view().stack) == 1 {
		right[len(right)-2].Text = " quit"
	}
	var left []theme.Span
	if k, ok := m.over.(interface{ footer() []string }); ok {
		return t.Line(w, keyText(k.footer()...)...)
	}
	if m.at != 0 && m.over == nil {
		left = keyText("esc", "present", "[ ]", "step")
	}
	room := w - t.SpansWidth(right) - 1 - t.SpansWidth(left)
	for _, a := range acts[:len(acts)-2] {
		s := m.keySpans([]action{a})
		if n := t.SpansWidth(s); n > room {
			break
		} else {
			room -= n
		}
		left = append(left, s...)
	}
	return t.Split(w, left, right)
}

// keyText is the words of a footer that no action stands for.
func keyText(pairs ...string) []theme.Span {
	var out []theme.Span
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, theme.Span{Text: " "}, theme.Span{Role: theme.Key, Text: pairs[i]}, theme.Span{Role: theme.Dim, Text: " " + pairs[i+1]}, theme.Span{Text: " "})
	}
	return out
}

func (m *model) keySpans(acts []action) []theme.Span {
	var out []theme.Span
	for _, a := range acts {
		k, word := m.keys.short(a)
		if k == "" {
			continue // not in this program: read-only
		}
		if first, _, ok := strings.Cut(k, " "); ok {
			k = first
		}
		if m.theme.ASCII {
			k = asciiKey(k)
		}
		out = append(out, theme.Span{Text: " "}, theme.Span{Role: theme.Key, Text: k}, theme.Span{Role: theme.Dim, Text: " " + word}, theme.Span{Text: " "})
	}
	return out
}

// asciiKey names the arrow keys for a terminal that has no arrows.
func asciiKey(k string) string {
	return strings.NewReplacer("↑", "up", "↓", "down", "←", "left", "→", "right").Replace(k)
}

// sameName compares names of views and commands.
func sameName(a, b string) bool { return strings.EqualFold(clean.Line(a), clean.Line(b)) }
