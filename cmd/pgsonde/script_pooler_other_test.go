//go:build !unix

package main

import "github.com/rogpeppe/go-internal/testscript"

// canPool: PgBouncer is run on Unix only.
func canPool() bool { return false }

func poolerCmds() map[string]func(*testscript.TestScript, bool, []string) { return nil }
