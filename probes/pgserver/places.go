package pgserver

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// systemPlaces are the bin folders of the packagers, as glob patterns.
func systemPlaces(goos string) []string {
	switch goos {
	case "linux":
		return []string{
			"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
			"/usr/pgsql-*/bin",          // PGDG's RPMs
			"/usr/libexec/postgresql*",  // Alpine
			"/usr/lib/postgresql*/bin",  // openSUSE
			"/usr/bin",                  // Fedora, Arch
			"/usr/local/pgsql/bin",      // built from source
			"/opt/postgresql*/bin",
			"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
			"/run/current-system/sw/bin", // NixOS
		}
	case "darwin":
		return []string{
			"/opt/homebrew/opt/postgresql@*/bin", // Homebrew on Apple silicon
			"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel
			"/Applications/Postgres.app/Contents/Versions/*/bin",
			"/Library/PostgreSQL/*/bin",      // EDB's installer
			"/opt/local/lib/postgresql*/bin", // MacPorts
		}
	default:
		return nil
	}
}

// homePlaces are the bin folders of version managers under the home folder.
func homePlaces() []string {
	return []string{
		".asdf/installs/postgres/*/bin",
		".local/share/mise/installs/postgres/*/bin",
		".nix-profile/bin",
		".pgenv/pgsql-*/bin",
	}
}

// cacheDir holds fetched servers and templates: the folder in
// PGSONDE_CACHE_DIR, else pgsonde in the user's cache folder. Root's own is
// closed to the account that runs the servers, so root uses the system's.
func cacheDir() (string, error) {
	if dir := os.Getenv("PGSONDE_CACHE_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	if runtime.GOOS != "windows" && os.Geteuid() == 0 {
		return "/var/cache/pgsonde", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		// A folder in the shared temporary one could be laid by somebody else.
		return "", errors.New("no cache folder: neither HOME nor XDG_CACHE_HOME is set")
	}
	return filepath.Join(dir, "pgsonde"), nil
}

// fetchDir holds the fetched servers, a folder per package version.
func fetchDir() (string, error) {
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "server"), nil
}

// maxBase is the longest folder under which a server's socket has a path that
// every system takes: MkdirTemp adds up to ten digits.
const maxBase = maxSocketPath - len("/"+dirPrefix+"4294967295/.s.PGSQL.65535")

// tempBase is the system's temporary folder, or /tmp where that one's path is
// too long for a socket or, being root's own, is closed to the account.
func tempBase(acct account) string {
	const shared = "/tmp"
	base := os.TempDir()
	if len(base) > maxBase {
		return shared
	}
	if acct.id() == os.Geteuid() {
		return base
	}
	for d := base; d != filepath.Dir(d); d = filepath.Dir(d) {
		if fi, err := os.Stat(d); err != nil || fi.Mode().Perm()&0o001 == 0 {
			return shared
		}
	}
	return base
}

// cleanEnv is the environment of everything that runs here: without what would
// turn a server or initdb from what we ask of it (PGDATA, PGPORT, LC_*,
// LD_PRELOAD and the like).
func cleanEnv() []string {
	env := []string{"LC_ALL=C", "TZ=UTC"}
	for _, k := range []string{"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"} {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}
