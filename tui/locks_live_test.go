package tui

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

var record = flag.Bool("record", false, "record the lock snapshots from a real server")

// stage is a server with sessions that hold and wait for locks.
type stage struct {
	t    *testing.T
	srv  *pgserver.Server
	all  []*pgserver.Conn
	wait sync.WaitGroup
	mu   sync.Mutex
	ran  []string // applications whose waiting statement has come back, without error
}

func newStage(t *testing.T, settings map[string]string) *stage {
	t.Helper()
	s := &stage{t: t, srv: pgtest.Start(t, pgtest.Any(t), pgserver.Options{Settings: settings})}
	t.Cleanup(func() {
		s.srv.Stop() // ends those that still wait
		s.wait.Wait()
		for _, c := range s.all {
			c.Close()
		}
	})
	s.do(s.as("setup"), "create table acct (id int primary key, v int)", "insert into acct select n, 0 from generate_series(1, 9) n",
		"create table ledger (id int primary key, v int)", "create table job (id int primary key, v int)", "insert into job values (1, 0), (2, 0)")
	return s
}

func (s *stage) as(app string) *pgserver.Conn {
	s.t.Helper()
	c, err := s.srv.Open(s.t.Context(), pgserver.ConnOptions{AppName: app})
	if err != nil {
		s.t.Fatal(err)
	}
	s.all = append(s.all, c)
	return c
}

func (s *stage) do(c *pgserver.Conn, sql ...string) {
	s.t.Helper()
	for _, q := range sql {
		if err := c.Exec(s.t.Context(), q); err != nil {
			s.t.Fatalf("%s: %v", q, err)
		}
	}
}

// blocked runs a statement that waits, and returns once the server says so.
func (s *stage) blocked(app, begin, sql string) {
	s.t.Helper()
	c := s.as(app)
	if begin != "" {
		s.do(c, begin)
	}
	s.blockedOn(c, app, sql)
}

func (s *stage) blockedOn(c *pgserver.Conn, app, sql string) {
	s.t.Helper()
	s.wait.Go(func() {
		if err := c.Exec(context.Background(), sql); err == nil {
			s.mu.Lock()
			s.ran = append(s.ran, app)
			s.mu.Unlock()
		}
	})
	time.Sleep(30 * time.Millisecond) // the order of the queue
}

// freed waits until n waiting statements have run.
func (s *stage) freed(n int) []string {
	for range 6000 {
		s.mu.Lock()
		out := append([]string{}, s.ran...)
		s.mu.Unlock()
		if len(out) >= n {
			return out
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.ran...)
}

// screen opens the Locks screen on the server.
func (s *stage) screen(o Options) (*running, func() []string) {
	s.t.Helper()
	var mu sync.Mutex
	var lines []string
	o.Screen, o.Interval = "locks", 100*time.Millisecond
	o.Open = func(ctx context.Context) (Source, error) {
		return probes.Open(ctx, probes.Options{DSN: s.srv.DSN("postgres", "postgres")})
	}
	o.Audit = func(l string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, l)
	}
	return start(s.t, s.t.Context(), 80, 24, o, &replay{}), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, lines...)
	}
}

func (r *running) quit() {
	r.t.Helper()
	r.typeKeys("\x03")
	if err := r.ended(); err != nil {
		r.t.Error(err)
	}
}

