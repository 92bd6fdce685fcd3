//go:build unix

package pgserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTempBase(t *testing.T) {
	other := account{set: true, uid: 12345, gid: 12345}
	open := openTempDir(t)
	closed := filepath.Join(open, "closed")
	if err := os.MkdirAll(filepath.Join(closed, "inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, tmpdir string
		acct         account
		want         string
	}{
		{"open", open, other, open},
		{"closed to the account", filepath.Join(closed, "inner"), other, "/tmp"},
		{"closed, but our own", filepath.Join(closed, "inner"), account{}, filepath.Join(closed, "inner")},
		{"not there", filepath.Join(open, "none"), other, "/tmp"},
		{"too long", "/tmp/" + strings.Repeat("l", maxBase), account{}, "/tmp"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("TMPDIR", tt.tmpdir)
			if got := tempBase(tt.acct); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
