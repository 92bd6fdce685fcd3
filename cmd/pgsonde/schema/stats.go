package schema

import (
	"context"
	_ "embed" // the queries
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes/pgserver"
)

//go:embed sql/columnforget.sql
var columnForgetSQL string

//go:embed sql/columnstats.sql
var columnStatsSQL string

//go:embed sql/typestats.sql
var typeStatsSQL string

// restoreMajor is the first server with pg_restore_relation_stats.
const restoreMajor = 18

// statistics applies a file of statistics and returns the sizes it gives. The
// file is what pg_dump --statistics-only of PostgreSQL 18 writes, which needs a
// server of 18 too, or lines of tab-separated values, for any version:
//
//	table  rows  column  n_distinct  null_frac
//
// as COPY (SELECT …) TO STDOUT writes them from pg_class and pg_stats. Empty and \N
// are unknown, a line that starts with "table" or # is passed over.
func (s *Server) statistics(ctx context.Context, f File) ([]Rows, error) {
	if strings.Contains(f.Text, "pg_restore_relation_stats(") || strings.Contains(f.Text, "pg_restore_attribute_stats(") {
		if s.Major < restoreMajor {
			return nil, fmt.Errorf("%s is for PostgreSQL %d and later, and this server is %d: ask for --pg %d", f.Name, restoreMajor, s.Major, restoreMajor)
		}
		c, err := s.Open(ctx, pgserver.ConnOptions{User: owner, Database: database})
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return nil, s.loadFile(ctx, c, f)
	}
	return s.columnStatistics(ctx, f)
}

// columnStatistics reads the tab-separated form.
func (s *Server) columnStatistics(ctx context.Context, f File) ([]Rows, error) {
	rels, err := s.relations(ctx)
	if err != nil {
		return nil, err
	}
	var sizes []Rows
	for i, line := range strings.Split(f.Text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "table\t") {
			continue
		}
		l, err := parseStat(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", f.Name, i+1, err)
		}
		if l.rows >= 0 {
			sizes = append(sizes, Rows{Table: l.table, N: l.rows, loose: true})
		}
		r, err := find(rels, l.table)
		if l.column == "" || err != nil { // the latter is told by the size
			continue
		}
		there, err := s.writeColumn(ctx, r, l)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: writing statistics: %w", f.Name, i+1, err)
		}
		if !there {
			s.hint("%s:%d: no column %s in %s", f.Name, i+1, l.column, l.table)
		}
	}
	if len(sizes) == 0 {
		return nil, fmt.Errorf("%s has no statistics: neither pg_dump --statistics-only nor lines of table, rows, column, n_distinct, null_frac with tabs between", f.Name)
	}
	return sizes, nil
}

// writeColumn writes the statistics of one column; false when it is not there.
func (s *Server) writeColumn(ctx context.Context, r *relation, l statLine) (bool, error) {
	if _, err := s.super.QueryText(ctx, columnForgetSQL, r.oid, l.column); err != nil {
		return false, err
	}
	done, err := s.super.QueryText(ctx, columnStatsSQL, r.oid, l.column, number(l.distinct), number(l.nulls))
	return err == nil && done[0][0] == "t", err
}

// statLine is a line of the tab-separated form.
type statLine struct {
	table, column         string
	rows, distinct, nulls float64 // rows is -1 for unknown
}

func parseStat(line string) (statLine, error) {
	cells := strings.Split(line, "\t")
	given := len(cells)
	cells = append(cells, "", "", "", "")
	l := statLine{table: unknownAsEmpty(cells[0]), column: unknownAsEmpty(cells[2]), rows: -1}
	if l.table == "" || given < 2 || given > 5 {
		return l, errors.New("want table, rows, column, n_distinct, null_frac with tabs between")
	}
	for _, c := range []struct {
		name, text string
		into       *float64
		min, max   float64
	}{
		{"rows", cells[1], &l.rows, -1, mostRows},
		{"n_distinct", cells[3], &l.distinct, -1, mostRows},
		{"null_frac", cells[4], &l.nulls, 0, 1},
	} {
		text := unknownAsEmpty(c.text)
		if text == "" {
			continue
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || v < c.min || v > c.max {
			return l, fmt.Errorf("%s is %q, want a number from %g to %g", c.name, text, c.min, c.max)
		}
		*c.into = v
	}
	return l, nil
}

func unknownAsEmpty(s string) string {
	if s = strings.TrimSpace(s); s == `\N` {
		return ""
	}
	return s
}
