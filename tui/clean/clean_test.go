package clean

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestLine(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "select 1", "select 1"},
		{"letters and CJK", "größe 日本語", "größe 日本語"},
		{"clipboard write", "\x1b]52;c;cm0=\x07", `\x1b]52;c;cm0=\x07`},
		{"C1 as character", "\u009b31mX", `\u009b31mX`},
		{"C1 as byte", "\x9b31m", `\x9b31m`},
		{"nul and del", "a\x00b\x7f", `a\x00b\x7f`},
		{"right to left override", "\u202egpj.exe", `\u202egpj.exe`},
		{"zero width space", "ad\u200bmin", `ad\u200bmin`},
		{"invalid UTF-8", "a\xff\xfeb", `a\xff\xfeb`},
		{"replacement character stays", "\ufffd", "\ufffd"},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"tag character", "a\U000E0041b", `a\U000e0041b`},
		{"newline, tab, return", "a\nb\tc\r", `a␤b\tc\x0d`},
		{"Hangul filler", "\u3164x\u115f", `\u3164x\u115f`},
		{"byte order mark", "\ufeffx", `\ufeffx`},
		{"no-break space", "a\u00a0b", `a\u00a0b`},
		{"private use", "\ue000", `\ue000`},
		{"braille blank", "\u2800", `\u2800`},
		{"variation selector", "❤\ufe0f", `❤\ufe0f`},
		{"mark without a base", "\u0301a", `\u0301a`},
		{"five marks", "a" + strings.Repeat("\u0301", 5), "a" + strings.Repeat("\u0301", 4) + `\u0301`},
		{"marks after an escape", "a\u0301\u200b\u0301", "a\u0301" + `\u200b\u0301`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Line(tt.in); got != tt.want {
				t.Errorf("Line(%q): got %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestSQL(t *testing.T) {
	tests := []struct {
		name, in string
		limit    int
		want     string
	}{
		{"lines", "  select\n\t*\r\n  from t  ", 0, "select * from t"},
		{"inner blanks", "select   1", 0, "select 1"},
		{"escape", "select '\x1b[2J'", 0, `select '\x1b[2J'`},
		{"cut in a character", "select '日本'", 9, "select '"},
		{"cut", "select 1, 2, 3", 8, "select 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := SQL(tt.in, tt.limit); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestBlock(t *testing.T) {
	got := Block("select\r\n\t1,\n a\t2\x1b")
	want := []string{"select", "    1,", ` a  2\x1b`}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("lines differ (-want +got):\n%s", d)
	}
}

func TestASCII(t *testing.T) {
	if got, want := ASCII("größe\n日\x1b"), `gr\u00f6\u00dfe\n\u65e5\x1b`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCleanTextIsNotCopied(t *testing.T) {
	for _, s := range []string{"select * from orders", "größe 日本語 ▂▃▅"} {
		if n := testing.AllocsPerRun(10, func() { Line(s) }); n != 0 {
			t.Errorf("%q: got %v allocations, want 0", s, n)
		}
	}
}

func check(t *testing.T, in, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Fatalf("not UTF-8: %q → %q", in, out)
	}
	marks := 0
	for _, r := range out {
		if unicode.Is(unicode.M, r) {
			if marks++; marks > maxMarks {
				t.Fatalf("%d marks: %q → %q", marks, in, out)
			}
			continue
		}
		marks = 0
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp) ||
			r != ' ' && unicode.Is(unicode.Zs, r) || !unicode.IsGraphic(r) ||
			unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
			t.Fatalf("%U in %q → %q", r, in, out)
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{"", "select 1", "\x1bP1$r\x1b\\", "\u009b31mX", "\x9b", "a" + strings.Repeat("\u0301", 200), "❤️ 👩‍👩‍👧‍👦", "\r\n\t\b", "\U000e0041"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o := Line(s)
		check(t, s, o)
		if again := Line(o); again != o {
			t.Fatalf("not stable: %q → %q → %q", s, o, again)
		}
		for _, l := range Block(s) {
			check(t, s, l)
		}
		check(t, s, SQL(s, 20))
		for _, r := range ASCII(s) {
			if r < 0x20 || r > 0x7e {
				t.Fatalf("%U in ASCII of %q", r, s)
			}
		}
	})
}

func BenchmarkASCII(b *testing.B) {
	s := strings.Repeat("select * from orders where id = 1 ", 30)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		Line(s)
	}
}

func BenchmarkHostile(b *testing.B) {
	s := strings.Repeat("a\x1b[31m\u202e\xff日本", 70)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		Line(s)
	}
}
