package probes_test

import (
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer/bouncertest"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// TestFreedThroughAPooler: the backend of a victim that has run serves us next, and is
// then in no list.
func TestFreedThroughAPooler(t *testing.T) {
	bouncertest.Need(t)
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		st := newStuck(t, in, 0)
		p := bouncertest.Start(t, st.srv.DSN("postgres", "postgres"), bouncertest.Options{Databases: map[string]string{"postgres": "dbname=postgres pool_size=8"}})
		dsn := p.DSN("postgres", "postgres")
		for range 3 {
			run(t, pgtest.Connect(t, dsn+" default_query_exec_mode=simple_protocol"), "update hot set v = v + 1")
		}
		st.until(t, "select count(distinct pid)::int from pg_locks where not granted", 3)
		s := openSampler(t, dsn)
		var f *waits.Forest
		for end := time.Now().Add(time.Minute); (f == nil || f.Waiters != 3) && time.Now().Before(end); {
			_, f = look(t, s, probes.Want{})
		}
		root := f.Node(waits.Key{PID: pid(st.root)})
		if root == nil {
			t.Fatalf("the root is not among %+v", f.All())
		}
		a := waits.Follow(f, root.Key, f.EndBy(waits.Terminate, root).Frees)
		x := root.Session
		r, err := s.Terminate(t.Context(), probes.Target{PID: x.PID, BackendStart: x.BackendStart, XactStart: x.XactStart})
		if err != nil || r.Outcome != probes.Sent {
			t.Fatalf("got %+v, %v", r, err)
		}
		st.until(t, "select count(*)::int from pg_stat_activity where query like 'update hot set v = v + 1' and state = 'idle'", 3)
		settled := false
		for end := time.Now().Add(time.Minute); !settled && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			var snap *probes.Snapshot
			snap, f = look(t, s, probes.Want{Sessions: true, AllKinds: true})
			a.See(f, waits.Look{Sessions: snap.Sessions, All: true, Own: snap.Server.OwnPIDs, After: snap.At.Sub(r.At)})
			_, _, settled = a.Freed()
		}
		if n, _, _ := a.Freed(); n != 3 {
			t.Errorf("freed %d of 3; %s", n, a.Rest(f))
		}
	})
}
