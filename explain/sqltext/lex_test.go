package sqltext

import (
	"strings"
	"testing"
)

// kinds writes the tokens of src as "kind:text", separated by spaces.
func kinds(src string, d Dialect) string {
	names := map[Kind]string{Word: "w", Quoted: "q", String: "s", Number: "n", Param: "p", Op: "o", Punct: ".", Bad: "!"}
	var out []string
	for _, t := range LexDialect(src, d) {
		if t.Kind != EOF {
			out = append(out, names[t.Kind]+":"+t.Text(src))
		}
	}
	return strings.Join(out, " ")
}

func TestLex(t *testing.T) {
	for _, c := range []struct {
		name, src string
		dialect   Dialect
		want      string
	}{
		{"strings", `'a''b' E'\'' U&'\0041' x'1F' $$a$$ $t$ $$ $t$`, Dollar, `s:'a''b' s:E'\'' s:U&'\0041' s:x'1F' s:$$a$$ s:$t$ $$ $t$`},
		{"identifiers", `a$1 "A""b" U&"x" é_1`, Dollar, `w:a$1 q:"A""b" q:U&"x" w:é_1`},
		{"numbers", `1 1.5 .5 1e-3 0x1F 1_000 1..2 1.e`, Dollar, `n:1 n:1.5 n:.5 n:1e-3 n:0x1F n:1_000 n:1 .:.. n:2 n:1. w:e`},
		{"operators", `a<-1 a@-1 a<=b a<>-b @>+`, Dollar, `w:a o:< o:- n:1 w:a o:@- n:1 w:a o:<= w:b w:a o:<> o:- w:b o:@>+`},
		{"comments", "a--x\nb/* /* */ */c*/*x*/d", Dollar, `w:a w:b w:c o:* w:d`},
		{"no end", `'abc`, Dollar, `!:'abc`},
		{"comment without end", `a /* b`, Dollar, `w:a !:/* b`},
		{"casts", `a::b :c`, Dollar, `w:a .::: w:b .:: w:c`},
		{"question", `a >? and b ? 'k' and c = ?::int and d ?| e`, Question, `w:a o:> p:? w:and w:b o:? s:'k' w:and w:c o:= p:? .::: w:int w:and w:d o:?| w:e`},
		{"colon", `a=:x and b::text[1:2] limit :n`, Colon, `w:a o:= p::x w:and w:b .::: w:text .:[ n:1 .:: n:2 .:] w:limit p::n`},
		{"percent", `a=%s and b % c > %s`, Percent, `w:a o:= p:%s w:and w:b o:% w:c o:> p:%s`},
		{"percent named", `a >= %(x)s`, PercentNamed, `w:a o:>= p:%(x)s`},
		{"at", `a<@id and b @> c and d = @x`, At, `w:a o:< p:@id w:and w:b o:@> w:c w:and w:d o:= p:@x`},
	} {
		if got := kinds(c.src, c.dialect); got != c.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.name, c.src, got, c.want)
		}
	}
}

func TestSplit(t *testing.T) {
	src := "\\set x 1\n-- name: First :many\n-- a note\nselect 1;\n\n;select ';' /* ; */;\n-- name: third^\nselect 3\n-- name: fourth\nselect 4\n" +
		"/* @name fifth */ select 5;\ncopy t (a) from stdin;\nselect 'data';\n\\.\n" +
		"create function f() returns int begin atomic select 1; select case when true then 2 end; end;\nselect 'open"
	type want struct {
		text, name string
		line       int
	}
	wants := []want{
		{"select 1", "First", 4},
		{"select ';'", "", 6},
		{"select 3", "third^", 8},
		{"select 4", "fourth", 10},
		{"select 5", "fifth", 11},
		{"copy t (a) from stdin", "", 12},
		{"create function f() returns int begin atomic select 1; select case when true then 2 end; end", "", 15},
		{"select 'open", "", 16},
	}
	got := Split(src)
	for i, w := range wants {
		if i >= len(got) {
			t.Fatalf("got %d statements, want %d", len(got), len(wants))
		}
		if g := got[i]; g.Text != w.text || g.Name != w.name || g.Line != w.line {
			t.Errorf("statement %d: got %q named %q on line %d, want %q named %q on line %d", i, g.Text, g.Name, g.Line, w.text, w.name, w.line)
		}
	}
	if len(got) != len(wants) {
		t.Errorf("got %d statements, want %d", len(got), len(wants))
	}
	if !got[len(got)-1].Broken || got[0].Broken {
		t.Errorf("the string without end is not marked, or the first statement is")
	}
}

