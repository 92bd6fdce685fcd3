package sqltext

import (
	"cmp"
	"sort"
	"strconv"
	"strings"
)

// Placeholder is one parameter of a statement.
type Placeholder struct {
	N        int    // its number in the normalised text: $N
	Name     string // the name of a named one, else ""
	Spelling string // as written the first time
}

// Normal is a statement whose placeholders are written $1, $2, …, with the way
// back to the text it came from.
type Normal struct {
	Source  string  // as given
	SQL     string  // with $n
	Dialect Dialect // the spelling in Source
	Params  []Placeholder
	marks   []mark
	names   map[string]int
	escaped bool // %% or ?? stands for the sign itself
}

// mark is a piece that is written otherwise in SQL than in Source: a
// placeholder, or a doubled sign.
type mark struct{ start, end, from, to int }

// Placeholders writes the placeholders of a statement as $n. With Auto the
// dialect is recognised: $n wins, then %(name)s, %s, :name, :1, @name (with
// sqlc.arg(name) and its kin), ?1, ?. Equal names get one number; each ? and %s its own;
// ?1 and :1 keep theirs.
func Placeholders(src string, d Dialect) *Normal {
	if d == Auto {
		d = detect(src)
	}
	n := &Normal{Source: src, Dialect: d, names: map[string]int{}}
	toks := LexDialect(src, d)
	if d == Dollar {
		n.SQL = src
		n.dollars(toks)
		return n
	}
	n.rewrite(toks)
	return n
}

// detect picks the dialect that finds a placeholder in src; Dollar for none.
func detect(src string) Dialect {
	if strings.IndexByte(src, '$') >= 0 && uses(src, Dollar) {
		return Dollar
	}
	for _, c := range []struct {
		d    Dialect
		sign string
	}{{PercentNamed, "%("}, {Percent, "%"}, {Colon, ":"}, {ColonNumbered, ":"}, {At, "@"}, {Numbered, "?"}, {Question, "?"}} {
		if strings.Contains(src, c.sign) && uses(src, c.d) {
			return c.d
		}
	}
	if strings.Contains(src, "sqlc.") {
		return At
	}
	return Dollar
}

// uses reports whether src has a placeholder of the dialect.
func uses(src string, d Dialect) bool {
	for s := (scanner{src: src, dialect: d, unsure: true}); ; {
		switch s.next().Kind {
		case Param:
			return true
		case EOF:
			return false
		}
	}
}

// dollars fills Params of a text that is normal already.
func (n *Normal) dollars(toks []Token) {
	seen := map[int]bool{}
	for _, t := range toks {
		if t.Kind != Param {
			continue
		}
		text := t.Text(n.Source)
		if i, err := strconv.Atoi(text[1:]); err == nil && !seen[i] {
			seen[i] = true
			n.Params = append(n.Params, Placeholder{N: i, Spelling: text})
		}
	}
	n.sort()
}

// rewrite builds SQL, Params and marks.
func (n *Normal) rewrite(toks []Token) {
	var b strings.Builder
	at := 0
	put := func(start, end int, text string) {
		n.plain(&b, at, start)
		m := mark{start: b.Len(), from: start, to: end}
		b.WriteString(text)
		m.end = b.Len()
		n.marks = append(n.marks, m)
		at = end
	}
	for i := 0; i < len(toks); i++ {
		if t := toks[i]; (n.Dialect == Question || n.Dialect == Numbered) && t.Kind == Op && strings.Contains(t.Text(n.Source), "??") {
			n.escaped = true
			put(t.Start, t.End, strings.ReplaceAll(t.Text(n.Source), "??", "?"))
			continue
		}
		start, end, name, skip := n.placeholderAt(toks, i)
		if end > 0 {
			put(start, end, "$"+strconv.Itoa(n.number(name, n.Source[start:end])))
			i += skip
		}
	}
	n.plain(&b, at, len(n.Source))
	n.SQL = b.String()
	n.sort()
}

func (n *Normal) sort() {
	sort.Slice(n.Params, func(i, j int) bool { return n.Params[i].N < n.Params[j].N })
}

// plain copies source text that holds no placeholder. Where % opens one, a
// doubled %% is a single one, inside strings too: the driver sees the text first.
func (n *Normal) plain(b *strings.Builder, start, end int) {
	for n.Dialect == Percent || n.Dialect == PercentNamed {
		i := strings.Index(n.Source[start:end], "%%")
		if i < 0 {
			break
		}
		n.escaped = true
		b.WriteString(n.Source[start : start+i])
		n.marks = append(n.marks, mark{start: b.Len(), end: b.Len() + 1, from: start + i, to: start + i + 2})
		b.WriteByte('%')
		start += i + 2
	}
	b.WriteString(n.Source[start:end])
}

