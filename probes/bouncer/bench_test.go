package bouncer

import (
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

// A large pooler: 100 pools of 20 servers, 10,000 clients, every pool waiting.
func BenchmarkJudge(b *testing.B) {
	r := &Reading{VersionNum: 11800, Config: map[string]string{"max_client_conn": "20000"}, Lists: map[string]int{"used_clients": 10_000}}
	snap := snapshot(nil)
	for d := range 100 {
		db := "db" + count(d)
		r.Databases = append(r.Databases, Database{Name: db, Database: db, PoolSize: 20})
		r.Pools = append(r.Pools, Pool{Database: db, User: "app", ClActive: 20, ClWaiting: 80, SvActive: 20, MaxWaitS: 3})
		for k := range 100 {
			c := Socket{User: "app", Database: db, State: "waiting", WaitS: 3, Ptr: db + "c" + count(k), App: ptr("werft:api")}
			if k < 20 {
				pid := d*100 + k + 1
				c.State, c.Link = "active", db+"s"+count(k)
				r.Servers = append(r.Servers, Socket{User: "app", Database: db, State: "active", Ptr: c.Link, Link: c.Ptr, RemotePID: pid, LocalPort: 10_000 + pid})
				snap.Sessions = append(snap.Sessions, probes.Session{PID: pid, Port: 10_000 + pid, State: "active", QueryStart: noon})
			}
			r.Clients = append(r.Clients, c)
		}
	}
	in := Input{Instances: []Instance{{Reading: r}}, Snapshot: snap, RoleOf: roleOf, Spec: PoolerSpec{Needs: []SessionNeed{{Role: "api", Listen: true}}}}
	for b.Loop() {
		if v := Judge(in); len(v.Findings) < 100 {
			b.Fatalf("got %d findings, want one a pool", len(v.Findings))
		}
	}
}