// TestEndingTheRootFreesExactlyThePromised ends a forgotten transaction that
// holds a hot row, with a bystander that waits for another.
func TestEndingTheRootFreesExactlyThePromised(t *testing.T) {
	s := newStage(t, nil)
	s.do(s.as("werft:api"), "begin", "update acct set v = 1 where id = 1")
	s.do(s.as("werft:cli"), "begin", "update acct set v = 1 where id = 2")
	for i := range 7 {
		s.blocked("werft:scheduler", "", "update acct set v = v + 1 where id = 1 and "+strconv.Itoa(i)+" >= 0")
	}
	s.blocked("bystander", "", "update acct set v = 1 where id = 2")
	r, audit := s.screen(Options{})
	r.until("8 sessions wait for 2 causes")
	r.until("6 queued behind for row (0,1) of acct")
	r.typeKeys("C")
	r.until("cancel does nothing: idle in transaction")
	r.typeKeys("y") // not on offer
	time.Sleep(200 * time.Millisecond)
	if n := len(audit()); n != 0 {
		t.Fatalf("y sent a cancel that does nothing: %q", audit())
	}
	r.typeKeys("K")
	r.until("terminate frees 1 at once, up to 6 in turn")
	r.until("y terminate")
	r.typeKeys("y")
	r.until("freed 7 of 7 after")
	got := s.freed(7)
	if len(got) != 7 || strings.Contains(strings.Join(got, " "), "bystander") {
		t.Errorf("ran: %v; want the 7 schedulers", got)
	}
	r.typeKeys("x") // any key closes
	r.until("1 session waits for 1 cause")
	r.quit()
	lines := audit()
	if len(lines) != 2 || !strings.Contains(lines[0], "terminate") || !strings.Contains(lines[0], "werft:api") ||
		!strings.Contains(lines[0], "by postgres: sent") || !strings.Contains(lines[1], "freed 7 of 7") {
		t.Errorf("audit: %q", lines)
	}
}

// TestThoseBehindTheNextAreNotFreed ends the holder of a hot row that others
// follow to its new version: all wake, one gets it, the others wait for that one.
func TestThoseBehindTheNextAreNotFreed(t *testing.T) {
	s := newStage(t, nil)
	root := s.as("werft:api")
	s.do(root, "begin", "update acct set v = 1 where id = 1")
	for range 4 {
		s.blocked("werft:scheduler", "begin", "update acct set v = v + 1 where id = 1")
	}
	s.do(root, "commit")
	s.freed(1)
	r, audit := s.screen(Options{})
	r.until("3 sessions wait for 1 cause")
	r.typeKeys("K")
	r.until("y terminate")
	r.typeKeys("y")
	r.until("freed 1 of 3 after")
	r.until("2 still wait")
	if got := s.freed(2); len(got) != 2 {
		t.Errorf("ran: %v, want the first and the one behind it", got)
	}
	r.quit()
	if lines := audit(); len(lines) != 2 || !strings.Contains(lines[1], "freed 1 of 3") {
		t.Errorf("audit: %q", lines)
	}
}

// TestChangedTargetIsNotEnded asks for a session that goes on meanwhile: unseen,
// because the screen is paused, the server says so; seen, it is no longer offered.
func TestChangedTargetIsNotEnded(t *testing.T) {
	s := newStage(t, nil)
	c := s.as("werft:api")
	s.do(c, "begin", "update acct set v = 1 where id = 1")
	s.blocked("werft:scheduler", "", "update acct set v = 2 where id = 1")
	r, audit := s.screen(Options{})
	r.until("1 session waits for 1 cause")
	r.typeKeys(" ")
	r.until("paused")
	r.typeKeys("K")
	r.until("y terminate")
	s.do(c, "commit", "begin", "select 1")
	if got := s.freed(1); len(got) != 1 {
		t.Fatalf("the waiter still waits")
	}
	r.typeKeys("y")
	r.until("nothing was sent")
	s.do(c, "commit") // it lives
	r.typeKeys("x")
	s.do(c, "begin", "update acct set v = 1 where id = 1")
	s.blocked("werft:scheduler", "", "update acct set v = 2 where id = 1")
	r.typeKeys(" ")
	r.until("1 session waits for 1 cause")
	r.typeKeys("gK")
	r.until("y terminate")
	s.do(c, "commit")
	r.until("the session is still there, but it waits for nothing")
	r.typeKeys("y")
	r.typeKeys("n")
	r.until("/ filter")
	s.do(c, "select 1") // it lives
	r.quit()
	if lines := audit(); len(lines) != 1 || !strings.Contains(lines[0], "changed") {
		t.Errorf("audit: %q", lines)
	}
}

