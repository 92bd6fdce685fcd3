package waits_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// fuzzer drives sessions through random transactions, one statement at a time,
// and looks when nothing moves.
type fuzzer struct {
	t        *testing.T
	rng      *rand.Rand
	sessions []*fuzzSession
	mon      *pgx.Conn
	sampler  *probes.Sampler
	gids     int

	quiet, moving, waiters, edges, soft, doubted, reordered, torn, reused int

	ended, freed int // roots, and who was promised to run at once
	dsn          string
}

type fuzzSession struct {
	pg     *pgconn.PgConn
	busy   chan error
	inTx   bool
	failed bool
	points int
}

const fuzzSessions = 24

// TestFuzz compares the forest with pg_blocking_pids in quiet states of random
// transactions: for 5 seconds, or until it has seen ten, on the newest server, or PGSONDE_LOCKFUZZ states on
// every major that PGSONDE_TEST_PG names.
func TestFuzz(t *testing.T) {
	states, _ := strconv.Atoi(os.Getenv("PGSONDE_LOCKFUZZ"))
	if states == 0 {
		fuzz(t, pgtest.Any(t), 0, 5*time.Second)
		return
	}
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) { fuzz(t, in, states, 0) })
}

func fuzz(t *testing.T, in pgserver.Install, states int, least time.Duration) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("PGSONDE_LOCKFUZZ_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("seed %d", seed)
	f := newFuzzer(t, in, seed)
	enough := func() bool { return f.quiet >= max(states, 10) && f.soft > 0 && f.reused > 0 }
	for begin := time.Now(); time.Since(begin) < time.Hour && (!enough() || states == 0 && time.Since(begin) < least); {
		for range 1 + f.rng.IntN(8) {
			f.act()
		}
		f.settle()
		f.look()
	}
	t.Logf("%d roots ended, %d sessions promised to run at once", f.ended, f.freed)
	t.Logf("%d quiet states, %d waiters, %d edges (%d soft, %d reordered by the server, %d doubted without its answer); %d moving states, %d torn waiters, %d states with entries used again",
		f.quiet, f.waiters, f.edges, f.soft, f.reordered, f.doubted, f.moving, f.torn, f.reused)
	if !enough() {
		t.Errorf("too few states to say anything")
	}
}

func newFuzzer(t *testing.T, in pgserver.Install, seed uint64) *fuzzer {
	srv := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{
		"deadlock_timeout": "300ms", "max_prepared_transactions": "20", "autovacuum": "off", "max_connections": "60",
	}})
	dsn := srv.DSN("postgres", "postgres")
	for i := range 3 {
		pgtest.Exec(t, dsn, fmt.Sprintf("create table t%d (id int primary key, v int, w int unique); insert into t%d select g, 0, g from generate_series(1, 4) g", i, i))
	}
	pgtest.Exec(t, dsn, "create table child (id serial primary key, pid int references t0)")
	f := &fuzzer{t: t, dsn: dsn, rng: rand.New(rand.NewPCG(seed, seed)), mon: pgtest.Connect(t, dsn)}
	s, err := probes.Open(t.Context(), probes.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	f.sampler = s
	for range fuzzSessions {
		f.sessions = append(f.sessions, &fuzzSession{pg: pgtest.Connect(t, dsn).PgConn()})
	}
	t.Cleanup(func() {
		s.Close()
		_, _ = f.mon.Exec(context.Background(), "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'")
		for _, x := range f.sessions {
			if x.busy != nil {
				<-x.busy
			}
			_ = x.pg.Close(context.Background())
		}
	})
	return f
}

// idle says whether the session's last statement has ended.
func (x *fuzzSession) idle() bool {
	if x.busy == nil {
		return true
	}
	select {
	case err := <-x.busy:
		x.busy = nil
		if err != nil {
			x.failed = x.inTx
		}
		return true
	default:
		return false
	}
}

func (x *fuzzSession) run(sql string) {
	x.busy = make(chan error, 1)
	go func(done chan error) {
		_, err := x.pg.Exec(context.Background(), sql).ReadAll()
		done <- err
	}(x.busy)
}

// act lets one session do something, or has one waiter cancelled when too many wait.
func (f *fuzzer) act() {
	var idle []*fuzzSession
	for _, x := range f.sessions {
		if x.idle() {
			idle = append(idle, x)
		}
	}
	if len(idle) < fuzzSessions/3 || f.rng.IntN(30) == 0 {
		x := f.sessions[f.rng.IntN(len(f.sessions))]
		f.exec(fmt.Sprintf("select pg_cancel_backend(%d)", x.pg.PID()))
	}
	if f.rng.IntN(8) == 0 {
		f.endPrepared()
	}
	if len(idle) == 0 {
		return
	}
	x := idle[f.rng.IntN(len(idle))]
	x.run(f.statement(x, len(idle) < fuzzSessions/2))
	time.Sleep(time.Duration(f.rng.IntN(3000)) * time.Microsecond)
}

