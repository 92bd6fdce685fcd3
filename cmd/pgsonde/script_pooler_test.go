//go:build unix

package main

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pgsonde/pgsonde/probes/bouncer/bouncertest"
)

// poolerCmds are the script commands about a real PgBouncer:
//
//	pooler [SETTING=VALUE…]        in front of $DSN, database shop, users app and other; sets $CONSOLE, $POOLED
//	through USER APP SQL…          a client of the pooler that runs SQL and stays connected
//	queue USER APP SQL             a client of the pooler that sends SQL and is left waiting
//	admin COMMAND…                 as the console's administrator
func poolerCmds() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"pooler": cmdPooler, "through": cmdThrough, "queue": cmdQueue, "admin": cmdAdmin,
	}
}

func canPool() bool {
	_, err := bouncertest.Program()
	return err == nil
}

func cmdPooler(ts *testscript.TestScript, _ bool, args []string) {
	o := bouncertest.Options{
		Databases: map[string]string{"shop": "dbname=app"}, Users: map[string]string{"app": "", "other": ""}, Settings: map[string]string{},
	}
	for _, a := range args {
		k, v, _ := strings.Cut(a, "=")
		o.Settings[k] = v
	}
	p, err := bouncertest.Launch(context.Background(), ts.Getenv("DSN"), o)
	ts.Check(err)
	ts.Defer(p.Stop)
	ts.Setenv("CONSOLE", p.Console())
	ts.Setenv("ADMIN", p.DSN(bouncertest.AdminUser, "pgbouncer"))
	ts.Setenv("POOLED", p.DSN("app", "shop"))
}

// pooled is the DSN of a client of the script's pooler.
func pooled(ts *testscript.TestScript, user, app string) string {
	return strings.Replace(ts.Getenv("POOLED"), "user=app", "user="+user, 1) + " application_name=" + app
}

func cmdThrough(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	c, err := pgconn.Connect(ctx, pooled(ts, args[0], args[1]))
	ts.Check(err)
	ts.Defer(func() { c.Conn().Close() })
	for _, sql := range args[2:] {
		_, err := c.Exec(ctx, sql).ReadAll()
		ts.Check(err)
	}
}

func cmdQueue(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	dsn := pooled(ts, args[0], args[1])
	go func() {
		defer close(done)
		c, err := pgconn.Connect(ctx, dsn)
		if err != nil {
			return // the script ended, or the pooler refused it
		}
		_, _ = c.Exec(ctx, args[2]).ReadAll() // it waits until the script ends
		c.Conn().Close()
	}()
	ts.Defer(func() { cancel(); <-done })
}

func cmdAdmin(ts *testscript.TestScript, _ bool, args []string) {
	c, err := pgconn.Connect(context.Background(), ts.Getenv("ADMIN"))
	ts.Check(err)
	defer c.Conn().Close()
	for _, sql := range args {
		_, err := c.Exec(context.Background(), sql).ReadAll()
		ts.Check(err)
	}
}
