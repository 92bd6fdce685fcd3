// Package spark draws small numbers as bars and sparklines of one line.
package spark

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/pgsonde/pgsonde/tui/theme"
)

// Line draws the last w values, oldest first and right-aligned; NaN is a gap.
// The highest glyph is top, or the largest value when that is larger. Zero is
// the lowest glyph, and anything above zero is at least the second.
func Line(g theme.Glyphs, vals []float64, top float64, w int) string {
	if w <= 0 {
		return ""
	}
	if len(vals) > w {
		vals = vals[len(vals)-w:]
	}
	for _, v := range vals {
		if v > top {
			top = v
		}
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", w-len(vals)))
	for _, v := range vals {
		switch {
		case math.IsNaN(v):
			b.WriteByte(' ')
		case v <= 0 || top <= 0:
			b.WriteString(g.Sparks[0])
		default:
			n := len(g.Sparks) - 1
			b.WriteString(g.Sparks[min(n, 1+int(v/top*float64(n-1)+0.5))])
		}
	}
	return b.String()
}

// Stack draws busy and idle of top in w cells: the busy part, and to be painted
// apart the idle part with the free part.
func Stack(g theme.Glyphs, busy, idle, top float64, w int) (full, rest string) {
	full, rest = Bar(g, busy, top, w)
	if top <= 0 || idle <= 0 {
		return full, rest
	}
	free := utf8.RuneCountInString(rest)
	end := min(w, int((busy+idle)/top*float64(w)+0.5))
	kept := max(0, min(free, end-(w-free)))
	return full, strings.Repeat(g.Kept, kept) + strings.Repeat(g.Rest, free-kept)
}

// Bar draws v of top in w cells: the full part and the free part, to be
// painted apart. Something above zero shows at least a sliver, and only v ≥ top
// fills it.
func Bar(g theme.Glyphs, v, top float64, w int) (full, rest string) {
	if w <= 0 {
		return "", ""
	}
	if top <= 0 || math.IsNaN(v) || math.IsNaN(top) {
		return "", strings.Repeat(" ", w)
	}
	steps := len(g.Eighths) + 1
	n := int(v / top * float64(w*steps))
	switch {
	case v >= top:
		n = w * steps
	case v > 0 && n == 0:
		n = 1
	case n < 0:
		n = 0
	}
	full = strings.Repeat(g.Full, n/steps)
	used := n / steps
	if p := n % steps; p > 0 {
		full += g.Eighths[p-1]
		used++
	}
	return full, strings.Repeat(g.Rest, w-used)
}