func TestPlaceholders(t *testing.T) {
	for _, c := range []struct {
		src     string
		dialect Dialect
		want    string
	}{
		{"a > $2 or b = $1", Dollar, "a > $2 or b = $1"},
		{"a > ? or (a = ? and j ? 'k')", Question, "a > $1 or (a = $2 and j ? 'k')"},
		{"a > :cur or a = :cur and b > :id", Colon, "a > $1 or a = $1 and b > $2"},
		{"a > %s or b like 'x%%' and c %% 2 = %s", Percent, "a > $1 or b like 'x%' and c % 2 = $2"},
		{"a > %(cur)s or a = %(cur)s", PercentNamed, "a > $1 or a = $1"},
		{"a > @cur or a = sqlc.narg('cur') or b = sqlc.arg(id)", At, "a > $1 or a = $1 or b = $2"},
		{"a @> '{}' and b::text = 'x:y' and c % 2 = 0", Dollar, "a @> '{}' and b::text = 'x:y' and c % 2 = 0"},
		{"a = '%s' and b = ':x'", Dollar, "a = '%s' and b = ':x'"},
		{"a > ?2 or a =?1 and b > ?2 limit ?10", Numbered, "a > $2 or a =$1 and b > $2 limit $10"},
		{"a > ?1 and j ? 'k' and j ?1 and (j)?1 and j @? ?2", Numbered, "a > $1 and j ? 'k' and j ?1 and (j)?1 and j @? $2"},
		{"j ?? 'k' and a > ?1", Numbered, "j ? 'k' and a > $1"},
		{"j ?1", Dollar, "j ?1"},
		{"a > ?0", Dollar, "a > ?0"},
		{"a > ? or a > ?1", Numbered, "a > ? or a > $1"},
		{"a like ?||'%' and b ?| array[?] and c > ?|d and e ?| ?||f", Question, "a like $1||'%' and b ?| array[$2] and c > ?|d and e ?| $3||f"},
		{"a > :1 or a = :1::int and b[1:2] = :2", ColonNumbered, "a > $1 or a = $1::int and b[1:2] = $2"},
		{"b[:2] = a[1:] and json_object('a':1) is null", Dollar, "b[:2] = a[1:] and json_object('a':1) is null"},
		{"b[:n] = a[:m]", Dollar, "b[:n] = a[:m]"},
		{"b[:n] = :m", Colon, "b[$1] = $2"},
		{"a <@b and b @>c and d<@ e", Dollar, "a <@b and b @>c and d<@ e"},
		{"a<@b and c >=@d", At, "a<$1 and c >=$2"},
		{"a > %b or a = %(x)s", PercentNamed, "a > %b or a = $1"},
		{"a > %b or a = %t and c %b = %s", Percent, "a > $1 or a = $2 and c %b = $3"},
		{"a > %(x)b or a = %(x)b and b > %(y)t", PercentNamed, "a > $1 or a = $1 and b > $2"},
	} {
		n := Placeholders(c.src, Auto)
		if n.Dialect != c.dialect || n.SQL != c.want {
			t.Errorf("%s: got %s %s, want %s %s", c.src, n.Dialect, n.SQL, c.dialect, c.want)
		}
	}
}

// An edit of the normalised text leaves the source alone elsewhere and writes
// its placeholders and percent signs.
func TestOriginal(t *testing.T) {
	src := "select * from t where x like 'a%%' and (a > %s or a = %s and b > %s) -- 100%%\nlimit %s"
	n := Placeholders(src, Auto)
	at := strings.Index(n.SQL, "(a >")
	edits := []Edit{{Start: at, End: at, Text: "a >= LEAST($1, $2) and c % 2 = 0 and "}}
	got := Splice(src, n.Original(edits))
	want := strings.Replace(src, "(a >", "a >= LEAST(%s, %s) and c %% 2 = 0 and (a >", 1)
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := Bindings(Splice(n.SQL, edits)), []int{1, 2, 1, 2, 3, 4}; !equalInts(got, want) {
		t.Errorf("bind order: got %v, want %v", got, want)
	}
}

