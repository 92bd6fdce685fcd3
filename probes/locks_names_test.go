package probes

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestOnlyBlockersAreAskedForSubtransactions: of those who run a statement in an
// older transaction, a waiter that holds nothing up is left alone.
func TestOnlyBlockersAreAskedForSubtransactions(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	proc := func(pid int, state string, age time.Duration) Session {
		return Session{PID: pid, State: state, XactStart: at.Add(-age), QueryStart: at}
	}
	table, other := LockTag{Type: "relation", Relation: 7}, LockTag{Type: "relation", Relation: 8}
	l := &Locks{
		Procs: []Session{
			proc(1, "active", time.Second), proc(2, "active", time.Second), proc(3, "active", time.Second),
			proc(4, "active", 0), proc(5, "idle in transaction", time.Second), proc(6, "active", time.Second),
		},
		Rows: []LockRow{
			{Tag: table, PID: 1, Granted: true},
			{Tag: table, PID: 2},
			{Tag: table, PID: 4, Granted: true},
			{Tag: table, PID: 5, Granted: true},
			{Tag: other, PID: 6, Granted: true},
		},
		Waits: []LockWait{{PID: 2, Blockers: []int{3}}},
	}
	if got := mayKeep(l); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("asked for %v, want 1, which holds what 2 wants, and 3, which the server names", got)
	}
}

// TestMoreStrongLocksThanAreNamed: where not all tables that sessions keep others from are
// named, the reading says so: one without a name is then not one that is too new to be seen.
func TestMoreStrongLocksThanAreNamed(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	dsn := srv.DSN("postgres", "postgres")
	var setup, names []string
	for i := range mostStrong + 1 {
		names = append(names, "t"+strconv.Itoa(i))
		setup = append(setup, "create table t"+strconv.Itoa(i)+" (i int)")
	}
	pgtest.Exec(t, dsn, setup...)
	for _, most := range []int{mostStrong, mostStrong + 1} {
		keeper := client(t, dsn, "keeper", "begin", "lock table "+strings.Join(names[:most], ", "))
		waiter := pgtest.Connect(t, dsn)
		done := make(chan error, 1)
		go func() { _, err := waiter.Exec(context.Background(), "select from t0"); done <- err }()
		s := open(t, Options{DSN: dsn})
		var l *Locks
		for end := time.Now().Add(time.Minute); time.Now().Before(end) && (l == nil || len(l.Rows) < most); time.Sleep(10 * time.Millisecond) {
			snap, err := s.Tick(t.Context(), Want{Locks: true})
			if err != nil {
				t.Fatal(err)
			}
			l = snap.Locks
		}
		if l == nil || l.Nameless != (most > mostStrong) {
			t.Errorf("%d strong locks: got %+v", most, l)
		}
		s.Close()
		if _, err := keeper.Exec(t.Context(), "rollback"); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
