package main

import (
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pgsonde/pgsonde/probes/pgserver"
)

// cmdBytes writes a file: TEXT, with Go's escapes, N times.
func cmdBytes(ts *testscript.TestScript, _ bool, args []string) {
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(text, n)), 0o600))
}

// cmdSuperuser runs statements as postgres in a database.
func cmdSuperuser(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	c, err := scripts.get(ts).Open(ctx, pgserver.ConnOptions{User: "postgres", Database: args[0]})
	ts.Check(err)
	defer c.Close()
	for _, sql := range args[1:] {
		ts.Check(c.Exec(ctx, sql))
	}
}

// cmdNothing fails when a folder has something in it.
func cmdNothing(ts *testscript.TestScript, _ bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, e := range entries {
		ts.Fatalf("%s was left in %s", e.Name(), args[0])
	}
}
