//go:build unix && !linux

package bouncertest

import "syscall"

// dieWithUs does nothing: only Linux can end a process with its parent.
func dieWithUs(*syscall.SysProcAttr) {}
