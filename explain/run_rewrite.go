package explain

import (
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// castLiterals repairs what pg_stat_statements makes of typed constants:
// "timestamptz $1" becomes "$1::timestamptz" and "extract($1 FROM x)" asks for
// the epoch. Only EXPLAIN sees the result.
func castLiterals(sql string) string {
	tokens := sqltext.Lex(sql)
	var b strings.Builder
	done := 0
	for i := 0; i+1 < len(tokens); i++ {
		if tokens[i].Is(sql, "extract") && i+3 < len(tokens) && tokens[i+1].IsPunct(sql, "(") &&
			tokens[i+2].Kind == sqltext.Param && tokens[i+3].Is(sql, "from") {
			b.WriteString(sql[done:tokens[i+2].Start] + "epoch")
			done = tokens[i+2].End
			continue
		}
		n := typeWords(sql, tokens[i:])
		if n == 0 || i+n >= len(tokens) || tokens[i+n].Kind != sqltext.Param {
			continue
		}
		param := tokens[i+n]
		b.WriteString(sql[done:tokens[i].Start] + param.Text(sql) + "::" + sql[tokens[i].Start:tokens[i+n-1].End])
		done = param.End
		i += n
	}
	return b.String() + sql[done:]
}

// typeWords returns how many tokens at the start name a type that may stand
// before a string constant, 0 for none.
func typeWords(sql string, tokens []sqltext.Token) int {
	if len(tokens) == 0 || tokens[0].Kind != sqltext.Word {
		return 0
	}
	switch strings.ToLower(tokens[0].Text(sql)) {
	case "timestamp", "time":
		if len(tokens) > 3 && (tokens[1].Is(sql, "with") || tokens[1].Is(sql, "without")) && tokens[2].Is(sql, "time") && tokens[3].Is(sql, "zone") {
			return 4
		}
		return 1
	case "double":
		if len(tokens) > 1 && tokens[1].Is(sql, "precision") {
			return 2
		}
	case "timestamptz", "timetz", "date", "interval", "uuid", "inet", "cidr", "json", "jsonb", "numeric", "decimal",
		"int", "integer", "bigint", "smallint", "real", "bool", "boolean", "text", "varchar", "bytea", "point", "box", "money", "macaddr", "xml":
		return 1
	}
	return 0
}

// unifyCalls gives calls that differ only in the numbers of their parameters the
// parameters of the first: what was one constant has become two parameters, so
// GROUP BY date_trunc($1, x) no longer matches date_trunc($2, x).
func unifyCalls(sql string) string {
	tokens := sqltext.Lex(sql)
	first := map[string][]sqltext.Token{}
	swap := map[int]string{} // start of a parameter → its new text
	for i := 0; i+1 < len(tokens); i++ {
		if tokens[i].Kind != sqltext.Word || !tokens[i+1].IsPunct(sql, "(") || tokens[i].Is(sql, "in") || tokens[i].Is(sql, "values") {
			continue
		}
		call := tokens[i : closing(sql, tokens, i+1)+1]
		if len(call) > 40 {
			continue
		}
		var key strings.Builder
		var params []sqltext.Token
		for _, t := range call {
			if t.Kind == sqltext.Param {
				params = append(params, t)
				key.WriteString("$ ")
				continue
			}
			key.WriteString(strings.ToLower(t.Text(sql)) + " ")
		}
		if old, ok := first[key.String()]; ok {
			for k, p := range params {
				swap[p.Start] = old[k].Text(sql)
			}
		} else if len(params) > 0 {
			first[key.String()] = params
		}
	}
	var b strings.Builder
	done := 0
	for _, t := range tokens {
		if text, ok := swap[t.Start]; ok && t.Kind == sqltext.Param {
			b.WriteString(sql[done:t.Start] + text)
			done = t.End
		}
	}
	return b.String() + sql[done:]
}
