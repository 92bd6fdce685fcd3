package main

import (
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pgsonde/pgsonde/probes/pgserver"
)

// scripts remembers the server of each running script.
var scripts serverMap

type serverMap struct{ m sync.Map }

func (s *serverMap) put(ts *testscript.TestScript, srv *pgserver.Server) {
	s.m.Store(ts.Getenv("WORK"), srv)
}

func (s *serverMap) get(ts *testscript.TestScript) *pgserver.Server {
	srv, ok := s.m.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("no server: the script must start one first")
	}
	return srv.(*pgserver.Server)
}
