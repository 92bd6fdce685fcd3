//go:build unix && !linux

package pgserver

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
)

// setDeathSignal does nothing: only Linux has it. The watchdog does the work.
func setDeathSignal(*syscall.SysProcAttr) {}

// commandLine is the command line and the owner of a process.
func commandLine(pid int) (line []byte, uid int, err error) {
	out, err := exec.Command("ps", "-o", "uid=,command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return nil, 0, err
	}
	id, line, _ := bytes.Cut(bytes.TrimSpace(out), []byte(" "))
	uid, err = strconv.Atoi(string(id))
	if err != nil {
		return nil, 0, fmt.Errorf("reading ps: %w", err)
	}
	return line, uid, nil
}

// memoryDir is a folder in memory: there is none that all systems have.
func memoryDir(uint64) string { return "" }
