package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Install is one set of server binaries that was seen to run.
type Install struct {
	BinDir  string // folder of postgres and initdb
	Major   int    // 16
	Version string // "16.14", "19devel"
	Source  string // where it was found: "PATH", a glob, "fetched"

	full string // the whole `postgres -V` line, part of the template's key
}

// sourceFetched is the Source of the packages that Fetch brought.
const sourceFetched = "fetched"

func (in Install) exe(name string) string { return filepath.Join(in.BinDir, name) }

// minor is the number after the dot, 0 for a development version.
func (in Install) minor() int {
	_, after, _ := strings.Cut(in.Version, ".")
	n, err := strconv.Atoi(after)
	if err != nil {
		return 0
	}
	return n
}

// better orders installs: newer first, and of equals the installed one before
// the fetched.
func (in Install) better(other Install) bool {
	switch {
	case in.Major != other.Major:
		return in.Major > other.Major
	case in.minor() != other.minor():
		return in.minor() > other.minor()
	default:
		return in.Source != sourceFetched && other.Source == sourceFetched
	}
}

// probeTimeout bounds one `postgres -V`: a binary on a dead network mount hangs.
const probeTimeout = 5 * time.Second

// probe checks, as the account that will run it, that both initdb and postgres
// are there, run, and are of one major: a PATH with the client only, or with two
// majors mixed, is common.
func probe(ctx context.Context, acct account, dir, source string) (Install, error) {
	in := Install{BinDir: dir, Source: source}
	server, err := versionOf(ctx, acct, in.exe("postgres"))
	if err != nil {
		return in, err
	}
	initdb, err := versionOf(ctx, acct, in.exe("initdb"))
	if err != nil {
		return in, err
	}
	if server.major != initdb.major {
		return in, fmt.Errorf("%s: postgres is %d but initdb is %d", dir, server.major, initdb.major)
	}
	in.Major, in.Version, in.full = server.major, server.version, server.line
	return in, nil
}

type version struct {
	major   int
	version string
	line    string
}

func versionOf(ctx context.Context, acct account, exe string) (version, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, "-V")
	cmd.Dir = string(filepath.Separator) // ours may be closed to the account
	cmd.Env = cleanEnv()
	cmd.WaitDelay = time.Second
	setAttr(cmd, acct, false)
	out, err := cmd.Output()
	if err != nil {
		return version{}, fmt.Errorf("asking %s for its version: %w", exe, err)
	}
	v, err := parseVersion(string(out))
	if err != nil {
		return version{}, fmt.Errorf("asking %s for its version: %w", exe, err)
	}
	return v, nil
}

// parseVersion reads "postgres (PostgreSQL) 15.18 (Debian …)", "initdb
// (PostgreSQL) 19devel" and the like.
func parseVersion(line string) (version, error) {
	line = strings.TrimSpace(line)
	m := regexp.MustCompile(`\(PostgreSQL\) ((\d+)(?:\.\d+|[a-z]+\d*)?)`).FindStringSubmatch(line)
	if m == nil {
		return version{}, errors.New("no version in " + strconv.Quote(line))
	}
	major, err := strconv.Atoi(m[2])
	if err != nil {
		return version{}, fmt.Errorf("reading version %q: %w", m[1], err)
	}
	return version{major: major, version: m[1], line: line}, nil
}
