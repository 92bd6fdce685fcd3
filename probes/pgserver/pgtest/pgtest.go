// Package pgtest gives tests real throw-away servers of every major that is
// there. Only tests import it.
//
// PGSONDE_TEST_PG says which majors [Each] runs on: unset means those that are
// installed or were fetched before; "all" means 14 to 18, and "14,16" those two,
// fetching what is missing.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/probes/pgserver"
)

const (
	oldestMajor = 14
	newestMajor = 18
)

// discover looks once per test process: it runs two programs per server.
var discover = sync.OnceValue(func() []pgserver.Install {
	all := pgserver.Discover(context.Background())
	return slices.DeleteFunc(all, func(in pgserver.Install) bool { return in.Major < oldestMajor })
})

// Each runs f as a parallel subtest per major. Without a server and without npm
// the test is skipped; a major that PGSONDE_TEST_PG names and that cannot be had
// fails it.
func Each(t *testing.T, f func(t *testing.T, in pgserver.Install)) {
	t.Helper()
	named := namedMajors(t)
	if named == nil {
		found := discover()
		if len(found) == 0 {
			found = []pgserver.Install{Any(t)}
		}
		for _, in := range found {
			t.Run(subtestName(in.Major), func(t *testing.T) {
				t.Parallel()
				f(t, in)
			})
		}
		return
	}
	for _, major := range named {
		t.Run(subtestName(major), func(t *testing.T) {
			t.Parallel()
			f(t, Major(t, major))
		})
	}
}

func subtestName(major int) string { return "pg" + strconv.Itoa(major) }

// namedMajors are the majors that PGSONDE_TEST_PG asks for, nil when it is unset.
func namedMajors(t testing.TB) []int {
	t.Helper()
	majors, err := parseMajors(os.Getenv("PGSONDE_TEST_PG"))
	if err != nil {
		t.Fatal(err)
	}
	return majors
}

func parseMajors(v string) ([]int, error) {
	switch v {
	case "":
		return nil, nil
	case "all":
		var all []int
		for m := oldestMajor; m <= newestMajor; m++ {
			all = append(all, m)
		}
		return all, nil
	}
	var out []int
	for word := range strings.SplitSeq(v, ",") {
		m, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || m < oldestMajor {
			return nil, fmt.Errorf("PGSONDE_TEST_PG: %q is neither all nor a list of majors as 14,16", v)
		}
		out = append(out, m)
	}
	return out, nil
}

// Major is a server of the major, fetched at need; the test fails without one,
// but is skipped where the platform has no package of it to fetch.
func Major(t testing.TB, major int) pgserver.Install {
	t.Helper()
	for _, in := range discover() {
		if in.Major == major {
			return in
		}
	}
	if !slices.Contains(pgserver.Pinned(runtime.GOOS, runtime.GOARCH), major) {
		t.Skipf("PostgreSQL %d is not installed and there is no package of it for %s/%s", major, runtime.GOOS, runtime.GOARCH)
	}
	in, err := pgserver.Fetch(t.Context(), major, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// Any is the newest server that is there, or of those that PGSONDE_TEST_PG
// names. Without one it is fetched; where that cannot be the test is skipped.
func Any(t testing.TB) pgserver.Install {
	t.Helper()
	if named := namedMajors(t); named != nil {
		return Major(t, slices.Max(named))
	}
	if found := discover(); len(found) > 0 {
		return found[0]
	}
	in, err := pgserver.FindLogged(t.Context(), t.Output())
	if err != nil {
		t.Skip(err)
	}
	return in
}

// Start starts a server that ends with the test: superuser postgres, database
// postgres, no password on its private socket.
func Start(t testing.TB, in pgserver.Install, o pgserver.Options) *pgserver.Server {
	t.Helper()
	if o.Base == "" {
		o.Base = pgserver.MemoryBase()
	}
	s, err := pgserver.Start(t.Context(), in, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the server:\n%s", s.Log())
		}
		s.Stop()
		if _, err := os.Stat(s.Dir()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the server left its folder %s", s.Dir())
		}
	})
	return s
}

// Connect opens a connection that is closed when the test ends.
func Connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// Exec runs the statements, each by itself, on a connection of its own.
func Exec(t testing.TB, dsn string, sql ...string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, q := range sql {
		if _, err := c.Exec(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}
