//go:build unix

package bouncer

import (
	"testing"
	"time"
)

// TestUnreadIsNotNothing: of processes that no console told of nothing is known;
// the sums say of how many they are.
func TestUnreadIsNotNothing(t *testing.T) {
	g := newRig(t, nil, app(nil), app(nil))
	g.exec(g.client(0, "app", "werft:api"), "select 1")
	g.poolers[1].Stop()
	declared := func(pick ...int) *View {
		var all []Options
		for _, i := range pick {
			all = append(all, Options{DSN: g.poolers[i].Console()})
		}
		f, err := NewFleet([]Declared{{Spec: PoolerSpec{Name: "pgb"}, Consoles: all}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(f.Close)
		return Judge(Input{Instances: f.Read(t.Context())[0].Instances})
	}
	if v := declared(0, 1); v.Read != 1 || v.Processes != 2 || v.Part() != "of 1 of 2 instances" || v.Servers.Now != 1 {
		t.Errorf("got %d of %d, %q, want one of two", v.Read, v.Processes, v.Part())
	}
	if v := declared(1); v.Read != 0 || v.Part() != "" || v.ClientsUsed != nil {
		t.Errorf("got %d read, %q, want none", v.Read, v.Part())
	}
	if v := declared(0); v.Read != 1 || v.Part() != "" {
		t.Errorf("got %d read, %q, want all", v.Read, v.Part())
	}
	f, err := NewFleet([]Declared{{Spec: PoolerSpec{Name: "pgb", Instances: 3}, Consoles: []Options{{DSN: g.poolers[0].Console()}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	f.Read(t.Context())
	g.poolers[0].Stop()
	v := Judge(Input{Instances: f.Read(t.Context())[0].Instances, Spec: PoolerSpec{Instances: 3}})
	if v.OldS <= 0 || v.Part() != "of 1 of 3 instances, as of "+ago(v.OldS)+" ago" {
		t.Errorf("got %q of %v s, want the age and the part", v.Part(), v.OldS)
	}
}

// TestLimitsForTheBudget: the limits that pools share, of a real console.
func TestLimitsForTheBudget(t *testing.T) {
	o := app(map[string]string{"max_user_connections": "5"})
	o.Databases["shop"] = "dbname=postgres max_db_connections=1"
	g := newRig(t, nil, o)
	g.exec(g.client(0, "app", "werft:api"), "select 1")
	r, err := g.consoles[0].Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := Told{Instances: []Instance{{Reading: r, At: time.Now()}}}.Pooler(time.Now()).Pools
	if len(p) != 1 || value(p[0].MostOfDatabase) != 1 || value(p[0].MostOfUser) != 5 {
		t.Errorf("got %+v, want at most 1 in the database, 5 of the user", p)
	}
}
