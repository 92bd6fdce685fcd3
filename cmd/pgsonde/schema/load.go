package schema

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/pgsonde/pgsonde/explain/sqltext"
	"github.com/pgsonde/pgsonde/probes/pgserver"
)

// mostHints is how many failed statements are told one by one.
const mostHints = 10

// load runs the files, extensions first.
func (s *Server) load(ctx context.Context, files []File) error {
	for _, f := range files {
		for _, st := range sqltext.Split(f.Text) {
			if kindOf(st.Text) == extension {
				if err := s.createExtension(ctx, f, st); err != nil {
					return err
				}
			}
		}
	}
	c, err := s.Open(ctx, pgserver.ConnOptions{User: owner, Database: database})
	if err != nil {
		return err
	}
	defer c.Close()
	for _, f := range files {
		if err := s.loadFile(ctx, c, f); err != nil {
			return err
		}
	}
	if more := s.fails - mostHints; more > 0 {
		s.hint("and %d more statements failed", more)
	}
	return s.findTables(ctx)
}

func (s *Server) loadFile(ctx context.Context, c *pgserver.Conn, f File) error {
	for _, st := range sqltext.Split(f.Text) {
		var err error
		switch kindOf(st.Text) {
		case extension, ignored:
		case ownership:
			s.hint("%s: owners and grants are left out: one role owns everything here", f.Name)
		case data:
			s.hint("%s: the rows of COPY are not loaded: --rows and --stats give the sizes", f.Name)
		case setting: // of another version, or a tablespace or access method that is not here
			_ = c.Exec(ctx, st.Text)
		default:
			err = s.run(ctx, c, st.Text)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !c.Alive():
			return fmt.Errorf("loading %s:%d: the session was lost: %w", f.Name, st.Line, err)
		case err != nil:
			s.failed(f, st, err)
		}
	}
	return nil
}

var noRole = regexp.MustCompile(`^role "(.*)" does not exist$`)

// run executes one statement; a role that it wants and that is not there is made.
func (s *Server) run(ctx context.Context, c *pgserver.Conn, sql string) error {
	for range 20 {
		err := c.Exec(ctx, sql)
		e, ok := pgserver.AsSQLError(err)
		if !ok {
			return err
		}
		m := noRole.FindStringSubmatch(e.Message)
		if m == nil {
			if e.Code == "42P06" && (s.made[schemaIn(e.Message)] || schemaIn(e.Message) == "public") {
				return nil // CREATE SCHEMA of one that is there
			}
			return err
		}
		if err := s.super.Exec(ctx, "CREATE ROLE "+quoteIdent(m[1])); err != nil {
			return err
		}
		if err := s.super.Exec(ctx, "GRANT "+quoteIdent(m[1])+" TO "+owner); err != nil {
			return err
		}
	}
	return fmt.Errorf("more roles are missing than one statement names")
}

// schemaIn is the name in `schema "x" already exists`.
func schemaIn(message string) string {
	_, rest, _ := strings.Cut(message, `"`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// failed tells of a statement that was not loaded, at the line of its mistake.
func (s *Server) failed(f File, st sqltext.Statement, err error) {
	line, text := st.Line, err.Error()
	if e, ok := pgserver.AsSQLError(err); ok {
		text = e.Message
		line += strings.Count(st.Text[:byteOffset(st.Text, e.Position)], "\n")
	}
	if s.fails++; s.fails == 1 {
		s.first = fmt.Errorf("%s:%d: %s", f.Name, line, text)
	}
	if s.fails <= mostHints {
		s.hint("%s:%d: not loaded: %s", f.Name, line, text)
	}
}

// byteOffset turns a character position, from 1, into an offset.
func byteOffset(sql string, position int) int {
	off := 0
	for ; position > 1 && off < len(sql); position-- {
		_, n := utf8.DecodeRuneInString(sql[off:])
		off += n
	}
	return off
}

// findTables fails when nothing at all was made, and puts every schema that has
// tables on the search_path, public first: a dump does not say what the
// application's is.
func (s *Server) findTables(ctx context.Context) error {
	rows, err := s.super.QueryText(ctx, schemasSQL)
	switch {
	case err != nil:
		return fmt.Errorf("looking for the tables: %w", err)
	case len(rows) == 0 && s.first != nil:
		return fmt.Errorf("the schema has no table; the first statement that failed is %w", s.first)
	case len(rows) == 0:
		return fmt.Errorf("the schema has no table")
	}
	path := []string{"public"}
	for _, r := range rows {
		if r[0] != "public" {
			path = append(path, quoteIdent(r[0]))
		}
	}
	return s.super.Exec(ctx, "ALTER ROLE "+owner+" SET search_path = "+strings.Join(path, ", "))
}

func quoteIdent(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
