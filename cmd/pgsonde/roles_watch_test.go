//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestRolesWatchKeepsHistory: what takes more than one reading, the rate of new
// sessions, and what takes time, connections older than their pool lets any live,
// are in the answers of --watch too.
func TestRolesWatchKeepsHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes more than a minute")
	}
	t.Parallel()
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	pgtest.Exec(t, srv.DSN("postgres", "postgres"), "create role app login")
	file := filepath.Join(t.TempDir(), "b.yaml")
	if err := os.WriteFile(file, []byte("match: \"w:{role}\"\nroles: { a: { pool: 2 }, c: { pool: 9 } }\nsettings: { a: { pool_lifetime: 1s } }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(app string) *pgserver.Conn {
		c, err := srv.Open(t.Context(), pgserver.ConnOptions{User: "app", Database: "postgres", AppName: app})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	t.Cleanup(open("w:a").Close)
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, []string{"--interval", "500ms", "--format", "json", "roles", "--watch", "-b", file, srv.DSN("postgres", "postgres")}, strings.NewReader(""), w, io.Discard)
		_ = w.Close()
		ended <- code
	}()
	t.Cleanup(func() { cancel(); _ = r.Close(); <-ended })
	seen := map[string]time.Duration{}
	begin := time.Now()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for len(seen) < 2 && time.Since(begin) < 150*time.Second && lines.Scan() {
		var d rolesDoc
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatalf("%v in %s", err, lines.Bytes())
		}
		for _, f := range d.Findings {
			if _, before := seen[f.Rule]; !before && (f.Rule == "connection-churn" || f.Rule == "ghost-backends") {
				seen[f.Rule] = time.Since(begin)
				t.Logf("after %v: %s", time.Since(begin).Round(time.Second), f.Message)
			}
		}
		for end := time.Now().Add(400 * time.Millisecond); seen["connection-churn"] == 0 && time.Now().Before(end); {
			open("w:c").Close()
		}
	}
	if len(seen) < 2 {
		t.Errorf("got only %v, want connection-churn and ghost-backends", seen)
	}
}
