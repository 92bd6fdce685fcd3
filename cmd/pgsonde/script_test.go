package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

func TestMain(m *testing.M) {
	if os.Getenv("XDG_CONFIG_HOME") == "" { // no test reads the developer's own configuration
		_ = os.Setenv("XDG_CONFIG_HOME", "/nonexistent")
	}
	testscript.Main(m, map[string]func(){
		"pgsonde": func() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScript runs testdata/script. Their own commands:
//
//	server [SETTING=VALUE…]  a throw-away server; sets $DSN, $NOBODY (no grants), $MONITOR, $SOCKET
//	session USER APP SQL…    a client that runs SQL and stays connected
//	waiter USER APP SQL      a client that sends SQL and is left waiting
//	await PATH=VALUE ARGS…   runs pgsonde --format json ARGS until the JSON has this value
//	json EXPR                the JSON on the last stdout has this value: path=value
//	lines N                  the last stderr has N lines
//	bytes FILE TEXT N        a file of TEXT, with Go's escapes, N times
//	superuser DATABASE SQL…  runs SQL as postgres
//	nothing FOLDER           the folder is empty
//	idof APP                 sets $ID and $PID to the session of werft:APP in the JSON on the last stdout
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "config"))
			e.Setenv("LANG", "C.UTF-8")
			e.Setenv("TERM", "xterm-256color")
			program, err := exec.LookPath("pgsonde") // for scripts without a PATH
			e.Setenv("PROGRAM", program)
			return err
		},
		Cmds:      scriptCmds(),
		Condition: condition,
	})
}

func scriptCmds() map[string]func(*testscript.TestScript, bool, []string) {
	all := map[string]func(*testscript.TestScript, bool, []string){
		"server": cmdServer, "session": cmdSession, "waiter": cmdWaiter, "await": cmdAwait, "json": cmdJSON, "lines": cmdLines, "idof": cmdIDOf,
		"bytes": cmdBytes, "superuser": cmdSuperuser, "nothing": cmdNothing,
	}
	maps.Copy(all, poolerCmds())
	return all
}

// condition knows [pgbouncer]: there is one to run.
func condition(cond string) (bool, error) {
	if cond != "pgbouncer" {
		return false, fmt.Errorf("no condition %q", cond)
	}
	return canPool(), nil
}

// fromStdout is a value of the JSON on the last stdout, as text.
func fromStdout(ts *testscript.TestScript, path string) (string, error) {
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc); err != nil {
		return "", err
	}
	got, err := lookup(doc, strings.Split(path, "."))
	if got == nil && err == nil {
		return "null", nil
	}
	return fmt.Sprint(got), err
}

func cmdServer(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	in, err := pgserver.Find(ctx)
	ts.Check(err)
	o := pgserver.Options{Settings: map[string]string{}}
	for _, a := range args {
		k, v, _ := strings.Cut(a, "=")
		o.Settings[k] = v
	}
	s, err := pgserver.Start(ctx, in, o)
	ts.Check(err)
	ts.Defer(s.Stop)
	c, err := s.Open(ctx, pgserver.ConnOptions{User: "postgres", Database: "postgres"})
	ts.Check(err)
	defer c.Close()
	for _, sql := range []string{
		"create role nobody login", "create role monitor login", "grant pg_monitor to monitor", "create role app login", "create database app owner app",
	} {
		ts.Check(c.Exec(ctx, sql))
	}
	ts.Setenv("DSN", s.DSN("postgres", "postgres"))
	ts.Setenv("NOBODY", s.DSN("nobody", "postgres"))
	ts.Setenv("MONITOR", s.DSN("monitor", "postgres"))
	ts.Setenv("SOCKET", s.Dir())
	scripts.put(ts, s)
}

func cmdSession(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	c, err := scripts.get(ts).Open(ctx, pgserver.ConnOptions{User: args[0], Database: "app", AppName: args[1]})
	ts.Check(err)
	ts.Defer(c.Close)
	for _, sql := range args[2:] {
		ts.Check(c.Exec(ctx, sql))
	}
}

func cmdWaiter(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithCancel(context.Background())
	c, err := scripts.get(ts).Open(ctx, pgserver.ConnOptions{User: args[0], Database: "app", AppName: args[1]})
	ts.Check(err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Exec(ctx, args[2]) // it waits until the script ends
	}()
	ts.Defer(func() { cancel(); <-done; c.Close() })
}

