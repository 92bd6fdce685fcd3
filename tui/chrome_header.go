package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// piece is a part of the header. Prio 0 is always there, the others by rising prio
// as far as they fit.
type piece struct {
	spans []theme.Span
	prio  int
	right bool
	glued bool // no gap before it
	tail  bool // of the piece before it, and only there with it
	shown bool
}

// header says who answers, how full it is, how old that is, and what reading it
// costs. A long host gives way to all of these: it is cut in its middle.
func (m *model) header(w int) string {
	t := m.theme
	if m.frame == nil {
		return t.Line(w, theme.Span{Text: " "}, theme.Span{Role: theme.Strong, Text: "pgsonde"},
			theme.Span{Text: "  "}, theme.Span{Role: theme.Dim, Text: m.opt.Target})
	}
	pieces := m.headerPieces(w)
	name := &pieces[0].spans[0].Text
	least := max(20, w/4)
	if strings.HasPrefix(*name, "/") { // a folder says less than what follows it
		least = 14
	}
	*name = shortTarget(t, *name, least)
	room := w - 1 - choose(t, pieces, w-1)
	*name = shortTarget(t, m.frame.snap.Server.Target, clean.Width(*name)+max(0, room))
	return t.Split(w, join(pieces, false), join(pieces, true))
}

// choose shows as many pieces as fit into w cells, and returns how many they take.
func choose(t *theme.Theme, pieces []piece, w int) int {
	size := func() int { return t.SpansWidth(join(pieces, false)) + t.SpansWidth(join(pieces, true)) }
	most := 0
	for _, p := range pieces {
		most = max(most, p.prio)
	}
	for prio := range most + 1 {
		for i := range pieces {
			p := &pieces[i]
			if p.prio != prio || p.tail && !pieces[i-1].shown {
				continue
			}
			p.shown = true
			p.shown = prio == 0 || size() <= w
		}
	}
	return size()
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
	is := piece{spans: dim(" " + serverRole(s.InRecovery, s.ReadOnly)), prio: 5, glued: true}
	if s.InRecovery || s.ReadOnly {
		is.prio = 1
	}
	p := []piece{
		{spans: []theme.Span{{Role: theme.Strong, Text: s.Target}}},
		{spans: dim(s.Version), prio: 8},
		is,
	}
	for _, mark := range serverMarks(m.frame) {
		p = append(p, piece{spans: []theme.Span{{Role: theme.Warn, Text: mark}}, prio: 1})
	}
	p = append(p,
		piece{spans: append(sign, theme.Span{Role: strong(role), Text: used + "/" + strconv.Itoa(u.Usable)}), right: true},
		piece{spans: []theme.Span{{Role: role, Text: full}, {Role: theme.Dim, Text: rest + kept}}, prio: 4, right: true},
		piece{spans: []theme.Span{{Role: role, Text: free}}, prio: 6, right: true},
	)
	if u.KeepFree > 0 {
		p = append(p, piece{spans: []theme.Span{{Role: role, Text: ", keep " + strconv.Itoa(u.KeepFree)}}, prio: 9, right: true, glued: true, tail: true})
	}
	p = append(p, m.agePiece())
	return append(p, piece{spans: dim(fmt.Sprintf("own %d, %s", m.frame.snap.Cost.Connections, cost(m.read.cost))), prio: 3, right: true})
}

// agePiece is how old the reading on screen is: its age once it is overdue, until
// then the time of the reading, where there is room. The title has it while that
// is not the newest.
func (m *model) agePiece() piece {
	switch {
	case m.read.late > 0:
		return piece{spans: []theme.Span{{Role: theme.Warn, Text: "~ " + span(m.read.late.Truncate(time.Second)) + " old"}}, prio: 2, right: true}
	case m.at != 0 || m.read.paused:
		return piece{right: true, glued: true}
	}
	return piece{spans: dim("as of " + clock(m.frame.snap.At)), prio: 10, right: true}
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

// shortTarget fits host:port/database into w cells. A socket's folder loses its
// start, a host its middle: its first label and its domain tell it apart.
func shortTarget(t *theme.Theme, target string, w int) string {
	target = t.Clean(target)
	n := clean.Width(target)
	if n <= w {
		return target
	}
	if strings.HasPrefix(target, "/") {
		return ansi.TruncateLeft(target, n-w+clean.Width(t.Ellipsis), t.Ellipsis)
	}
	i := strings.LastIndexByte(target, ':')
	host := w - clean.Width(target[max(0, i):])
	if i < 0 || host < 6 {
		return cutMiddle(t, target, w)
	}
	return cutMiddle(t, target[:i], host) + target[i:]
}

// cutMiddle fits clean text into w cells by its start and its end.
func cutMiddle(t *theme.Theme, s string, w int) string {
	n, e := clean.Width(s), clean.Width(t.Ellipsis)
	if n <= w {
		return s
	}
	end := (w - e) / 2
	if end < 2 {
		return t.Cut(s, w)
	}
	return ansi.Truncate(s, w-e-end, "") + t.Ellipsis + ansi.TruncateLeft(s, n-end, "")
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

// join puts the pieces of one side next to each other.
func join(pieces []piece, right bool) []theme.Span {
	out := []theme.Span{{Text: " "}}
	for _, p := range pieces {
		if p.right != right || !p.shown || len(p.spans) == 0 {
			continue
		}
		if len(out) > 1 && !p.glued {
			out = append(out, theme.Span{Text: "  "})
		}
		out = append(out, p.spans...)
	}
	if right {
		out = append(out, theme.Span{Text: " "})
	}
	return out
}
