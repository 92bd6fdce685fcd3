//go:build unix

package probes

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// hole forwards TCP to a server until it swallows everything in silence.
type hole struct {
	net.Listener
	to        string
	swallows  atomic.Bool
	waitGroup sync.WaitGroup
	mu        sync.Mutex
	conns     []net.Conn
}

func newHole(t *testing.T, to string) *hole {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hole{Listener: l, to: to}
	h.waitGroup.Go(h.accept)
	t.Cleanup(func() {
		l.Close()
		h.mu.Lock()
		for _, c := range h.conns {
			c.Close()
		}
		h.mu.Unlock()
		h.waitGroup.Wait()
	})
	return h
}

func (h *hole) accept() {
	for {
		in, err := h.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", h.to)
		if err != nil {
			in.Close()
			continue
		}
		h.mu.Lock()
		h.conns = append(h.conns, in, out)
		h.mu.Unlock()
		h.waitGroup.Go(func() { h.forward(in, out) })
		h.waitGroup.Go(func() { h.forward(out, in) })
	}
}

func (h *hole) forward(from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !h.swallows.Load() {
			_, err = to.Write(buf[:n])
		}
		if err != nil {
			if !h.swallows.Load() {
				to.Close()
			}
			if !errors.Is(err, io.EOF) {
				from.Close()
			}
			return
		}
	}
}

// A network that swallows everything: no call hangs, and the reading is back
// when the network is.
func TestNetworkHole(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{TCP: true})
	h := newHole(t, "127.0.0.1:"+strconv.Itoa(srv.Port()))
	dsn := "host=127.0.0.1 sslmode=disable connect_timeout=2 user=postgres dbname=postgres port=" +
		strconv.Itoa(h.Addr().(*net.TCPAddr).Port) + " password=" + srv.Password()
	s := open(t, Options{DSN: dsn, Timeout: 200 * time.Millisecond})
	tick(t, s, Want{})
	h.swallows.Store(true)
	for range 3 {
		begin := time.Now()
		_, err := s.Tick(t.Context(), Want{})
		var away *Unavailable
		if !errors.As(err, &away) || away.State != KindTimeout && away.State != "restarting" {
			t.Errorf("got %v, want not answering", err)
		}
		if d := time.Since(begin); d > 4*time.Second {
			t.Errorf("a tick took %v", d)
		}
	}
	h.swallows.Store(false)
	eventually(t, "an answer", func() bool {
		_, err := s.Tick(t.Context(), Want{})
		return err == nil
	})
	h.swallows.Store(true)
	begin := time.Now()
	s.Close()
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("closing took %v", d)
	}
}

// A server that is a standby, and then promoted, is told at each tick.
func TestStandbyAndPromotion(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{"wal_level": "replica", "max_wal_senders": "2"}})
		s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
		if snap := tick(t, s, Want{}); snap.Server.InRecovery {
			t.Error("a primary is in recovery")
		}
		if err := srv.Shutdown(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		signal := filepath.Join(srv.Dir(), "data", "standby.signal")
		if err := os.WriteFile(signal, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var st syscall.Stat_t
		if err := syscall.Stat(filepath.Dir(signal), &st); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(signal, int(st.Uid), int(st.Gid)); err != nil {
			t.Fatal(err)
		}
		if err := srv.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		noted := func(word string) func() bool {
			return func() bool {
				snap, err := s.Tick(t.Context(), Want{})
				if err != nil {
					return false
				}
				for _, n := range snap.Notes {
					if strings.Contains(n.Text, word) {
						return snap.Server.InRecovery == (word == "standby")
					}
				}
				return false
			}
		}
		eventually(t, "the standby", noted("standby"))
		pgtest.Exec(t, srv.DSN("postgres", "postgres"), "select pg_promote()")
		eventually(t, "the promotion", noted("left recovery"))
	})
}
