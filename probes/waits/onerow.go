package waits

import (
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

// one reports whether a statement by its text comes to one row of a table and to no key of
// it but what that row has: it names the table alone, a whole unique key of it is
// compared with constants or parameters, and no column of one is set. What it does not
// understand is not one.
func one(query string, clipped bool, o *probes.ObjectName) bool {
	q := statement(query, clipped)
	if len(q) == 0 || o == nil || o.Triggers || slices.ContainsFunc(q[1:], func(t token) bool {
		return t.is("select", "with", "union", "intersect", "except", "using", "join", "table", "values")
	}) {
		return false
	}
	var set []token
	switch q[0].text {
	case "update":
		i := atWord(q, "set")
		if i < 0 || atWord(q, "from") >= 0 {
			return false
		}
		set = setList(q)
		q = slices.Concat(q[1:i], q[i+1+len(set):])
	case "delete":
		if len(q) < 2 || !q[1].is("from") {
			return false
		}
		q = q[2:]
	case "select":
		i := atWord(q, "from")
		if i < 0 || atWord(q, "for") < i {
			return false
		}
		q = q[i+1:]
	default:
		return false
	}
	alias, cond, ok := from(q, o)
	return ok && keepsAll(set, o) && fixesKey(fixed(cond, alias), o)
}

// from reads the one table of a statement, which must be o, and its condition.
func from(q []token, o *probes.ObjectName) (alias []string, cond []token, ok bool) {
	if len(q) > 0 && q[0].is("only") {
		q = q[1:]
	}
	table, q := named(q)
	if !sameTable(table, o.Name) {
		return nil, nil, false
	}
	alias = table
	if len(q) > 0 && q[0].is("as") {
		q = q[1:]
	}
	if len(q) > 0 && q[0].name() && !q[0].is("where") {
		alias, q = []string{q[0].text}, q[1:]
	}
	if len(q) == 0 || !q[0].is("where") {
		return nil, nil, false
	}
	cond = q[1:]
	if end := atWord(cond, "returning", "for", "order", "limit", "offset", "fetch", "group", "having", "window"); end >= 0 {
		cond = cond[:end]
	}
	return alias, cond, true
}

// sameTable reports whether a name in a statement may be that of a relation, which is
// schema.name, quoted as SQL would.
func sameTable(table []string, name string) bool {
	ts, _ := tokens(name)
	full, _ := named(ts)
	n := len(full) - len(table)
	return len(table) > 0 && n >= 0 && slices.Equal(table, full[n:])
}

// fixed are the columns that a condition compares with constants or parameters.
func fixed(cond []token, alias []string) []string {
	if in, ok := inner(cond); ok {
		return fixed(in, alias)
	}
	if atWord(cond, "or", "between", "case") >= 0 { // an AND may be of these
		return nil
	}
	parts := split(cond, func(t token) bool { return t.is("and") })
	if len(parts) > 1 {
		var out []string
		for _, p := range parts {
			out = append(out, fixed(p, alias)...)
		}
		return out
	}
	sides := split(cond, func(t token) bool { return t.sign("=") })
	if len(sides) != 2 {
		return nil
	}
	for i, side := range sides {
		column, rest := named(side)
		if len(column) == 0 || len(rest) > 0 || !constant(sides[1-i]) {
			continue
		}
		of, last := column[:len(column)-1], column[len(column)-1]
		if len(of) == 0 || len(of) <= len(alias) && slices.Equal(of, alias[len(alias)-len(of):]) {
			return []string{last}
		}
	}
	return nil
}

// constant reports whether ts is a constant or a parameter, with a cast or without.
func constant(ts []token) bool {
	if in, ok := inner(ts); ok {
		return constant(in)
	}
	if len(ts) > 0 && ts[0].sign("-") {
		ts = ts[1:]
	}
	if len(ts) == 0 || ts[0].kind != 'c' {
		return false
	}
	if ts = ts[1:]; len(ts) == 0 {
		return true
	}
	if len(ts) < 3 || !ts[0].sign(":") || !ts[1].sign(":") {
		return false
	}
	kind, rest := named(ts[2:])
	return len(kind) > 0 && len(rest) == 0
}

// fixesKey reports whether all columns of a unique key of o are among those fixed.
func fixesKey(columns []string, o *probes.ObjectName) bool {
	ts, ok := tokens(o.Whole)
	if !ok || len(ts) == 0 {
		return false
	}
	return slices.ContainsFunc(split(ts, func(t token) bool { return t.sign("|") }), func(key []token) bool {
		return !slices.ContainsFunc(key, func(t token) bool { return t.name() && !slices.Contains(columns, t.text) })
	})
}

// setList is the list behind SET, columns and values.
func setList(q []token) []token {
	set := q[atWord(q, "set")+1:]
	if end := atWord(set, "where", "returning", "from"); end >= 0 {
		set = set[:end]
	}
	return set
}

// keepsAll reports whether a SET list sets no column of a unique key of o.
func keepsAll(set []token, o *probes.ObjectName) bool {
	if len(set) == 0 {
		return true
	}
	keys, ok := tokens(o.Keys)
	if !ok || slices.ContainsFunc(keys, func(t token) bool { return t.sign("*") }) {
		return false
	}
	return !slices.ContainsFunc(split(set, func(t token) bool { return t.sign(",") }), func(item []token) bool {
		end := at(item, func(t token) bool { return t.sign("=") })
		return end < 0 || slices.ContainsFunc(item[:end], func(t token) bool {
			return t.name() && slices.ContainsFunc(keys, func(k token) bool { return k.name() && k.text == t.text })
		})
	})
}

// insertsOne reports whether a statement by its text inserts one row that it spells out.
func insertsOne(query string, clipped bool) bool {
	q := statement(query, clipped)
	i := atWord(q, "values")
	if i < 0 || !q[0].is("insert") || slices.ContainsFunc(q, func(t token) bool { return t.is("select", "with") }) {
		return false
	}
	row := q[i+1:]
	if end := atWord(row, "on", "returning"); end >= 0 {
		row = row[:end]
	}
	_, ok := inner(row)
	return ok
}

// locksTable reports whether a statement is a LOCK TABLE, which comes to no row.
func locksTable(query string, clipped bool) bool {
	q := statement(query, clipped)
	return len(q) > 0 && q[0].is("lock")
}
