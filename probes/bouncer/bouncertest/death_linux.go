package bouncertest

import "syscall"

// dieWithUs ends the pooler when the test's process ends in whatever way.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
