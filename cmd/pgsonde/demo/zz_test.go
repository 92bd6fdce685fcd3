//go:build unix

package demo

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"
)

func TestZZ(t *testing.T) {
	ctx := context.Background()
	t0 := time.Now()
	lap := func(s string) { t.Log(s, time.Since(t0).Round(time.Millisecond)); t0 = time.Now() }
	in, _ := pgserver.Find(ctx)
	lap("find")
	s, st, err := startServer(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	lap("start")
	if e := os.Getenv("ONLY"); e == "seed" {
		seed(ctx, s, st)
		lap("seed")
		return
	}
	onConn(ctx, s, "postgres", rolesSQL)
	lap("roles")
	onConn(ctx, s, "postgres", "CREATE DATABASE "+database+" OWNER werft")
	lap("createdb")
	onConn(ctx, s, database, schemaSQL)
	lap("schema")
	onConn(ctx, s, database, "create extension pg_stat_statements")
	lap("ext")
	onConn(ctx, s, database, "CREATE INDEX event_created_at_idx ON event (created_at)")
	lap("idx1")
	onConn(ctx, s, database, "CREATE INDEX event_created_at_id_idx ON event (created_at, id)")
	lap("idx2")
	onConn(ctx, s, database, "VACUUM (FREEZE, ANALYZE)")
	lap("vacuum")
}
