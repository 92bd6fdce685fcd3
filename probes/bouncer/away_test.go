//go:build unix

package bouncer

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

// TestOldFigures: of a console that went away the figures stay and are marked; what
// they showed is no finding of now.
func TestOldFigures(t *testing.T) {
	g := newRig(t, nil, app(map[string]string{"default_pool_size": "1"}))
	g.exec(g.client(0, "app", "werft:api"), "begin")
	g.send(0, "app", "werft:web", "select 1")
	fleet, err := NewFleet([]Declared{{Spec: PoolerSpec{Name: "pgb"}, Consoles: []Options{{DSN: g.poolers[0].Console()}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fleet.Close)
	look := func() *View {
		return spoken.real(Judge(Input{Instances: fleet.Read(t.Context())[0].Instances}))
	}
	var v *View
	g.until("a full pool", func(*View) bool {
		v = look()
		return finding(v, rulePoolFull) != nil
	})
	if v.Stale() || v.Instances[0].OldS != 0 || pool(v, "shop", "app").OldS != 0 {
		t.Errorf("got %+v, want figures of now", v.Instances[0])
	}
	silent(t, v, ruleUnreachable)
	g.poolers[0].Stop()
	v = look()
	f := says(t, v, ruleUnreachable, "cannot be read", "its figures are", "s old")
	p := pool(v, "shop", "app")
	if !v.Stale() || v.Instances[0].OldS <= 0 || p.OldS != v.Instances[0].OldS || p.ClientsWaiting != 1 || f.Evidence["age_s"] != p.OldS {
		t.Errorf("got instance %+v, pool %+v, want the last figures, marked as old", v.Instances[0], p)
	}
	silent(t, v, rulePoolFull, ruleNotFull)
}

// TestServerThatIsAway: that pgsonde does not reach the server, or is refused as
// everybody is, is what the pooler runs into; an older snapshot says nothing.
func TestServerThatIsAway(t *testing.T) {
	down := &probes.ConnectError{Kind: probes.KindUnreachable, Target: "h:5432/d", User: "u", Msg: "connection refused", Err: errors.New("refused")}
	full := &probes.ConnectError{Kind: probes.KindFull, Target: "h:5432/d", User: "u", Msg: "FATAL: remaining connection slots are reserved"}
	for _, tt := range []struct {
		name  string
		err   error
		cause Cause
		why   string
	}{
		{"down", down, ServerAway, "PostgreSQL cannot be reached, by pgsonde neither: connection refused"},
		{"down, as a reading says it", &probes.Unavailable{State: "not answering", Err: down}, ServerAway, "PostgreSQL cannot be reached, by pgsonde neither: connection refused"},
		{"down, and not yet tried again", &probes.Unavailable{State: "restarting", Err: errors.New("reset")}, ServerAway, "PostgreSQL is restarting: pgsonde does not reach it either"},
		{"full", fmt.Errorf("opening: %w", full), ServerRefuses, "PostgreSQL is full: it refused pgsonde too"},
		{"full, as a reading says it", &probes.Unavailable{State: "full", Err: full}, ServerRefuses, "PostgreSQL is full"},
		{"starting", &probes.Unavailable{State: "starting up", Err: &probes.ConnectError{Kind: probes.KindStarting, Msg: "the database system is starting up"}}, ServerAway, "PostgreSQL does not take connections now: the database system is starting up"},
		{"pgsonde's own limit", &probes.ConnectError{Kind: probes.KindFull, Msg: `too many connections for role "u"`}, CannotOpen, "PostgreSQL refuses new connections or cannot be reached"},
		{"pgsonde's own password", &probes.ConnectError{Kind: probes.KindAuth, Msg: "password authentication failed"}, CannotOpen, "PostgreSQL refuses new connections or cannot be reached"},
		{"a late answer", &probes.Unavailable{State: "not answering", Err: errors.New("timeout")}, CannotOpen, "PostgreSQL refuses new connections or cannot be reached"},
		{"none", nil, CannotOpen, "the login of app fails"},
	} {
		v := Judge(Input{Instances: []Instance{{Reading: reading(func(r *Reading) { waiter(r, 2) })}}, Snapshot: snapshot(nil), ServerErr: tt.err})
		p := pool(v, "shop", "app")
		if p.Cause != tt.cause || !strings.Contains(p.Why, tt.why) {
			t.Errorf("%s: got cause %q (%s), want %q (%s)", tt.name, p.Cause, p.Why, tt.cause, tt.why)
		}
		if f := finding(v, ruleNotFull); f == nil || f.Action == "" {
			t.Errorf("%s: got %+v, want a finding with what to do", tt.name, f)
		}
		if tt.err != nil && strings.Contains(p.Why, "free slots") {
			t.Errorf("%s: got %q, which speaks of a snapshot that is old", tt.name, p.Why)
		}
	}
}

// TestServerThatIsAwayAmongOthers: a pooler of several servers; the one that
// pgsonde does not reach is told by its address.
func TestServerThatIsAwayAmongOthers(t *testing.T) {
	r := reading(func(r *Reading) {
		waiter(r, 2)
		r.Databases[0].Host, r.Databases[0].Port = "h", 5432
		r.Databases = append(r.Databases, Database{Name: "books", Host: "other", Port: 5432, Database: "books", PoolSize: 2})
		r.Pools = append(r.Pools, Pool{Database: "books", User: "app", ClWaiting: 1, MaxWaitS: 2})
	})
	down := &probes.ConnectError{Kind: probes.KindUnreachable, Target: "h:5432/prod", Msg: "connection refused"}
	v := Judge(Input{Instances: []Instance{{Reading: r}}, ServerErr: down})
	if p := pool(v, "shop", "app"); p.Cause != ServerAway || !strings.Contains(p.Why, "connection refused") {
		t.Errorf("got cause %q (%s), want that its server is away", p.Cause, p.Why)
	}
	if p := pool(v, "books", "app"); p.Cause != CannotOpen {
		t.Errorf("got cause %q (%s), want nothing of the other server", p.Cause, p.Why)
	}
	if v = Judge(Input{Instances: []Instance{{Reading: r}}}); v.Servers.Cap != nil {
		t.Errorf("got at most %d, want unknown: no pool is known to be on the server", *v.Servers.Cap)
	}
}
