// Package clean makes text from a server safe to show in a terminal. It is the
// one place that decides what a terminal may be sent: printable characters
// stay, everything else becomes a visible escape. Nothing that it returns can
// move the cursor, change colours, reorder text or take no room on screen.
package clean

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// maxMarks is how many combining marks one base character may carry; more
// would grow into the lines above and below.
const maxMarks = 4

// tabWidth is the distance of tab stops in Block.
const tabWidth = 4

// Line cleans a name or a message for one line. Control bytes and bytes that
// are not UTF-8 become \x1b; control, format, separator, private, unassigned
// and default-ignorable characters become \u202e or \U000e0041; a newline
// becomes ␤ and a tab \t. Clean text is returned as it is, without allocating.
func Line(s string) string {
	i, marks := prefix(s)
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:i])
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch kind(r, n) {
		case base:
			b.WriteString(s[i : i+n])
			marks = 0
		case mark:
			if marks < maxMarks {
				b.WriteString(s[i : i+n])
				marks++
			} else {
				escape(&b, r, n, s[i])
			}
		default:
			escape(&b, r, n, s[i])
			marks = maxMarks
		}
		i += n
	}
	return b.String()
}

// SQL cleans a statement for one line: every run of white space becomes one
// blank, the rest is as in Line. Only the start of a very long statement is
// looked at: limit is in bytes, 0 means all of it.
func SQL(s string, limit int) string {
	if limit > 0 && len(s) > limit {
		s = s[:limit]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		if len(s) > 0 && s[len(s)-1] >= utf8.RuneSelf {
			s = s[:len(s)-1]
		}
	}
	return Line(squeeze(s))
}

// Block cleans a text of many lines and returns them; tabs become blanks up to
// the next stop, and a carriage return before a newline goes.
func Block(s string) []string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = strings.TrimSuffix(l, "\r")
		if strings.Contains(l, "\t") {
			l = expand(l)
		}
		lines[i] = Line(l)
	}
	return lines
}

// ASCII is Line for terminals that are not UTF-8: every character beyond ASCII
// is escaped too, because its bytes may be control codes there.
func ASCII(s string) string {
	s = Line(s)
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf {
		i++
	}
	if i == len(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '␤':
			b.WriteString(`\n`)
		case r >= utf8.RuneSelf:
			escape(&b, r, utf8.RuneLen(r), 0)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Width is the number of terminal cells that s takes; s must be clean.
func Width(s string) int {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

type class uint8

const (
	bad class = iota
	base
	mark
)

func kind(r rune, n int) class {
	switch {
	case r >= 0x20 && r < 0x7f:
		return base
	case r < 0xa0 || r == utf8.RuneError && n <= 1:
		return bad
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), unicode.Is(unicode.Variation_Selector, r), r == '\u2800':
		return bad
	case unicode.Is(unicode.M, r):
		return mark
	case unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S):
		return base
	}
	return bad
}

// prefix returns how many leading bytes of s are clean and how many marks the
// last character before that place carries.
func prefix(s string) (n, marks int) {
	marks = maxMarks // a mark needs a base before it
	for i := 0; i < len(s); {
		if c := s[i]; c >= 0x20 && c < 0x7f {
			marks = 0
			i++
			continue
		}
		r, w := utf8.DecodeRuneInString(s[i:])
		switch k := kind(r, w); {
		case k == base:
			marks = 0
		case k == mark && marks < maxMarks:
			marks++
		default:
			return i, marks
		}
		i += w
	}
	return len(s), marks
}

func escape(b *strings.Builder, r rune, n int, c byte) {
	switch {
	case r == utf8.RuneError && n <= 1:
		fmt.Fprintf(b, `\x%02x`, c)
	case r == '\n':
		b.WriteRune('␤')
	case r == '\t':
		b.WriteString(`\t`)
	case r < 0x80:
		fmt.Fprintf(b, `\x%02x`, r)
	case r > 0xffff:
		fmt.Fprintf(b, `\U%08x`, r)
	default:
		fmt.Fprintf(b, `\u%04x`, r)
	}
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// squeeze makes every run of ASCII white space one blank.
func squeeze(s string) string {
	if !strings.ContainsAny(s, "\t\n\v\f\r") && !strings.Contains(s, "  ") {
		return strings.Trim(s, " ")
	}
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	for i := range len(s) {
		if isSpace(s[i]) {
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func expand(s string) string {
	var b strings.Builder
	col := 0
	for _, part := range strings.SplitAfter(s, "\t") {
		text, tab := strings.CutSuffix(part, "\t")
		b.WriteString(text)
		col += utf8.RuneCountInString(text)
		if tab {
			n := tabWidth - col%tabWidth
			b.WriteString(strings.Repeat(" ", n))
			col += n
		}
	}
	return b.String()
}
