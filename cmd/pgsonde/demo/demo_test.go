//go:build unix

package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

func start(t *testing.T, o Options) *Incident {
	t.Helper()
	in, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Err(); err != nil {
			t.Errorf("the play could not go on: %v", err)
		}
		in.Stop()
		if _, err := os.Stat(in.server.Dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the demo left its folder %s", in.server.Dir())
		}
	})
	return in
}

// ask answers with the first column of the query's rows, as the observer sees
// them, joined by spaces.
func ask(t *testing.T, in *Incident, sql string) string {
	t.Helper()
	c, err := in.server.Open(t.Context(), pgserver.ConnOptions{User: observer, Database: database, AppName: "pgsonde"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rows, err := c.QueryText(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var out []string
	for _, r := range rows {
		out = append(out, r[0])
	}
	return strings.Join(out, " ")
}

// eventually asks until the answer is as wanted.
func eventually(t *testing.T, in *Incident, within time.Duration, sql, want string) {
	t.Helper()
	var got string
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if got = ask(t, in, sql); got == want {
			return
		}
	}
	t.Errorf("%s:\ngot  %s\nwant %s within %v", sql, got, want, within)
}

const clients = "FROM pg_stat_activity WHERE backend_type = 'client backend'"

// What the screens are shown for is there when Start returns, or a moment later.
func TestIncident(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, install pgserver.Install) {
		began := time.Now()
		var said strings.Builder
		in := start(t, Options{Progress: &said, Majors: []int{install.Major}})
		t.Logf("on after %v\n%s", time.Since(began).Round(time.Millisecond), said.String())

		if got := ask(t, in, "SELECT count(*) >= 3 "+clients+" AND wait_event_type = 'Lock'"); got != "t" {
			t.Error("fewer than 3 sessions wait for locks")
		}
		eventually(t, in, 3*time.Second, "SELECT DISTINCT application_name COLLATE \"C\" "+clients+" AND application_name <> 'pgsonde' ORDER BY 1",
			" psql werft:api werft:api-listen werft:metrics werft:metrics-exporter werft:reconciler werft:scheduler werft:slack")
		eventually(t, in, 3*time.Second, "SELECT count(*) "+clients+" AND application_name = ''", "4")
		eventually(t, in, 3*time.Second,
			"SELECT count(*) "+clients+" AND application_name = 'werft:api' AND client_addr = '127.0.0.11' AND state <> 'idle'", "5")
		eventually(t, in, 3*time.Second,
			"SELECT count(DISTINCT client_addr) "+clients+" AND application_name = 'werft:api'", "2")
		eventually(t, in, 3*time.Second, "SELECT bool_or(state = 'idle in transaction' AND usename = 'etl') "+clients, "t")

		if got := ask(t, in, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"); got != "f" {
			t.Error("pgsonde's login is a superuser")
		}
		if got := ask(t, in, "SELECT count(*) FROM event"); got != fmt.Sprint(eventRows) {
			t.Errorf("got %s events, want %d", got, eventRows)
		}
		if got, want := ask(t, in, "SELECT created_at = '"+eventCreatedAt(77_777)+"' FROM event WHERE id = 77777"), "t"; got != want {
			t.Errorf("created_at of a row as eventCreatedAt has it: got %s, want %s", got, want)
		}
		eventually(t, in, 5*time.Second, `SELECT query LIKE '%created_at > $1 OR (created_at = $1 AND id > $2)%' AND calls > 1
			FROM pg_stat_statements WHERE query LIKE 'SELECT%' ORDER BY shared_blks_hit + shared_blks_read DESC LIMIT 1`, "t")
	})
}

