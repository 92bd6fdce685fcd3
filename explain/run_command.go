package explain

import (
	"errors"
	"regexp"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// commands are the statements of PostgreSQL that are no queries, as far as their first
// words tell them from other text: words in lower case, one space between tokens.
var commands = regexp.MustCompile(`^(` + strings.Join([]string{
	`insert into .+ (values|select|default values|with|table)\b.*`,
	`update .+ set .+ = .+`,
	`delete from .+`,
	`merge into .+ using .+ when .+ then .+`,
	`with .+ (insert|update|delete|merge) .+`,
	`select .+ into .+`,
	`(begin|commit|end|abort|rollback|start)( (work|transaction))?( (isolation level|read|not deferrable|deferrable|and|to|prepared)\b.*)?`,
	`(create|alter|drop) (or replace )?((global|local|temp|temporary|unlogged|unique|foreign|materialized|recursive|event|constraint|default|trusted|procedural|text search|user) )*` +
		`(access method|aggregate|cast|collation|configuration|conversion|data wrapper|database|dictionary|domain|extension|function|group|index|language|large object|mapping|operator|owned|parser|policy|` +
		`privileges|procedure|publication|role|routine|rule|schema|sequence|server|statistics|subscription|system|table|tablespace|template|transform|trigger|type|user|view) .+`,
	`create user .+|alter user .+|drop user .+`,
	`set \S+ .+`,
	`(show|reset|discard|listen|unlisten|deallocate|savepoint) \S+( \. \S+)*`,
	`release (savepoint )?\S+`,
	`(notify|execute|close|move|fetch) \S+( .+)?`,
	`load '.+'`,
	`do (language .+|.*['$].+)`,
	`call .+ \(.*\)`,
	`copy .+ (from|to) .+`,
	`(lock|truncate) .+|(vacuum|analyze|analyse|cluster|checkpoint)( .+)?|reindex .+`,
	`refresh materialized view .+`,
	`comment on .+ is .+`,
	`grant .+ to .+|revoke .+ from .+`,
	`security label .+`,
	`reassign owned by .+`,
	`import foreign schema .+`,
	`declare .+ cursor .+`,
}, "|") + `)$`)

// unended is how a statement ends that goes on.
var unended = regexp.MustCompile(` ([(,=.]|where|and|or|not|set|values|from|into|by|select|using|on|as)$`)

// defaults is one that does not, though it seems to.
const defaults = "default values"

// noQuery: the statement is whole, as far as its text tells, and nothing in it is a
// page that could be judged. err is why it is not explained.
func noQuery(sql string, err error) bool {
	if !errors.Is(err, sqltext.ErrNotReadable) && !errors.Is(err, sqltext.ErrWrites) {
		return false
	}
	var words []string
	depth, ordered, limited := 0, false, false
	for _, t := range sqltext.Lex(sql) {
		text := strings.ToLower(t.Text(sql))
		switch {
		case t.IsPunct(sql, "("):
			depth++
		case t.IsPunct(sql, ")"):
			depth--
		case t.IsPunct(sql, ";") || text == "":
			continue
		}
		if depth < 0 {
			return false
		}
		ordered, limited = ordered || t.Is(sql, "order"), limited || t.Is(sql, "limit") || ordered && t.Is(sql, "fetch")
		words = append(words, text)
	}
	whole := func(words []string) string { return strings.ReplaceAll(strings.Join(words, " "), "\n", " ") }
	start, end := whole(words[:min(len(words), 300)]), whole(words[max(0, len(words)-2):]) // it may be a megabyte of rows
	return depth == 0 && !(ordered && limited) && commands.MatchString(start) && (end == defaults || !unended.MatchString(" "+end))
}
