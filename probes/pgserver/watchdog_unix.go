//go:build unix

package pgserver

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// PostgreSQL's fast and immediate shutdown.
var (
	sigFast      os.Signal = syscall.SIGINT
	sigImmediate os.Signal = syscall.SIGQUIT
)

// watchScript reads the server's process id each time we tell it, 0 when there
// is none. The end of its input means that we are gone, by whatever way: then it
// ends the server and removes the folder. On our way out we end the server
// ourselves, say 0, and it has only the folder to remove.
const watchScript = `trap '' HUP INT TERM QUIT
pid=0
while read -r line; do pid=$line; done
if [ "$pid" -gt 1 ]; then
	kill -QUIT "$pid" 2>/dev/null
	i=0
	while kill -0 "$pid" 2>/dev/null; do
		i=$((i+1))
		[ "$i" -gt 50 ] && kill -KILL "$pid" 2>/dev/null
		[ "$i" -gt 100 ] && break
		sleep 0.1
	done
fi
rm -rf -- "$1"`

// watchdog is the small sh that outlives us.
type watchdog struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

func startWatchdog(dir string, acct account) (*watchdog, error) {
	cmd := exec.Command("/bin/sh", "-c", watchScript, "pgsonde-watchdog", dir)
	cmd.Dir = "/"
	cmd.Env = cleanEnv()
	setAttr(cmd, acct, false)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the watchdog: %w", err)
	}
	return &watchdog{cmd: cmd, in: in}, nil
}

// watch tells the process to end when we are gone; 0 for none.
func (w *watchdog) watch(pid int) error {
	_, err := fmt.Fprintln(w.in, pid)
	return err
}

// stop ends the watchdog and waits for it.
func (w *watchdog) stop() {
	w.in.Close()
	w.cmd.Wait() // its exit status says nothing: the folder may be gone already
}
