//go:build unix

package pgserver_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// child is what the test binary does as its own subprocess: it starts a server,
// says "UP pid dir" and lives until it is killed.
func child(mode string) {
	ctx := context.Background()
	o := pgserver.Options{Base: os.Getenv("PGSERVER_TEST_BASE")}
	if mode == "no watchdog" {
		o = pgserver.WithoutWatchdog(o)
	}
	in, err := pgserver.Find(ctx)
	if err != nil {
		childFails(err)
	}
	s, err := pgserver.Start(ctx, in, o)
	if err != nil {
		childFails(err)
	}
	if mode == "restarted" {
		if err := s.Restart(ctx); err != nil {
			childFails(err)
		}
	}
	fmt.Println("UP", s.PID(), s.Dir())
	if mode == "stop" {
		s.Stop()
		os.Exit(0)
	}
	io.Copy(io.Discard, os.Stdin) // until the parent's end
	select {}
}

func childFails(err error) {
	fmt.Println("ERR", err)
	os.Exit(1)
}

// startChild runs this test binary as a child and waits until its server is up.
func startChild(t *testing.T, exe, mode, base string, attr *syscall.SysProcAttr, env ...string) (cmd *exec.Cmd, pid int, dir string) {
	t.Helper()
	cmd = exec.Command(exe)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "PGSERVER_TEST_CHILD="+mode, "PGSERVER_TEST_BASE="+base)
	cmd.Env = append(cmd.Env, env...)
	cmd.SysProcAttr = attr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	var word string
	if _, err := fmt.Fscan(out, &word, &pid, &dir); err != nil || word != "UP" {
		rest, _ := io.ReadAll(out)
		t.Fatalf("the child said %q %s: %v", word, rest, err)
	}
	return cmd, pid, dir
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// waitGone waits for the end of the server and its folder.
func waitGone(t *testing.T, pid int, dir string) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for time.Now().Before(deadline) {
		if _, err := os.Stat(dir); os.IsNotExist(err) && !alive(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	_, err := os.Stat(dir)
	t.Errorf("15 s after the end of its maker: server alive: %v, folder gone: %v", alive(pid), os.IsNotExist(err))
}

// However the maker ends, its server and folder go.
func TestNothingLeft(t *testing.T) {
	pgtest.Any(t)
	tests := []struct {
		name, mode string
		sig        syscall.Signal
	}{
		{"kill -9", "plain", syscall.SIGKILL},
		{"kill -9 after a restart", "restarted", syscall.SIGKILL},
		{"closed terminal", "plain", syscall.SIGHUP},
		{"Ctrl-C without a handler", "plain", syscall.SIGINT},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(tt.sig) {
				t.Skip("run under nohup or in a script's background, which the child inherits")
			}
			cmd, pid, dir := startChild(t, self(t), tt.mode, pgserver.MemoryBase(), nil)
			if err := cmd.Process.Signal(tt.sig); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			waitGone(t, pid, dir)
		})
	}
}

// The third net: what was killed together with its watchdog goes when the next
// server starts, and what lives stays.
func TestSweep(t *testing.T) {
	pgtest.Any(t)
	base := openDir(t)
	cmd, pid, dir := startChild(t, self(t), "no watchdog", base, nil)
	_, livePID, liveDir := startChild(t, self(t), "plain", base, nil)
	cmd.Process.Kill()
	cmd.Wait()
	long := time.Now().Add(-time.Hour)
	for _, d := range []string{dir, liveDir} {
		if err := os.Chtimes(d, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := pgserver.Sweep(base); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the dead one's folder: got %v, want it gone", err)
	}
	waitGone(t, pid, dir)
	if _, err := os.Stat(liveDir); err != nil || !alive(livePID) {
		t.Errorf("the live one: folder %v, alive %v, want both there", err, alive(livePID))
	}
}

// An ordinary account runs its servers itself, in its own cache.
func TestAsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("every other test here runs as this account already")
	}
	pgtest.Any(t)
	u, err := user.Lookup("daemon")
	if err != nil {
		t.Skip(err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		t.Fatal(err)
	}
	home := openDir(t)
	if err := os.Chown(home, uid, -1); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(openDir(t), "test")
	b, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exe, b, 0o755); err != nil {
		t.Fatal(err)
	}
	bin := pgtest.Any(t).BinDir
	attr := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	cmd, pid, dir := startChild(t, exe, "plain", home, attr,
		"HOME="+home, "XDG_CACHE_HOME=", "PGSONDE_PG_BIN="+bin)
	fi, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := int(fi.Sys().(*syscall.Stat_t).Uid); got != uid {
		t.Errorf("owner of the folder: got %d, want %d", got, uid)
	}
	if found, err := filepath.Glob(filepath.Join(home, "*", "pgsonde", "template", "*", "PG_VERSION")); err != nil || len(found) == 0 {
		if found, _ = filepath.Glob(filepath.Join(home, "Library", "Caches", "pgsonde", "template", "*", "PG_VERSION")); len(found) == 0 {
			t.Error("the template is not in the account's own cache")
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	waitGone(t, pid, dir)
}

// openDir is a temporary folder that other accounts can enter, with a short
// path for the socket.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "pgt-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
