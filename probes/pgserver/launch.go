package pgserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// process is one run of the postmaster.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed at its end
	err  error         // how it ended; valid after done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// endTimeout is how long a postmaster may take to end before it is killed.
const endTimeout = 15 * time.Second

func (p *process) end(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signalling the server: %w", err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(endTimeout):
		p.cmd.Process.Kill() // no error but that it has ended
		<-p.done
		return fmt.Errorf("the server did not end within %v of %v and was killed", endTimeout, sig)
	}
}

var (
	errPortTaken = errors.New("the port was taken by another process")
	errOldMemory = errors.New("the processes of the last run are still ending")
)

// launchTimeout is how long a start may take on a very loaded machine.
const launchTimeout = 60 * time.Second

// launch starts the postmaster and waits until it accepts connections. After a
// crash it retries while the last run's processes are on their way out.
func (s *Server) launch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, launchTimeout)
	defer cancel()
	for {
		err := s.launchOnce(ctx)
		if !errors.Is(err, errOldMemory) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *Server) launchOnce(ctx context.Context) error {
	logFile, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening the server's log: %w", err)
	}
	defer logFile.Close()
	at, err := logFile.Seek(0, 2)
	if err != nil {
		return fmt.Errorf("opening the server's log: %w", err)
	}
	// The server itself and not pg_ctl, which would detach it from us.
	cmd := exec.Command(s.exe("postgres"), s.args()...)
	cmd.Dir = s.dir
	cmd.Env = cleanEnv()
	cmd.Stdout, cmd.Stderr = logFile, logFile
	setAttr(cmd, s.acct, true)
	p, err := startProcess(cmd)
	if err != nil {
		return fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	s.mu.Lock()
	s.proc = p
	s.mu.Unlock()
	if s.dog != nil {
		if err := s.dog.watch(cmd.Process.Pid); err != nil {
			p.end(sigImmediate)
			return fmt.Errorf("telling the watchdog: %w", err)
		}
	}
	if err := s.waitReady(ctx, p); err != nil {
		return s.explainEnd(err, at)
	}
	return nil
}

func (s *Server) args() []string {
	port := s.port
	if port == 0 {
		port = socketPort
	}
	args := []string{"-D", s.dataDir(), "-p", strconv.Itoa(port)}
	for _, k := range slices.Sorted(maps.Keys(s.settings)) {
		args = append(args, "-c", k+"="+s.settings[k])
	}
	return append(args, "-c", "unix_socket_directories="+s.dir, "-c", "unix_socket_permissions=0700")
}

func (s *Server) dataDir() string { return filepath.Join(s.dir, "data") }

// startProcess starts the command on a thread that stays for the command's life:
// Linux sends the death signal when the thread that forked ends, and Go ends
// idle threads of locked goroutines only with them.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	return p, <-started
}

var errEnded = errors.New("the server ended while starting")

// waitReady waits for the line that a postmaster writes into postmaster.pid when
// it accepts connections: the eighth, under its own pid in the first.
func (s *Server) waitReady(ctx context.Context, p *process) error {
	pid := []byte(strconv.Itoa(p.cmd.Process.Pid))
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		b, err := os.ReadFile(filepath.Join(s.dataDir(), "postmaster.pid"))
		if lines := bytes.Split(b, []byte("\n")); err == nil && len(lines) >= 8 &&
			bytes.Equal(lines[0], pid) && bytes.HasPrefix(lines[7], []byte("ready")) {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.done:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("waiting for the server to accept connections: %w", ctx.Err())
		}
	}
}

// explainEnd adds what the server logged from offset at on, and tells the two
// causes apart that a retry cures.
func (s *Server) explainEnd(err error, at int64) error {
	b, rerr := os.ReadFile(filepath.Join(s.dir, "log"))
	if rerr != nil || int64(len(b)) < at {
		return err
	}
	said := string(b[at:])
	if errors.Is(err, errEnded) {
		switch {
		case strings.Contains(said, "could not bind"):
			return errPortTaken
		case strings.Contains(said, "pre-existing shared memory block"):
			return errOldMemory
		}
	}
	return fmt.Errorf("%w: %s", err, lastFatal(said))
}

// lastFatal is the line of the log that says why, the last one if none does.
func lastFatal(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for _, l := range lines {
		if _, msg, ok := strings.Cut(l, "FATAL:"); ok {
			return strings.TrimSpace(msg)
		}
	}
	return lines[len(lines)-1]
}
