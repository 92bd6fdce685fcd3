//go:build unix

package bouncer

import (
	"strconv"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// Where only a part of the servers waits for a lock, a larger pool would help,
// and what the others do is as much the cause.
func TestFullPartlyByLock(t *testing.T) {
	g := newRig(t, nil, app(map[string]string{"default_pool_size": "3"}))
	owner := pgtest.Connect(t, g.srv.DSN("postgres", "postgres")+" application_name=werft:migrate")
	if _, err := owner.Exec(t.Context(), "begin; lock table item"); err != nil {
		t.Fatal(err)
	}
	root := "pid " + strconv.Itoa(int(owner.PgConn().PID()))
	g.exec(g.client(0, "app", "werft:worker"), "begin")
	g.send(0, "app", "werft:report", "select pg_sleep(600)")
	g.send(0, "app", "werft:api", "update item set n = n + 1 where id = 1")
	g.until("a pool of three uses", func(v *View) bool {
		u := pool(v, "shop", "app").Use
		return u.Lock == 1 && u.Running == 1 && u.IdleInTx == 1
	})
	g.send(0, "app", "werft:web", "select 1")
	v := g.until("a client that waits", func(v *View) bool { return finding(v, rulePoolFull) != nil })
	pid := map[Doing]string{}
	for _, b := range pool(v, "shop", "app").Backends {
		pid[b.Doing] = "pid " + strconv.Itoa(b.PID)
	}
	f := says(t, v, rulePoolFull, "behind "+root, "1 idle in transaction (up to ", ", "+pid[DoingIdleInTx]+" of worker)", ", "+pid[DoingQuery]+" of report)")
	for _, want := range []string{root, "1 of 3 servers waits for it", pid[DoingIdleInTx], pid[DoingQuery]} {
		if !strings.Contains(f.Action, want) {
			t.Errorf("got action %q, want %q in it", f.Action, want)
		}
	}
	if strings.Contains(f.Action, "would wait too") {
		t.Errorf("got action %q, which a larger pool would prove untrue", f.Action)
	}
}
