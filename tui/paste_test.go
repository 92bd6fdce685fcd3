package tui

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/pgsonde/pgsonde/tui/theme"
)

// TestTypedTextIsWrapped holds that all of a long line is seen, wherever the cursor
// stands in it.
func TestTypedTextIsWrapped(t *testing.T) {
	text := strings.Repeat("select abc, def from ghi where x = 1 ", 6)
	th := theme.New(theme.Plain, false)
	for at := range len(text) + 1 {
		lines, in := cursorLines(th, text[:at], text[at:], 40)
		whole := stripped(lines)
		if got := strings.TrimRight(whole, " "); got != strings.TrimRight(text, " ") {
			t.Fatalf("cursor at %d: got %q", at, got)
		}
		if in < 0 || in >= len(lines) {
			t.Fatalf("cursor at %d: in line %d of %d", at, in, len(lines))
		}
	}
}

func TestTheBoxForSQLHasItsOwnKeys(t *testing.T) {
	d := draw(t, 80, 24, Options{Screen: "explain"}, recorded(t, "incident"))
	d.press("e")
	lines := strings.Split(d.text(), "\n")
	foot := lines[23]
	for _, want := range []string{"enter explain", "esc back"} {
		if !strings.Contains(foot, want) {
			t.Errorf("%q is not in the footer %q", want, foot)
		}
	}
	if strings.Contains(foot, "down") {
		t.Errorf("the footer has keys that do nothing: %q", foot)
	}
}

func stripped(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(ansi.Strip(l))
	}
	return b.String()
}
