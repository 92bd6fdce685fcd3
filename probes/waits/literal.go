package waits

import (
	"fmt"
	"strings"
	"unicode"
)

// RollbackPrepared is the statement that rolls a prepared transaction back, fit for
// pasting into psql whatever its gid is.
func RollbackPrepared(gid string) string { return "ROLLBACK PREPARED " + literal(gid) }

// literal is a string constant of SQL. What a terminal or an editor may change on
// the way is escaped.
func literal(s string) string {
	var sb strings.Builder
	escaped := false
	for _, r := range s {
		switch {
		case r == '\'':
			sb.WriteString("''")
		case r == '\\':
			sb.WriteString(`\\`)
			escaped = true
		case unicode.IsPrint(r):
			sb.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&sb, `\x%02x`, r)
			escaped = true
		default:
			fmt.Fprintf(&sb, `\U%08x`, r)
			escaped = true
		}
	}
	if escaped {
		return "E'" + sb.String() + "'"
	}
	return "'" + sb.String() + "'"
}