func (f *fuzzer) exec(sql string) {
	if _, err := f.mon.Exec(f.t.Context(), sql); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
}

func (f *fuzzer) endPrepared() {
	var gid string
	if err := f.mon.QueryRow(f.t.Context(), "select gid from pg_prepared_xacts order by prepared limit 1").Scan(&gid); err == nil {
		f.exec([]string{"commit", "rollback"}[f.rng.IntN(2)] + " prepared '" + gid + "'")
	}
}

// statement is x's next one.
func (f *fuzzer) statement(x *fuzzSession, crowded bool) string {
	r := f.rng
	switch {
	case x.failed:
		x.failed, x.inTx, x.points = false, false, 0
		return "rollback"
	case !x.inTx:
		x.inTx = true
		timeout := ""
		if r.IntN(5) == 0 {
			timeout = "; set local lock_timeout = '" + strconv.Itoa(20+r.IntN(200)) + "ms'"
		}
		return "begin" + timeout
	case r.IntN(12) == 0, crowded && r.IntN(2) == 0:
		return f.finish(x)
	case r.IntN(10) == 0:
		return f.savepoint(x)
	}
	return f.lock()
}

func (f *fuzzer) finish(x *fuzzSession) string {
	x.inTx, x.points = false, 0
	switch f.rng.IntN(6) {
	case 0:
		return "rollback"
	case 1:
		f.gids++
		return fmt.Sprintf("prepare transaction 'fuzz%d'", f.gids)
	}
	return "commit"
}

func (f *fuzzer) savepoint(x *fuzzSession) string {
	if x.points == 0 || f.rng.IntN(2) == 0 {
		x.points++
		return fmt.Sprintf("savepoint s%d", x.points)
	}
	x.points--
	return fmt.Sprintf([]string{"release savepoint s%d", "rollback to savepoint s%[1]d; release savepoint s%[1]d"}[f.rng.IntN(2)], x.points+1)
}

func (f *fuzzer) lock() string {
	r := f.rng
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	table, id := fmt.Sprintf("t%d", r.IntN(3)), 1+r.IntN(4)
	switch r.IntN(12) {
	case 0, 1, 2:
		return "lock table " + table + " in " + pick("access share", "row share", "row exclusive", "share update exclusive",
			"share", "share row exclusive", "exclusive", "access exclusive") + " mode"
	case 3, 4:
		return fmt.Sprintf("select 1 from %s where id = %d for %s", table, id, pick("update", "no key update", "share", "key share"))
	case 5, 6:
		return fmt.Sprintf("update %s set v = v + 1 where id = %d", table, id)
	case 7:
		return fmt.Sprintf("insert into %s values (%d, 0, %d)", table, 10+r.IntN(1e6), 5+r.IntN(3))
	case 8:
		return fmt.Sprintf("insert into child (pid) values (%d)", id)
	case 9:
		return fmt.Sprintf("select pg_advisory_xact_lock%s(%d)", pick("", "_shared"), r.IntN(3)-1)
	case 10:
		return fmt.Sprintf("select pg_advisory_xact_lock%s(%d, %d)", pick("", "_shared"), r.IntN(2)-1, r.IntN(2))
	}
	return pick("alter table "+table+" add column if not exists z int", "comment on table "+table+" is 'x'",
		"create index on "+table+" (v)", "truncate child", "notify ch", fmt.Sprintf("delete from %s where id = %d", "child", id))
}

