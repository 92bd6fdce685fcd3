package probes

import (
	"context"
	"net"
	"time"
)

// keepalive are the connection's liveness settings. The defaults notice a
// silent network hole after about ten seconds.
type keepalive struct {
	off                      bool
	idle, interval           time.Duration
	count                    int
	userTimeout, connTimeout time.Duration
}

func defaultKeepalive() keepalive {
	return keepalive{
		idle: 5 * time.Second, interval: 2 * time.Second, count: 3,
		userTimeout: 10 * time.Second, connTimeout: 5 * time.Second,
	}
}

// dial connects with k's settings. Data that was written into a network hole is
// only given up by TCP_USER_TIMEOUT, which Linux alone has.
func (k keepalive) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{
		Timeout:         k.connTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: !k.off, Idle: k.idle, Interval: k.interval, Count: k.count},
		Control:         k.control,
	}
	if k.off {
		d.KeepAlive = -1
	}
	return d.DialContext(ctx, network, addr)
}
