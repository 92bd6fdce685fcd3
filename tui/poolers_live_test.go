//go:build unix

package tui

import (
	"context"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestLivePoolers shows real poolers: a pool full behind a lock, a stranded
// advisory lock and a paused database by their names; then a server that
// refuses, and a console that goes away and comes back.
func TestLivePoolers(t *testing.T) {
	s := newPooledStage(t, bouncer.PoolerSpec{Name: "pgb"})
	s.incident()
	src := &replay{} // only counts; the source is the server
	r := start(t, t.Context(), 120, 40, Options{
		Interval: 200 * time.Millisecond, Screen: "Poolers", Consoles: s.fleet,
		Open: func(ctx context.Context) (Source, error) {
			return probes.Open(ctx, probes.Options{DSN: s.srv.DSN("postgres", "postgres")})
		},
	}, src)
	r.until("3 clients wait")
	r.until("behind pid")
	r.until("holds up")
	r.until("session advisory lock 4711 left on pid")
	r.until("PAUSED")
	r.typeKeys("\r")
	r.until("holds it up")
	r.typeKeys("\r") // to the root of the lock wait
	r.until("lock table item in access exclusive mode")
	r.until("AccessExclusive on item")
	r.typeKeys("qq")
	r.until("pgb 2")

	s.poolers[1].Stop()
	r.until("cannot be read")
	if err := s.poolers[1].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, s.srv.DSN("postgres", "postgres"), "alter role app connection limit 3", "select pg_reload_conf()")
	s.client(1, "app", "werft:web", true, "select 1")
	r.until("server refuses")
	r.typeKeys("1")
	r.until("shop@app of pgb") // at the top of Roles
	r.typeKeys("\x03")
	if err := r.ended(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}
