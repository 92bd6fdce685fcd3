//go:build unix

package bouncer

import (
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// TestServerDownIsOneFinding: of a real server that is down, and of a PAUSE of all
// that the console does not tell, there is one finding of all pools.
func TestServerDownIsOneFinding(t *testing.T) {
	o := app(map[string]string{"server_login_retry": "1"})
	o.Databases["books"] = "dbname=postgres"
	g := newRig(t, nil, o)
	ask := func() {
		g.send(0, "app", "werft:api", "select 1")
		g.send(0, "other", "werft:web", "select 1")
	}
	g.exec(g.client(0, "app", "werft:api"), "select 1")
	g.exec(g.client(0, "other", "werft:web"), "select 1")
	g.admin("PAUSE")
	ask()
	about := func(v *View, rule string) (out []probes.Finding) {
		for _, f := range v.Findings {
			if f.Rule == rule {
				out = append(out, f)
			}
		}
		return out
	}
	paused := func(v *View) []probes.Finding { return append(about(v, rulePaused), about(v, ruleNotFull)...) }
	v := g.until("clients that wait in both pools", func(v *View) bool {
		return pool(v, "shop", "app").MaxWaitS > 1.2 && pool(v, "shop", "other").MaxWaitS > 1.2
	})
	if all := paused(v); len(all) != 1 {
		t.Errorf("got %+v, want one finding of the pause", all)
	} else {
		t.Log(all[0].Message)
	}
	g.admin("RESUME")
	g.until("nobody waits", func(v *View) bool { return len(paused(v)) == 0 })

	target := g.srv.DSN("postgres", "postgres")
	g.srv.Stop()
	_, err := probes.Open(t.Context(), probes.Options{DSN: target})
	if err == nil {
		t.Fatal("the server is there still")
	}
	ask()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		r, rerr := g.consoles[0].Read(t.Context())
		v = spoken.real(Judge(Input{Instances: []Instance{{Reading: r, Err: rerr, At: time.Now()}}, ServerErr: err}))
		if p, q := pool(v, "shop", "app"), pool(v, "shop", "other"); rerr == nil && p.Servers() == 0 && q.Servers() == 0 && finding(v, ruleNotFull) != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("never found: %v, pools %+v", rerr, v.Pools)
		}
	}
	all := about(v, ruleNotFull)
	if says(t, v, ruleNotFull, "2 pools of pgbouncer", "PostgreSQL cannot be reached", "shop@app", "shop@other"); len(all) != 1 {
		t.Errorf("got %+v, want one finding", all)
	}
}
