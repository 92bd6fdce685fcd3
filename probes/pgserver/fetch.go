package pgserver

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Fetch brings the pinned server of a major into the cache, once: with the npm
// client of this machine, so that the user's registry and proxy settings hold,
// checked against the hash in our source before anything is unpacked, and
// without running any script of the package. What it does goes to progress, a
// line a step. Processes that fetch at the same time wait for the first.
func Fetch(ctx context.Context, major int, progress io.Writer) (Install, error) {
	if err := supported(); err != nil {
		return Install{}, err
	}
	platform := npmPlatform(runtime.GOOS, runtime.GOARCH)
	p, ok := pinFor(platform, major)
	if !ok {
		return Install{}, fmt.Errorf("no pinned PostgreSQL %d for %s", major, platform)
	}
	acct, err := pickAccount()
	if err != nil {
		return Install{}, err
	}
	dir, err := fetchDir()
	if err != nil {
		return Install{}, err
	}
	dst := filepath.Join(dir, p.version)
	if _, err := os.Stat(dst); err == nil {
		return probeFetched(ctx, acct, dst)
	}
	if err := makeOpenDir(filepath.Dir(dir), acct); err != nil {
		return Install{}, fmt.Errorf("making the cache: %w", err)
	}
	if err := makeOpenDir(dir, acct); err != nil {
		return Install{}, fmt.Errorf("making the cache: %w", err)
	}
	lock, err := waitLock(ctx, filepath.Join(dir, fmt.Sprintf("lock-%d", major)))
	if err != nil {
		return Install{}, fmt.Errorf("waiting for another fetch of PostgreSQL %d: %w", major, err)
	}
	defer lock.Close()
	if _, err := os.Stat(dst); err == nil {
		return probeFetched(ctx, acct, dst) // another process brought it while we waited
	}
	if err := fetchInto(ctx, dir, dst, platform, p, progress); err != nil {
		return Install{}, fmt.Errorf("fetching PostgreSQL %d: %w", major, err)
	}
	return probeFetched(ctx, acct, dst)
}

// probeFetched probes the package at dst. It was renamed there when it was
// whole, so it is never fetched over: other processes may run it.
func probeFetched(ctx context.Context, acct account, dst string) (Install, error) {
	in, err := probe(ctx, acct, filepath.Join(dst, "native", "bin"), sourceFetched)
	if ctx.Err() != nil {
		return Install{}, ctx.Err()
	}
	if err != nil {
		return Install{}, fmt.Errorf("the fetched server does not run here (remove %s to fetch it anew): %w", dst, err)
	}
	return in, nil
}

// makeOpenDir makes a folder that the account can enter, whatever our umask; one
// that is there stays as it is.
func makeOpenDir(dir string, acct account) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if acct.id() == os.Geteuid() {
		return nil
	}
	return os.Chmod(dir, 0o755)
}

// fetchInto packs, checks and unpacks next to dst, then renames into place. The
// caller holds the major's lock, so what an earlier killed fetch left is ours to
// remove.
func fetchInto(ctx context.Context, dir, dst, platform string, p pin, progress io.Writer) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errNoNPM
	}
	stale, err := filepath.Glob(filepath.Join(dir, "tmp-"+p.version+"-*"))
	if err != nil {
		return err
	}
	for _, d := range stale {
		if err := os.RemoveAll(d); err != nil {
			return err
		}
	}
	tmp, err := os.MkdirTemp(dir, "tmp-"+p.version+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)

	fmt.Fprintf(progress, "fetching %s with npm (once, 20-60 MB)\n", p.spec(platform))
	archive, err := npmPack(ctx, npm, tmp, p.spec(platform))
	if err != nil {
		return err
	}
	if err := checkIntegrity(archive, p.integrity); err != nil {
		return err
	}
	fmt.Fprintf(progress, "unpacking into %s\n", dst)
	if err := untar(archive, filepath.Join(tmp, "out")); err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	pkg := filepath.Join(tmp, "out", "package")
	if err := layLinks(pkg); err != nil {
		return fmt.Errorf("laying links: %w", err)
	}
	if err := openDirs(pkg); err != nil {
		return err
	}
	return os.Rename(pkg, dst)
}

// npmPack has npm download the package's archive into dir and answers with its
// path.
func npmPack(ctx context.Context, npm, dir, spec string) (string, error) {
	cmd := exec.CommandContext(ctx, npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", dir, spec)
	cmd.Dir = dir // no project's .npmrc but the user's
	cmd.WaitDelay = 2 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("npm pack: %w: %s", err, firstLine(out))
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("npm pack left %d archives, want 1", len(found))
	}
	return found[0], nil
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if line == "" {
		return "no output"
	}
	return line
}

// errIntegrity says that what came is not what was pinned.
var errIntegrity = errors.New("integrity mismatch")

func checkIntegrity(file, want string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha512.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := "sha512-" + base64.StdEncoding.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%w: %s has %s, pinned is %s", errIntegrity, filepath.Base(file), got, want)
	}
	return nil
}
