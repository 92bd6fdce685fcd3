package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// dirPrefix starts the name of every server's folder.
const dirPrefix = "pgsonde-"

// lockName is the file in it whose lock says that its maker lives.
const lockName = "owner.lock"

// socketPort names the socket file of a server without TCP; no port is taken.
const socketPort = 5432

// maxSocketPath is what every system's sockaddr_un takes: 104 bytes on macOS,
// 108 on Linux, with the final NUL.
const maxSocketPath = 103

// Options of one throw-away server. The zero value is good.
type Options struct {
	Settings map[string]string // server settings, over our own for speed
	TCP      bool              // listen on a free port of 127.0.0.1 too, SCRAM only
	Base     string            // folder to make the server's folder in; "" is the temporary one
	NoCache  bool              // run initdb instead of copying the cached template

	noWatchdog bool // for the test of the sweep
}

// Server is a running throw-away server. Its methods may be called from several
// goroutines, Restart and Shutdown from one at a time.
type Server struct {
	Install

	dir      string
	port     int // as in Port
	password string
	settings map[string]string
	acct     account
	lock     *os.File
	dog      *watchdog
	proc     *process
	mu       sync.Mutex // guards proc
	stopOnce sync.Once
}

// Start lays and starts a server of the install: 0.1-0.2 s once the template is
// cached. The caller must Stop it.
func Start(ctx context.Context, in Install, o Options) (*Server, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	acct, err := pickAccount()
	if err != nil {
		return nil, err
	}
	base := o.Base
	if base == "" {
		base = tempBase(acct)
	}
	sweep(base, acct)
	s := &Server{Install: in, acct: acct, settings: settingsFor(o)}
	if err := s.makeDir(base, o); err != nil {
		s.Stop()
		return nil, fmt.Errorf("making the server's folder: %w", err)
	}
	if err := s.layCluster(ctx, o.NoCache); err != nil {
		s.Stop()
		return nil, err
	}
	if o.TCP {
		err = s.launchTCP(ctx)
	} else {
		err = s.launch(ctx)
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// makeDir makes the folder, its lock and its watchdog, in this order: what has
// no lock is nobody's, what has no watchdog is left to the sweep.
func (s *Server) makeDir(base string, o Options) error {
	dir, err := os.MkdirTemp(base, dirPrefix)
	if err != nil {
		return err
	}
	s.dir = dir
	if n := len(s.socketFile()); n > maxSocketPath {
		return fmt.Errorf("the socket's path of %d bytes is over %d: %s", n, maxSocketPath, s.socketFile())
	}
	if s.lock, err = takeLock(filepath.Join(dir, lockName)); err != nil {
		return err
	}
	if err := s.acct.own(dir); err != nil {
		return err
	}
	service := filepath.Join(dir, serviceName)
	if err := os.WriteFile(service, []byte("[pgsonde]\n"), 0o600); err != nil {
		return err
	}
	if o.noWatchdog {
		return nil
	}
	s.dog, err = startWatchdog(dir, s.acct)
	return err
}

// socketFile is the longest path that the server's socket can have.
func (s *Server) socketFile() string { return filepath.Join(s.dir, ".s.PGSQL.65535") }

// launchTCP launches on a free port. Between our finding it and the server's
// binding it another process may take it: then the next one.
func (s *Server) launchTCP(ctx context.Context) error {
	var err error
	for range 5 {
		if s.port, err = freePort(); err != nil {
			return err
		}
		err = s.launch(ctx)
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		return err
	}
	return s.setPassword(ctx)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Dir is the server's folder: the parent of data/, log and the socket. What is
// put there goes when the server ends.
func (s *Server) Dir() string { return s.dir }

// Port is the TCP port on 127.0.0.1, 0 without Options.TCP.
func (s *Server) Port() int { return s.port }

// PID is the postmaster's process id, 0 while it does not run.
func (s *Server) PID() int {
	if p := s.running(); p != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

// Log is the end of the server's log, for error messages: 4 kB at most.
func (s *Server) Log() string {
	b, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return ""
	}
	return string(b[max(0, len(b)-4096):])
}

// running is the live process, nil when there is none.
func (s *Server) running() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil || s.proc.ended() {
		return nil
	}
	return s.proc
}

// Ended is closed when the run of the postmaster that is on now, or the last
// one, has ended: by Shutdown or by somebody else's hand.
func (s *Server) Ended() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proc.done
}

// Shutdown sends the postmaster a signal (SIGTERM smart, SIGINT fast, SIGQUIT
// immediate, SIGKILL a crash) and waits for its end. The cluster stays, for
// Restart.
func (s *Server) Shutdown(sig os.Signal) error {
	p := s.running()
	if p == nil {
		return nil
	}
	err := p.end(sig)
	if s.dog != nil {
		if werr := s.dog.watch(0); err == nil && werr != nil {
			err = fmt.Errorf("telling the watchdog: %w", werr)
		}
	}
	return err
}

// Restart starts the same cluster again on the same socket and port, after a
// fast shutdown if it runs.
func (s *Server) Restart(ctx context.Context) error {
	if err := s.Shutdown(sigFast); err != nil {
		return fmt.Errorf("stopping for the restart: %w", err)
	}
	return s.launch(ctx)
}

// Stop ends the server and removes its folder. Calling it again does nothing.
func (s *Server) Stop() {
	s.stopOnce.Do(func() {
		s.Shutdown(sigImmediate) // a process that resists was killed
		if s.dog != nil {
			s.dog.stop()
		}
		if s.dir != "" {
			s.removeDir()
		}
		if s.lock != nil {
			s.lock.Close()
		}
	})
}

// removeDir removes the folder; a backend that outlived its killed postmaster
// for a moment may still write into it.
func (s *Server) removeDir() {
	for range 50 {
		if err := os.RemoveAll(s.dir); err == nil || errors.Is(err, fs.ErrPermission) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// MemoryBase is a folder in memory for Options.Base, "" where there is none with
// room to spare.
func MemoryBase() string { return memoryDir(1 << 30) }