// settle waits until nobody runs: all are idle or in a lock wait.
func (f *fuzzer) settle() {
	for range 20 {
		n := 0
		if err := f.mon.QueryRow(f.t.Context(), `select count(*) from pg_stat_get_activity(null) where state = 'active'
			and wait_event_type is distinct from 'Lock' and pid <> pg_backend_pid() and backend_type = 'client backend'`).Scan(&n); err != nil {
			f.t.Fatal(err)
		}
		if n == 0 {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// image is the lock table without what we ourselves have in it.
func (f *fuzzer) image() string {
	var s string
	if err := f.mon.QueryRow(f.t.Context(), `select coalesce(string_agg(l::text, E'\n' order by l::text), '') from pg_lock_status() l
		where pid is null or pid in (select pid from pg_stat_get_activity(null) where application_name not like 'pgsonde%' and pid <> pg_backend_pid())`).Scan(&s); err != nil {
		f.t.Fatal(err)
	}
	return s
}

// look reads between two images of the lock table and holds the forest against
// the server's own answer when they are the same.
func (f *fuzzer) look() {
	fail := func(err error) { f.t.Fatal(err) }
	before, first := f.image(), blockingPIDs(f.t.Context(), f.mon, fail)
	snap, err := f.sampler.Tick(f.t.Context(), probes.Want{})
	if again := f.rng.IntN(3); err == nil && again > 0 { // a second reading may reuse the entries of the first
		snap, err = f.sampler.Tick(f.t.Context(), probes.Want{Locks: again == 2})
	}
	if err == nil && snap.Locks != nil && snap.Locks.Reading != probes.ReadDetail { // reading them was slow
		snap, err = f.sampler.Tick(f.t.Context(), probes.Want{Locks: true})
	}
	if err != nil {
		f.t.Fatal(err)
	}
	if l := snap.Locks; l != nil && l.Reading == probes.ReadDetail && l.DetailAt.Before(l.At) {
		f.reused++
	}
	truth := blockingPIDs(f.t.Context(), f.mon, fail)
	if snap.Locks == nil || snap.Locks.Late != "" || snap.Locks.Reading != probes.ReadDetail {
		return // a slow machine
	}
	forest := waits.Build(snap, snap.Locks, nil)
	for _, problem := range wrong(forest) {
		f.t.Errorf("%s", problem)
	}
	f.torn += len(forest.Torn)
	f.recognised(snap.Locks, forest)
	// The deadlock detector reorders queues without a trace in the lock table:
	// the server's own answers must agree with each other, too.
	if f.image() != before || !maps.EqualFunc(first, truth, slices.Equal[[]int]) {
		f.moving++
		return
	}
	f.quiet++
	f.compare(snap, forest, truth)
	if f.rng.IntN(8) == 0 {
		f.end(forest)
	}
}

// table is what the server says of locks that are waited for, and of those who have them.
func (f *fuzzer) table() (text string) {
	f.t.Helper()
	if err := f.mon.QueryRow(f.t.Context(), `select string_agg(concat_ws(' ', l.pid, l.locktype, l.relation::regclass, l.page, l.tuple, l.transactionid, l.objid, l.mode,
		case when l.granted then 'held' else 'wanted' end, l.waitstart, a.state, a.wait_event, a.query, pg_blocking_pids(l.pid)), E'\n' order by l.locktype, l.relation, l.transactionid::text, l.granted desc)
		from pg_locks l left join pg_stat_activity a using (pid) where l.pid <> pg_backend_pid() and l.locktype <> 'virtualxid'`).Scan(&text); err != nil {
		f.t.Fatal(err)
	}
	return text
}

// end terminates a root and sees that the waits of those who were promised to run
// at once are over, whatever they wait for next.
func (f *fuzzer) end(forest *waits.Forest) {
	for _, t := range forest.Drawn() {
		i := slices.IndexFunc(f.sessions, func(x *fuzzSession) bool { return int(x.pg.PID()) == t.Root.Key.PID })
		if i < 0 || t.Ends[0].Direct == 0 {
			continue
		}
		var over []string
		for _, k := range t.Ends[0].Frees[:t.Ends[0].Direct] {
			n := forest.Node(k)
			over = append(over, fmt.Sprintf("(%d, '%s'::timestamptz)", k.PID, forest.At.Add(-n.Edge.Wait).UTC().Format("2006-01-02 15:04:05.000000Z07:00")))
		}
		waiting := func() (n int) {
			if err := f.mon.QueryRow(f.t.Context(), "select count(*) from pg_lock_status() where not granted and (pid, waitstart) in ("+strings.Join(over, ", ")+")").Scan(&n); err != nil {
				f.t.Fatal(err)
			}
			return n
		}
		before := f.table()
		if waiting() < len(over) {
			return // one has given up
		}
		f.ended, f.freed = f.ended+1, f.freed+len(over)
		f.exec(fmt.Sprintf("select pg_terminate_backend(%d)", t.Root.Key.PID))
		x := f.sessions[i]
		if x.busy != nil {
			<-x.busy
		}
		left := waiting()
		for end := time.Now().Add(time.Minute); left > 0 && time.Now().Before(end); left = waiting() {
			time.Sleep(2 * time.Millisecond)
		}
		if left > 0 {
			f.t.Errorf("ending %v: %d of %d promised to run at once still wait as before: %v\n%s\nand then\n%s", t.Root.Key, left, len(over), over, before, f.table())
		}
		pg, err := pgconn.Connect(f.t.Context(), f.dsn) // closed with the others, once it is at rest
		if err != nil {
			f.t.Fatal(err)
		}
		f.sessions[i] = &fuzzSession{pg: pg}
		return
	}
}

// recognised: where the two readings of one tick differ, the forest says so.
func (f *fuzzer) recognised(l *probes.Locks, forest *waits.Forest) {
	if l.Reading != probes.ReadDetail {
		return
	}
	for _, w := range l.Waits {
		set := slices.Clone(w.Blockers)
		slices.Sort(set)
		got := pidSet(forest.Blockers(waits.Key{PID: w.PID}))
		if !slices.Equal(got, slices.Compact(set)) && !slices.Contains(forest.Torn, w.PID) {
			f.t.Errorf("%d: drawn %v, answered %v, and not called torn", w.PID, got, set)
		}
	}
}

func (f *fuzzer) compare(snap *probes.Snapshot, forest *waits.Forest, truth map[int][]int) {
	l := snap.Locks
	for pid, set := range truth {
		f.waiters++
		if got := pidSet(forest.Blockers(waits.Key{PID: pid})); !slices.Equal(got, set) {
			f.t.Errorf("blockers of %d: got %v, pg_blocking_pids says %v\n%+v", pid, got, set, l.Rows)
		}
	}
	old := *l
	old.Reading = probes.ReadEdges
	answers := waits.Build(snap, &old, nil)
	for pid, set := range truth {
		if got := pidSet(answers.Blockers(waits.Key{PID: pid})); !slices.Equal(got, set) {
			f.t.Errorf("answers alone: blockers of %d: got %v, pg_blocking_pids says %v", pid, got, set)
		}
	}
	for _, problem := range wrong(answers) {
		f.t.Errorf("answers alone: %s", problem)
	}
	part := waits.Build(snap, partial(l), nil)
	for pid, set := range truth {
		if got := pidSet(part.Blockers(waits.Key{PID: pid})); !slices.Equal(got, set) {
			f.t.Errorf("partial rows: blockers of %d: got %v, pg_blocking_pids says %v", pid, got, set)
		}
	}
	if len(part.Torn) > 0 {
		f.t.Errorf("partial rows: quiet, yet torn: %v", part.Torn)
	}
	alone := *l
	alone.Waits, alone.Reading = nil, probes.ReadGraph
	replay := waits.Build(snap, &alone, nil)
	for _, e := range forest.Edges() {
		f.edges++
		if _, ok := truth[e.Waiter.PID]; !ok {
			f.t.Errorf("%v waits in the forest only", e.Waiter)
		}
		if e.Kind == waits.Soft {
			f.soft++
		}
		if e.Kind == waits.Unknown || e.Doubt != "" {
			f.t.Errorf("quiet and answered, yet doubted: %+v", e)
		}
	}
	f.replayed(replay, forest, truth)
}

// replayed holds the graph of the lock table alone against the truth: hard edges
// are the same, and a queue in another order is one that carries a doubt or was
// reordered by the deadlock detector.
func (f *fuzzer) replayed(replay, forest *waits.Forest, truth map[int][]int) {
	hard := func(f *waits.Forest) (out []string) {
		for _, e := range f.Edges() {
			if e.Kind == waits.Hard {
				out = append(out, fmt.Sprint(e.Waiter, e.Blocker, e.Tag))
			}
		}
		slices.Sort(out)
		return out
	}
	if got, want := hard(replay), hard(forest); !slices.Equal(got, want) {
		f.t.Errorf("hard edges: got %v, want %v", got, want)
	}
	for pid, set := range truth {
		edges := replay.Blockers(waits.Key{PID: pid})
		if slices.Equal(pidSet(edges), set) {
			continue
		}
		f.reordered++
		if n := replay.Node(waits.Key{PID: pid}); n != nil && n.Doubt != "" {
			f.doubted++
		}
	}
}

// partial is what a reading brings from a large lock table: of granted locks
// only those of the blockers that the answers name.
func partial(l *probes.Locks) *probes.Locks {
	named := map[int]bool{}
	for _, w := range l.Waits {
		for _, b := range w.Blockers {
			named[b] = true
		}
	}
	p := *l
	p.Partial = true
	p.Rows = slices.DeleteFunc(slices.Clone(l.Rows), func(r probes.LockRow) bool {
		return r.Granted && r.PID != 0 && r.Tag.Type != "tuple" && !named[r.PID]
	})
	return &p
}
