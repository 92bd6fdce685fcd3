//go:build unix

package probes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// pooler starts a PgBouncer in front of srv and gives its DSN for a database.
func pooler(t *testing.T, srv *pgserver.Server, mode string) func(db string) string {
	t.Helper()
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			t.Skip("pgbouncer is not installed: apt-get install pgbouncer")
		}
	}
	dir, err := os.MkdirTemp("", "pgsonde-pgb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	port := strconv.Itoa(6432)
	files := map[string]string{
		"users": `"postgres" ""` + "\n",
		"ini": "[databases]\n* = host=" + srv.Dir() + " port=5432\n[pgbouncer]\nlisten_addr =\nlisten_port = " + port +
			"\nunix_socket_dir = " + dir + "\nauth_type = trust\nauth_file = " + filepath.Join(dir, "users") +
			"\npool_mode = " + mode + "\nadmin_users = postgres\nlogfile = " + filepath.Join(dir, "log") + "\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, "-q", filepath.Join(dir, "ini"))
	if err := asNobody(cmd, dir); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	eventually(t, "pgbouncer's socket", func() bool {
		_, err := os.Stat(filepath.Join(dir, ".s.PGSQL."+port))
		return err == nil
	})
	return func(db string) string { return "host='" + dir + "' port=" + port + " user=postgres dbname=" + db }
}

// Behind PgBouncer nothing stays behind, and pgsonde knows where it is.
func TestPooler(t *testing.T) {
	for _, mode := range []string{"transaction", "session"} {
		t.Run(mode, func(t *testing.T) {
			srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
			client(t, srv.DSN("postgres", "postgres"), "app", "begin", "select 'é'")
			dsn := pooler(t, srv, mode)
			s := open(t, Options{DSN: dsn("postgres")})
			for range 5 {
				snap := tick(t, s, Want{Sessions: true})
				if !snap.Server.Pooled || snap.Server.CPUs != 0 {
					t.Fatalf("got %+v, want pooled", snap.Server)
				}
				if i := index(snap.Sessions, "app"); i < 0 || snap.Sessions[i].Query != "select 'é'" || snap.Sessions[i].State != "idle in transaction" {
					t.Errorf("got %+v", snap.Sessions)
				}
			}
			if _, limits := s.Facts(); limits.MaxConnections == 0 || len(limits.Roles) == 0 {
				t.Errorf("got %+v, want the limits of the server behind", limits)
			}
			other := pgtest.Connect(t, dsn("postgres")+" default_query_exec_mode=simple_protocol")
			for range 10 {
				for _, name := range []string{"statement_timeout", "search_path", "bytea_output", "lock_timeout"} {
					var got, fresh string
					if err := other.QueryRow(t.Context(), "select current_setting('"+name+"'), reset_val from pg_settings where name = '"+name+"'").Scan(&got, &fresh); err != nil {
						t.Fatal(err)
					}
					if got != fresh {
						t.Fatalf("%s = %q stayed behind in a session of the pool", name, got)
					}
				}
			}
			ce := openError(t, Options{DSN: dsn("pgbouncer")})
			if ce.Kind != KindUnsupported || !strings.Contains(ce.Error(), "admin console") {
				t.Errorf("got %v, want that this is the console", ce)
			}
		})
	}
}

func index(sessions []Session, app string) int {
	for i, x := range sessions {
		if x.App == app {
			return i
		}
	}
	return -1
}
