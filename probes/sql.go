package probes

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
)

// Every statement pgsonde sends by itself is a file of sql/. NAME.sql serves all
// majors, NAME_v16.sql serves 16 and later in its place.
//
//go:embed sql/*.sql
var sqlFiles embed.FS

// statement gives the text of the newest sql/NAME….sql that serves a server of
// this version (server_version_num).
func statement(name string, versionNum int) (string, error) {
	entries, err := sqlFiles.ReadDir("sql")
	if err != nil {
		return "", fmt.Errorf("reading embedded statements: %w", err)
	}
	best, found := "", -1
	for _, e := range entries {
		base, since := versionOf(e.Name())
		if base == name && since <= versionNum/10000 && since > found {
			best, found = e.Name(), since
		}
	}
	if found < 0 {
		return "", fmt.Errorf("no statement %q for server version %d", name, versionNum)
	}
	text, err := sqlFiles.ReadFile("sql/" + best)
	if err != nil {
		return "", fmt.Errorf("reading statement %q: %w", best, err)
	}
	return withoutComments(string(text)), nil
}

// withoutComments drops whole-line comments: the server need not read them, and
// what is sent must be ASCII, for it is valid in every encoding.
func withoutComments(text string) string {
	var sb strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			sb.WriteString(line)
		}
	}
	return strings.TrimSpace(sb.String())
}

// versionOf splits a file name into its statement's name and its first major.
func versionOf(file string) (name string, since int) {
	name = strings.TrimSuffix(file, ".sql")
	if i := strings.LastIndex(name, "_v"); i > 0 {
		if n, err := strconv.Atoi(name[i+2:]); err == nil {
			return name[:i], n
		}
	}
	return name, 0
}
