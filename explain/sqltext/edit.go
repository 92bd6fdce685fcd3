package sqltext

import (
	"sort"
	"strings"
)

// Edit replaces text[Start:End] by Text.
type Edit struct {
	Start, End int
	Text       string
}

// Splice applies edits to src. Edits must not overlap; those that do, or lie
// outside src, are left out. src elsewhere stays byte for byte.
func Splice(src string, edits []Edit) string {
	sorted := append([]Edit(nil), edits...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Start < sorted[j].Start })
	var b strings.Builder
	at := 0
	for _, e := range sorted {
		if e.Start < at || e.End < e.Start || e.End > len(src) {
			continue
		}
		b.WriteString(src[at:e.Start])
		b.WriteString(e.Text)
		at = e.End
	}
	b.WriteString(src[at:])
	return b.String()
}

// Span returns the range the edits cover, and the range their result takes up.
func Span(edits []Edit) (start, end, newStart, newEnd int) {
	if len(edits) == 0 {
		return 0, 0, 0, 0
	}
	grow := 0
	start, end = edits[0].Start, edits[0].End
	for _, e := range edits {
		start, end = min(start, e.Start), max(end, e.End)
		grow += len(e.Text) - (e.End - e.Start)
	}
	return start, end, start, end + grow
}
