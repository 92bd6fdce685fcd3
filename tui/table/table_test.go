package table

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/pgsonde/pgsonde/tui/theme"
)

func cols() []Column {
	return []Column{
		{ID: "name", Title: "name", Min: 4, Max: 8},
		{ID: "n", Title: "n", Right: true, Min: 3},
		{ID: "more", Title: "more", Right: true, Min: 5, Prio: 2},
		{ID: "hidden", Title: "hidden", Min: 6, Wide: true},
		{ID: "text", Title: "text", Min: 6, Grow: true, Prio: 1},
	}
}

func row(name string, n int, text string) Row {
	return Row{Key: name, Cells: []Cell{
		{Text: name}, {Text: fmt.Sprint(n), Num: float64(n)}, {Text: "m"}, {Text: "h"}, {Text: text},
	}}
}

func keys(m *Model) string {
	var k []string
	for _, i := range m.view {
		k = append(k, m.rows[i].Key)
	}
	return strings.Join(k, " ")
}

func selected(t *testing.T, m *Model) Row {
	t.Helper()
	r, ok := m.Selected()
	if !ok {
		t.Fatal("nothing is selected")
	}
	return r
}

func TestSelectionStaysOnItsRow(t *testing.T) {
	m := New(cols())
	m.SetSize(40, 4)
	m.SetRows([]Row{row("a", 1, ""), row("b", 2, ""), row("c", 3, "")})
	m.Move(1)
	m.SetRows([]Row{row("x", 9, ""), row("c", 3, ""), row("a", 1, ""), row("b", 7, "")})
	if got := selected(t, m).Key; got != "b" {
		t.Errorf("after a refresh: got %q, want b", got)
	}
	m.SortBy("n")
	if got, want := keys(m), "x b c a"; got != want {
		t.Errorf("order: got %q, want %q", got, want)
	}
	if got := selected(t, m).Key; got != "b" {
		t.Errorf("after sorting: got %q, want b", got)
	}
	m.Reverse()
	if got, want := keys(m), "a c b x"; got != want {
		t.Errorf("reversed: got %q, want %q", got, want)
	}
}

func TestEndedRowStaysUnderTheCursor(t *testing.T) {
	m := New(cols())
	m.SetSize(40, 6)
	m.SetRows([]Row{row("a", 1, ""), row("b", 2, ""), row("c", 3, "")})
	m.Move(1)
	for range 3 { // as many refreshes as may come
		m.SetRows([]Row{row("a", 1, ""), row("c", 3, "")})
		if r := selected(t, m); r.Key != "b" || !r.Gone {
			t.Fatalf("got %q gone=%v, want b, gone", r.Key, r.Gone)
		}
	}
	if got, want := keys(m), "a b c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	m.Move(1)
	if got, want := keys(m), "a c"; got != want {
		t.Errorf("after the cursor left: got %q, want %q", got, want)
	}
	if got := selected(t, m).Key; got != "c" {
		t.Errorf("cursor: got %q, want c", got)
	}
}

func TestEndedRowThatComesBackIsNotGone(t *testing.T) {
	m := New(cols())
	m.SetRows([]Row{row("a", 1, ""), row("b", 2, "")})
	m.SetRows([]Row{row("b", 2, "")})
	m.SetRows([]Row{row("a", 5, ""), row("b", 2, "")})
	if r := selected(t, m); r.Key != "a" || r.Gone || r.Cells[1].Num != 5 {
		t.Errorf("got %+v, want a with its new values", r)
	}
}

func TestFilter(t *testing.T) {
	m := New(cols())
	m.SetRows([]Row{row("api", 1, "select"), row("web", 2, "SELECT"), row("job", 3, "vacuum")})
	tests := []struct{ filter, want string }{
		{"", "api web job"},
		{"select", "api web"},
		{"!select", "job"},
		{"!", "api web job"},
		{"3", "job"},
		{"nothing", ""},
	}
	for _, tt := range tests {
		m.SetFilter(tt.filter)
		if got := keys(m); got != tt.want {
			t.Errorf("filter %q: got %q, want %q", tt.filter, got, tt.want)
		}
	}
	if _, ok := m.Selected(); ok {
		t.Error("a row is selected though none is shown")
	}
	m.Move(1)
	m.Top()
	m.Bottom()
	m.SetFilter("")
	if got := selected(t, m).Key; got == "" {
		t.Error("no selection after the filter went")
	}
}

func TestNextSortGoesRound(t *testing.T) {
	m := New(cols())
	m.SetRows([]Row{row("b", 1, ""), row("a", 2, "")})
	var got []string
	for range 5 {
		m.NextSort()
		title, _, _ := m.Sorted()
		got = append(got, title)
	}
	if d := cmp.Diff([]string{"name", "n", "more", "text", ""}, got); d != "" {
		t.Errorf("columns differ (-want +got):\n%s", d)
	}
	if got := keys(m); got != "b a" {
		t.Errorf("as given: got %q, want b a", got)
	}
}

