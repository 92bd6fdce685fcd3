package explain

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// maxAttempts bounds how often one statement is sent to find its types.
const maxAttempts = 16

// typed is explain for text whose parameters the server may not be able to type,
// as pg_stat_statements leaves it. After each error it tries what the error asks
// for, a few alternatives deep, and returns the ask that worked. The error is
// that of the first attempt.
func (r *Runner) typed(ctx context.Context, a ask) (Plan, ask, error) {
	left := maxAttempts
	p, worked, err := r.attempt(ctx, a, &left)
	return p, worked, err
}

func (r *Runner) attempt(ctx context.Context, a ask, left *int) (Plan, ask, error) {
	*left--
	p, err := r.explain(ctx, a)
	if err == nil {
		a.types = p.types
		return p, a, nil
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return p, a, err
	}
	options := repairs(a, pg)
	if m := paramName.FindStringSubmatch(pg.Message); m != nil && (pg.Code == "42P18" || pg.Code == "42P08") {
		n, _ := strconv.Atoi(m[1])
		options = a.with([]int{n}, r.elsewhere(ctx, a, n))
	}
	for _, next := range options {
		if *left <= 0 {
			break
		}
		if p, worked, again := r.attempt(ctx, next, left); again == nil {
			return p, worked, nil
		}
	}
	return Plan{}, a, err
}

// repairs lists what may be changed about an ask that failed, likeliest first.
func repairs(a ask, pg *pgconn.PgError) []ask {
	at := byteOffset(a.sql, int(pg.Position))
	switch pg.Code {
	case "42601": // a type name before a parameter, where a constant was
		if sql := castLiterals(a.sql); sql != a.sql {
			a.sql = sql
			return []ask{a}
		}
	case "42725": // operator or function is not unique
		params := a.untyped(near(a.sql, at))
		if len(params) == 0 {
			return nil
		}
		out := a.with(params, "bigint")
		if len(params) == 2 {
			out = append(out, a.withEach(params, "timestamptz", "interval"), a.withEach(params, "date", "integer"))
		}
		return append(append(out, a.with(params, "timestamptz")...), a.with(params, "numeric")...)
	case "42883", "42804", "42846": // operator does not exist, types cannot be matched
		params := a.untyped(near(a.sql, at))
		if len(params) == 0 {
			params = a.untyped(inLimit(a.sql))
		}
		if len(params) == 0 {
			params = a.untyped(inValues(a.sql))
		}
		if len(params) == 0 {
			return nil
		}
		var out []ask
		for _, t := range otherTypes(pg.Message) {
			out = append(out, a.with(params, t)...)
		}
		return out
	case "42803", "42P10": // GROUP BY or DISTINCT over what was one constant
		if sql := unifyCalls(a.sql); sql != a.sql {
			a.sql = sql
			return []ask{a}
		}
	}
	return nil
}

var paramName = regexp.MustCompile(`parameter \$(\d+)`)

// with returns a copy of the ask in which the parameters have the type.
func (a ask) with(params []int, typ string) []ask {
	types := slices.Repeat([]string{typ}, len(params))
	return []ask{a.withEach(params, types...)}
}

func (a ask) withEach(params []int, types ...string) ask {
	a.types = slices.Clone(a.types)
	for i, n := range params {
		for len(a.types) < n {
			a.types = append(a.types, "")
		}
		if n > 0 {
			a.types[n-1] = types[i]
		}
	}
	return a
}

// untyped leaves out parameters that have a type already.
func (a ask) untyped(params []int) []int {
	return slices.DeleteFunc(params, func(n int) bool { return n > maxParams || n <= len(a.types) && a.types[n-1] != "" })
}

const maxParams = 65535

