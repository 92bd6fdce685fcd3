//go:build unix

package pgserver

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// takeLock takes the lock file at path, which it makes, or answers with
// EWOULDBLOCK while another process holds it. Closing the file, or the end of
// the process, gives it back.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// waitLock is takeLock that waits, as long as ctx lasts.
func waitLock(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := takeLock(path)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
