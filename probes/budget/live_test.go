package budget_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// stage is a real server that a deployment is played on, its budget and a
// sampler that watches.
type stage struct {
	t       *testing.T
	srv     *pgserver.Server
	file    *budget.File
	sampler *probes.Sampler
	user    string
	conns   []*pgserver.Conn
}

// newStage starts a server of that many slots with a login role and a database
// of that name.
func newStage(t *testing.T, file string, maxConnections int, user string) *stage {
	t.Helper()
	f, err := budget.Load("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{TCP: true, Settings: map[string]string{"max_connections": strconv.Itoa(maxConnections)}})
	pgtest.Exec(t, srv.DSN("postgres", "postgres"),
		fmt.Sprintf("create role %s login password '%s'", user, srv.Password()), fmt.Sprintf("create database %s owner %s", user, user))
	s, err := probes.Open(t.Context(), probes.Options{DSN: srv.DSN("postgres", "postgres")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	st := &stage{t: t, srv: srv, file: f, sampler: s, user: user}
	t.Cleanup(func() {
		for _, c := range st.conns {
			c.Close()
		}
	})
	return st
}

// open opens n connections of an application from one pod and runs sql on each;
// it returns how many the server let in.
func (st *stage) open(n int, app string, pod int, sql string) int {
	st.t.Helper()
	for i := range n {
		c, err := st.srv.Open(st.t.Context(), pgserver.ConnOptions{
			User: st.user, Database: st.user, AppName: app, TCP: true, LocalAddr: fmt.Sprintf("127.0.1.%d", pod),
		})
		if pe := (*pgconn.PgError)(nil); errors.As(err, &pe) && pe.Code == "53300" {
			return i
		}
		if err != nil {
			st.t.Fatal(err)
		}
		st.conns = append(st.conns, c)
		if sql != "" {
			if err := c.Exec(st.t.Context(), sql); err != nil {
				st.t.Fatal(err)
			}
		}
	}
	return n
}

func (st *stage) use() *budget.Usage {
	st.t.Helper()
	snap, err := st.sampler.Tick(st.t.Context(), probes.Want{})
	if err != nil {
		st.t.Fatal(err)
	}
	return budget.Use(st.file, snap)
}

// settled is the use once so many slots are taken: a client that was refused
// holds its slot until its backend is gone.
func (st *stage) settled(used int) *budget.Usage {
	st.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		u := st.use()
		if u.Used == used {
			return u
		}
		if time.Now().After(deadline) {
			st.t.Errorf("used %d, want %d", u.Used, used)
			return u
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// expect holds a row against "now busy kept cap peak pods", "-" for unknown.
func (st *stage) expect(u *budget.Usage, role, want string) {
	st.t.Helper()
	i := slices.IndexFunc(u.Rows, func(r budget.Row) bool { return r.Role == role })
	if i < 0 {
		st.t.Errorf("no row %s", role)
		return
	}
	p := func(v *int) string {
		if v == nil {
			return "-"
		}
		return strconv.Itoa(*v)
	}
	r := u.Rows[i]
	if got := fmt.Sprintln(r.Now, p(r.Busy), p(r.Kept), p(r.Cap), p(r.Peak), p(r.Pods)); got != want+"\n" {
		st.t.Errorf("%s: got %swant %s", role, got, want)
	}
}

// rules lists the findings' rules and subjects that are not only information.
func rules(u *budget.Usage) []string {
	var out []string
	for _, f := range u.Findings {
		if f.Severity != probes.Info {
			out = append(out, f.Rule+" "+f.Subject)
		}
	}
	return out
}

func (st *stage) expectRules(u *budget.Usage, want ...string) {
	st.t.Helper()
	got := rules(u)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		st.t.Errorf("findings %q, want %q", got, want)
	}
}

// TestLiveWerft plays the Helm deployment: two api pods of 12, three singles of
// 4, all well; then each way it goes wrong.
func TestLiveWerft(t *testing.T) {
	st := newStage(t, "werft-helm.yaml", 100, "werft")
	for pod := 1; pod <= 2; pod++ {
		st.open(11, "werft:api", pod, "")
		st.open(1, "werft:api-listen", pod, "listen news")
	}
	for i, role := range []string{"scheduler", "reconciler", "slack"} {
		st.open(4, "werft:"+role, 3+i, "")
	}
	u := st.use()
	calm := []string{"file-differs server"} // the file says 16; the newest server there may be another
	if pgtest.Any(t).Major == 16 {
		calm = nil
	}
	st.expect(u, "api", "24 0 24 24 36 2")
	for _, role := range []string{"scheduler", "reconciler", "slack"} {
		st.expect(u, role, "4 0 4 4 4 1")
	}
	st.expect(u, "metrics", "0 0 - - - 0")
	st.expect(u, "migrate", "0 0 10 10 10 0")
	st.expect(u, "operators", "2 0 - 3 - 0")
	st.expectRules(u, calm...)
	if u.Used != 38 || u.Usable != 97 || u.Plan.Verdict != budget.OK || u.Plan.Steady != 36 || u.Plan.Peak != 66 {
		t.Errorf("used %d of %d, plan %+v", u.Used, u.Usable, u.Plan)
	}

	// Pod 1: all of its pool in a transaction; its LISTEN connection idles on.
	for _, c := range st.conns[:11] {
		if err := c.Exec(t.Context(), "begin; select 1"); err != nil {
			t.Fatal(err)
		}
	}
	st.open(1, "werft:slack", 5, "")
	st.open(2, "werft:metrics", 8, "")
	st.open(3, "werft:report", 9, "")
	st.open(12, "", 10, "")
	st.open(1, "psql", 11, "begin")
	u = st.use()
	st.expect(u, "api", "24 11 24 24 36 2")
	st.expect(u, "slack", "5 0 4 4 4 1")
	st.expect(u, "metrics", "2 0 - - - 1")
	st.expect(u, "report", "3 0 - - - 1")
	st.expect(u, "operators", "3 1 - 3 - 1")
	st.expect(u, "(unmatched)", "12 0 - - - 1")
	st.expectRules(u, append(calm, "pod-full api", "role-over-cap slack", "role-off-seen metrics", "role-undeclared report", "unmatched-sessions (unmatched)")...)
	if u.Used != 57 {
		t.Errorf("used %d, want 57", u.Used)
	}

	// A budget drafted from this very state has nothing to object to.
	snap, err := st.sampler.Tick(t.Context(), probes.Want{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := budget.InitFromSnapshot(snap, nil)
	if err != nil {
		t.Fatal(err)
	}
	if st.file, err = budget.Parse("drafted.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
	u = budget.Use(st.file, snap)
	st.expectRules(u)
	st.expect(u, "api", "22 11 26 26 26 2") // its listeners, of another name, are a role of their own
	st.expect(u, "metrics", "2 0 2 2 2 1")
	st.expect(u, "werft@werft", "12 0 12 12 12 1")
	if t.Failed() {
		t.Log(text)
	}
}

// TestLiveDstack plays one replica without a name: at rest, with all of its
// overflow, and a second replica for which there is no room.
func TestLiveDstack(t *testing.T) {
	st := newStage(t, "dstack.yaml", 80, "dstack")
	st.open(20, "", 1, "")
	u := st.use()
	st.expect(u, "dstack", "20 0 20 40 80 1")
	st.expectRules(u)

	st.open(20, "", 1, "begin")
	u = st.use()
	st.expect(u, "dstack", "40 20 20 40 80 1")
	st.expectRules(u)
	if !slices.ContainsFunc(u.Findings, func(f probes.Finding) bool { return f.Rule == "overflow-in-use" && f.Subject == "dstack" }) {
		t.Errorf("no overflow-in-use in %+v", u.Findings)
	}

	// A rolling deploy asks for 80 of 77, two of which are pgsonde's.
	if got := st.open(40, "", 2, ""); got != 35 {
		t.Errorf("the second replica got %d connections, want 35", got)
	}
	u = st.settled(77)
	st.expect(u, "dstack", "75 20 20 40 80 2")
	st.expectRules(u, "slots-full server", "role-over-cap dstack")
	if u.Free != 0 {
		t.Errorf("free %d", u.Free)
	}
}

// TestLiveDanish plays twelve processes with SQLAlchemy's defaults: at rest they
// fit, which is why nobody notices; a burst of all of them does not.
func TestLiveDanish(t *testing.T) {
	st := newStage(t, "danish.yaml", 100, "app")
	st.open(60, "web", 1, "")
	u := st.use()
	st.expect(u, "web", "60 0 60 180 180 1")
	st.expectRules(u, "steady-over-usable budget")
	if u.Free != 35 || u.Plan.Left != -83 {
		t.Errorf("free %d, left %d; want 35, -83", u.Free, u.Plan.Left)
	}
	if got := st.open(120, "web", 1, "begin"); got != 35 {
		t.Errorf("the burst got %d connections, want 35", got)
	}
	u = st.settled(97)
	st.expect(u, "web", "95 35 60 180 180 1")
	st.expectRules(u, "steady-over-usable budget", "slots-full server")
}
