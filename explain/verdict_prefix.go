package explain

import (
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/explain/sqltext"
)

// narrow lowers the estimate of the rows that the equalities on an index's first
// columns leave by one more. Of several columns the one that leaves fewest counts
// alone, for they may go together. A parameter is taken for the commonest value,
// unless it is known not to be, a column of another table for a usual one.
func (s *Scan) narrow(conds []Term, key Key, column string, known *Known) {
	rows := 0.0
	for _, c := range conds {
		switch {
		case c.Fixes(key):
			rows = s.Table.MostPerValue(column)
			if otherSide(c.Expr, key).HasColumn() {
				rows = s.Table.PerValue(column)
			}
		case c.Expr.Kind == sqltext.IsNull && !c.Not && key.Matches(c.Expr.Args[0]):
			if col := s.Table.column(column); col != nil && col.NullFrac != nil {
				rows = max(s.Table.Rows, 0) * *col.NullFrac
			}
		}
	}
	if rows > 0 && (s.Prefix == 0 || rows < s.Prefix) {
		s.Prefix = max(rows, 1)
	}
}

// otherSide is the side of an equality that is not the key.
func otherSide(e *sqltext.Expr, key Key) *sqltext.Expr {
	if key.Matches(e.Args[0]) {
		return e.Args[1]
	}
	return e.Args[0]
}

// sharing estimates how many of the rows that Fixed leaves share one value of the
// column, 0 when unknown.
func (s *Scan) sharing(column string) float64 {
	rows := s.Table.PerValue(column)
	if s.Prefix > 0 && s.Table.Rows > 0 {
		rows *= min(s.Prefix/s.Table.Rows, 1)
	}
	return rows
}

// Short reports that the equalities before the key, or constants round it, leave so few rows that it does
// not matter where among them the scan starts.
func (s *Scan) Short() bool {
	return s.windowed() || len(s.Fixed) > 0 && s.Prefix > 0 && s.reach() < fewSorted
}

// reach is the rows that a scan goes over at most: those of a window, those that Fixed leaves, else
// the table's; -1 when it is not known.
func (s *Scan) reach() float64 {
	if s.within > 0 {
		return s.within * max(s.merged, 1)
	}
	if len(s.Fixed) > 0 && s.Prefix > 0 {
		return s.Prefix * max(s.merged, 1)
	}
	return s.Rows()
}

// windowed reports a scan between constants that are as near as the ends of a tiny table.
func (s *Scan) windowed() bool { return s.within > 0 && s.reach() < tinyRows }

// leaves names what limits the rows that a scan goes over.
func (s *Scan) leaves() string {
	if s.windowed() {
		return "its window of " + s.Key
	}
	return strings.Join(s.Fixed, ", ")
}

// constantWindow writes a query over the scan's table with the constants that limit its
// key at both ends, and the equalities before it: "" where some end is open.
func (s *Scan) constantWindow(known *Known) string {
	if s.Table == nil || s.Index == nil || len(s.Index.Keys) <= len(s.Fixed) {
		return ""
	}
	key, ok := s.keyOf(s.Index.Keys[len(s.Fixed)])
	if !ok {
		return ""
	}
	var where []string
	ends := map[Side]bool{}
	for _, c := range Conjuncts(parseCond(s.Node.IndexCond)) {
		for _, side := range []Side{Lower, Upper} {
			b, ok := c.Implied(key, side)
			if !ok || len(b.Guards) > 0 || !c.direct(key, side) || isRow(c.Expr) || c.Expr.Kind != sqltext.Compare {
				continue
			}
			if text := known.filled(c.Expr); text != "" {
				where, ends[side] = append(where, "("+text+")"), true
			}
		}
	}
	if !ends[Lower] || !ends[Upper] {
		return ""
	}
	if len(s.Fixed) > 0 {
		if sql := s.constantPrefix(known); sql != "" {
			return sql + " AND " + strings.Join(where, " AND ")
		}
	}
	return s.counting(where)
}

// constantPrefix writes a query over the scan's table with the equalities on its
// first index columns, whose estimate is that of Prefix for just these values: ""
// where a value is not known.
func (s *Scan) constantPrefix(known *Known) string {
	if s.Table == nil || len(s.Fixed) == 0 {
		return ""
	}
	var where []string
	for _, c := range Conjuncts(parseCond(s.Node.IndexCond)) {
		col := fixedColumn(c)
		if col == nil {
			continue
		}
		if text := known.filled(c.Expr); text != "" {
			where = append(where, "("+text+")")
		}
	}
	if len(where) == 0 {
		return ""
	}
	return s.counting(where)
}

// filled writes a condition with the values of its parameters, "" where one is not known.
func (k *Known) filled(e *sqltext.Expr) string {
	ok := true
	var edits []sqltext.Edit
	e.Walk(func(x *sqltext.Expr) bool {
		if n := paramNumber(x); n > 0 {
			v := k.param(x)
			ok = ok && v != ""
			edits = append(edits, sqltext.Edit{Start: x.Start - e.Start, End: x.End - e.Start, Text: literal(v)})
		}
		return x.Kind != sqltext.Opaque
	})
	if !ok {
		return ""
	}
	return sqltext.Splice(e.Text(), edits)
}

// counting writes a query for the rows of the scan's table under some conditions.
func (s *Scan) counting(where []string) string {
	return "SELECT 1 FROM " + pgx.Identifier{s.Table.Schema, s.Table.Name}.Sanitize() + " AS " + pgx.Identifier{s.Node.Alias}.Sanitize() +
		" WHERE " + strings.Join(where, " AND ")
}
