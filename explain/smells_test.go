package explain

import (
	"sort"
	"strings"
	"testing"
)

// smellCases: the findings of a statement, "rule severity" sorted.
var smellCases = []struct {
	name, sql, want string
}{
	{"nothing", "select * from doc where (created_at, id) > ($1, $2) order by created_at, id limit 5", ""},
	{"row one way, sort two", "select * from doc where (created_at, id) > ($1, $2) order by created_at, id desc limit 5", "mixed-directions info, row-direction-mismatch error"},
	{"swapped row", "select * from doc where (created_at, $2) > ($1, id) order by created_at, id desc limit 5", "mixed-directions info"},
	{"swapped the wrong pair", "select * from doc where ($1, id) > (created_at, $2) order by created_at, id desc limit 5", "bound-on-wrong-side warn"},
	{"strict bound", "select * from doc where created_at > $1 and (created_at > $1 or (created_at = $1 and id > $2)) order by created_at, id limit 5", "strict-bound error"},
	{"a looser bound and the cursor's own", "select * from doc where created_at >= $1 and created_at > $1 - interval '1 day' and (created_at > $1 or id > $2) order by created_at, id limit 5", ""},
	{"the cursor's own bound and a looser one", "select * from doc where created_at > $1 - interval '1 day' and created_at >= $1 and (created_at > $1 or id > $2) order by created_at, id limit 5", ""},
	{"a looser bound before another parameter", "select * from doc where created_at > $1 - interval '1 day' and created_at >= $2 and (created_at > $3 or id > $4) order by created_at, id limit 5", "duplicate-parameters info"},
	{"the cursor's value by COALESCE", "select * from doc where closed_at >= coalesce($1, '-infinity') and (closed_at > coalesce($1, '-infinity') or id > $2) order by closed_at, id limit 5", "nullable-key warn"},
	{"a looser bound alone", "select * from doc where created_at > $1 - interval '1 day' and (created_at > $1 or (created_at = $1 and id > $2)) order by created_at, id limit 5", "loose-start warn"},
	{"a looser bound going down", "select * from doc where created_at < date_trunc('day', $1) + interval '1 day' and (created_at < $1 or (created_at = $1 and id < $2)) order by created_at desc, id desc limit 5", "loose-start warn"},
	{"a strict bound under a cast", "select * from doc where created_at > $1::timestamptz and (created_at > $1 or (created_at = $1 and id > $2)) order by created_at, id limit 5", "strict-bound error"},
	{"a strict bound on the least", "select * from doc where created_at > least($1, $2) and (created_at > $1 or (created_at = $2 and id > $3)) order by created_at, id limit 5", "duplicate-parameters info, strict-bound error"},
	{"key by key", "select * from doc where created_at <= $1 and id < $2 order by created_at desc, id desc limit 5", "independent-keys warn"},
	{"tie the wrong way", "select * from doc where created_at > $1 or (created_at = $1 and id < $2) order by created_at, id limit 5", "cursor-against-order error"},
	{"a limit that is the cursor's value", "select * from doc where created_at <= '2024-01-03' and (created_at, id) > ('2024-01-03', 7) order by created_at, id limit 5", ""},
	{"a limit that is the cursor's value, descending", "select * from doc where created_at between '2024-01-03' and '2024-02-01' and (created_at, id) < ('2024-01-03', 7) order by created_at desc, id desc limit 5", ""},
	{"a limit that is the cursor's parameter", "select * from doc where created_at <= $1 and (created_at, id) > ($1, $2) order by created_at, id limit 5", "cursor-against-order error"},
	{"ties come again", "select * from doc where created_at >= $1 or (created_at = $1 and id > $2) order by created_at, id limit 5", "cursor-against-order warn"},
	{"tie branch without the equality", "select * from doc where created_at > $1 or id > $2 order by created_at, id limit 5", ""},
	{"precedence", "select * from doc where p = $1 and created_at > $2 or created_at = $2 and id > $3 order by created_at, id limit 5", "precedence-bug error"},
	{"precedence, filter last", "select * from doc where created_at > $2 or created_at = $2 and id > $3 and p = $1 order by created_at, id limit 5", "precedence-bug error"},
	{"filter in both branches", "select * from doc where p = $1 and created_at > $2 or p = $1 and created_at = $2 and id > $3 order by created_at, id limit 5", ""},
	{"two values", "select * from doc where id = $1 or id = $2 order by id limit 2", ""},
	{"two values of the first key", "select * from doc where created_at = $1 or created_at = $2 order by created_at, id limit 10", ""},
	{"a value, or one with a filter", "select * from doc where id = $1 or (id = $2 and p = 3) order by id", ""},
	{"against the sort, deleted", "delete from doc where id in (select id from doc where created_at < $1 or (created_at = $1 and id <= $2) order by created_at, id limit 500)", ""},
	{"two windows", "select * from doc where (created_at >= $1 and created_at < $2) or (created_at >= $3 and created_at < $4) order by created_at, id limit 100", ""},
	{"first page by literals", "select * from doc where created_at > '-infinity' or (created_at = '-infinity' and id > 0) order by created_at, id limit 10", ""},
	{"not unique", "select * from doc where created_at > $1 order by created_at limit 5", "missing-tiebreaker warn, unique-key-needed warn"},
	{"second key not compared", "select * from doc where created_at > $1 order by created_at, id limit 5", "unique-key-needed warn"},
	{"unique", "select * from doc where id > $1 order by id limit 5", ""},
	{"unknown table", "select * from other where at > $1 order by at limit 5", "unique-key-needed info"},
	{"nullable", "select * from doc where closed_at > $1 or (closed_at = $1 and id > $2) order by closed_at, id limit 5", "nullable-key warn"},
	{"nullable, asked for", "select * from doc where closed_at is not null and (closed_at, id) > ($1, $2) order by closed_at, id limit 5", ""},
	{"outer join makes NULL", "select * from doc a left join doc d on d.p = a.id where d.created_at > $1 or (d.created_at = $1 and a.id > $2) order by d.created_at, a.id limit 5", "nullable-key warn"},
	{"offset", "select * from doc order by id limit 5 offset $1", "offset warn"},
	{"offset over ties", "select * from doc where created_at >= $1 order by created_at, id limit 5 offset $2", "small-offset info"},
	{"row number", "select * from (select id, row_number() over (order by id) n from doc) s where n > $1 order by n limit 5", "row-number-page warn"},
	{"far end only", "select * from doc where created_at < $3 and (created_at > $1 or (created_at = $1 and id > $2)) order by created_at, id limit 5", "bound-on-wrong-side warn"},
	{"against the sort", "select * from doc where (created_at, id) > ($1, $2) order by created_at desc, id desc limit 5", "bound-on-wrong-side warn"},
	{"window of time", "select * from doc where created_at > $1 order by created_at desc, id desc limit 5", ""},
	{"loose start", "select * from doc where created_at >= $3 and (created_at > $1 or (created_at = $1 and id > $2)) order by created_at, id limit 5", "loose-start warn"},
	{"null branch", "select * from doc where closed_at > $1 or (closed_at = $1 and id > $2) or closed_at is null order by closed_at, id limit 5", "null-branch warn"},
	{"optional", "select * from doc where $1 is null or (created_at, id) > ($1, $2) order by created_at, id limit 5", "optional-cursor warn"},
	{"case", "select * from doc where case when $1 is null then true else (created_at, id) > ($1, $2) end order by created_at, id limit 5", "case-cursor warn"},
	{"joined", "select d.* from doc d join doc c on c.id = $1 where d.created_at > c.created_at or (d.created_at = c.created_at and d.id > c.id) order by d.created_at, d.id limit 5", "joined-cursor warn"},
	{"joined, by one key", "select d.* from doc d, (select c.created_at at from doc c where c.id = $1) cmp where d.created_at >= cmp.at order by d.created_at limit 5", "joined-cursor warn, missing-tiebreaker warn"},
	{"joined to many", "select d.* from doc d join doc c on c.p = d.p where d.created_at >= $1 order by d.created_at limit 5", ""},
	{"cast on the key", "select * from doc where created_at::date > $1 order by created_at, id limit 5", "cast-on-key warn"},
	{"collation on the key", `select * from doc where title collate "C" > $1 order by title, id limit 5`, "collation-on-key warn"},
	{"collation of the sort", `select * from doc where (title, id) > ($1, $2) order by title collate "C", id limit 5`, "collation-on-key warn"},
	{"expression of the sort", "select * from doc where (created_at, id) > ($1, $2) order by created_at::date, id limit 5", "expression-on-key warn"},
	{"group key", "select p, count(*) from doc where p > $1 group by p order by p limit 5", ""},
	{"group key by number", "select doc.p as q, count(*) from doc where doc.p > $1 group by 1 order by q limit 5", ""},
	{"one of two group keys", "select p, seq, count(*) from doc where p > $1 group by p, seq order by p limit 5", "unique-key-needed warn"},
	{"the other group key is fixed", "select p, count(*) from doc where seq = 1 and p > $1 group by p, seq order by p limit 5", ""},
	{"not up to", "select * from doc where not (created_at <= $1) order by created_at limit 5", "missing-tiebreaker warn, unique-key-needed warn"},
	{"not up to and with", "select * from doc where not (created_at < $1) order by created_at, id limit 5", ""},
	{"ties in another part", "(select * from doc where created_at = $1 and id > $2 order by created_at, id limit 5) union all (select * from doc where created_at > $1 order by created_at, id limit 5) order by created_at, id limit 5", ""},
	{"NULLs in another part", "(select * from doc where (closed_at, id) > ($1, $2) and closed_at is not null order by closed_at, id limit 5) union all (select * from doc d where closed_at is null and id > $2 order by closed_at, id limit 5) order by closed_at, id limit 5", ""},
	{"NULLs in another part, without a word here", "(select * from doc where (closed_at, id) > ($1, $2) order by closed_at, id limit 5) union all (select * from doc d where d.closed_at is null order by closed_at, id limit 5) order by closed_at, id limit 5", ""},
	{"NULLs in no part", "(select * from doc where closed_at = $1 and id > $2 order by closed_at, id limit 5) union all (select * from doc d where d.closed_at > $1 order by closed_at, id limit 5) order by closed_at, id limit 5", "nullable-key warn"},
	{"a part without its ties", "(select * from doc where created_at > $1 order by created_at, id limit 5) union all (select * from doc where p = 1 order by created_at, id limit 5) order by created_at, id limit 5", "unique-key-needed warn"},
	{"a view says nothing of NULL", "select * from live where closed_at > $1 or (closed_at = $1 and id > $2) order by closed_at, id limit 5", ""},
	{"between and not the tie", "select * from doc where created_at between $1 and $3 and not (created_at = $1 and id <= $2) order by created_at, id limit 5", ""},
	{"an end in one branch", "select * from doc where (created_at > $1 and created_at <= $3) or (created_at = $1 and id > $2) order by created_at, id limit 5", ""},
	{"an end in one branch, no parentheses", "select * from doc where created_at > $1 and created_at <= $3 or created_at = $1 and id > $2 order by created_at, id limit 5", ""},
	{"an end in each branch, going down", "select * from doc where created_at <= $1 and ((created_at < $1 and created_at > $3) or (created_at = $1 and created_at > $3 and id < $2)) order by created_at desc, id desc limit 5", ""},
	{"both ways negated", "select * from doc where not (created_at < $1 or created_at = $1 and id <= $2 or created_at > $3) order by created_at, id limit 5", ""},
	{"number of another type", "select * from doc where (seq, id) > ($1::float8, $2) order by seq, id limit 5", "value-type warn"},
	{"expression on the key", "select * from doc where date_trunc('day', created_at) >= $1 order by created_at, id limit 5", "expression-on-key warn"},
	{"sort by an expression", "select * from doc where (lower(title), id) > ($1, $2) order by lower(title), id limit 5", "expression-key info"},
	{"value type", "select * from doc where seq > $1::numeric order by seq, id limit 5", "unique-key-needed warn, value-type warn"},
	{"materialized", "with b as materialized (select * from doc) select * from b where created_at > $1 or (created_at = $1 and id > $2) order by created_at, id limit 5", "materialized-cte warn"},
	{"parameters twice", "select * from doc where created_at > ? or (created_at = ? and id > ?) order by created_at, id limit 5", "duplicate-parameters info"},
	{"after a unique key, sorted by another", "select * from doc where id > $1 order by created_at, seq limit 5", "cursor-on-other-key info, missing-tiebreaker warn"},
	{"after the tiebreaker", "select * from doc where id > $1 order by created_at, id limit 5", "cursor-on-other-key info"},
	{"after the tiebreaker, which goes along", "select * from doc where nr > $1 order by made, nr limit 5", "cursor-on-other-key warn"},
	{"after a row of other keys", "select * from doc where (seq, id) > ($1, $2) order by created_at, id limit 5", "cursor-on-other-key warn"},
	{"after an OR over other keys", "select * from doc where seq > $1 or (seq = $1 and id > $2) order by created_at, id limit 5", "cursor-on-other-key warn"},
	{"ties by another key", "select * from doc where created_at > $1 or (created_at = $1 and nr > $2) order by created_at, id limit 5", "cursor-on-other-key warn"},
	{"ties by another key, as a row", "select * from doc where (created_at, nr) > ($1, $2) order by created_at, id limit 5", "cursor-on-other-key warn"},
	{"ties by a key that is not in the sort", "select * from doc where created_at < $1 or (created_at = $1 and id < $2) order by created_at desc limit 5", "cursor-on-other-key warn, missing-tiebreaker warn"},
	{"ties by another key behind a bound", "select * from doc where created_at >= $1 and (created_at > $1 or (created_at = $1 and nr > $2)) order by created_at, id limit 5", "cursor-on-other-key warn"},
	{"a filter beside the tie", "select * from doc where (created_at > $1 and nr > $3) or (created_at = $1 and nr > $3 and id > $2) order by created_at, id limit 5", ""},
	{"a filter in the tie alone", "select * from doc where created_at > $1 or (created_at = $1 and seq > $3 and id > $2) order by created_at, id limit 5", "precedence-bug warn"},
	{"from a unique key on, newest first", "select * from doc where id > $1 order by created_at desc, id desc limit 5", ""},
	{"a range of a unique key", "select * from doc where id > $1 and id <= $2 order by created_at, id limit 5", ""},
	{"from a unique key on", "select * from doc where id >= $1 order by created_at, id limit 5", ""},
	{"behind a constant", "select * from doc where id > 'a' order by created_at, id limit 5", ""},
	{"a filter on another column", "select * from doc where closed_at > $1 order by created_at, id limit 5", ""},
	{"one of two ranges of another column", "select * from doc where (seq > $1 and seq < $2) or seq = $3 order by created_at, id limit 5", ""},
	{"a unique key with an offset", "select * from doc where id > $1 order by created_at, id limit 5 offset 100", "offset warn"},
	{"another key of a batch to delete", "delete from doc where id in (select id from doc where id > $1 order by created_at, id limit 5)", ""},
	{"no limit", "select * from doc where (created_at, id) > ($1, $2) order by created_at, id", "no-limit info"},
	{"no index for the filter", "select * from doc where p = $1 and (id > $2) order by id limit 5", "filter-not-in-index info"},
}

