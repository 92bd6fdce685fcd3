//go:build unix

package probes

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// stop suspends a backend; it goes on when the test ends.
func stop(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Skipf("suspending a backend: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
}

func cont(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// asNobody lets cmd run without root's rights, which PgBouncer refuses, as the
// account that owns the throw-away servers; it then also owns dir.
func asNobody(cmd *exec.Cmd, dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return err
	}
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return os.Chown(dir, nobody, nobody)
}
