package probes

import (
	"regexp"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// files gives every statement's name, with its numbered files' first majors.
func files(t testing.TB) map[string][]int {
	t.Helper()
	entries, err := sqlFiles.ReadDir("sql")
	if err != nil {
		t.Fatal(err)
	}
	m := map[string][]int{}
	for _, e := range entries {
		name, since := versionOf(e.Name())
		m[name] = append(m[name], since)
	}
	return m
}

func TestStatementsSayWhatTheyAre(t *testing.T) {
	entries, err := sqlFiles.ReadDir("sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := sqlFiles.ReadFile("sql/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if first, _, _ := strings.Cut(string(text), "\n"); !strings.HasPrefix(first, "-- ") || !strings.Contains(string(text), "Since 1") {
			t.Errorf("%s: the first lines do not say purpose and first version", e.Name())
		}
		sent := withoutComments(string(text))
		if !isASCII([]byte(sent)) {
			t.Errorf("%s: what is sent must be ASCII: it has to be valid in every encoding", e.Name())
		}
		if strings.Contains(sent, ";") || strings.Contains(sent, "--") {
			t.Errorf("%s: one statement without comments in its lines, please", e.Name())
		}
		if m := regexp.MustCompile(`(?i)\b(from|join)\s+(pg_\w+)\b[^.]`).FindString(sent); m != "" {
			t.Errorf("%s: %q is not qualified with pg_catalog", e.Name(), m)
		}
	}
}

func TestStatementOfVersion(t *testing.T) {
	if _, err := statement("no_such", 160000); err == nil {
		t.Error("got no error for a statement that is not there")
	}
	for file, want := range map[string]struct {
		name  string
		since int
	}{"tick.sql": {"tick", 0}, "locks_v14.sql": {"locks", 14}, "a_view.sql": {"a_view", 0}} {
		if name, since := versionOf(file); name != want.name || since != want.since {
			t.Errorf("%s: got %s since %d, want %s since %d", file, name, since, want.name, want.since)
		}
	}
}

// Every statement runs on every major, as superuser, with pg_monitor and with
// no grant at all, prepared and behind a pooler's one message.
func TestStatementsRunEverywhere(t *testing.T) {
	args := map[string][]any{
		"tick":  {[]int{1, 2}, 2, 10, 100, 7},
		"query": {1, int64(5)},
	}
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		logins(t, srv)
		for _, login := range []string{"postgres", "monitor", "nobody"} {
			s := open(t, Options{DSN: srv.DSN(login, "shop"), Connections: 1})
			for name := range files(t) {
				if strings.HasPrefix(name, "locks") {
					continue // their own tests give them their arguments
				}
				for _, pooled := range []bool{false, true} {
					s.watch.hello.pooled = pooled
					if _, err := s.Watch(t.Context(), s.opts.Timeout, name, args[name]...); err != nil {
						t.Errorf("%s: %s (pooled %v): %v", login, name, pooled, err)
					}
				}
			}
			s.Close()
		}
	})
}

func TestInline(t *testing.T) {
	values, err := literals([]any{1, int64(-2), []int{3, 4}, []uint32{}, uint32(9)})
	if err != nil {
		t.Fatal(err)
	}
	got := inline("select $1, $2, $3, $4, $5, $1", values)
	if want := "select '1', '-2', '{3,4}', '{}', '9', '1'"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := literals([]any{"text"}); err == nil {
		t.Error("got no error for a text argument")
	}
}