// Numbered placeholders keep their numbers, and a fix their spelling.
func TestNumbered(t *testing.T) {
	for src, numbers := range map[string][2]int{"a > ?2 or a = ?2 and b > ?1": {1, 2}, "a > :2 or a = :2 and b > :1": {1, 2}, "a > ?7 or a = ?7 and b > ?3": {3, 7}} {
		n := Placeholders(src, Auto)
		if len(n.Params) != 2 || n.Params[0] != (Placeholder{N: numbers[0], Spelling: src[len(src)-2:]}) || n.Params[1].N != numbers[1] {
			t.Errorf("%s: %+v", src, n.Params)
		}
		got := Splice(src, n.Original([]Edit{{Text: "a >= $" + src[5:6] + " and "}}))
		if want := "a >= " + src[4:6] + " and " + src; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A placeholder that is not read is named, and nothing else is.
func TestForeign(t *testing.T) {
	for src, want := range map[string]string{
		"a > #{x y}": "#{x y}", "a >#{x}": "#{x}", "a > ${x} and b > $1": "${x}", "a > {{ x }}": "{{ x }}", "a > {x}": "{x}", "a > {}": "{}",
		"{% if a %} where": "{% if a %}", "a > <%= x %>": "<%= x %>", "from t <%= x %>": "<%= x %>", "a > <% x %>": "<% x %>", "a >?0": "?0", "a <%b": "", "a ->?0": "?0", "a ?-b or c #-d": "", "a > $x": "$x", "a > $(x)": "$(x)", "a > $<x>": "$<x>",
		"a > :'x'": ":'x'", "json_object('a':'b')": "", "a > ?0": "?0", "a > :0": ":0", "a > %d": "%d", "a %d": "", "a > %(x)d": "%(x)d", "a > %1$s": "%1$s",
		"a > ? and b > ?1": "?", "a > $1 and b > ?": "?", "a > $1 and b > ?2": "?2", "a > $1 and b > :x": ":x", "a > :x and b > :1": ":1",
		"a > '#{x}' -- ${x}": "", "a > $$ ${x}$$ or \"{x}\" > ?": "", "j ? 'a' and j ?1 and a[1:2] = a[:2] and b::int % 2 = 0 and c @> d": "", "a <% b and c %> d": "", "a > $t$ and b": "",
	} {
		if got := Placeholders(src, Auto).Foreign(); got != want {
			t.Errorf("%s: got %q, want %q", src, got, want)
		}
	}
}

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestLongRuns reads 256 kB of the same few bytes: were any of it quadratic, it
// would take minutes, and a statement of 4 MB hours.
func TestLongRuns(t *testing.T) {
	for _, piece := range []string{
		"+", "-", "+-", "=+", "*", "/", "/*", "<", "?", "+?", "%", "%(", "@", "$", "$a", "$a$", ":", "::", ":a", ".", "a.", "1", "1.", "e'", "'", "''", "\"", "\\", ";", "a;",
		"(", ")", "[", "()", "((a)", ",", "a,", "a ", "not ", "- ", "case ", "case when ", "select ", "(select ", "union ", "with a as (", "x in (", "a = b and ", "a or ", "::a", "[1", "a is ", "at time zone ", "\n", "--\n", "-- name: a\n", "ü", "\x00",
	} {
		text := strings.Repeat(piece, 1<<18/len(piece))
		for d := Auto; d <= ColonNumbered; d++ {
			LexDialect(text, d)
		}
		Split(text)
		Placeholders(text, Auto)
		_, _ = ParseExpr(text)
		_, _ = ParseQuery(text)
		_, _ = Readable(text)
	}
}

// A $n among the placeholders of another spelling is one too.
func TestMixedPlaceholders(t *testing.T) {
	for src, want := range map[string]string{
		"a > %(cur)s or a = $1 or b = $1 or c = %(cur)s": "a > $1 or a = $2 or b = $2 or c = $1",
		"a > %(cur)s or a = $0":                          "a > $1 or a = $2",
	} {
		n := Placeholders(src, PercentNamed)
		if n.SQL != want || Splice(src, n.Original(nil)) != src {
			t.Errorf("%s: got %s, want %s", src, n.SQL, want)
		}
	}
}
