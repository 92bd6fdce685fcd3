package explain

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/explain/plan"
)

// Catalog is what the server knows of the relations that a plan names, keyed
// "schema.relation". A nil Catalog knows nothing.
type Catalog map[string]*Table

// Table is a relation with its columns and indexes.
type Table struct {
	OID          int64
	Schema, Name string
	Kind         string  // relkind: "r", "p", "m", "f", "v"
	Root         string  // "schema.relation" of the partitioned table it belongs to, "" for none
	Inherited    bool    // other tables inherit from it, or did: its unique keys are not theirs
	Rows         float64 // reltuples; -1 when never analyzed
	Pages        float64
	Columns      map[string]*Column
	Indexes      []*Index
}

// Column is a column and its statistics.
type Column struct {
	Name, Type  string // of a domain the type below it
	Domain      bool   // the type is a domain over Type
	Number      int    // its place in the table, from 1, not counting dropped ones; 0 unknown
	NotNull     bool
	Width       int      // average bytes, 0 unknown
	NDistinct   *float64 // as in pg_stats: negative is a share of the rows; nil unknown
	NullFrac    *float64 // nil unknown
	TopFreq     *float64 // share of the rows that have its commonest value; nil unknown
	Correlation *float64 // of its order with that of the rows on disk, -1 to 1; nil unknown
	Collation   string   // "default", "C", …; "" for a type without one
}

// Index is an index and its key columns.
type Index struct {
	Name, Method           string
	Unique, Valid, Primary bool
	Predicate              string // of a partial index, as SQL
	Pages                  float64
	Keys                   []IndexKey
}

// IndexKey is one key column of an index.
type IndexKey struct {
	Text       string // column name or expression, as pg_get_indexdef prints it
	Column     string // "" for an expression
	Desc       bool
	NullsFirst bool
	Collation  string // "" where it is the column's own
	OpClass    string // "" where it is the type's default
}

// Of returns the table that a scan node reads, nil when it is not known.
func (c Catalog) Of(n *plan.Node) *Table {
	if n == nil || n.Relation == "" {
		return nil
	}
	if t := c[n.Schema+"."+n.Relation]; t != nil {
		return t
	}
	if n.Schema != "" {
		return nil
	}
	var found *Table
	for key, t := range c {
		if t.Name == n.Relation && strings.HasSuffix(key, "."+n.Relation) {
			if found != nil && found != t {
				return nil // ambiguous without the schema
			}
			found = t
		}
	}
	return found
}

// Index returns the index of that name, nil when there is none.
func (t *Table) Index(name string) *Index {
	if t == nil {
		return nil
	}
	for _, i := range t.Indexes {
		if i.Name == name {
			return i
		}
	}
	return nil
}

// PerValue estimates how many rows share one value of the column, 0 when unknown.
func (t *Table) PerValue(column string) float64 {
	c := t.column(column)
	if c == nil || c.NDistinct == nil || t.Rows <= 0 {
		return 0
	}
	switch d := *c.NDistinct; {
	case d > 0:
		return t.Rows / d
	case d < 0:
		return 1 / -d
	}
	return 0
}

// MostPerValue estimates how many rows have the commonest value of the column, 0
// when unknown.
func (t *Table) MostPerValue(column string) float64 {
	rows := t.PerValue(column)
	if c := t.column(column); c != nil && c.TopFreq != nil && t.Rows > 0 {
		rows = max(rows, *c.TopFreq*t.Rows)
	}
	return rows
}

func (t *Table) column(name string) *Column {
	if t == nil {
		return nil
	}
	return t.Columns[name]
}

// UniqueWithin reports whether some plain unique index lies wholly within the
// columns, so that no two rows agree on all of them (NULLs apart).
func (t *Table) UniqueWithin(columns []string) bool { return t.uniqueAmong(columns, nil) }

// uniqueAmong is UniqueWithin among the rows of some conditions, which those of a partial
// index may be.
func (t *Table) uniqueAmong(columns []string, terms []Term) bool {
	if t == nil {
		return false
	}
	return slices.ContainsFunc(t.Indexes, func(i *Index) bool {
		return i.Unique && i.Valid && len(i.Keys) > 0 && i.covers(terms) && !slices.ContainsFunc(i.Keys, func(k IndexKey) bool {
			return k.Column == "" || !slices.Contains(columns, k.Column)
		})
	})
}

// relations lists the (schema, relation) pairs that a plan names, once each.
func relations(t *plan.Tree) [][2]string {
	var out [][2]string
	seen := map[[2]string]bool{}
	t.Root.Walk(func(n *plan.Node) bool {
		key := [2]string{n.Schema, n.Relation}
		if n.Relation != "" && !seen[key] {
			seen[key] = true
			out = append(out, key)
		}
		return true
	})
	return out
}
