package probes

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func (k keepalive) control(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") || k.userTimeout <= 0 {
		return nil
	}
	var serr error
	err := c.Control(func(fd uintptr) {
		serr = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(k.userTimeout.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return serr
}
