package pgserver

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// writeArchive packs the entries as npm does and answers with the file's path
// and integrity.
func writeArchive(t *testing.T, entries ...*tar.Header) (file, integrity string) {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	tw := tar.NewWriter(gz)
	for _, h := range entries {
		body := "content of " + h.Name
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(body))
		}
		if err := tw.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(tw, body); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "p.tgz")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(b.Bytes())
	return file, "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

func TestCheckIntegrity(t *testing.T) {
	file, integrity := writeArchive(t, &tar.Header{Name: "package/a", Mode: 0o644})
	if err := checkIntegrity(file, integrity); err != nil {
		t.Errorf("the right hash: got %v, want none", err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkIntegrity(file, integrity); !errors.Is(err, errIntegrity) {
		t.Errorf("one bit flipped: got %v, want %v", err, errIntegrity)
	}
}

func TestUntar(t *testing.T) {
	file, _ := writeArchive(t,
		&tar.Header{Name: "package/native/bin/postgres", Mode: 0o644},
		&tar.Header{Name: "package/native/lib/libpq.so.5.18", Mode: 0o644},
		&tar.Header{Name: "package/way/out", Typeflag: tar.TypeSymlink, Linkname: "/etc"},
	)
	dst := filepath.Join(t.TempDir(), "out")
	if err := untar(file, dst); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(filepath.Join(dst, "package/native/bin/postgres"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fi.Mode().Perm(), os.FileMode(0o755); got != want {
		t.Errorf("mode of postgres: got %v, want %v", got, want)
	}
	if _, err := os.Lstat(filepath.Join(dst, "package/way/out")); !os.IsNotExist(err) {
		t.Errorf("the link was unpacked: %v", err)
	}
	links := `[{"source":"native/lib/libpq.so.5.18","target":"native/lib/libpq.so.5"}]`
	pkg := filepath.Join(dst, "package")
	if err := os.WriteFile(filepath.Join(pkg, "native", "pg-symlinks.json"), []byte(links), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := layLinks(pkg); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(pkg, "native/lib/libpq.so.5"))
	if want := "content of package/native/lib/libpq.so.5.18"; err != nil || string(got) != want {
		t.Errorf("through the link: got %q, %v, want %q", got, err, want)
	}
}

func TestUntarStaysInside(t *testing.T) {
	for _, name := range []string{"../escaped", "package/../../escaped", "/tmp/pgsonde-escaped"} {
		t.Run(name, func(t *testing.T) {
			file, _ := writeArchive(t, &tar.Header{Name: name, Mode: 0o644})
			dir := t.TempDir()
			if err := untar(file, filepath.Join(dir, "out")); err == nil {
				t.Error("got no error, want one")
			}
			if _, err := os.Stat(filepath.Join(dir, "escaped")); err == nil {
				t.Error("the entry was written outside")
			}
		})
	}
}

func TestLayLinksStaysInside(t *testing.T) {
	for _, links := range []string{
		`[{"source":"../../etc/passwd","target":"native/x"}]`,
		`[{"source":"native/x","target":"../x"}]`,
		`[{"source":"/etc/passwd","target":"native/x"}]`,
	} {
		pkg := filepath.Join(t.TempDir(), "package")
		if err := os.MkdirAll(filepath.Join(pkg, "native"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(pkg, "native", "pg-symlinks.json"), []byte(links), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := layLinks(pkg); err == nil || !strings.Contains(err.Error(), "leaves the package") {
			t.Errorf("%s: got %v, want it refused", links, err)
		}
	}
}

// A machine with neither a server nor npm gets one line with the cure.
func TestFindWithoutServerAndNPM(t *testing.T) {
	t.Setenv("PGSONDE_CACHE_DIR", t.TempDir())
	t.Setenv("PGSONDE_PG_BIN", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	_, err := Find(t.Context())
	var missing *MissingError
	if !errors.As(err, &missing) {
		t.Fatalf("got %v, want a *MissingError", err)
	}
	if !errors.Is(err, errNoNPM) {
		t.Errorf("got %v, want it to say why: %v", err, errNoNPM)
	}
	for _, s := range []string{err.Error(), missing.Hint} {
		if s == "" || strings.Contains(s, "\n") {
			t.Errorf("got %q, want one line", s)
		}
	}
	want := "apt-get install postgresql-18"
	if runtime.GOOS == "darwin" {
		want = "brew install postgresql@18"
	}
	if !strings.Contains(missing.Hint, want) {
		t.Errorf("got hint %q, want %q in it", missing.Hint, want)
	}
}

func TestFetchUnpinned(t *testing.T) {
	if _, err := Fetch(t.Context(), 9, io.Discard); err == nil || !strings.Contains(err.Error(), "no pinned PostgreSQL 9") {
		t.Errorf("got %v, want it to say that 9 is not pinned", err)
	}
}

func TestPinned(t *testing.T) {
	for _, p := range []struct{ goos, goarch string }{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}} {
		majors := Pinned(p.goos, p.goarch)
		if len(majors) == 0 || majors[len(majors)-1] != newestPinned {
			t.Errorf("%s/%s: got %v, want it to end with %d", p.goos, p.goarch, majors, newestPinned)
		}
		for _, m := range majors {
			pin, _ := pinFor(npmPlatform(p.goos, p.goarch), m)
			if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(pin.integrity, "sha512-")); err != nil || len(raw) != 64 {
				t.Errorf("%s/%s %d: %q is no sha512", p.goos, p.goarch, m, pin.integrity)
			}
		}
	}
	if got := Pinned("plan9", "amd64"); len(got) != 0 {
		t.Errorf("plan9: got %v, want none", got)
	}
}

// What is in the cache is whole and may be running: a fetch that is given up, or
// one of a package that does not run here, leaves it alone.
func TestFetchKeepsWhatIsThere(t *testing.T) {
	pin, ok := pinFor(npmPlatform(runtime.GOOS, runtime.GOARCH), newestPinned)
	if !ok {
		t.Skip("nothing is pinned for this platform")
	}
	cache := openTempDir(t)
	t.Setenv("PGSONDE_CACHE_DIR", cache)
	there := filepath.Join(cache, "server", pin.version)
	if err := os.MkdirAll(there, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Fetch(t.Context(), newestPinned, io.Discard); err == nil || !strings.Contains(err.Error(), "remove "+there) {
		t.Errorf("got %v, want it to name the folder to remove", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Fetch(ended, newestPinned, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: got %v, want %v", err, context.Canceled)
	}
	if _, err := Find(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Find given up: got %v, want %v", err, context.Canceled)
	}
	if _, err := os.Stat(there); err != nil {
		t.Errorf("the package was removed: %v", err)
	}
}