// otherTypes reads the types an error names, other than text and unknown.
func otherTypes(message string) []string {
	var out []string
	for _, m := range typePhrase.FindAllString(message, -1) {
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

var typePhrase = regexp.MustCompile(`timestamp with(?:out)? time zone|time with(?:out)? time zone|double precision|character varying|` +
	`\b(?:bigint|integer|smallint|numeric|real|date|interval|uuid|boolean|jsonb?|bytea|inet|cidr|oid)\b(?:\[\])?`)

// byteOffset turns the 1-based character position of an error into a byte offset.
func byteOffset(sql string, position int) int {
	if position <= 0 {
		return len(sql)
	}
	off := 0
	for ; position > 1 && off < len(sql); position-- {
		_, n := utf8.DecodeRuneInString(sql[off:])
		off += n
	}
	return off
}

// near lists the parameters of the operands left and right of the token at the
// offset, or of the call that starts there.
func near(sql string, at int) []int {
	tokens := sqltext.Lex(sql)
	i := slices.IndexFunc(tokens, func(t sqltext.Token) bool { return t.End > at })
	if i < 0 || tokens[i].Kind == sqltext.EOF {
		return nil
	}
	var out []int
	if tokens[i].Kind != sqltext.Op {
		return paramsIn(sql, operandTokens(sql, tokens, i))
	}
	if i > 0 {
		start := i - 1
		if tokens[start].IsPunct(sql, ")") {
			for depth := 0; start >= 0; start-- {
				if tokens[start].IsPunct(sql, ")") {
					depth++
				} else if tokens[start].IsPunct(sql, "(") {
					if depth--; depth == 0 {
						break
					}
				}
			}
		}
		out = paramsIn(sql, tokens[max(start, 0):i])
	}
	return append(out, paramsIn(sql, operandTokens(sql, tokens, i+1))...)
}

// operandTokens returns the tokens of the constant, parenthesis or call that starts at i.
func operandTokens(sql string, tokens []sqltext.Token, i int) []sqltext.Token {
	if i >= len(tokens) {
		return nil
	}
	end := i
	for tokens[end].Kind == sqltext.Word && end+1 < len(tokens) && !tokens[end].IsPunct(sql, "(") {
		end++
		if tokens[end].IsPunct(sql, "(") || tokens[end].Kind != sqltext.Word {
			break
		}
	}
	if tokens[end].IsPunct(sql, "(") {
		end = closing(sql, tokens, end)
	}
	return tokens[i:min(end+1, len(tokens))]
}

// inLimit lists the parameters behind LIMIT, OFFSET and FETCH.
func inLimit(sql string) []int {
	tokens := sqltext.Lex(sql)
	var out []int
	for i, t := range tokens {
		if t.Is(sql, "limit") || t.Is(sql, "offset") || t.Is(sql, "fetch") {
			out = append(out, paramsIn(sql, operandTokens(sql, tokens, i+1))...)
		}
	}
	return out
}

// inValues lists the parameters in VALUES lists.
func inValues(sql string) []int {
	tokens := sqltext.Lex(sql)
	var out []int
	for i := 0; i+1 < len(tokens); i++ {
		if !tokens[i].Is(sql, "values") {
			continue
		}
		for i++; tokens[i].IsPunct(sql, "("); i++ {
			end := closing(sql, tokens, i)
			out = append(out, paramsIn(sql, tokens[i:end])...)
			if i = end + 1; i >= len(tokens) || !tokens[i].IsPunct(sql, ",") {
				break
			}
		}
		i = min(i, len(tokens)-1)
	}
	return out
}

// elsewhere finds the type that parameter n has where it is compared with something,
// given that the server could not tell from another place, as "$n IS NULL"; "text"
// when it is not used anywhere else. The places that tell nothing, of whatever
// parameter, are taken out one by one, as the server's errors name them.
func (r *Runner) elsewhere(ctx context.Context, a ask, n int) string {
	found := ""
	for sql := a.sql; sql != "" && found == ""; {
		var pg *pgconn.PgError
		err := r.confined(ctx, a.settings, func(ctx context.Context) error {
			return r.prepared(ctx, sql, a.types, func(ctx context.Context, name string) error {
				types, err := r.parameterTypes(ctx, name)
				if err == nil && n <= len(types) && types[n-1] != "unknown" {
					found = types[n-1]
				}
				return err
			})
		})
		if !errors.As(err, &pg) || pg.Code != "42P18" && pg.Code != "42P08" {
			break
		}
		sql = withoutType(sql, pg, n)
	}
	return cmp.Or(found, "text")
}

// withoutType is the statement with a NULL in the place of the parameter that an error
// points at, or names, or with that parameter as text where it stands nowhere else: "" for n, which
// then has no type, and for something that is no parameter.
func withoutType(sql string, pg *pgconn.PgError, n int) string {
	tokens := sqltext.Lex(sql)
	i := slices.IndexFunc(tokens, func(t sqltext.Token) bool {
		if pg.Position > 0 {
			return t.Kind == sqltext.Param && t.Start == byteOffset(sql, int(pg.Position))
		}
		return t.Kind == sqltext.Param && strings.Contains(pg.Message+"\n", "parameter "+t.Text(sql)+"\n")
	})
	if i < 0 {
		return ""
	}
	p := tokens[i]
	out := sql[:p.Start] + "NULL::text" + sql[p.End:]
	switch m := paramsIn(sql, tokens[i:i+1]); {
	case len(m) == 0 || slices.Contains(sqltext.Bindings(out), m[0]):
		return out
	case m[0] == n:
		return ""
	}
	return sql[:p.End] + "::text" + sql[p.End:]
}

func paramsIn(sql string, tokens []sqltext.Token) []int {
	var out []int
	for _, t := range tokens {
		if t.Kind == sqltext.Param {
			if n, err := strconv.Atoi(strings.TrimPrefix(t.Text(sql), "$")); err == nil && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}
