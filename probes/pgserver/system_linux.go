package pgserver

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// setDeathSignal: the postmaster takes SIGQUIT as "stop at once, and your
// children too".
func setDeathSignal(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }

// commandLine is the command line and the owner of a process.
func commandLine(pid int) (line []byte, uid int, err error) {
	dir := fmt.Sprintf("/proc/%d", pid)
	st, err := os.Stat(dir)
	if err != nil {
		return nil, 0, err
	}
	b, err := os.ReadFile(dir + "/cmdline")
	if err != nil {
		return nil, 0, err
	}
	return bytes.ReplaceAll(b, []byte{0}, []byte{' '}), int(st.Sys().(*syscall.Stat_t).Uid), nil
}

// memoryDir is a folder in memory with room for n bytes, "" where there is none.
func memoryDir(n uint64) string {
	const shm = "/dev/shm"
	var st syscall.Statfs_t
	if syscall.Statfs(shm, &st) != nil || st.Bavail*uint64(st.Bsize) < n {
		return ""
	}
	if syscall.Access(shm, 2) != nil { // W_OK
		return ""
	}
	return shm
}
