package schema

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/sqltext"
	"github.com/pgsonde/pgsonde/probes/pgserver"
)

// kind says what is done with a statement of a dump.
type kind int8

const (
	object    kind = iota // it is run
	setting               // run, and no matter when it fails
	extension             // made first, by the superuser
	ownership             // left out: owners and grants
	data                  // left out: rows of COPY
	ignored               // left out: no plan depends on it
)

// firstWords are the first words of a statement, lower case, at most n of them.
func firstWords(sql string, n int) []string {
	var out []string
	// The words stand at the start: no need to read a function's body.
	for _, t := range sqltext.Lex(sql[:min(len(sql), 2000)]) {
		if t.Kind == sqltext.Word {
			out = append(out, strings.ToLower(t.Text(sql)))
		}
		if len(out) == n || t.Kind == sqltext.EOF {
			break
		}
	}
	return out
}

// kindOf tells by the first words.
func kindOf(sql string) kind {
	w := append(firstWords(sql, 64), "", "", "", "")
	at := func(words ...string) bool { return slices.Contains(words, w[1]) }
	switch w[0] {
	case "set", "reset":
		if slices.Contains(w[1:3], "role") || slices.Contains(w[1:4], "authorization") {
			return ownership
		}
		return setting
	case "grant", "revoke", "reassign":
		return ownership
	case "copy":
		return data
	case "comment", "begin", "commit", "end", "start", "rollback", "abort", "savepoint", "release", "security", "vacuum", "lock", "checkpoint", "discard":
		return ignored
	case "create":
		switch {
		case at("extension"):
			return extension
		case at("database", "tablespace"):
			return ignored
		case at("role", "group") || at("user") && w[2] != "mapping":
			return ownership
		}
	case "alter":
		switch {
		case at("default", "role", "group", "user"), changesOwner(w):
			return ownership
		case at("database", "extension", "system"):
			return ignored
		}
	case "drop":
		if at("database", "extension", "role", "user", "group") {
			return ignored
		}
	}
	return object
}

// changesOwner finds OWNER TO, which is not RENAME COLUMN owner TO.
func changesOwner(words []string) bool {
	i := slices.Index(words, "owner")
	return i > 0 && i+1 < len(words) && words[i+1] == "to" && !slices.Contains(words, "rename")
}

// createExtension makes an extension from its name and schema alone, before
// anything that the file makes can stand in its script's way.
func (s *Server) createExtension(ctx context.Context, f File, st sqltext.Statement) error {
	name, schema := extensionOf(st.Text)
	if name == "" {
		return nil
	}
	if schema != "" && schema != "pg_catalog" && schema != "public" {
		if err := s.super.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+quoteIdent(schema)+" AUTHORIZATION "+owner); err != nil {
			return fmt.Errorf("making schema %s: %w", schema, err)
		}
		s.made[schema] = true
	}
	sql := "CREATE EXTENSION IF NOT EXISTS " + quoteIdent(name)
	if schema != "" {
		sql += " WITH SCHEMA " + quoteIdent(schema)
	}
	err := s.super.Exec(ctx, sql+" CASCADE")
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := pgserver.AsSQLError(err); ok {
		why := "it is not on this server"
		if e.Code != "0A000" && e.Code != "58P01" { // no control file; its message differs by version
			why = e.Message
		}
		s.hint("%s:%d: extension %s is left out, and what needs it: %s", f.Name, st.Line, name, why)
		return nil
	}
	return err
}

// extensionOf reads CREATE EXTENSION [IF NOT EXISTS] name … [SCHEMA schema].
func extensionOf(sql string) (name, schema string) {
	var words []string
	for _, t := range sqltext.Lex(sql) {
		switch t.Kind {
		case sqltext.Word:
			words = append(words, strings.ToLower(t.Text(sql)))
		case sqltext.Quoted:
			words = append(words, strings.ReplaceAll(strings.Trim(t.Text(sql), `"`), `""`, `"`))
		}
	}
	words = words[min(2, len(words)):]
	if len(words) > 3 && words[0] == "if" && words[1] == "not" {
		words = words[3:]
	}
	if len(words) == 0 {
		return "", ""
	}
	if i := slices.Index(words[1:], "schema"); i >= 0 && i+2 < len(words) {
		schema = words[i+2]
	}
	return words[0], schema
}