// TestPartialIndexes: a partial index counts where the condition says its predicate.
func TestPartialIndexes(t *testing.T) {
	key := func(columns ...string) (out []IndexKey) {
		for _, c := range columns {
			out = append(out, IndexKey{Text: c, Column: c})
		}
		return out
	}
	facts := Facts{Tables: map[string]*Table{"q": {
		Name: "q", Kind: "r", Columns: map[string]*Column{
			"a": {Name: "a", Type: "integer", NotNull: true}, "b": {Name: "b", Type: "integer", NotNull: true}, "d": {Name: "d", Type: "integer"},
			"open": {Name: "open", Type: "boolean", NotNull: true}, "kind": {Name: "kind", Type: "text", NotNull: true},
		},
		Indexes: []*Index{
			{Name: "d", Unique: true, Valid: true, Predicate: "(d > 0)", Keys: key("d")},
			{Name: "pk", Unique: true, Primary: true, Valid: true, Keys: key("a", "b")},
			{Name: "open", Valid: true, Predicate: "open", Keys: key("a", "b")},
			{Name: "kind", Valid: true, Predicate: "(kind = 'x'::text)", Keys: key("b", "a")},
		},
	}}}
	for sql, want := range map[string]string{
		"select a from q where d > 0 and d > $1 order by d limit 5":                      "",
		"select a from q where 0 < d and d > $1 order by d limit 5":                      "",
		"select a from q where d > $1 order by d limit 5":                                "missing-tiebreaker nullable-key unique-key-needed: add a unique key to sort and cursor: (d, a, b) > ($1, $2, $3)",
		"select a from q where d > 1 and d > $1 order by d limit 5":                      "missing-tiebreaker unique-key-needed: add a unique key to sort and cursor: (d, a, b) > ($1, $2, $3)",
		"select a from q where d > 1 and d > $1 order by d fetch first 5 rows with ties": "",
		"select a from q where open = true and (a, b) > ($1, $2) order by a, b limit 5":  "",
		"select a from q where open = false and (a, b) > ($1, $2) order by a, b limit 5": "filter-not-in-index",
		"select a from q where kind = 'x' and (b, a) > ($1, $2) order by b, a limit 5":   "",
		"select a from q where kind = 'y' and (b, a) > ($1, $2) order by b, a limit 5":   "filter-not-in-index",
	} {
		q, _ := parse(t, sql)
		var got []string
		for _, s := range Smells(q, facts) {
			got = append(got, s.Rule)
			if s.Rule == "unique-key-needed" {
				got[len(got)-1] += ": " + s.Action
			}
		}
		sort.Strings(got)
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s\ngot  %s\nwant %s", sql, g, want)
		}
	}
}

