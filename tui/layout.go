package tui

import (
	"strings"

	"github.com/pgsonde/pgsonde/tui/theme"
)

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

// leftover divides a body between a table that needs need cells to be read, and the
// pane about its selected row: that gets no more than is left. pane is 0 when that
// is too little, or when the table shows everything.
func leftover(w, need int, wide bool) (table, pane int) {
	if pane = min(w-need-3, 72); pane < 38 || wide {
		return w, 0
	}
	return w - pane - 3, pane
}

// stripLines are the lines below a high table that are about its selected row, where
// no pane beside it is.
const stripLines = 9

// tallHeight is the height of a body from which there are such lines.
const tallHeight = 30

// under puts a rule and the lines about the selected row below a table.
func under(t *theme.Theme, table, about []string, w, n int) []string {
	if n <= 0 {
		return table
	}
	table = append(table, t.Paint(theme.Dim, false, strings.Repeat(t.Rule, w)))
	for i := range n - 1 {
		line := ""
		if i < len(about) && about[i] != "" {
			line = "   " + about[i]
		}
		table = append(table, line)
	}
	return table
}
