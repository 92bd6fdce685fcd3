package pgserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Discover lists the usable servers on this machine, newest first, one per
// major: installed ones and those that Fetch brought. The list of bin folders in
// PGSONDE_PG_BIN, when set, replaces the search.
func Discover(ctx context.Context) []Install {
	acct, err := pickAccount()
	if err != nil {
		return nil // no account to run any of them
	}
	var (
		found []Install
		mu    sync.Mutex
		wg    sync.WaitGroup
	)
	for _, c := range candidates(ctx) {
		wg.Go(func() {
			in, err := probe(ctx, acct, c.dir, c.source)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			found = append(found, in)
		})
	}
	wg.Wait()
	return newestPerMajor(found)
}

func newestPerMajor(found []Install) []Install {
	slices.SortFunc(found, func(a, b Install) int {
		switch {
		case a.better(b):
			return -1
		case b.better(a):
			return 1
		default:
			return cmp.Compare(a.BinDir, b.BinDir)
		}
	})
	return slices.CompactFunc(found, func(a, b Install) bool { return a.Major == b.Major })
}

type candidate struct{ dir, source string }

// candidates are the folders that exist and may hold a server, each once, by its
// real path: Homebrew's and Debian's are links.
func candidates(ctx context.Context) []candidate {
	var all []candidate
	if dirs := filepath.SplitList(os.Getenv("PGSONDE_PG_BIN")); len(dirs) > 0 {
		for _, d := range dirs {
			all = append(all, candidate{d, "PGSONDE_PG_BIN"})
		}
	} else {
		all = append(onPath(ctx), inKnownPlaces()...)
	}
	seen := map[string]bool{}
	var out []candidate
	for _, c := range all {
		dir, err := filepath.EvalSymlinks(c.dir)
		if err != nil || seen[dir] {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err != nil {
			continue
		}
		seen[dir] = true
		out = append(out, candidate{dir, c.source})
	}
	return out
}

func onPath(ctx context.Context) []candidate {
	var out []candidate
	if p, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		out = append(out, candidate{filepath.Dir(p), "PATH"})
	}
	if p, err := exec.LookPath("pg_config"); err == nil {
		// The shims of asdf and mise are scripts; pg_config knows the real place.
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, p, "--bindir")
		cmd.WaitDelay = time.Second
		if b, err := cmd.Output(); err == nil {
			out = append(out, candidate{strings.TrimSpace(string(b)), "pg_config"})
		}
	}
	return out
}

func inKnownPlaces() []candidate {
	var out []candidate
	add := func(pattern, source string) {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return // the patterns are ours; a home folder with a bracket is not
		}
		for _, d := range dirs {
			out = append(out, candidate{d, source})
		}
	}
	for _, g := range systemPlaces(runtime.GOOS) {
		add(g, g)
	}
	if home, err := os.UserHomeDir(); err == nil {
		for _, g := range homePlaces() {
			add(filepath.Join(home, g), "~/"+g)
		}
	}
	if dir, err := fetchDir(); err == nil {
		add(filepath.Join(dir, "*", "native", "bin"), sourceFetched)
	}
	return out
}

// Find answers with an installed server of one of the majors, tried in their
// order (any major, the newest, when none is named), else fetches the first of
// them. Its error is a *MissingError when there is no server to be had.
func Find(ctx context.Context, majors ...int) (Install, error) {
	return FindLogged(ctx, io.Discard, majors...)
}

// FindLogged is Find that says on progress what it fetches, a line a step.
func FindLogged(ctx context.Context, progress io.Writer, majors ...int) (Install, error) {
	if err := supported(); err != nil {
		return Install{}, err
	}
	if _, err := pickAccount(); err != nil {
		return Install{}, err
	}
	installed := Discover(ctx)
	if err := ctx.Err(); err != nil { // what was not seen may be there all the same
		return Install{}, err
	}
	if len(majors) == 0 && len(installed) > 0 {
		return installed[0], nil
	}
	for _, m := range majors {
		i := slices.IndexFunc(installed, func(in Install) bool { return in.Major == m })
		if i >= 0 {
			return installed[i], nil
		}
	}
	want := newestPinned
	if len(majors) > 0 {
		want = majors[0]
	}
	in, err := Fetch(ctx, want, progress)
	if err != nil && ctx.Err() == nil {
		return Install{}, &MissingError{Major: want, Err: err, Hint: installHint(runtime.GOOS, want)}
	}
	return in, err
}

// MissingError says that no server of the major is installed and none could be
// fetched.
type MissingError struct {
	Major int
	Err   error  // why it could not be fetched
	Hint  string // what to do, one line
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("no PostgreSQL server of major %d on this machine; %v", e.Major, e.Err)
}

func (e *MissingError) Unwrap() error { return e.Err }

func installHint(goos string, major int) string {
	install := fmt.Sprintf("sudo apt-get install postgresql-%d", major)
	if goos == "darwin" {
		install = fmt.Sprintf("brew install postgresql@%d", major)
	}
	return fmt.Sprintf("install a server (%s), or npm, which fetches one, or name its bin folder in PGSONDE_PG_BIN", install)
}

// errNoNPM is the reason why nothing can be fetched on most machines.
var errNoNPM = errors.New("npm is not installed")
