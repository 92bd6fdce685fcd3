//go:build unix

package pgserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

func supported() error { return nil }

// account is whom the server runs as; the zero value is ourselves.
type account struct {
	set      bool
	uid, gid int
}

// own gives a path to the account.
func (a account) own(path string) error {
	if !a.set {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// id is the uid that owns what the account makes.
func (a account) id() int {
	if a.set {
		return a.uid
	}
	return os.Geteuid()
}

// pickAccount is ourselves, or, as root, who called sudo, else nobody, else
// postgres, else daemon. postgres is not the first because on a database host
// that account owns the real data.
func pickAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	if id := os.Getenv("SUDO_UID"); id != "" && id != "0" {
		if u, err := user.LookupId(id); err == nil {
			return accountOf(u)
		}
	}
	for _, name := range []string{"nobody", "postgres", "daemon"} {
		if u, err := user.Lookup(name); err == nil && u.Uid != "0" {
			return accountOf(u)
		}
	}
	return account{}, errors.New("running as root, which PostgreSQL refuses, and there is no account nobody, postgres or daemon to run it as")
}

func accountOf(u *user.User) (account, error) {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("reading the uid of %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("reading the gid of %s: %w", u.Username, err)
	}
	return account{set: true, uid: int(uid), gid: int(gid)}, nil
}

// setAttr makes the command run as the account and in a process group of its
// own: Ctrl-C in our terminal is for us alone. With dieWithUs the system ends it
// when the thread that started it ends, where the system can.
func setAttr(cmd *exec.Cmd, a account, dieWithUs bool) {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a.set {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	if dieWithUs {
		setDeathSignal(attr)
	}
	cmd.SysProcAttr = attr
}
