package tui

import (
	"fmt"

	"github.com/pgsonde/pgsonde/tui/theme"
)

// helpWidth is the cells of one column of the help.
const helpWidth = 36

// help lists every key by where it works, and what the signs mean, in pages.
type help struct {
	keys  keymap
	at    int
	pages int // as last sized
	w, h  int
}

func newHelp(k keymap, w, h int) *help {
	x := &help{keys: k}
	x.size(w, h)
	return x
}

// size takes the cells of the window.
func (h *help) size(w, height int) {
	h.w, h.h = w-4, max(1, height-3)
	h.pages = len(h.columns(theme.New(theme.Plain, false)))
	if h.wide() {
		h.pages = (h.pages + 1) / 2
	}
	h.at = min(h.at, h.pages-1)
}

func (h *help) wide() bool { return h.w >= 2*helpWidth+2 }

func (h *help) title() string {
	if h.pages == 1 {
		return "Keys"
	}
	return fmt.Sprintf("Keys, page %d of %d", h.at+1, h.pages)
}

func (h *help) footer() []string {
	if h.pages == 1 {
		return []string{"esc", "back"}
	}
	return []string{"esc", "back", "space", "next page", "k", "page before"}
}

func (h *help) key(k string, a action) (result, bool) {
	switch {
	case a == actUp, a == actPageUp:
		h.at = max(0, h.at-1)
	case a == actDown, a == actPageDown, k == "space":
		h.at = min(h.at+1, h.pages-1)
	case a == actHelp, a == actBack, a == actQuit, a == actEnter:
		return result{}, true
	}
	return result{}, false
}

// blocks are the keys in groups, and the signs.
func (h *help) blocks(t *theme.Theme) [][]string {
	var out [][]string
	line := func(k, what string) string {
		return t.Paint(theme.Key, false, t.Fit(k, 12, false)) + t.Line(helpWidth-12, theme.Span{Role: theme.Dim, Text: what})
	}
	group := ""
	for _, b := range h.keys.all {
		if b.group != group {
			group = b.group
			out = append(out, []string{t.Paint(theme.Strong, false, group)})
		}
		k := b.Help().Key
		if t.ASCII {
			k = asciiKey(k)
		}
		out[len(out)-1] = append(out[len(out)-1], line(k, b.Help().Desc))
	}
	signs := []string{t.Paint(theme.Strong, false, "Signs")}
	for _, s := range [][2]string{
		{"!", "wrong: act on it"},
		{"~", "look at it"},
		{"*", "others wait for it"},
		{"x", "ended while selected"},
		{t.Select, "the row that keys act on"},
		{t.Closed + " " + t.Open, "folded, unfolded"},
		{t.Full, "in use, busy"},
		{t.Kept, "idle, or kept back"},
		{t.Rest, "free"},
		{t.AtMost, "at most: some is hidden"},
		{"?", "not known"},
		{t.None, "no limit"},
	} {
		signs = append(signs, line(s[0], s[1]))
	}
	return append(out, signs)
}

// columns sets whole groups below each other while they fit; a group that is
// higher than a column goes on in the next.
func (h *help) columns(t *theme.Theme) [][]string {
	cols := [][]string{nil}
	for _, b := range h.blocks(t) {
		last := len(cols) - 1
		gap := min(1, len(cols[last]))
		if len(cols[last])+gap+len(b) > h.h && len(cols[last]) > 0 {
			cols = append(cols, nil)
			last++
			gap = 0
		}
		cols[last] = append(cols[last], make([]string, gap)...)
		for _, l := range b {
			if len(cols[last]) == h.h {
				cols = append(cols, nil)
				last++
			}
			cols[last] = append(cols[last], l)
		}
	}
	return cols
}

func (h *help) draw(t *theme.Theme, _, height int) []string {
	cols := h.columns(t)
	if !h.wide() {
		c := cols[min(h.at, len(cols)-1)]
		return c[:min(len(c), height)]
	}
	i := min(2*h.at, len(cols)-1)
	left := cols[i]
	var right []string
	if i+1 < len(cols) {
		right = cols[i+1]
	}
	out := make([]string, min(height, max(len(left), len(right))))
	for i := range out {
		var l, r string
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		out[i] = theme.Pad(l, helpWidth) + "  " + r
	}
	return out
}
