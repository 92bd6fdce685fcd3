package waits

import (
	"maps"
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

// one reports whether a statement by its text comes to one row of a table and to no key of
// it but what that row has: it names the table alone, a whole unique key of it is
// compared with constants or parameters, and no column of one is set. What it does not
// understand is not one.
func one(query string, clipped bool, o *probes.ObjectName) bool {
	_, ok := oneRow(query, clipped, o)
	return ok
}

// rowKey is a row by the values of a unique key; those of one key with other values are
// other rows.
type rowKey struct {
	columns, values string // values "": not told by the text
}

// oneRow is one, and which row it is.
func oneRow(query string, clipped bool, o *probes.ObjectName) (key rowKey, ok bool) {
	q := statement(query, clipped)
	if len(q) == 0 || o == nil || o.Triggers || slices.ContainsFunc(q[1:], func(t token) bool {
		return t.is("select", "with", "union", "intersect", "except", "using", "join", "table", "values")
	}) {
		return rowKey{}, false
	}
	var set []token
	switch q[0].text {
	case "update":
		i := atWord(q, "set")
		if i < 0 || atWord(q, "from") >= 0 {
			return rowKey{}, false
		}
		set = setList(q)
		q = slices.Concat(q[1:i], q[i+1+len(set):])
	case "delete":
		if len(q) < 2 || !q[1].is("from") {
			return rowKey{}, false
		}
		q = q[2:]
	case "select":
		i := atWord(q, "from")
		if i < 0 || atWord(q, "for") < i {
			return rowKey{}, false
		}
		q = q[i+1:]
	default:
		return rowKey{}, false
	}
	alias, cond, found := from(q, o)
	if !found || !keepsAll(set, o) {
		return rowKey{}, false
	}
	return fixesKey(fixed(cond, alias), o)
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

// fixed are the columns that a condition compares with constants or parameters, and with
// what: "" a parameter, or a constant of which another may be the equal.
func fixed(cond []token, alias []string) map[string]string {
	if in, ok := inner(cond); ok {
		return fixed(in, alias)
	}
	if atWord(cond, "or", "between", "case") >= 0 { // an AND may be of these
		return nil
	}
	parts := split(cond, func(t token) bool { return t.is("and") })
	if len(parts) > 1 {
		out := map[string]string{}
		for _, p := range parts {
			maps.Copy(out, fixed(p, alias))
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
			return map[string]string{last: plain(sides[1-i])}
		}
	}
	return nil
}

// plain is a constant whose equals, whatever its type, have the same text: an integer or a
// UUID as the server writes it. "" another.
func plain(ts []token) string {
	for {
		in, ok := inner(ts)
		if !ok {
			break
		}
		ts = in
	}
	if len(ts) != 1 || len(ts[0].text) == 0 {
		return ""
	}
	text := ts[0].text
	for i := range text {
		uuid := len(text) == 36 && (text[i] >= 'a' && text[i] <= 'f' || text[i] == '-')
		if !digit(text[i]) && !uuid {
			return ""
		}
	}
	if text[0] == '0' && len(text) > 1 && len(text) != 36 {
		return ""
	}
	return text
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

// fixesKey looks for a unique key of o whose columns are all fixed, best one whose values
// are told.
func fixesKey(columns map[string]string, o *probes.ObjectName) (key rowKey, ok bool) {
	ts, read := tokens(o.Whole)
	if !read || len(ts) == 0 {
		return rowKey{}, false
	}
	for _, names := range split(ts, func(t token) bool { return t.sign("|") }) {
		var k rowKey
		all, told := true, true
		for _, t := range names {
			if !t.name() {
				continue
			}
			value, has := columns[t.text]
			all, told = all && has, told && value != ""
			k.columns, k.values = k.columns+t.text+"\x00", k.values+value+"\x00"
		}
		if !told {
			k.values = ""
		}
		if all && (!ok || told && key.values == "") {
			key, ok = k, true
		}
	}
	return key, ok
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

// namesOther reports whether a statement reads or writes another table than o by its text.
func namesOther(q []token, o *probes.ObjectName) bool {
	tableAt := func(i int) (string, bool) { // a name, and whether it is another's
		if i < len(q) && q[i].is("only", "lateral") {
			i++
		}
		name, rest := named(q[min(i, len(q)):])
		if len(name) == 0 || len(rest) > 0 && rest[0].sign("(") {
			return "", false
		}
		return name[len(name)-1], !sameTable(name, o.Name)
	}
	with := map[string]bool{} // names that WITH gives
	for i := 1; i < len(q)-1; i++ {
		if q[i].is("as") && (q[i+1].sign("(") || q[i+1].is("materialized", "not")) {
			with[q[i-1].text] = true
		}
	}
	for i, t := range q {
		before := token{}
		if i > 0 {
			before = q[i-1]
		}
		if !t.is("from", "join", "into", "using", "update") || before.is("distinct", "for", "key", "do") {
			continue
		}
		if name, other := tableAt(i + 1); other && !with[name] {
			return true
		}
		rest := q[i+1:]
		if end := at(rest, func(t token) bool { return !t.name() && !t.sign(".") }); end >= 0 && end <= 5 && rest[end].sign(",") {
			if name, other := tableAt(i + 1 + end + 1); other && !with[name] {
				return true
			}
		}
	}
	return false
}
