package sqltext

import (
	"strings"
	"testing"
)

// A hint stands with its statement, a header of the file does not; a byte order
// mark is no part of either.
func TestSplitLead(t *testing.T) {
	for src, want := range map[string]Statement{
		"/*+ IndexScan(t) */ /* trace=1 */ SELECT 1;":      {Text: "/*+ IndexScan(t) */ /* trace=1 */ SELECT 1", Line: 1},
		"/* one */\n/* two */\nSELECT 1":                   {Text: "/* one */\n/* two */\nSELECT 1", Line: 1},
		"/* licence */\n\nSELECT 1":                        {Text: "SELECT 1", Line: 3},
		"-- a /* b */\nSELECT 1":                           {Text: "SELECT 1", Line: 2},
		"/* a */ -- b\nSELECT 1":                           {Text: "SELECT 1", Line: 2},
		"\ufeffSELECT 1":                                   {Text: "SELECT 1", Line: 1},
		"\ufeff-- name: Page :many\n/*+ Hint */ SELECT 1;": {Text: "/*+ Hint */ SELECT 1", Line: 2, Name: "Page"},
		"/* a /* nested */ b */ SELECT 1":                  {Text: "/* a /* nested */ b */ SELECT 1", Line: 1},
		"/*/**/*/0":                                        {Text: "/*/**/*/0", Line: 1},
		"/* a */ /*/ b */\nSELECT 1":                       {Text: "/* a */ /*/ b */\nSELECT 1", Line: 1},
		"/* a -- b */ SELECT 1":                            {Text: "/* a -- b */ SELECT 1", Line: 1},
		"/* a */\n\n/* b */\nSELECT 1":                     {Text: "/* b */\nSELECT 1", Line: 3},
		"\n\n/*+ Hint */\nSELECT 1;\n/* next */ SELECT 2":  {Text: "/*+ Hint */\nSELECT 1", Line: 3},
	} {
		got := Split(src)
		if len(got) == 0 || got[0].Text != want.Text || got[0].Line != want.Line || got[0].Name != want.Name {
			t.Errorf("%q: got %+v, want %+v", src, got, want)
		}
		if len(got) > 0 && src[got[0].Start:got[0].End] != got[0].Text {
			t.Errorf("%q: the range is not that of the text", src)
		}
	}
}

// A command of psql that sends a statement ends it, whatever else is on its line.
func TestSplitAtPsqlCommands(t *testing.T) {
	const a, b = "SELECT a FROM t WHERE b = $1 LIMIT 20", "SELECT 2"
	for _, end := range []string{
		" \\gx\n", "\n\\g\n", "\\gset p_\n", " \\g (format=unaligned) out.txt\n", " \\crosstabview a b\n", " \\watch 2\n", " \\bind 3 \\g\n", "\\gdesc\n", "\n\\gexec\n", ";\n\\x\n",
	} {
		got := Split(a + end + b + ";")
		if len(got) != 2 || got[0].Text != a || got[1].Text != b || got[1].Broken || got[0].Broken {
			t.Errorf("%q: got %+v", end, got)
		}
		if want := 1 + len(strings.Split(end, "\n")) - 1; len(got) == 2 && got[1].Line != want {
			t.Errorf("%q: the second is on line %d, want %d", end, got[1].Line, want)
		}
	}
}
