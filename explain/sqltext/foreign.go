package sqltext

import (
	"regexp"
	"strings"
)

var (
	// template are the spellings of templates, which no operator begins with.
	template = regexp.MustCompile(`^(?:#\{[^{}]*\}|\{\{[^{}]*\}\}|\{%[^%]*%\}|\{\w*\}|<%=[^%]*%>|\$(?:\{[^{}]*\}|\(\w+\)|\[\w+\]|<\w+>|[A-Za-z_]\w*))`)
	// signed are the spellings that begin like an operator, or a slice: placeholders only
	// where an operand is expected.
	signed = regexp.MustCompile(`^(?:\?[0-9]*|:[0-9]+|:[A-Za-z_]\w*|%\([\w.]+\)[a-zA-Z]?|%[0-9]+\$\w|%[a-zA-Z]\b|<%[^%]*%>)`)
	// known are those of signed that are read in a statement that has no others.
	known = regexp.MustCompile(`^(?:[?:][1-9][0-9]{0,4}|\?|:[A-Za-z_]\w*|%[sbt]|%\(\w+\)[sbt])$`)
)

// Foreign is the first placeholder that was not read, for its spelling is not known or
// not that of the others; "" for none. It does not look into strings and comments.
func (n *Normal) Foreign() string {
	toks := LexDialect(n.Source, n.Dialect)
	operand := false
	for i, t := range toks {
		switch text := n.Source[t.Start:]; {
		case t.Kind == Op:
			for at := range t.End - t.Start {
				if m := template.FindString(text[at:]); m != "" {
					return m
				}
				if m := signed.FindString(text[at:]); m != "" && (at == 0 && !operand || at > 0 && text[at] == '?' && strings.IndexByte("=<>+-*/", text[at-1]) >= 0) {
					return m
				}
			}
		case (t.Kind == Bad || t.Kind == Punct) && t.End-t.Start == 1:
			if m := template.FindString(text); m != "" {
				return m
			}
			if next := toks[min(i+1, len(toks)-1)]; t.IsPunct(n.Source, ":") && !operand && next.Start == t.End && (next.Kind == String || next.Kind == Quoted) { // psql
				return n.Source[t.Start:next.End]
			}
			if m := signed.FindString(text); m != "" && !operand && !(i > 0 && toks[i-1].IsPunct(n.Source, "[")) {
				return m
			}
		}
		operand = endsOperand(t, n.Source)
	}
	return ""
}

// Mixed reports that a placeholder which Foreign found would be read if the others were
// spelled as it is.
func (n *Normal) Mixed(foreign string) bool {
	return len(n.Params) > 0 && known.MatchString(foreign)
}
