package spark

import (
	"math"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

func TestLine(t *testing.T) {
	uni, asc := theme.New(theme.Dark, false).Glyphs, theme.New(theme.Dark, true).Glyphs
	nan := math.NaN()
	tests := []struct {
		name string
		g    theme.Glyphs
		vals []float64
		top  float64
		w    int
		want string
	}{
		{"short history stands right", uni, []float64{0, 8}, 8, 4, "  ▁█"},
		{"only the last", uni, []float64{8, 8, 0, 4}, 8, 2, "▁▅"},
		{"more than the top", uni, []float64{4, 16}, 8, 2, "▄█"},
		{"one of a hundred still shows", uni, []float64{1}, 100, 1, "▂"},
		{"gap", uni, []float64{8, nan, 8}, 8, 3, "█ █"},
		{"no top", uni, []float64{0, 0}, 0, 2, "▁▁"},
		{"ascii", asc, []float64{0, 1, 8}, 8, 3, "_-#"},
		{"no room", uni, []float64{1}, 1, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Line(tt.g, tt.vals, tt.top, tt.w); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestBar(t *testing.T) {
	uni, asc := theme.New(theme.Dark, false).Glyphs, theme.New(theme.Dark, true).Glyphs
	tests := []struct {
		name       string
		g          theme.Glyphs
		v, top     float64
		full, rest string
	}{
		{"half", uni, 5, 10, "██", "··"},
		{"sliver", uni, 0.01, 10, "▏", "···"},
		{"nearly full is not full", uni, 9.99, 10, "███▉", ""},
		{"full", uni, 10, 10, "████", ""},
		{"over", uni, 12, 10, "████", ""},
		{"nothing", uni, 0, 10, "", "····"},
		{"no top", uni, 3, 0, "", "    "},
		{"ascii", asc, 6, 10, "##", ".."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			full, rest := Bar(tt.g, tt.v, tt.top, 4)
			if full != tt.full || rest != tt.rest {
				t.Errorf("got %q %q, want %q %q", full, rest, tt.full, tt.rest)
			}
			if n := clean.Width(full + rest); n != 4 {
				t.Errorf("got width %d, want 4", n)
			}
		})
	}
	if full, _ := Bar(uni, 1, 1, 300); strings.Count(full, "█") != 300 {
		t.Errorf("wide bar: got %d cells", strings.Count(full, "█"))
	}
}

func TestStack(t *testing.T) {
	g := theme.New(theme.Dark, false).Glyphs
	tests := []struct {
		name            string
		busy, idle, top float64
		full, rest      string
	}{
		{"busy, idle and free", 2, 4, 8, "██", "░░░░··"},
		{"idle alone", 0, 8, 8, "", "░░░░░░░░"},
		{"busy alone", 8, 0, 8, "████████", ""},
		{"more than the top", 6, 6, 8, "██████", "░░"},
		{"no top", 1, 1, 0, "", "        "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			full, rest := Stack(g, tt.busy, tt.idle, tt.top, 8)
			if full != tt.full || rest != tt.rest {
				t.Errorf("got %q %q, want %q %q", full, rest, tt.full, tt.rest)
			}
		})
	}
}
