package probes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// held counts the sessions of a role as the server sees them.
func held(t *testing.T, c *pgx.Conn, role string) int {
	t.Helper()
	var n int
	if err := c.QueryRow(t.Context(), "SELECT count(*) FROM pg_catalog.pg_stat_get_activity(NULL) a JOIN pg_roles r ON r.oid = a.usesysid WHERE r.rolname = $1", role).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestLendStaysAtTwoConnections(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{})
		logins(t, srv)
		admin := pgtest.Connect(t, srv.DSN("postgres", "postgres"))
		if _, err := admin.Exec(t.Context(), "CREATE ROLE lender LOGIN CONNECTION LIMIT 2; GRANT pg_monitor TO lender"); err != nil {
			t.Fatal(err)
		}
		s := open(t, Options{DSN: srv.DSN("lender", "postgres")})
		if n := held(t, admin, "lender"); n != 2 {
			t.Fatalf("got %d connections at start, want 2", n)
		}
		for range 5 {
			loan, err := s.Lend(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// The limit of 2 refuses a third, so the place must be free at once.
			c, err := pgx.ConnectConfig(t.Context(), loan.Config)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Lend(t.Context()); !errors.Is(err, ErrLent) {
				t.Errorf("lent twice: got %v, want %v", err, ErrLent)
			}
			for range 3 {
				snap := tick(t, s, Want{Sessions: true})
				if snap.Cost.Connections != 2 {
					t.Errorf("while lent: says %d connections, want 2", snap.Cost.Connections)
				}
				for _, x := range snap.Sessions {
					if x.User == "lender" {
						t.Errorf("the borrower's session %d is shown as somebody else's", x.PID)
					}
				}
				if n := held(t, admin, "lender"); n != 2 {
					t.Errorf("while lent: the server has %d, want 2", n)
				}
			}
			if err := c.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			loan.Return()
			eventually(t, "the work connection is back", func() bool { return tick(t, s, Want{}).Cost.Connections == 2 && s.work.alive() })
			if n := held(t, admin, "lender"); n != 2 {
				t.Errorf("after the return: the server has %d, want 2", n)
			}
		}
	})
}

func TestLendSurvivesALostWatchConnection(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	s := open(t, Options{DSN: srv.DSN("postgres", "postgres")})
	loan, err := s.Lend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, srv.DSN("postgres", "postgres"), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pgsonde'")
	eventually(t, "watch is back", func() bool {
		snap, err := s.Tick(t.Context(), Want{})
		return err == nil && snap.Cost.Connections == 1 // nothing was borrowed yet
	})
	loan.Return()
	eventually(t, "work is back", func() bool { return tick(t, s, Want{}).Cost.Connections == 2 })
}

func TestOneConnectionIsNotLent(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	s := open(t, Options{DSN: srv.DSN("postgres", "postgres"), Connections: 1})
	if _, err := s.Lend(t.Context()); !errors.Is(err, ErrOneConnection) {
		t.Errorf("got %v, want %v", err, ErrOneConnection)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.Tick(ctx, Want{}); err != nil {
		t.Error(err)
	}
}
