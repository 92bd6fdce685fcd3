package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// version is set by the release build (-ldflags -X main.version=…).
var version = "dev"

type versionCmd struct{}

// Run prints the version of pgsonde and of what it was built with.
func (versionCmd) Run(a *app) error {
	v := version
	if bi, ok := debug.ReadBuildInfo(); ok && v == "dev" && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		v = bi.Main.Version
	}
	if a.cli.Format == "json" {
		return a.printJSON(map[string]string{"schema": "pgsonde/version/1", "version": v, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
	}
	return a.print(func(w io.Writer) {
		fmt.Fprintf(w, "pgsonde %s (%s, %s/%s)\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	})
}
