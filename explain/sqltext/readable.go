package sqltext

import "errors"

// Errors of Readable: why a statement may not be explained.
var (
	ErrNotReadable = errors.New("not a SELECT, WITH, VALUES or TABLE statement")
	ErrWrites      = errors.New("statement writes: INTO, or INSERT, UPDATE, DELETE inside WITH")
	ErrSeveral     = errors.New("more than one statement")
)

// Explainable is the part of a statement that may be put behind EXPLAIN.
type Explainable struct {
	SQL   string // a SELECT, WITH, VALUES or TABLE query
	Start int    // its offset in the given text
	Inner bool   // it was taken out of a DELETE, UPDATE, INSERT, …
}

// FirstKeyword returns the first word of a statement in lower case, opening
// parentheses skipped; "" when it does not begin with a word.
func FirstKeyword(sql string) string {
	s := scanner{src: sql}
	for {
		t := s.next()
		if t.Kind == Word {
			return lowerASCII(t.Text(sql))
		}
		if !t.IsPunct(sql, "(") {
			return ""
		}
	}
}

// Readable returns what of a statement may be explained: an EXPLAIN or PREPARE
// … AS in front is taken off; a reading query is let through; of another
// statement the first SELECT with ORDER BY and LIMIT inside it is taken out.
// Errors: ErrEmpty, ErrTooLong, ErrSeveral, ErrWrites, ErrNotReadable.
func Readable(sql string) (Explainable, error) {
	if len(sql) > MaxStatement {
		return Explainable{}, ErrTooLong
	}
	switch n := len(Split(sql)); {
	case n == 0:
		return Explainable{}, ErrEmpty
	case n > 1:
		return Explainable{}, ErrSeveral
	}
	start, end := strip(sql)
	q, err := ParseQuery(sql[start:end])
	if err != nil {
		return Explainable{}, err
	}
	switch q.Verb {
	case "select", "with", "values", "table":
		if !q.Writes && !mayWrite(q.source) {
			return Explainable{SQL: q.SQL, Start: start}, nil
		}
		err = ErrWrites
	default:
		err = ErrNotReadable
	}
	for _, b := range q.Blocks {
		if b.HasLimit && len(b.OrderBy) > 0 && b.Role != RoleTop && !b.uses() {
			return Explainable{SQL: q.SQL[b.BodyStart:b.End], Start: start + b.BodyStart, Inner: true}, nil
		}
	}
	for _, b := range q.Blocks { // INSERT … SELECT … LIMIT
		if b.HasLimit && len(b.OrderBy) > 0 && q.Verb == "insert" && !q.intoInside(b) {
			return Explainable{SQL: q.SQL[b.BodyStart:b.End], Start: start + b.BodyStart, Inner: true}, nil
		}
	}
	return Explainable{}, err
}

// mayWrite looks at the tokens alone, so that no nesting hides a write: INTO,
// which is reserved, or a data-changing word right behind a parenthesis (of a WITH query or a list of them).
func mayWrite(s *source) bool {
	for i, t := range s.toks {
		if t.Kind != Word || i == 0 {
			continue
		}
		switch prev := s.toks[i-1]; {
		case t.Is(s.text, "into"):
			if !prev.IsPunct(s.text, ".") && !prev.Is(s.text, "as") {
				return true
			}
		case prev.IsPunct(s.text, "("), prev.IsPunct(s.text, ")"):
			if t.Is(s.text, "insert") || t.Is(s.text, "update") || t.Is(s.text, "delete") || t.Is(s.text, "merge") {
				return true
			}
		}
	}
	return false
}

// uses reports whether the block reads a WITH query defined outside it, so that
// it cannot stand alone.
func (b *Block) uses() bool {
	for _, t := range b.From {
		if t.CTE == nil {
			continue
		}
		own := false
		for _, c := range b.CTEs {
			own = own || c == t.CTE
		}
		if !own {
			return true
		}
	}
	return false
}

// intoInside reports whether a WITH query of the block writes.
func (q *Query) intoInside(b *Block) bool {
	for _, c := range b.CTEs {
		if c.Block == nil {
			return true
		}
	}
	return false
}

// strip finds the statement behind EXPLAIN [(options) | words] and PREPARE name
// [(types)] AS, and before a closing semicolon.
func strip(sql string) (start, end int) {
	p := newParser(sql)
	explained := false
	for {
		switch {
		case !explained && p.eat("explain"): // PostgreSQL takes no second one
			explained = true
			if p.punct("(") && !p.startsQuery(1) {
				p.i = min(int(p.match[p.i])+1, p.last())
			}
			for p.isAny("analyze", "analyse", "verbose") {
				p.i++
			}
		case p.is("prepare") && p.isAt(2, "as"):
			p.i += 3
		case p.is("prepare") && p.punctAt(2, "("):
			p.i = min(int(p.match[p.i+2])+1, p.last())
			p.eat("as")
		default:
			start = p.cur().Start
			last := p.last() - 1
			for last > p.i && p.toks[last].IsPunct(sql, ";") {
				last--
			}
			return start, max(start, p.toks[max(last, 0)].End)
		}
	}
}
