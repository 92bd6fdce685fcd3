package explain

import "github.com/pgsonde/pgsonde/explain/sqltext"

// Pagination is how a statement gets its page.
type Pagination string

// Kinds of pagination. A condition spelled out (OR, NOT, CASE, AND) is
// KeysetOr; a comparison of one key or of rows is KeysetRow.
const (
	KeysetOr  Pagination = "keyset-or"
	KeysetRow Pagination = "keyset-row"
	Offset    Pagination = "offset"
	FirstPage Pagination = "first-page" // ORDER BY and LIMIT without a cursor
	NoPaging  Pagination = "none"
)

// Form is how a cursor is spelled.
type Form string

// Forms of cursors; a is the leading sort key, b the next.
const (
	FormOr          Form = "or"           // a > $1 OR (a = $1 AND b > $2), flat or nested
	FormBoundedOr   Form = "bounded-or"   // a >= $1 AND (…): the start of the scan is given
	FormRow         Form = "row"          // (a, b) > ($1, $2), pairs swapped or not
	FormBoundedRow  Form = "bounded-row"  // a >= $1 AND (a, b) > ($1, $2)
	FormNot         Form = "not"          // NOT (a < $1 OR …)
	FormSingle      Form = "single"       // a > $1
	FormAnd         Form = "and"          // a <= $1 AND b < $2, key by key
	FormNullBranch  Form = "or-nulls"     // … OR a IS NULL
	FormOptionalOr  Form = "optional-or"  // $1 IS NULL OR a > $1 OR …
	FormOptionalRow Form = "optional-row" // $1 IS NULL OR (a, b) > ($1, $2)
	FormCase        Form = "case"         // CASE WHEN … THEN (a, b) > … ELSE true END, CASE WHEN a > $1 THEN 1 … END = 1
	FormCoalesce    Form = "coalesce"     // a > COALESCE($1, a)
	FormJoined      Form = "joined"       // a > c.a OR …: the cursor is a row of a joined table
)

// SortKey is one key of the sort.
type SortKey struct {
	Key        Key
	Text       string // as written where the cursor compares it, else as in ORDER BY
	Desc       bool
	NullsFirst bool
	Fixed      bool            // an equality holds it to one value
	Values     []*sqltext.Expr // what the cursor compares it with, each once
	written    bool            // Text comes from the condition
}

// Cursor is a condition that starts a page after a given row.
type Cursor struct {
	Form  Form
	Page  *sqltext.Block // the block with ORDER BY
	Block *sqltext.Block // the block whose WHERE holds the condition
	Sort  []SortKey      // every key of ORDER BY that could be resolved
	Keys  []SortKey      // those the cursor is about: without the fixed ones
	Side  Side           // where the scan starts: Lower for an ascending leading key
	Bound Bound          // what the condition implies for Keys[0]; no values for CASE
	// Bounded: a conjunct beside the cursor, or the cursor itself, gives the
	// planner the start of the scan.
	Bounded bool
	Loose   *sqltext.Expr // a conjunct that bounds the start, but not by the cursor's value
	Limited bool          // there is a LIMIT
	Hidden  bool          // it compares an expression over the leading key, which is Keys[0]; Sort has the key itself
	Swapped bool          // a row comparison with key and value swapped in some pair
	Term    Term          // the condition: its main conjunct
	terms   []Term        // all conjuncts of the WHERE
	part    *sqltext.Expr // Term.Whole without what all its branches repeat, to look at: its text is the whole's
	// Start and End: byte range of the main conjunct in the query's text.
	Start, End int
}

// spelledOut reports a cursor that no index could start at: an OR, a CASE, NULLs,
// a switch, without a bound beside it.
func (c *Cursor) spelledOut() bool {
	if c == nil || c.Bounded || c.Hidden || !c.Limited {
		return false
	}
	switch c.Form {
	case FormSingle, FormRow, FormBoundedRow, FormBoundedOr, FormAnd:
		return false
	}
	return true
}

// Columns lists the cursor's keys as written.
func (c *Cursor) Columns() []string {
	var out []string
	for _, k := range c.Keys {
		if len(k.Values) > 0 || len(out) == 0 {
			out = append(out, k.Text)
		}
	}
	return out
}

