package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/pgsonde/pgsonde/"

// pkg is what `go list -json` says about one package.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", module+"...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// TestLayout holds the package layout and the direction of imports:
// cmd → tui → probes, explain; a library is imported in one place only.
func TestLayout(t *testing.T) {
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		top, _, _ := strings.Cut(name, "/")
		for _, dep := range p.Deps {
			if d, ok := strings.CutPrefix(dep, module); ok {
				dtop, _, _ := strings.Cut(d, "/")
				if !allowed(name, top, d, dtop) {
					t.Errorf("%s must not depend on %s", name, d)
				}
			}
		}
		for _, imp := range p.Imports {
			if home, ok := owner(imp); ok && !strings.Contains(home, top) {
				t.Errorf("%s imports %s: only %s may", name, imp, home)
			}
		}
	}
}

func allowed(name, top, dep, dtop string) bool {
	switch top {
	case "cmd":
		return true
	case "tui":
		return dtop != "cmd"
	case "probes":
		if name == "probes" || dtop != "probes" || dep == "probes" {
			return dtop == "probes" && name != "probes"
		}
		switch name {
		case "probes/triage": // reads the results of the other judges
			return dep == "probes/budget" || dep == "probes/waits" || dep == "probes/bouncer"
		case "probes/pgserver/pgtest":
			return dep == "probes/pgserver"
		}
		return false
	case "explain":
		return dtop == "explain"
	}
	return false
}

// owner names the top-level folders that may import a library.
func owner(imp string) (string, bool) {
	switch {
	case strings.HasPrefix(imp, "github.com/jackc/pgx"):
		return "probes explain", true
	case strings.HasPrefix(imp, "charm.land/"), strings.HasPrefix(imp, "github.com/charmbracelet/"):
		return "tui", true
	case strings.HasPrefix(imp, "github.com/alecthomas/kong"):
		return "cmd", true
	}
	return "", false
}
