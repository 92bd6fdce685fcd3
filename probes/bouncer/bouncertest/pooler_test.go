//go:build linux

package bouncertest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/bouncer/bouncertest"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

const hang = "PGSONDE_BOUNCERTEST_HANG"

// TestHang is the process that TestKilledTestLeavesNothing kills.
func TestHang(t *testing.T) {
	if os.Getenv(hang) == "" {
		t.Skip("it is run by TestKilledTestLeavesNothing only")
	}
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	p := bouncertest.Start(t, srv.DSN("postgres", "postgres"), bouncertest.Options{})
	fmt.Println("UP", p.PID(), srv.Dir())
	time.Sleep(time.Minute)
}

func TestKilledTestLeavesNothing(t *testing.T) {
	bouncertest.Need(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestHang$")
	cmd.Env = append(os.Environ(), hang+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	var dir string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "UP ") {
			if _, err := fmt.Sscanf(lines.Text(), "UP %d %s", &pid, &dir); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	_ = cmd.Process.Kill() // no error but that it has ended
	_ = cmd.Wait()         // killed
	if pid == 0 {
		t.Fatal("the pooler never came up")
	}
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := os.Stat(dir)
		if syscall.Kill(pid, 0) != nil && os.IsNotExist(err) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("pid %d (%v) or folder %s (%v) is still there", pid, syscall.Kill(pid, 0), dir, err)
		}
	}
}
