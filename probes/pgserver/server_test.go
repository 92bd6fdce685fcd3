package pgserver_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

func TestStart(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		s := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{"max_connections": "17"}})
		c := pgtest.Connect(t, s.DSN("postgres", "postgres"))
		var version, maxConns string
		err := c.QueryRow(t.Context(), "select version(), current_setting('max_connections')").Scan(&version, &maxConns)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("PostgreSQL %s ", in.Version); !strings.HasPrefix(version, want) {
			t.Errorf("got version %q, want it to start with %q", version, want)
		}
		if maxConns != "17" {
			t.Errorf("got max_connections %s, want 17", maxConns)
		}
		s.Stop()
		if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) {
			t.Errorf("after Stop: got %v for %s, want it gone", err, s.Dir())
		}
	})
}