func TestCancelOfTheQueuedRequestFreesThoseBehind(t *testing.T) {
	s := newStage(t, nil)
	s.do(s.as("werft:cli"), "begin", "select count(*) from ledger")
	s.blocked("werft:migrate", "", "alter table ledger add column w int")
	for range 3 {
		s.blocked("werft:api", "", "select count(*) from ledger")
	}
	r, _ := s.screen(Options{})
	r.until("→ cancel")
	r.typeKeys("C") // on the line about the tree: its root; what is best is a key away
	r.until("tab advised: cancel")
	r.typeKeys("\t")
	r.until("cancel frees 3 sessions")
	r.until("y cancel")
	r.typeKeys("y")
	r.until("freed 3 of 3 after")
	if got := s.freed(3); len(got) != 3 {
		t.Errorf("ran: %v, want 3", got)
	}
	r.typeKeys("x")
	r.until("nobody waits for a lock")
	r.quit()
}

func TestReadOnlyHasNoKeysToEndSessions(t *testing.T) {
	s := newStage(t, nil)
	s.do(s.as("werft:api"), "begin", "update acct set v = 1 where id = 1")
	s.blocked("werft:scheduler", "", "update acct set v = 2 where id = 1")
	r, audit := s.screen(Options{ReadOnly: true})
	r.until("1 session waits for 1 cause")
	for _, k := range []string{"C", "K", "y"} {
		r.typeKeys(k)
		time.Sleep(50 * time.Millisecond)
	}
	for _, word := range []string{"C cancel", "K terminate", "y terminate"} {
		if strings.Contains(r.term.screen(), word) {
			t.Errorf("%q is on screen:\n%s", word, r.term.screen())
		}
	}
	r.typeKeys("?")
	r.until("half a page up")
	for range 10 {
		if strings.Contains(r.term.screen(), "asks before") {
			t.Errorf("the help has the keys:\n%s", r.term.screen())
		}
		r.typeKeys("j")
	}
	r.quit()
	if n := len(audit()); n != 0 {
		t.Errorf("audit: %q", audit())
	}
}

// TestRecordLocks records the snapshots that the golden frames are drawn from.
func TestRecordLocks(t *testing.T) {
	if !*record {
		t.Skip("go test ./tui -run TestRecordLocks -record writes testdata/locks.json")
	}
	s := newStage(t, map[string]string{"deadlock_timeout": "1h", "max_prepared_transactions": "4", "autovacuum": "off"})
	s.do(s.as("werft:api"), "begin", "update acct set v = 1 where id = 1")
	for i := range 9 {
		s.blocked("werft:"+[]string{"api", "scheduler"}[i/5], "", "update acct\n   set v = v + 1\n where id = 1 -- request "+strconv.Itoa(i))
	}
	s.do(s.as("psql"), "begin", "select count(*), sum(v) from ledger")
	s.blocked("werft:migrate", "", "alter table ledger add column settled boolean")
	for range 4 {
		s.blocked("werft:reconciler", "", "select sum(v) from ledger where id = 7")
	}
	s.do(s.as("werft:slack"), "begin", "update job set v = 1 where id = 1", "prepare transaction 'move 4711'")
	s.blocked("werft:slack", "", "update job set v = 2 where id = 1")
	a, b := s.as("werft:cli"), s.as("werft:cli")
	s.do(a, "begin", "select pg_advisory_xact_lock(1)")
	s.do(b, "begin", "select pg_advisory_xact_lock(2)")
	s.blockedOn(a, "werft:cli", "select pg_advisory_xact_lock(2)")
	s.blockedOn(b, "werft:cli", "select pg_advisory_xact_lock(1)")
	s.do(s.as("werft:metrics"), "begin isolation level serializable", "update acct set v = 5 where id = 5")
	s.blocked("report", "begin isolation level serializable read only deferrable", "select count(*) from acct")
	time.Sleep(12 * time.Second) // the waits count as long
	p, err := probes.Open(t.Context(), probes.Options{DSN: s.srv.DSN("postgres", "postgres")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var out []string
	for range 2 {
		snap, err := p.Tick(t.Context(), probes.Want{Sessions: true, AllKinds: true, QueryBytes: lineBytes, Locks: true})
		if err != nil {
			t.Fatal(err)
		}
		snap.Server.Target = "db1.internal:5432/werft"
		line, err := json.Marshal(snap)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(line))
		time.Sleep(time.Second)
	}
	if err := os.WriteFile("testdata/locks.json", []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