// Mixed reports keys of different directions among those the cursor compares.
func (c *Cursor) Mixed() bool {
	for _, k := range c.compared() {
		if k.Desc != c.Keys[0].Desc {
			return true
		}
	}
	return false
}

// compared are the leading keys that the cursor compares with a value.
func (c *Cursor) compared() []SortKey {
	for i, k := range c.Keys {
		if len(k.Values) == 0 {
			return c.Keys[:i]
		}
	}
	return c.Keys
}

// RecogniseCursor finds the cursor of a statement: that of the first block, from
// the outside in, which pages; without one, that of an ordered block without
// LIMIT. It returns nil if there is none.
func RecogniseCursor(q *sqltext.Query) *Cursor {
	var unlimited *Cursor
	for _, b := range q.Blocks {
		c := recogniseBlock(b)
		if c == nil {
			continue
		}
		if c.Limited {
			return c
		}
		if unlimited == nil {
			unlimited = c
		}
	}
	return unlimited
}

// Cursors returns the cursor of every block that has one.
func Cursors(q *sqltext.Query) []*Cursor {
	var out []*Cursor
	for _, b := range q.Blocks {
		if c := recogniseBlock(b); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// PaginationOf says how a statement pages; c is its cursor or nil.
func PaginationOf(q *sqltext.Query, c *Cursor) Pagination {
	if c != nil && c.Limited {
		switch c.Form {
		case FormRow, FormBoundedRow, FormSingle, FormOptionalRow:
			return KeysetRow
		}
		return KeysetOr
	}
	kind := NoPaging
	for _, b := range q.Blocks {
		switch {
		case hasOffset(b), rowNumberFilter(b) != nil:
			return Offset
		case b.HasLimit && len(b.OrderBy) > 0 && pagesOtherwise(b):
			kind = KeysetOr
		case b.HasLimit && len(b.OrderBy) > 0 && kind == NoPaging:
			kind = FirstPage
		}
	}
	return kind
}

// hasOffset: OFFSET with anything but 0.
func hasOffset(b *sqltext.Block) bool {
	return b.Offset != nil && b.Offset.Text() != "0"
}

// recogniseBlock finds the cursor for the block's ORDER BY, in its own WHERE or
// in that of the sub-select it reads.
func recogniseBlock(b *sqltext.Block) *Cursor {
	if len(b.OrderBy) == 0 || b.SetOp != "" || len(b.Operands) > 0 || rowNumberFilter(b) != nil {
		return nil
	}
	keys := sortKeys(b)
	for at, depth := b, 0; at != nil && len(keys) > 0 && depth < 5; depth++ {
		if c := findCursor(at, keys); c != nil {
			c.Page, c.Limited = b, limited(b)
			return c
		}
		at, keys = beneath(at, keys)
	}
	return nil
}

// limited: the block, or the plain wrapper round it, has a LIMIT.
func limited(b *sqltext.Block) bool {
	for depth := 0; b != nil && depth < 5; depth++ {
		if b.HasLimit {
			return true
		}
		up := b.Parent
		if b.Role != sqltext.RoleFrom || up == nil || len(up.From) != 1 || len(up.OrderBy) > 0 || up.GroupBy || up.Distinct {
			return false
		}
		b = up
	}
	return false
}

// rowNumberFilter returns the condition that pages by row_number(), if any.
func rowNumberFilter(b *sqltext.Block) *sqltext.Expr {
	for _, t := range b.From {
		sub := t.Sub
		if t.CTE != nil {
			sub = t.CTE.Block
		}
		if sub == nil {
			continue
		}
		for _, it := range sub.Items {
			if it.Expr == nil || it.Expr.Kind != sqltext.Opaque || !isRanking(it.Expr.Name) {
				continue
			}
			for _, term := range Conjuncts(b.Where) {
				_, low := term.Implied(ColumnKey("", it.Alias), Lower)
				if low && !term.Fixes(ColumnKey("", it.Alias)) {
					return term.Whole
				}
			}
		}
	}
	return nil
}

func isRanking(name string) bool {
	return name == "row_number" || name == "rank" || name == "dense_rank"
}