// Over two cycles each trouble comes, grows, and goes, and it is never calm for
// long.
func TestCycle(t *testing.T) {
	in := start(t, Options{Majors: []int{pgtest.Any(t).Major}, second: 100 * time.Millisecond})
	c, err := in.server.Open(t.Context(), pgserver.ConnOptions{User: observer, Database: database})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const troubles = `SELECT
		count(*) FILTER (WHERE wait_event IN ('transactionid', 'tuple')),
		count(*) FILTER (WHERE wait_event = 'advisory' AND application_name = 'werft:reconciler'),
		count(*) FILTER (WHERE wait_event = 'relation' AND query LIKE 'ALTER%'),
		count(*) FILTER (WHERE wait_event = 'relation' AND query LIKE 'SELECT%'),
		count(*) FILTER (WHERE wait_event = 'advisory' AND application_name = 'werft:migrate'),
		count(*) FILTER (WHERE application_name = 'werft:api'),
		count(*) FILTER (WHERE backend_type = 'client backend') - 1
		FROM pg_stat_activity`
	names := []string{"hot row", "reconciler", "migration", "its readers", "second migration", "api", "all"}
	worst := make([]int, len(names))
	least := []int{99, 99, 99, 99, 99, 99, 99}
	calm, longest := time.Now(), time.Duration(0)
	for end := time.Now().Add(15500 * time.Millisecond); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		rows, err := c.QueryText(t.Context(), troubles)
		if err != nil {
			t.Fatal(err)
		}
		waiting := 0
		for i, v := range rows[0] {
			var n int
			if _, err := fmt.Sscan(v, &n); err != nil {
				t.Fatal(err)
			}
			worst[i], least[i] = max(worst[i], n), min(least[i], n)
			if i < 5 {
				waiting += n
			}
		}
		if waiting > 0 {
			longest, calm = max(longest, time.Since(calm)), time.Now()
		}
	}
	t.Logf("%v: least %v, worst %v, longest calm %v", names, least, worst, longest)
	for i, atLeast := range []int{10, 1, 1, 8, 1, 10, 29} {
		if worst[i] < atLeast {
			t.Errorf("%s: got %d at the worst, want %d or more", names[i], worst[i], atLeast)
		}
		if i < 5 && least[i] != 0 {
			t.Errorf("%s: got %d at the least, want it to go", names[i], least[i])
		}
	}
	if worst[6] > 31 {
		t.Errorf("got %d connections at the worst, want 31 at most: pgsonde must get in", worst[6])
	}
	if longest > time.Second { // 10 of the play's seconds, on a loaded machine
		t.Errorf("calm for %v, want trouble all the time", longest)
	}
}

// What an operator ends comes back, and so does the server.
func TestComesBack(t *testing.T) {
	in := start(t, Options{Majors: []int{pgtest.Any(t).Major}})
	const werft = "SELECT count(*) >= 15 " + clients + " AND usename = 'werft'"
	eventually(t, in, 3*time.Second, werft, "t")

	ask(t, in, "SELECT pg_cancel_backend(pid) "+clients+" AND usename = 'werft'")
	eventually(t, in, 3*time.Second, werft, "t")
	ask(t, in, "SELECT pg_terminate_backend(pid) "+clients+" AND usename IN ('werft', 'etl', 'dana', 'sam')")
	eventually(t, in, 2*time.Second, "SELECT count(*) < 5 "+clients, "t")
	eventually(t, in, 8*time.Second, werft, "t")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		old := in.server.PID()
		if err := syscall.Kill(old, sig); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); in.server.PID() == old || in.server.PID() == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("after %v the server did not come back", sig)
			}
		}
		waitAnswers(t, in)
		eventually(t, in, 8*time.Second, werft, "t")
		if got := ask(t, in, "SELECT count(*) FROM event"); got != fmt.Sprint(eventRows) {
			t.Errorf("after %v: got %s events, want %d", sig, got, eventRows)
		}
	}
}

func waitAnswers(t *testing.T, in *Incident) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := in.server.Open(t.Context(), pgserver.ConnOptions{Database: database})
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, err := Start(ctx, Options{Majors: []int{pgtest.Any(t).Major}})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	began := time.Now()
	in.Stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("Stop took %v", took)
	}
	if _, err := os.Stat(in.server.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left %s", in.server.Dir())
	}
	if err := in.Err(); err != nil {
		t.Errorf("got Err %v after Stop, want none", err)
	}

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(gone, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended ctx: got %v, want %v", err, context.Canceled)
	}
}

// child is what the test binary does as its own subprocess.
func child() {
	in, err := Start(context.Background(), Options{})
	if err != nil {
		fmt.Println("ERR", err)
		os.Exit(1)
	}
	fmt.Println("UP", in.server.PID(), in.server.Dir())
	io.Copy(io.Discard, os.Stdin)
	select {}
}

// However its process ends, nothing of the demo stays.
func TestNothingLeft(t *testing.T) {
	pgtest.Any(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			if signal.Ignored(sig) {
				t.Skip("run under nohup, which the child inherits")
			}
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), "DEMO_TEST_CHILD=1")
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var word, dir string
			var pid int
			if _, err := fmt.Fscan(out, &word, &pid, &dir); err != nil || word != "UP" {
				t.Errorf("the child said %q: %v", word, err)
			}
			cmd.Process.Signal(sig)
			cmd.Wait()
			for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				_, err := os.Stat(dir)
				if errors.Is(err, os.ErrNotExist) && syscall.Kill(pid, 0) != nil {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("after 15 s: folder %v, server alive: %v", err, syscall.Kill(pid, 0) == nil)
				}
			}
		})
	}
}

// Without a server and npm the demo says in one line what to do.
func TestNoServer(t *testing.T) {
	for _, env := range []string{"PATH", "PGSONDE_PG_BIN", "PGSONDE_CACHE_DIR"} {
		t.Setenv(env, t.TempDir())
	}
	_, err := Start(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "install postgresql") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that says how to install a server", err)
	}
}
