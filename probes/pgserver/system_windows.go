package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// supported: a server here would need pg_ctl's restricted token and a job object
// that ends with us.
func supported() error {
	return fmt.Errorf("throw-away servers on Windows: %w", errors.ErrUnsupported)
}

type account struct{}

func (account) own(string) error    { return nil }
func (account) id() int             { return 0 }
func pickAccount() (account, error) { return account{}, supported() }

func setAttr(*exec.Cmd, account, bool) {}

func waitLock(context.Context, string) (*os.File, error) { return nil, supported() }
func takeLock(string) (*os.File, error)                  { return nil, supported() }

func memoryDir(uint64) string { return "" }

func sweep(string, account) {}

type watchdog struct{}

func startWatchdog(string, account) (*watchdog, error) { return nil, supported() }
func (*watchdog) watch(int) error                      { return nil }
func (*watchdog) stop()                                {}

var (
	sigFast      os.Signal = os.Interrupt
	sigImmediate os.Signal = os.Kill
)
