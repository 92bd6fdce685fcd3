package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// window is a call of a window function that needs all rows of its partition before
// it gives the first: count(*) OVER (), ntile(4) OVER (ORDER BY …), a frame that ends
// UNBOUNDED FOLLOWING. Others go on row by row.
type window struct {
	call string // as written, on one line
	by   []*sqltext.Expr
}

// wholeWindows lists those of a statement. Plans before 18 do not print the windows.
func wholeWindows(sql string) []window {
	s := windowReader{sql: sql, toks: sqltext.Lex(sql)}
	var out []window
	for i, t := range s.toks {
		if !t.Is(sql, "over") || i+1 >= len(s.toks) || i == 0 || !s.toks[i-1].IsPunct(sql, ")") {
			continue
		}
		name, start := s.function(i - 1)
		spec, end := s.spec(i+1, i, 0)
		if name >= 0 && needsAll(strings.ToLower(s.toks[name].Text(sql)), spec) {
			out = append(out, window{call: oneLine(sql[s.toks[start].Start:s.toks[end].End]), by: spec.by})
		}
	}
	return out
}

// windowSpec is what stands in the parentheses of a window.
type windowSpec struct {
	by    []*sqltext.Expr
	order bool
	frame []string // its words, lower case; nil for the default
}

// needsAll: the function's first value depends on the last row of the partition.
// Without ORDER BY all rows are peers, and only a frame by ROWS tells them apart.
func needsAll(function string, w windowSpec) bool {
	switch function {
	case "row_number", "rank", "dense_rank", "lag", "lead", "first_value", "nth_value":
		return false
	case "ntile", "percent_rank", "cume_dist":
		return true
	}
	frame := strings.Join(w.frame, " ")
	return strings.Contains(frame, "unbounded following") || !w.order && !strings.HasPrefix(frame, "rows")
}

type windowReader struct {
	sql  string
	toks []sqltext.Token
}

// function finds the name of the function whose arguments, or FILTER, end at the
// token end; start is the first token of the call. name is -1 for none.
func (s windowReader) function(end int) (name, start int) {
	for depth, i := 0, end; i > 0; i-- {
		switch {
		case s.toks[i].IsPunct(s.sql, ")"):
			depth++
		case s.toks[i].IsPunct(s.sql, "("):
			depth--
		}
		if depth > 0 {
			continue
		}
		if s.toks[i-1].Is(s.sql, "filter") && i > 1 {
			return s.function(i - 2)
		}
		for start = i - 1; start > 1 && s.toks[start-1].IsPunct(s.sql, "."); start -= 2 {
		}
		return i - 1, start
	}
	return -1, 0
}

// spec reads the window at a token: in parentheses, or a name that a WINDOW clause
// behind the token after defines. end is its last token.
func (s windowReader) spec(at, after, depth int) (w windowSpec, end int) {
	if !s.toks[at].IsPunct(s.sql, "(") {
		if def := s.definition(s.toks[at].Text(s.sql), after); def > 0 && depth < 10 {
			w, _ = s.spec(def, after, depth+1)
		}
		return w, at
	}
	end = closing(s.sql, s.toks, at)
	i := at + 1
	if t := s.toks[i]; i < end && (t.Kind == sqltext.Quoted || t.Kind == sqltext.Word && !s.starts(i)) { // the name of another
		w, _ = s.spec(i, after, depth+1)
		i++
	}
	for i < end {
		next := i + 1
		for level := 0; next < end && (level > 0 || !s.starts(next)); next++ {
			if s.toks[next].IsPunct(s.sql, "(") {
				level++
			} else if s.toks[next].IsPunct(s.sql, ")") {
				level--
			}
		}
		switch {
		case s.toks[i].Is(s.sql, "partition") && i+2 < next:
			w.by = s.list(i+2, next)
		case s.toks[i].Is(s.sql, "order"):
			w.order = true
		case s.starts(i):
			for _, t := range s.toks[i:next] {
				w.frame = append(w.frame, strings.ToLower(t.Text(s.sql)))
			}
		}
		i = next
	}
	return w, end
}

// starts: a clause of a window begins at the token.
func (s windowReader) starts(i int) bool {
	by := i+1 < len(s.toks) && s.toks[i+1].Is(s.sql, "by")
	return by && (s.toks[i].Is(s.sql, "partition") || s.toks[i].Is(s.sql, "order")) ||
		s.toks[i].Is(s.sql, "rows") || s.toks[i].Is(s.sql, "range") || s.toks[i].Is(s.sql, "groups")
}

// list reads the expressions between two tokens; one that cannot be read is opaque.
func (s windowReader) list(from, to int) (out []*sqltext.Expr) {
	row, err := sqltext.ParseExpr("ROW(" + s.sql[s.toks[from].Start:s.toks[to-1].End] + ")")
	if err != nil || row.Kind != sqltext.Row {
		return []*sqltext.Expr{{}}
	}
	return row.Args
}

// definition finds the parenthesis of "WINDOW …, name AS (" behind a token, 0 for none.
func (s windowReader) definition(name string, after int) int {
	for i := after; i+3 < len(s.toks); i++ {
		if !s.toks[i].Is(s.sql, "window") {
			continue
		}
		for k := i + 1; k+2 < len(s.toks) && s.toks[k+1].Is(s.sql, "as") && s.toks[k+2].IsPunct(s.sql, "("); k = closing(s.sql, s.toks, k+2) + 2 {
			if strings.EqualFold(s.toks[k].Text(s.sql), name) {
				return k + 2
			}
		}
	}
	return 0
}

// readsOn is the window for which a page that starts at its cursor reads on to the
// end, nil for none. One with a partition by more than what the page's equalities
// hold reads on to the end of the partition only: by names the columns.
func (c *Cursor) readsOn(sql string) (call string, by []string) {
	if c == nil {
		return "", nil
	}
	for _, w := range wholeWindows(sql) {
		var left []string
		for _, e := range w.by {
			if !fixed(c.terms, Key{Expr: e}) {
				left = append(left, e.Name)
			}
		}
		if call == "" || len(left) < len(by) {
			call, by = w.call, left
		}
	}
	if slices.Contains(by, "") { // an expression: how many rows share its value is not known
		return "", nil
	}
	return call, by
}