func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	path, want, _ := strings.Cut(args[0], "=")
	last := errors.New("never tried")
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		_ = ts.Exec("pgsonde", append([]string{"--format", "json"}, args[1:]...)...) // its exit status is a verdict
		got, err := fromStdout(ts, path)
		if err == nil && got == want {
			return
		}
		if last = err; err == nil {
			last = errors.New("got " + got)
		}
	}
	ts.Fatalf("%s never came to be %s: %v", path, want, last)
}

func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	for _, a := range args {
		path, want, _ := strings.Cut(a, "=")
		got, err := fromStdout(ts, path)
		ts.Check(err)
		if (got == want) == neg {
			ts.Fatalf("%s: got %s, want %s (negated: %v)", path, got, want, neg)
		}
	}
}

// lookup follows a path: a key, an index, or key:value of a list's member.
func lookup(v any, path []string) (any, error) {
	for _, p := range path {
		switch x := v.(type) {
		case map[string]any:
			next, ok := x[p]
			if !ok {
				return nil, fmt.Errorf("no key %q", p)
			}
			v = next
		case []any:
			k, want, named := strings.Cut(p, ":")
			i, err := strconv.Atoi(p)
			if p == "len" {
				v = len(x)
				continue
			}
			if named {
				i, err = -1, nil
				for j, m := range x {
					if m, ok := m.(map[string]any); ok && fmt.Sprint(m[k]) == want {
						i = j
					}
				}
			}
			if err != nil || i < 0 || i >= len(x) {
				return nil, fmt.Errorf("no member %q", p)
			}
			v = x[i]
		default:
			return nil, fmt.Errorf("%q of a %T", p, v)
		}
	}
	return v, nil
}

func cmdIDOf(ts *testscript.TestScript, _ bool, args []string) {
	var doc any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc))
	id, err := lookup(doc, []string{"sessions", "application_name:werft:" + args[0], "backend_id"})
	ts.Check(err)
	pid, _, _ := strings.Cut(id.(string), "@")
	ts.Setenv("ID", id.(string))
	ts.Setenv("PID", pid)
}

func cmdLines(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile("stderr"), "\n"); (got == want) == neg {
		ts.Fatalf("stderr has %d lines, want %d", got, want)
	}
}

// TestAgreesWithServer compares every count of roles with a direct query, on
// each major, as superuser, as pg_monitor and without a grant.
func TestAgreesWithServer(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		ctx := t.Context()
		s := pgtest.Start(t, in, pgserver.Options{})
		pgtest.Exec(t, s.DSN("postgres", "postgres"), "create role nobody login", "create role monitor login",
			"grant pg_monitor to monitor", "create role app login", "create table t()")
		for i, app := range []string{"werft:api", "werft:api", "werft:api", "werft:scheduler", "other", ""} {
			c, err := s.Open(ctx, pgserver.ConnOptions{User: "app", Database: "postgres", AppName: app})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			if i%2 == 0 {
				if err := c.Exec(ctx, "begin; select 1"); err != nil {
					t.Fatal(err)
				}
			}
		}
		direct := pgtest.Connect(t, s.DSN("postgres", "postgres")+" application_name=psql")
		for _, user := range []string{"postgres", "monitor", "nobody"} {
			var out, errw bytes.Buffer
			if code := run(ctx, []string{"roles", "--format", "json", "--fail-on", "never", s.DSN(user, "postgres")}, nil, &out, &errw); code != 0 {
				t.Fatalf("%s: exit %d: %s", user, code, errw.String())
			}
			var doc rolesDoc
			if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
				t.Fatal(err)
			}
			masked := user == "nobody"
			if doc.Server.Masked != masked {
				t.Errorf("%s: masked %v", user, doc.Server.Masked)
			}
			for _, r := range doc.Roles {
				if r.Origin != string(budget.Captured) {
					continue
				}
				var now, busy, intx int
				err := direct.QueryRow(ctx, `select count(*), count(*) filter (where state <> 'idle'), count(*) filter (where state like 'idle in tr%')
					from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()
					and case application_name when '' then usename || '@' || datname else application_name end = $1`, r.Role).Scan(&now, &busy, &intx)
				if err != nil {
					t.Fatal(err)
				}
				if r.Now != now {
					t.Errorf("%s: role %s: got now %d, want %d", user, r.Role, r.Now, now)
				}
				if masked {
					if r.Busy != nil || r.Idle != nil || r.IdleInTransaction != nil {
						t.Errorf("%s: role %s: masked counts must be null", user, r.Role)
					}
				} else if *r.Busy != busy || *r.IdleInTransaction != intx || *r.Idle != now-busy {
					t.Errorf("%s: role %s: got busy %d in tx %d, want %d %d", user, r.Role, *r.Busy, *r.IdleInTransaction, busy, intx)
				}
			}
		}
	})
}
