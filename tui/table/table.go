// Package table is a list of rows with columns, for a screen that is read
// again every second. Rows have an identity: selection, scroll place and sort
// order survive every refresh. A selected row that ended stays in its place,
// marked gone, until the selection leaves it, so that a key never meets
// another row than the one that was under the cursor.
package table

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// Column declares one column. Widths are in cells.
type Column struct {
	ID, Title string
	Right     bool // right-aligned; sorted by Num
	Rank      bool // sorted by Num too, the greatest first, though it is text
	Min       int  // never narrower
	Max       int  // grows with its content up to Max; 0 means Min
	Grow      bool // takes what the others leave; only the last such column does
	Prio      int  // dropped first when large; 0 is never dropped
	Wide      bool // only shown wide
	NoSort    bool
}

// byNum: sorted by number, the greatest first.
func (c Column) byNum() bool { return c.Right || c.Rank }

// Cell is one value. Text and Rest are drawn one after the other, Rest dim.
type Cell struct {
	Text string
	Rest string
	Role theme.Role
	Num  float64 // sort value of columns with Right or Rank
}

// Row is one line. Key is its identity; Cells stand in the order of the columns.
type Row struct {
	Key   string
	Cells []Cell
	Sign  theme.Role   // Warn, Crit or Holder put their sign before the row
	Head  bool         // heads a group: drawn strong
	Gone  bool         // ended while it was selected
	Low   bool         // stands below all others, whatever the order
	Line  []theme.Span // drawn across all columns instead of the cells
	Find  string       // what a filter finds besides the cells
	Depth int          // in a tree: how many rows above it it hangs on
	// Aside is about the row that it hangs on, or heads those that hang on it: a
	// filter shows it with them, and finds it only by Find.
	Aside bool
}

// Model is the state of a table. Its zero value has no columns; use New.
type Model struct {
	cols   []Column
	rows   []Row
	view   []int // indexes of rows that pass the filter, in order of display
	fit    []int // per column: the widest content seen
	sel    string
	at     int // place of sel in view
	top    int // first row on screen
	w, h   int // cells, title line included
	sort   int // column, -1 as given
	desc   bool
	filter string
	wide   bool
	x      int  // first scrolled column, when wide
	fixed  bool // rows stay as given: no sort (trees)
	hidden []bool
	ended  int // column that says it when a row has ended, -1 none
	saying string
	stay   bool // the selected row is shown whatever the filter says
	forced bool // … and only therefore
}

// New makes an empty table.
func New(cols []Column) *Model {
	return &Model{cols: cols, fit: make([]int, len(cols)), hidden: make([]bool, len(cols)), sort: -1, ended: -1}
}

// NewFixed makes a table whose rows are never sorted.
func NewFixed(cols []Column) *Model {
	m := New(cols)
	m.fixed = true
	return m
}

// SetRows replaces the content; the selection stays on its key.
func (m *Model) SetRows(rows []Row) {
	if ghost, at, ok := m.ghost(rows); ok {
		rows = slices.Insert(slices.Clone(rows), at, ghost)
	}
	m.stay = len(m.view) > 0 // it passed, or was there already: no refresh takes it away
	m.rows = rows
	for _, r := range rows {
		for c := range min(len(r.Cells), len(m.cols)) {
			if limit := m.cols[c].Max; m.fit[c] < limit {
				m.fit[c] = max(m.fit[c], min(limit, cellWidth(r.Cells[c])))
			}
		}
	}
	m.arrange()
}

// SayEnded puts text in a column of the selected row once that has ended.
func (m *Model) SayEnded(id, text string) {
	for i, c := range m.cols {
		if c.ID == id {
			m.ended, m.saying = i, text
		}
	}
}

// ghost is the selected row, and its place, when rows no longer have it.
func (m *Model) ghost(rows []Row) (r Row, at int, ok bool) {
	has := func(all []Row) int { return slices.IndexFunc(all, func(r Row) bool { return r.Key == m.sel }) }
	if m.sel == "" || has(rows) >= 0 {
		return Row{}, 0, false
	}
	if at = has(m.rows); at < 0 {
		return Row{}, 0, false
	}
	r = m.rows[at]
	if at = m.behind(at, rows); r.Depth > 0 && (at == len(rows) || rows[at].Depth == 0) {
		r.Depth = 0
	}
	if r.Gone {
		return r, at, true
	}
	r.Gone, r.Sign = true, theme.Normal
	switch {
	case r.Line != nil:
		r.Line = append([]theme.Span{{Role: theme.Strong, Text: "over: "}}, r.Line...)
	case len(r.Cells) > 0:
		r.Cells = slices.Clone(r.Cells)
		r.Cells[0].Rest = ""
		if m.ended >= 0 && m.ended < len(r.Cells) {
			r.Cells[m.ended] = Cell{Text: m.saying}
		}
	}
	return r, at, true
}

// behind is where among new rows the place of the i-th old one is: in a tree behind
// the last that stood before it.
func (m *Model) behind(i int, rows []Row) int {
	if !m.fixed {
		return min(i, len(rows))
	}
	at := make(map[string]int, len(rows))
	for k := range rows {
		at[rows[k].Key] = k + 1
	}
	for i--; i >= 0; i-- {
		if k := at[m.rows[i].Key]; k > 0 {
			return k
		}
	}
	return 0
}

// Forget lets go of the selected row: the next rows have the cursor where it stands,
// and no row is kept for it.
func (m *Model) Forget() { m.sel = "" }

func cellWidth(c Cell) int { return clean.Width(c.Text) + clean.Width(c.Rest) }

