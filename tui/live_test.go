package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestLiveServerRestarts shows a real server, drills into a session of it, and
// goes on after the server was restarted.
func TestLiveServerRestarts(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{Settings: map[string]string{"track_activity_query_size": "16384"}})
	c, err := srv.Open(t.Context(), pgserver.ConnOptions{AppName: "werft:api"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	long := "select 1 as first /* " + strings.Repeat("padding ", 200) + "*/ , 2 as last_column"
	if err := c.Exec(t.Context(), long); err != nil {
		t.Fatal(err)
	}
	src := &replay{} // only counts; the source is the server
	r := start(t, t.Context(), 80, 24, Options{
		Interval: 100 * time.Millisecond,
		Open: func(ctx context.Context) (Source, error) {
			return probes.Open(ctx, probes.Options{DSN: srv.DSN("postgres", "postgres")})
		},
	}, src)
	r.until("api            1/2   1")
	r.typeKeys("\r")
	r.until("└─")
	r.typeKeys("j")
	r.typeKeys("\r")
	r.until("> pid")
	r.press("G", "last_column") // beyond what a tick brings; the end moves when it comes
	r.typeKeys("q")
	r.typeKeys("q")
	if err := srv.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.until("api            0/2   0")
	r.typeKeys("\x03")
	if err := r.ended(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}