func TestRankedTextSortsByItsNumber(t *testing.T) {
	m := New([]Column{{ID: "v", Title: "v", Rank: true, Min: 6}})
	rank := func(text string, n float64) Row { return Row{Key: text, Cells: []Cell{{Text: text, Num: n}}} }
	m.SetRows([]Row{rank("fine", 1), rank("bad", 3), rank("so-so", 2)})
	m.NextSort()
	if got, want := keys(m), "bad so-so fine"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	m.Reverse()
	if got, want := keys(m), "fine so-so bad"; got != want {
		t.Errorf("turned round: got %q, want %q", got, want)
	}
}

func TestDraw(t *testing.T) {
	th := theme.New(theme.Plain, true)
	tests := []struct {
		name string
		w, h int
		do   func(*Model)
		want []string
	}{
		{"all fit", 34, 4, nil, []string{"   name     n  more text", ">! api     12     m select 1", "   worker   1     m vacuum", ""}},
		{"statement grows", 40, 2, nil, []string{"   name     n  more text", ">! api     12     m select 1"}},
		{"narrow drops by priority", 18, 2, nil, []string{"   name   n text", ">! api   12 sele.."}},
		{"only what never drops", 14, 2, nil, []string{"   name     n", ">! api     12"}},
		{"narrower than that", 8, 2, nil, []string{"   name", ">! api"}},
		{"scrolled", 40, 2, func(m *Model) { m.Move(1) }, []string{"   name     n  more text", ">  worker   1     m vacuum"}},
		{"wide", 44, 2, (*Model).ToggleWide, []string{"   name     n  more hidden text", ">! api     12     m h      select 1"}},
		{"wide, scrolled", 44, 2, func(m *Model) { m.ToggleWide(); m.ScrollX(2) }, []string{"   name   hidden text", ">! api    h      select 1"}},
		{"no room", 10, 0, nil, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := New(cols())
			m.SetSize(tt.w, tt.h)
			first := row("api", 12, "select 1")
			first.Sign = theme.Crit
			m.SetRows([]Row{first, row("worker", 1, "vacuum")})
			if tt.do != nil {
				tt.do(m)
			}
			got := m.Draw(th)
			for i := range got {
				if n := ansi.StringWidth(got[i]); n > tt.w {
					t.Errorf("line %d takes %d of %d cells", i, n, tt.w)
				}
				got[i] = strings.TrimRight(ansi.Strip(got[i]), " ")
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("lines differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestHostileCellStaysInItsColumn(t *testing.T) {
	m := New(cols())
	m.SetSize(60, 2)
	m.SetRows([]Row{row("a\x1b[2J\r\n", 1, "日本\x1b]0;x\x07\u202e")})
	for _, th := range []*theme.Theme{theme.New(theme.Plain, false), theme.New(theme.Plain, true)} {
		line := ansi.Strip(m.Draw(th)[1])
		if strings.ContainsAny(line, "\x1b\r\n\x07\u202e") {
			t.Errorf("got %q", line)
		}
		if n := ansi.StringWidth(line); n != 60 {
			t.Errorf("got %d cells, want 60: %q", n, line)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	m := New(cols())
	m.SetSize(120, 40)
	var rows []Row
	for i := range 500 {
		rows = append(rows, row(fmt.Sprintf("pid%d", i), i, "select * from orders where id = 17"))
	}
	th := theme.New(theme.Dark, false)
	b.ReportAllocs()
	for b.Loop() {
		m.SetRows(rows)
		m.Draw(th)
	}
}

func TestAnEndedRowSaysSo(t *testing.T) {
	m := New(cols())
	m.SayEnded("more", "ended")
	m.SetSize(60, 5)
	m.SetRows([]Row{row("a", 1, "x"), row("b", 2, "y")})
	m.Move(1)
	m.SetRows([]Row{row("a", 1, "x")})
	r := selected(t, m)
	if r.Key != "b" || !r.Gone || r.Cells[2].Text != "ended" || r.Cells[4].Text != "y" {
		t.Errorf("got %+v", r)
	}
	m.SetRows([]Row{row("a", 1, "x"), row("b", 2, "y")})
	if r := selected(t, m); r.Gone || r.Cells[2].Text != "m" {
		t.Errorf("back again: got %+v", r)
	}
}

func TestMissed(t *testing.T) {
	head := row("group", 0, "")
	head.Head = true
	m := New(cols())
	m.SetSize(60, 6)
	m.SetRows([]Row{head, row("a", 1, "x")})
	for filter, want := range map[string]bool{"": false, "x": false, "zz": true, "!zz": false} {
		m.SetFilter(filter)
		if got := m.Missed(); got != want {
			t.Errorf("%q: got %v, want %v", filter, got, want)
		}
		said := strings.Contains(strings.Join(m.Draw(theme.New(theme.Plain, false)), "\n"), "no row matches")
		if said != want {
			t.Errorf("%q: said %v, want %v", filter, said, want)
		}
	}
}
