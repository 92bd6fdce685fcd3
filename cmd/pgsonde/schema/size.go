package schema

import (
	"context"
	_ "embed" // the queries
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

//go:embed sql/relations.sql
var relationsSQL string

//go:embed sql/schemas.sql
var schemasSQL string

//go:embed sql/resize.sql
var resizeSQL string

// relation is a table or index of the schema.
type relation struct {
	oid, schema, name, kind string
	rows, pages             float64 // as pg_class says; rows is -1 when never counted
	path                    string  // of its file, "" for none
	table                   string  // OID of an index's table, "" for a table
	method                  string
	width                   float64  // of a row's columns, bytes
	parents                 []string // OIDs of the partitioned tables above it
}

func (r *relation) isTable() bool     { return r.table == "" }
func (r *relation) partitioned() bool { return r.kind == "p" }

// resize gives the tables their sizes, and all files the length that belongs to
// their sizes, those too that the statistics of the dump gave.
func (s *Server) resize(ctx context.Context, sizes []Rows) error {
	rels, err := s.relations(ctx)
	if err != nil {
		return err
	}
	want, err := s.wanted(rels, sizes)
	if err != nil {
		return err
	}
	for _, r := range rels {
		target, pages := r.rows, r.pages
		if n, ok := want[firstOf(r.table, r.oid)]; ok {
			target, pages = n, r.pagesFor(n)
			if _, err := s.super.QueryText(ctx, resizeSQL, r.oid, number(n), number(pages), number(r.visible(pages))); err != nil {
				return fmt.Errorf("setting the size of %s.%s: %w", r.schema, r.name, err)
			}
		}
		if r.path != "" && pages > 0 {
			if err := s.Extend(r.path, int64(pages)); err != nil {
				return err
			}
		}
		if r.isTable() && target >= 0 && (pages > 0 || r.partitioned()) {
			s.known[r.schema+"."+r.name] = true
		}
	}
	return nil
}

func (s *Server) relations(ctx context.Context) ([]*relation, error) {
	rows, err := s.super.QueryText(ctx, relationsSQL)
	if err != nil {
		return nil, fmt.Errorf("reading the relations: %w", err)
	}
	out := make([]*relation, len(rows))
	for i, c := range rows {
		r := &relation{oid: c[0], schema: c[1], name: c[2], kind: c[3], path: c[6], table: c[7], method: c[8], parents: strings.Fields(c[10])}
		for k, f := range map[int]*float64{4: &r.rows, 5: &r.pages, 9: &r.width} {
			if *f, err = strconv.ParseFloat(c[k], 64); err != nil {
				return nil, fmt.Errorf("reading the relations: %w", err)
			}
		}
		out[i] = r
	}
	return out, nil
}

// wanted is how many rows each table is to have, by OID. What a partitioned
// table is to have is spread evenly over its partitions.
func (s *Server) wanted(rels []*relation, sizes []Rows) (map[string]float64, error) {
	named, rest := map[string]float64{}, math.NaN()
	for _, z := range sizes {
		if z.Table == "" {
			rest = z.N
			continue
		}
		r, err := find(rels, z.Table)
		switch {
		case err != nil && z.loose:
			s.hint("the statistics of %s are left out: %s", z.Table, err)
		case err != nil:
			return nil, fmt.Errorf("--rows %s: %w", z.Table, err)
		default:
			named[r.oid] = z.N
		}
	}
	if !math.IsNaN(rest) {
		for _, r := range rels {
			_, ok := named[r.oid]
			if r.isTable() && !ok && len(r.parents) == 0 && r.rows <= 0 && r.kind != "f" {
				named[r.oid] = rest
			}
		}
	}
	leaves := map[string][]*relation{}
	for _, r := range rels {
		for _, p := range r.parents {
			if r.isTable() && !r.partitioned() {
				leaves[p] = append(leaves[p], r)
			}
		}
	}
	want := maps.Clone(named)
	for oid, parts := range leaves {
		n, ok := named[oid]
		for _, l := range parts {
			if _, own := named[l.oid]; ok && !own {
				want[l.oid] = math.Round(n / float64(len(parts)))
			}
		}
	}
	return want, nil
}

// find looks a table up by its name, with its schema or, when there is only one
// of that name, without.
func find(rels []*relation, name string) (*relation, error) {
	var found []*relation
	for _, fold := range []func(string) string{func(s string) string { return s }, strings.ToLower} {
		for _, r := range rels {
			if n := fold(strings.ReplaceAll(name, `"`, "")); r.isTable() && (n == r.name || n == r.schema+"."+r.name) {
				found = append(found, r)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no such table in the schema")
	case 1:
		return found[0], nil
	}
	schemas := make([]string, len(found))
	for i, r := range found {
		schemas[i] = r.schema
	}
	slices.Sort(schemas)
	return nil, fmt.Errorf("there is one in %s: name it with its schema", strings.Join(schemas, " and in "))
}

// Layout of pages, as of an 8 kB build: a page has 24 bytes of header, a row a
// line pointer of 4 and a header of 24, an index entry one of 8; rows are aligned
// to 8. A B-tree fills its leaves to 90 %.
const (
	pageRoom   = 8192 - 24
	rowCost    = 24 + 4
	entryCost  = 8 + 4
	leafFilled = 0.9
)

// pagesFor is how long the relation is with n rows: at the density that it has,
// where that is known, else by the width of its columns.
func (r *relation) pagesFor(n float64) float64 {
	if r.partitioned() || r.kind == "I" || r.kind == "f" {
		return 0
	}
	if r.rows > 0 && r.pages > 1 {
		return math.Ceil(n * r.pages / r.rows)
	}
	aligned := math.Ceil(r.width/8) * 8
	switch {
	case r.isTable():
		return math.Ceil(n / math.Max(1, math.Floor(pageRoom/(aligned+rowCost))))
	case r.method == "brin": // an entry a 128 pages
		return math.Ceil(n/1e6) + 2
	}
	return math.Ceil(n/math.Max(1, math.Floor(pageRoom*leafFilled/(aligned+entryCost)))) + 1
}

// visible is how many of a table's pages VACUUM has marked: all of them.
func (r *relation) visible(pages float64) float64 {
	if r.isTable() {
		return pages
	}
	return 0
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
