package schema

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pgsonde/pgsonde/probes/pgserver"
)

// File is a text with the name that messages call it by.
type File struct{ Name, Text string }

// Options of a server.
type Options struct {
	Files    []File       // schema dumps, loaded in order
	Stats    *File        // statistics: see stats.go for the two forms; nil for none
	Rows     []Rows       // sizes, over those of Stats
	Major    int          // 0: the newest server that is there
	Progress io.Writer    // says what is fetched, a line a step
	Tell     func(string) // hears, a line each, what of the files was left out
}

// Server is a running throw-away server with the schema in its database.
type Server struct {
	*pgserver.Server

	tell  func(string)
	super *pgserver.Conn // in the schema's database
	known map[string]bool
	made  map[string]bool // schemas that were made for extensions
	told  map[string]bool
	fails int
	first error // of the statements that failed
}

// The role that owns everything, and the database. Neither has a password, and
// the socket's folder is closed to others.
const (
	owner    = "owner"
	database = "schema"
)

// Start finds a server, starts it, loads the schema and makes its tables look
// large. The caller must Stop it. Its error is a *pgserver.MissingError when no
// server is to be had.
func Start(ctx context.Context, o Options) (*Server, error) {
	var majors []int
	if o.Major != 0 {
		majors = []int{o.Major}
	}
	in, err := pgserver.FindLogged(ctx, o.Progress, majors...)
	if err != nil {
		return nil, err
	}
	// An autovacuum would write the real sizes over ours.
	srv, err := pgserver.Start(ctx, in, pgserver.Options{Settings: map[string]string{"autovacuum": "off"}})
	if err != nil {
		return nil, err
	}
	s := &Server{Server: srv, tell: o.Tell, known: map[string]bool{}, made: map[string]bool{}, told: map[string]bool{}}
	if err := s.fill(ctx, o); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// fill makes the database and everything in it.
func (s *Server) fill(ctx context.Context, o Options) error {
	if err := s.makeDatabase(ctx); err != nil {
		return fmt.Errorf("making the schema's database: %w", err)
	}
	var err error
	if s.super, err = s.Open(ctx, pgserver.ConnOptions{Database: database}); err != nil {
		return err
	}
	defer s.super.Close()
	if err := s.super.Exec(ctx, "ALTER SCHEMA public OWNER TO "+owner); err != nil {
		return fmt.Errorf("giving away the public schema: %w", err)
	}
	if err := s.load(ctx, o.Files); err != nil {
		return err
	}
	sizes := o.Rows
	if o.Stats != nil {
		rows, err := s.statistics(ctx, *o.Stats)
		if err != nil {
			return err
		}
		sizes = append(rows, sizes...)
	}
	if _, err := s.super.QueryText(ctx, typeStatsSQL); err != nil {
		return fmt.Errorf("writing how many values types have: %w", err)
	}
	return s.resize(ctx, sizes)
}

func (s *Server) makeDatabase(ctx context.Context) error {
	c, err := s.Open(ctx, pgserver.ConnOptions{})
	if err != nil {
		return err
	}
	defer c.Close()
	return errors.Join(c.Exec(ctx, "CREATE ROLE "+owner+" LOGIN"), c.Exec(ctx, "CREATE DATABASE "+database+" OWNER "+owner))
}

// DSN connects as the role that owns the tables.
func (s *Server) DSN() string { return s.Server.DSN(owner, database) }

// Known reports whether the size of a table is one that was given.
func (s *Server) Known(schema, table string) bool { return s.known[schema+"."+table] }

// hint tells something once.
func (s *Server) hint(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.tell != nil && !s.told[text] {
		s.told[text] = true
		s.tell(text)
	}
}
