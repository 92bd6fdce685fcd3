package explain

import (
	"regexp"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// foreign are placeholders of drivers and templates whose spelling is not read.
var foreign = regexp.MustCompile(`\?[0-9]+|#\{[^{}]*\}|\{\{[^{}]*\}\}|\$\{[^{}]*\}|<%[^%]*%>`)

// foreignPlaceholder is the first placeholder in such a spelling outside strings and
// comments, "" for none.
func foreignPlaceholder(sql string) string {
	code := make([]byte, len(sql)) // blank but for tokens
	for i := range code {
		code[i] = ' '
	}
	tokens := sqltext.Lex(sql)
	for i, t := range tokens {
		if i > 0 && (t.Kind == sqltext.String || t.Kind == sqltext.Quoted) && tokens[i-1].IsPunct(sql, ":") && tokens[i-1].End == t.Start {
			return sql[tokens[i-1].Start:t.End]
		}
		if t.Kind != sqltext.String {
			copy(code[t.Start:t.End], sql[t.Start:t.End])
		}
	}
	at := foreign.FindIndex(code)
	if at == nil {
		return ""
	}
	return sql[at[0]:at[1]]
}
