package sqltext

import "strings"

// Statement is one statement of a text.
type Statement struct {
	Text       string // as written, from its first token, and block comments right before it, to its last, without the semicolon
	Start, End int    // its byte range in the whole text
	Line       int    // line of Start, from 1
	Name       string // from a `-- name: …` comment before it; "" without one
	Broken     bool   // holds a string, identifier or comment without end
}

// Split cuts a text into its statements: at semicolons and, because many tools
// write no semicolons, at `-- name: …` comments. Empty statements are left out;
// psql's backslash lines and the data after COPY … FROM stdin are passed over, and a
// command that sends the statement before it, \gx, ends it;
// the body of a BEGIN ATOMIC function stays whole.
func Split(src string) []Statement {
	s := splitter{sc: scanner{src: src}, line: 1}
	if strings.HasPrefix(src, byteOrderMark) {
		s.sc.pos = len(byteOrderMark)
	}
	for s.step() {
	}
	return s.out
}

// byteOrderMark may begin a file in UTF-8; it is no part of its first statement.
const byteOrderMark = "\ufeff"

type splitter struct {
	sc      scanner
	out     []Statement
	cur     Statement
	open    bool // cur has its first token
	line    int  // line number at counted
	counted int
	words   [4]string // the first words of cur, lower case, for COPY and CREATE
	nwords  int
	stdin   bool
	atomic  int // depth of BEGIN ATOMIC / CASE in a routine body
	prev    Token
}

// step reads one token; false at the end.
func (s *splitter) step() bool {
	gap := s.sc.pos
	t := s.sc.next()
	if name, ok := blockName(s.sc.src[gap:min(t.Start, len(s.sc.src))]); ok {
		s.finish()
		s.cur.Name = name
	}
	switch {
	case t.Kind == EOF:
		s.finish()
		return false
	case t.IsPunct(s.sc.src, ";") && s.atomic == 0:
		s.finish()
		s.cur = Statement{}
	case s.sc.src[t.Start] == '\\' && s.atomic == 0 && (!s.open || sends(s.sc.src[t.Start:])):
		s.sc.pos = t.Start + 1
		s.finish()
		s.cur = Statement{}
		s.skipLine()
	default:
		lead := leading(s.sc.src[gap:t.Start])
		if _, ok := blockName(s.sc.src[t.Start-lead : t.Start]); ok {
			lead = 0
		}
		s.take(t, lead)
	}
	return true
}

// sends reports a command of psql that sends the statement before it.
func sends(command string) bool {
	n := 1
	for n < len(command) && command[n] >= 'a' && command[n] <= 'z' {
		n++
	}
	switch command[1:n] {
	case "g", "gx", "gset", "gdesc", "gexec", "crosstabview", "watch", "bind", "bind_named", "parse":
		return true
	}
	return false
}

// leading is how many bytes at the end of what stands before a statement are
// block comments right before it: hints, and marks that tools put there. A blank
// line, or a comment to the line's end, parts what is above from the statement.
func leading(gap string) int {
	start, lines := -1, 0 // of the first such comment; line ends since the last one
	for i := 0; i < len(gap); {
		switch {
		case strings.HasPrefix(gap[i:], "/*"):
			if start < 0 {
				start = i
			}
			sc := scanner{src: gap, pos: i}
			sc.comment()
			i, lines = sc.pos, 0
			continue
		case strings.HasPrefix(gap[i:], "--"):
			start = -1
			if n := strings.IndexByte(gap[i:], '\n'); n > 0 {
				i += n
				continue
			}
			return 0
		case gap[i] == '\n':
			if lines++; lines > 1 {
				start = -1
			}
		case strings.IndexByte(" \t\r", gap[i]) < 0:
			start = -1
		}
		i++
	}
	if start < 0 {
		return 0
	}
	return len(gap) - start
}

// take adds a token to the current statement; lead is the bytes before it that
// belong to it if it is the first.
func (s *splitter) take(t Token, lead int) {
	src := s.sc.src
	if !s.open {
		s.line += strings.Count(src[s.counted:t.Start-lead], "\n")
		s.counted = t.Start - lead
		s.cur.Start, s.cur.Line, s.open = t.Start-lead, s.line, true
		s.nwords, s.stdin, s.atomic = 0, false, 0
	}
	s.cur.End = t.End
	if t.Kind == Bad && t.End-t.Start > 1 {
		s.cur.Broken = true
	}
	if t.Kind == Word {
		s.word(t)
	}
	s.prev = t
}

// word watches for COPY … FROM stdin and for BEGIN ATOMIC … END.
func (s *splitter) word(t Token) {
	src := s.sc.src
	if s.nwords < len(s.words) {
		s.words[s.nwords] = strings.ToLower(t.Text(src))
		s.nwords++
	}
	if s.words[0] == "copy" && t.Is(src, "stdin") && s.prev.Is(src, "from") {
		s.stdin = true
	}
	switch {
	case s.words[0] != "create":
	case t.Is(src, "atomic") && s.prev.Is(src, "begin"):
		s.atomic++
	case s.atomic > 0 && t.Is(src, "case"):
		s.atomic++
	case s.atomic > 0 && t.Is(src, "end"):
		s.atomic--
	}
}

// finish closes the current statement, if it has a token.
func (s *splitter) finish() {
	if !s.open {
		return
	}
	s.cur.Text = s.sc.src[s.cur.Start:s.cur.End]
	s.out = append(s.out, s.cur)
	s.cur, s.open, s.atomic = Statement{}, false, 0
	s.words = [4]string{}
	if s.stdin {
		s.skipData()
	}
	s.stdin = false
}

func (s *splitter) skipLine() {
	if n := strings.IndexByte(s.sc.src[s.sc.pos:], '\n'); n >= 0 {
		s.sc.pos += n + 1
	} else {
		s.sc.pos = len(s.sc.src)
	}
}

// skipData passes over COPY data: up to and with the line that is `\.`.
func (s *splitter) skipData() {
	for s.sc.pos < len(s.sc.src) {
		start := s.sc.pos
		s.skipLine()
		if strings.TrimSpace(s.sc.src[start:s.sc.pos]) == `\.` {
			return
		}
	}
}

// blockName finds the last `name:` comment in the white space and comments
// before a token: `-- name: x`, `-- :name x`, `/* name: x */`, `/* @name x */`.
func blockName(gap string) (string, bool) {
	if len(gap) < len("--name:x") || !strings.Contains(gap, "name") {
		return "", false
	}
	name, found := "", false
	for _, line := range strings.Split(gap, "\n") {
		line = strings.TrimSpace(line)
		var rest string
		switch {
		case strings.HasPrefix(line, "--"):
			rest = line[2:]
		case strings.HasPrefix(line, "/*"):
			rest = line[2:]
		case strings.HasPrefix(line, "*") && !strings.HasPrefix(line, "*/"): // inside a block comment
			rest = line[1:]
		default:
			continue
		}
		rest = strings.TrimSpace(rest)
		for _, mark := range []string{"name:", ":name ", "@name "} {
			if after, ok := strings.CutPrefix(rest, mark); ok {
				if f := strings.Fields(strings.TrimSuffix(after, "*/")); len(f) > 0 {
					name, found = f[0], true
				}
			}
		}
	}
	return name, found
}
