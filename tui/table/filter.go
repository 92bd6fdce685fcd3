package table

import (
	"slices"
	"strings"
)

// Filter is the text that rows must contain; ! before it inverts.
func (m *Model) Filter() string { return m.filter }

// SetFilter shows only rows one of whose cells contains s, without regard to case,
// and of a tree with them those on which they hang. A row that ended goes with those
// that do not match.
func (m *Model) SetFilter(s string) {
	if m.filter == s {
		return
	}
	m.filter, m.stay = s, false
	pass := m.passing()
	i := -1
	m.rows = slices.DeleteFunc(slices.Clone(m.rows), func(r Row) bool { i++; return r.Gone && !pass[i] })
	m.arrange()
}

// wanted is what the filter looks for, and whether it inverts.
func (m *Model) wanted() (text string, not bool) {
	return strings.CutPrefix(strings.ToLower(m.filter), "!")
}

// passing says of every row whether the filter shows it: those that match, those on
// which they hang, and those that hang on them; what is aside goes with its row.
func (m *Model) passing() []bool {
	out := make([]bool, len(m.rows))
	want, not := m.wanted()
	var path []int // the rows that this one hangs on
	below := -1    // the depth of a match that it hangs on
	for i, r := range m.rows {
		for len(path) > 0 && m.rows[path[len(path)-1]].Depth >= r.Depth {
			path = path[:len(path)-1]
		}
		if r.Depth <= below {
			below = -1
		}
		hit := r.matches(want) != not && !(r.Aside && not)
		if hit && !not && want != "" && below < 0 {
			below = r.Depth
		}
		out[i] = want == "" || r.Head || hit || below >= 0
		if hit {
			for _, p := range path {
				out[p] = true
			}
		}
		path = append(path, i)
	}
	last := -1
	for i, r := range m.rows { // what is aside follows the row that it hangs on
		if r.Depth == 0 {
			last = i
		} else if r.Aside && last >= 0 {
			out[i] = out[last]
		}
	}
	return out
}

// matches says whether a row has text in a cell or in what it is found by.
func (r *Row) matches(text string) bool {
	for i := range r.Cells {
		if strings.Contains(strings.ToLower(r.Cells[i].Text), text) {
			return true
		}
	}
	return strings.Contains(strings.ToLower(r.Find), text)
}

// Missed says that there is a filter which no row passes, those that head others
// apart.
func (m *Model) Missed() bool {
	if m.filter == "" {
		return false
	}
	for _, i := range m.view {
		if !m.rows[i].Head {
			return false
		}
	}
	return true
}
