package sqltext

import (
	"os"
	"path/filepath"
	"testing"
)

// seeds are statements that have, between them, every construct the readers know.
func seeds(f *testing.F) {
	f.Helper()
	for _, s := range []string{
		"select a.b, lower(c) as \"X\", * from t a left join (select 1) s using (id) where a > $1 or (a = $1 and b < $2) order by 1 desc nulls last limit 5 offset 2",
		"with x(a, b) as materialized (select 1, 2), y as (delete from t returning *) select * from x, y where not (a < ? or (a = ? and b >= ?))",
		"select case when $1 is null then true else (a, b) > ($1, $2) end from t fetch first 10 rows with ties",
		"(select 1 union all select 2) order by 1; select E'a\\'b', U&\"d\\0061t\", $tag$ x $tag$, B'01', 1e-5, 0x1F, 1..2",
		"-- name: one :many\nselect :name, %(x)s, @y, %s from t where a @> '{}' and b ? 'k' /* c /* d */ */ -- e",
		"((a >= (InitPlan 1).col1) AND (b = ANY ('{a,b}'::text[])) AND ((c)::text COLLATE \"C\" < 'x'::text))",
		"x between symmetric 1 and 2 and y not in (1, 2) and z is not distinct from (select max(q) from w)",
		"create function f() returns int begin atomic select case when true then 1 end; end; copy t from stdin;\n1\n\\.\nselect 2",
		"((((((", "'", "\"", "$a$", "/*", "case case case", "a::b::c[1][2].d", "not not not", "select (select (select", "- - - -1", ")", "$", "e'\\",
	} {
		f.Add(s)
	}
	files, _ := filepath.Glob("../testdata/*/*.sql")
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil && len(b) < 4096 {
			f.Add(string(b))
		}
	}
}

func FuzzLex(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		for d := Auto; d <= At; d++ {
			at := 0
			toks := LexDialect(src, d)
			for i, k := range toks {
				if k.Start < at || k.End < k.Start || k.End > len(src) || k.Kind != EOF && k.End == k.Start {
					t.Fatalf("token %d of %q: %+v after byte %d", i, src, k, at)
				}
				at = k.End
			}
			if toks[len(toks)-1].Kind != EOF {
				t.Fatalf("no EOF at the end of %q", src)
			}
		}
		end := 0
		for _, st := range Split(src) {
			if st.Start < end || src[st.Start:st.End] != st.Text {
				t.Fatalf("statement %q of %q", st.Text, src)
			}
			end = st.End
		}
		n := Placeholders(src, Auto)
		if got := Splice(src, n.Original(nil)); got != src {
			t.Fatalf("no edits changed %q to %q", src, got)
		}
		for i := 0; i <= len(n.SQL); i++ {
			if o := n.Offset(i); o < 0 || o > len(src) {
				t.Fatalf("offset %d of %q maps to %d of %d", i, n.SQL, o, len(src))
			}
		}
	})
}

func FuzzExpr(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		e, err := ParseExpr(src)
		if err != nil {
			return
		}
		checkTree(t, src, e)
		if !Equal(e, e) {
			t.Fatalf("%q does not equal itself", src)
		}
	})
}

func FuzzQuery(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		q, err := ParseQuery(src)
		if err != nil {
			return
		}
		for _, b := range q.Blocks {
			if b.Start > b.End || b.End > len(src) || b.BodyStart > b.Start {
				t.Fatalf("block %d-%d (body %d) of %q", b.Start, b.End, b.BodyStart, src)
			}
			checkTree(t, src, b.Where)
			for _, o := range b.OrderBy {
				checkTree(t, src, o.Expr)
			}
			b.Correlated()
		}
		if x, err := Readable(src); err == nil && src[x.Start:x.Start+len(x.SQL)] != x.SQL {
			t.Fatalf("readable part of %q: %+v", src, x)
		}
	})
}

// checkTree: ranges lie in the text and in each other, in order.
func checkTree(t *testing.T, src string, e *Expr) {
	t.Helper()
	if e == nil {
		return
	}
	if e.Start < 0 || e.End < e.Start || e.End > len(src) || src[e.Start:e.End] != e.Text() {
		t.Fatalf("range %d-%d of %q", e.Start, e.End, src)
	}
	at := e.Start
	for _, a := range e.Args {
		if a.Start == a.End { // a missing operand has no place of its own
			continue
		}
		if a.Start < at || a.End > e.End {
			t.Fatalf("%q (%d-%d) is not in order inside %q (%d-%d) of %q", a.Text(), a.Start, a.End, e.Text(), e.Start, e.End, src)
		}
		at = a.End
		checkTree(t, src, a)
	}
}