// placeholderAt: range and name of a placeholder that starts at token i, and
// the tokens it has more than one; end is 0 for none.
func (n *Normal) placeholderAt(toks []Token, i int) (start, end int, name string, skip int) {
	t := toks[i]
	if t.Kind == Param {
		text := t.Text(n.Source)
		switch {
		case text[0] == '$': // among others: the server's own
			name = text
		case n.Dialect == Colon, n.Dialect == At:
			name = text[1:]
		case n.Dialect == PercentNamed:
			name = text[2 : len(text)-2]
		}
		return t.Start, t.End, name, 0
	}
	if n.Dialect != At || !t.Is(n.Source, "sqlc") || i+5 >= len(toks) {
		return 0, 0, "", 0
	}
	fn, arg := toks[i+2], toks[i+4]
	if !toks[i+1].IsPunct(n.Source, ".") || !toks[i+3].IsPunct(n.Source, "(") || !toks[i+5].IsPunct(n.Source, ")") ||
		!(fn.Is(n.Source, "arg") || fn.Is(n.Source, "narg") || fn.Is(n.Source, "slice")) {
		return 0, 0, "", 0
	}
	return t.Start, toks[i+5].End, strings.Trim(arg.Text(n.Source), `'"`), 5
}

// number returns the number of a placeholder, a new one for a new name and for
// every nameless one.
func (n *Normal) number(name, spelling string) int {
	key, own := name, 0
	if n.Dialect.Numbered() {
		key = spelling[1:]
		own, _ = strconv.Atoi(key)
	}
	if num, ok := n.names[key]; ok && key != "" {
		return num
	}
	p := Placeholder{N: cmp.Or(own, len(n.Params)+1), Name: name, Spelling: spelling}
	n.names[key] = p.N
	n.Params = append(n.Params, p)
	return p.N
}

// Offset maps a byte offset of SQL to one of Source. Inside a placeholder it
// gives the placeholder's start.
func (n *Normal) Offset(off int) int {
	i := sort.Search(len(n.marks), func(i int) bool { return n.marks[i].end > off })
	if i < len(n.marks) && off >= n.marks[i].start {
		return n.marks[i].from
	}
	if i == 0 {
		return off
	}
	return off - n.marks[i-1].end + n.marks[i-1].to
}

// Original turns edits of SQL into edits of Source: ranges are mapped and the
// placeholders in the new text get the source's spelling.
func (n *Normal) Original(edits []Edit) []Edit {
	out := make([]Edit, len(edits))
	for i, e := range edits {
		out[i] = Edit{Start: n.Offset(e.Start), End: n.Offset(e.End), Text: n.spell(e.Text)}
	}
	return out
}

// spell writes normalised text with the source's placeholders.
func (n *Normal) spell(text string) string {
	if n.Dialect == Dollar {
		return text
	}
	var b strings.Builder
	at := 0
	for _, t := range Lex(text) {
		if t.Kind != Param {
			continue
		}
		num, err := strconv.Atoi(t.Text(text)[1:])
		i, ok := sort.Find(len(n.Params), func(i int) int { return num - n.Params[i].N })
		if err != nil || !ok {
			continue
		}
		b.WriteString(n.double(text[at:t.Start]))
		b.WriteString(n.Params[i].Spelling)
		at = t.End
	}
	b.WriteString(n.double(text[at:]))
	return b.String()
}

// double writes the sign of the dialect twice where the source does so.
func (n *Normal) double(text string) string {
	switch {
	case !n.escaped:
		return text
	case n.Dialect == Question, n.Dialect == Numbered:
		return strings.ReplaceAll(text, "?", "??")
	}
	return strings.ReplaceAll(text, "%", "%%")
}

// Bindings lists the numbers of the placeholders of a normalised text in the
// order they are written: the values a positional dialect has to bind.
func Bindings(sql string) []int {
	if strings.IndexByte(sql, '$') < 0 {
		return nil
	}
	var out []int
	for sc := (scanner{src: sql}); ; {
		t := sc.next()
		if t.Kind == EOF {
			return out
		}
		if t.Kind == Param {
			if i, err := strconv.Atoi(sql[t.Start+1 : t.End]); err == nil {
				out = append(out, i)
			}
		}
	}
}
