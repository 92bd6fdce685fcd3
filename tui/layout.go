package tui

// The smallest window that shows more than one line, and the width from which
// a table has a pane about the selected row beside it.
const (
	minWidth  = 40
	minHeight = 10
	sideWidth = 110
)

type rect struct{ x, y, w, h int }

// parts are the rectangles of the window.
type parts struct{ header, title, body, footer rect }

// layout divides a window of w by h cells.
func layout(w, h int) parts {
	return parts{
		header: rect{0, 0, w, 1},
		title:  rect{0, 1, w, 1},
		body:   rect{0, 2, w, max(0, h-3)},
		footer: rect{0, h - 1, w, 1},
	}
}

// beside divides a body between a table and the pane about its selected row;
// pane is 0 when there is no room for both, or when the table shows everything.
func beside(w int, wide bool) (table, pane int) {
	if w < sideWidth || wide {
		return w, 0
	}
	pane = max(38, min(w*2/5-8, 72))
	return w - pane - 3, pane
}