// arrange filters and sorts, then finds the selection again.
func (m *Model) arrange() {
	m.view, m.forced = m.view[:0], false
	for i, ok := range m.passing() {
		if !ok && m.stay && m.rows[i].Key == m.sel {
			ok, m.forced = true, true
		}
		if ok {
			m.view = append(m.view, i)
		}
	}
	if !m.fixed {
		slices.SortStableFunc(m.view, func(a, b int) int {
			if low := m.rows[a].Low; low != m.rows[b].Low {
				if low {
					return 1
				}
				return -1
			}
			if m.sort < 0 {
				return 0
			}
			x, y := m.cell(a, m.sort), m.cell(b, m.sort)
			o := 0
			if m.cols[m.sort].byNum() {
				o = cmp.Compare(x.Num, y.Num)
			} else {
				o = strings.Compare(x.Text, y.Text)
			}
			if m.desc {
				return -o
			}
			return o
		})
	}
	m.find()
}

func (m *Model) cell(row, col int) Cell {
	if c := m.rows[row].Cells; col < len(c) {
		return c[col]
	}
	return Cell{}
}

// find puts at on the selected key, or the selection on the row at that place.
func (m *Model) find() {
	if len(m.view) == 0 {
		m.at, m.top = 0, 0
		return
	}
	for i, r := range m.view {
		if m.rows[r].Key == m.sel {
			m.at = i
			m.scroll()
			return
		}
	}
	m.at = min(m.at, len(m.view)-1)
	m.sel = m.rows[m.view[m.at]].Key
	m.scroll()
}

// scroll keeps the selected row on screen.
func (m *Model) scroll() {
	n := m.page()
	m.top = min(m.top, m.at)
	m.top = max(m.top, m.at-n+1)
	m.top = max(0, min(m.top, len(m.view)-n))
}

func (m *Model) page() int { return max(1, m.h-1) }

// SetSize says how many cells the next drawing has.
func (m *Model) SetSize(w, h int) {
	if m.w == w && m.h == h {
		return
	}
	m.w, m.h = w, h
	m.find()
}

// Selected is the row under the cursor; false when there is none.
func (m *Model) Selected() (Row, bool) {
	if len(m.view) == 0 {
		return Row{}, false
	}
	return m.rows[m.view[m.at]], true
}

// Select puts the cursor on a key, when it is shown.
func (m *Model) Select(key string) {
	for i, r := range m.view {
		if m.rows[r].Key == key {
			m.to(i)
			return
		}
	}
}

// Move moves the cursor by n rows.
func (m *Model) Move(n int) { m.to(m.at + n) }

// MovePage moves it by n half pages.
func (m *Model) MovePage(n int) { m.Move(n * max(1, m.page()/2)) }

// Top and Bottom move to the ends.
func (m *Model) Top() { m.to(0) }

// Bottom moves to the last row.
func (m *Model) Bottom() { m.to(len(m.view) - 1) }

func (m *Model) to(i int) {
	if len(m.view) == 0 {
		return
	}
	old := m.sel
	m.at = max(0, min(i, len(m.view)-1))
	m.sel = m.rows[m.view[m.at]].Key
	if m.sel != old {
		m.bury()
	}
	m.scroll()
}

// bury drops a row that was only kept because it was selected.
func (m *Model) bury() {
	n := len(m.rows)
	m.rows = slices.DeleteFunc(m.rows, func(r Row) bool { return r.Gone && r.Key != m.sel })
	if len(m.rows) != n || m.forced {
		m.arrange()
	}
}

// Count is how many rows pass the filter, and how many there are.
func (m *Model) Count() (shown, all int) { return len(m.view), len(m.rows) }

// NextSort sorts by the next column on screen, and after the last as given.
// Numbers start with the largest.
func (m *Model) NextSort() {
	if m.fixed {
		return
	}
	m.sort++
	for m.sort < len(m.cols) && (m.hidden[m.sort] || m.cols[m.sort].NoSort || m.cols[m.sort].Wide && !m.wide) {
		m.sort++
	}
	if m.sort >= len(m.cols) {
		m.sort, m.desc = -1, false
	} else {
		m.desc = m.cols[m.sort].byNum()
	}
	m.arrange()
}

// SortBy sorts by the column with this ID; false when there is none.
func (m *Model) SortBy(id string) bool {
	for i, c := range m.cols {
		if c.ID == id && !c.NoSort && !m.fixed {
			m.sort, m.desc = i, c.byNum()
			m.arrange()
			return true
		}
	}
	return false
}

// Hide leaves columns out, or shows them again.
func (m *Model) Hide(hide bool, ids ...string) {
	for i, c := range m.cols {
		if slices.Contains(ids, c.ID) {
			m.hidden[i] = hide
		}
	}
}

// Reverse turns the order round.
func (m *Model) Reverse() {
	if m.sort >= 0 {
		m.desc = !m.desc
		m.arrange()
	}
}

// Sorted is the column the rows are sorted by; false when as given.
func (m *Model) Sorted() (title string, desc, ok bool) {
	if m.sort < 0 {
		return "", false, false
	}
	return m.cols[m.sort].Title, m.desc, true
}

// Wide says whether all columns are shown.
func (m *Model) Wide() bool { return m.wide }

// ToggleWide shows all columns, or as many as fit.
func (m *Model) ToggleWide() { m.wide, m.x = !m.wide, 0 }

// ScrollX moves the columns of a wide table by n; the first column stays.
func (m *Model) ScrollX(n int) {
	if m.wide {
		m.x = max(0, min(m.x+n, len(m.cols)-2))
	}
}
