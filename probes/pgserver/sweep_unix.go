//go:build unix

package pgserver

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// sweepAge keeps the sweep off a folder that is just being made and has no lock
// yet.
const sweepAge = 30 * time.Second

// sweep removes what a run left that was killed together with its watchdog: the
// folders in base of our own account, or of ours as root, whose lock is free.
func sweep(base string, acct account) {
	found, err := filepath.Glob(filepath.Join(base, dirPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range found {
		fi, err := os.Lstat(dir)
		if err != nil || !fi.IsDir() || time.Since(fi.ModTime()) < sweepAge {
			continue
		}
		owner := int(fi.Sys().(*syscall.Stat_t).Uid)
		if owner != os.Geteuid() && owner != acct.id() {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, lockName)); err != nil {
			continue // not a server's folder, or one that is being removed
		}
		lock, err := takeLock(filepath.Join(dir, lockName))
		if err != nil {
			continue // its maker lives
		}
		endLeftServer(dir, owner)
		os.RemoveAll(dir)
		lock.Close()
	}
}

// endLeftServer ends the server of a folder nobody holds. Its pid may have been
// given to another process since: owner and command line must fit.
func endLeftServer(dir string, owner int) {
	b, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		return
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line)))
	if err != nil || pid <= 1 {
		return
	}
	command, uid, err := commandLine(pid)
	if err != nil || uid != owner || !bytes.Contains(command, []byte(dir)) {
		return
	}
	if syscall.Kill(pid, syscall.SIGQUIT) != nil {
		return
	}
	for range 100 {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	syscall.Kill(pid, syscall.SIGKILL)
}
