package pgserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseVersion(t *testing.T) {
	tests := []struct {
		line    string
		version string
		major   int
		wantErr bool
	}{
		{"postgres (PostgreSQL) 18.4\n", "18.4", 18, false},
		{"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15.18", 15, false},
		{"initdb (PostgreSQL) 19devel", "19devel", 19, false},
		{"initdb (PostgreSQL) 19beta2", "19beta2", 19, false},
		{"pg_ctl: command not found", "", 0, true},
		{"", "", 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got, err := parseVersion(tt.line)
			if (err != nil) != tt.wantErr {
				t.Fatalf("got error %v, want one: %v", err, tt.wantErr)
			}
			if got.version != tt.version || got.major != tt.major {
				t.Errorf("got %q major %d, want %q major %d", got.version, got.major, tt.version, tt.major)
			}
		})
	}
}

func TestNewestPerMajor(t *testing.T) {
	found := []Install{
		{Major: 15, Version: "15.2", Source: "PATH", BinDir: "/a"},
		{Major: 18, Version: "18.4", Source: sourceFetched, BinDir: "/b"},
		{Major: 15, Version: "15.18", Source: sourceFetched, BinDir: "/c"},
		{Major: 18, Version: "18.4", Source: "PATH", BinDir: "/d"},
		{Major: 19, Version: "19devel", Source: "PATH", BinDir: "/e"},
	}
	var got []string
	for _, in := range newestPerMajor(found) {
		got = append(got, in.BinDir)
	}
	// newest major first; of 18 the installed, of 15 the newer
	if diff := cmp.Diff([]string{"/e", "/d", "/c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A bin folder of another file system layout, with a client only, with two
// majors, or closed to the account, is no install.
func TestProbeRefuses(t *testing.T) {
	acct, err := pickAccount()
	if err != nil {
		t.Skip(err)
	}
	tests := []struct {
		name    string
		scripts map[string]string
		mode    os.FileMode
		want    string // in the error, "" for none
	}{
		{"fits", map[string]string{"postgres": "16.1", "initdb": "16.1"}, 0o755, ""},
		{"client only", map[string]string{"psql": "16.1"}, 0o755, "postgres"},
		{"two majors", map[string]string{"postgres": "16.1", "initdb": "14.3"}, 0o755, "postgres is 16 but initdb is 14"},
		{"closed to the account", map[string]string{"postgres": "16.1", "initdb": "16.1"}, 0o000, "permission denied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bin := filepath.Join(openTempDir(t), "bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, version := range tt.scripts {
				script := "#!/bin/sh\necho '" + name + " (PostgreSQL) " + version + "'\n"
				if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(bin, tt.mode); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(bin, 0o755)
			_, err := probe(t.Context(), acct, bin, "test")
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got error %v, want none", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got error %v, want %q in it", err, tt.want)
			}
		})
	}
}

// openTempDir is a temporary folder that other accounts can enter: t.TempDir's
// parent is closed to them.
func openTempDir(t *testing.T) string {
	t.Helper()
	base := tempBase(account{})
	if os.Geteuid() == 0 {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "pgt-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