func TestSmells(t *testing.T) {
	facts := docFacts()
	seen := map[string]bool{}
	for _, c := range smellCases {
		q, _ := parse(t, c.sql)
		var got []string
		for _, s := range Smells(q, facts) {
			seen[s.Rule] = true
			if s.Rule == "filter-not-in-index" && c.name != "no index for the filter" {
				continue
			}
			got = append(got, s.Rule+" "+string(s.Severity))
			if s.Start < 0 || s.End > len(q.SQL) || s.Start >= s.End {
				t.Errorf("%s: %s points at %d-%d", c.name, s.Rule, s.Start, s.End)
			}
			if s.Message == "" || s.Action == "" || strings.Contains(s.Message, "\n") {
				t.Errorf("%s: %s says %q, %q", c.name, s.Rule, s.Message, s.Action)
			}
		}
		sort.Strings(got)
		if g := strings.Join(got, ", "); g != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.name, c.sql, g, c.want)
		}
	}
	facts.Tables["doc"].Columns["seq"].NDistinct = new(float64)
	*facts.Tables["doc"].Columns["seq"].NDistinct = 12
	q, _ := parse(t, "select * from doc where seq > $1 or (seq = $1 and id > $2) order by seq, id limit 5")
	for _, s := range Smells(q, facts) {
		seen[s.Rule] = true
	}
	for _, r := range SmellRules() {
		if !seen[r.Name] {
			t.Errorf("no case gives %s", r.Name)
		}
		if r.Text == "" || r.Name != strings.ToLower(r.Name) {
			t.Errorf("rule %+v", r)
		}
	}
}
